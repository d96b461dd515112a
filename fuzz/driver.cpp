// Runs a fuzz target without libFuzzer: over the seeds as they are, then over mutations of them,
// the same ones every time. It is how the tests (and their sanitizers) exercise each target for a
// moment; `./dev fuzz` searches for real.
//
//   fuzz_NAME RUNS SEED...      a SEED is a file, or a folder of them
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Bytes = std::vector<uint8_t>;
namespace fs = std::filesystem;

constexpr std::uintmax_t largest_seed = 256 << 10;

Bytes read(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::vector<Bytes> read_seeds(int count, char** names) {
    std::vector<fs::path> paths;
    for (int i = 0; i < count; ++i) {
        if (fs::is_directory(names[i])) {
            for (const auto& entry : fs::directory_iterator(names[i]))
                paths.push_back(entry.path());
        } else {
            paths.emplace_back(names[i]);
        }
    }
    std::sort(paths.begin(), paths.end());
    std::vector<Bytes> seeds;
    for (const fs::path& path : paths)
        if (fs::is_regular_file(path) && fs::file_size(path) <= largest_seed)
            seeds.push_back(read(path));
    return seeds;
}

// Small steps, half of them near the start, where a file's structure is. Most keep the length, so
// that what follows keeps its meaning and the deeper layers are reached.
void mutate(Bytes& bytes, std::mt19937_64& random) {
    const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
    if (bytes.empty()) bytes.push_back(0);
    const size_t at =
        below(2) != 0 ? below(bytes.size()) : below(std::min<size_t>(bytes.size(), 2048));
    switch (below(12)) {
        case 0:
        case 1:
        case 2:
            bytes[at] = static_cast<uint8_t>(bytes[at] ^ (1u << below(8)));
            break;
        case 3:
        case 4:
            bytes[at] = static_cast<uint8_t>(random());
            break;
        case 5:
            bytes.resize(at);
            break;
        case 6: {  // a piece again, elsewhere
            const Bytes piece(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                              bytes.begin() + static_cast<std::ptrdiff_t>(
                                                  std::min(at + 1 + below(32), bytes.size())));
            bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(below(bytes.size())),
                         piece.begin(), piece.end());
            break;
        }
        case 7: {
            const size_t end = std::min(at + 1 + below(32), bytes.size());
            bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                        bytes.begin() + static_cast<std::ptrdiff_t>(end));
            break;
        }
        default: {  // a number that lies at some limit
            constexpr uint64_t limits[] = {0,          1,          0x7f,       0xff,
                                           0x7fffffff, 0xffffffff, 1ull << 32, 1ull << 62,
                                           1ull << 63, ~0ull};
            const uint64_t value = limits[below(std::size(limits))];
            std::memcpy(&bytes[at], &value, std::min<size_t>(sizeof value, bytes.size() - at));
            break;
        }
    }
}

// A copy of exactly this size, so that a sanitizer sees the first byte read past it.
void run(const Bytes& bytes) {
    const Bytes exact(bytes.begin(), bytes.end());
    LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<Bytes> seeds = read_seeds(argc - 2, argv + 2);
    const long runs = argc > 2 ? std::strtol(argv[1], nullptr, 10) : 0;
    if (runs < 1 || seeds.empty()) {
        std::fprintf(stderr, "usage: %s RUNS SEED...\n", argv[0]);
        return 2;
    }
    for (const Bytes& seed : seeds) run(seed);
    for (long i = 0; i < runs; ++i) {
        std::mt19937_64 random(static_cast<uint64_t>(i));
        Bytes bytes = seeds[static_cast<size_t>(i) % seeds.size()];
        for (auto steps = 1 + random() % 2; steps > 0; --steps) mutate(bytes, random);
        run(bytes);
    }
    std::printf("%zu seeds and %ld mutations of them\n", seeds.size(), runs);
    return 0;
}
