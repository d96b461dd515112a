// Packing: file rows to packed pairs, out of and into a cache, and as loading does it, from memory
// to memory on all threads. GB/s of the source.
#include "bench/kernels/harness.hpp"
#include "format/quantize.hpp"
#include "kernels/pack.hpp"
#include "kernels/packed.hpp"

namespace ridge::bench {
namespace {

struct Operands {
    AlignedBuffer source;
    AlignedBuffer packed;
};

// From the first half of a thread's part of memory into the second.
std::function<void(unsigned, size_t)> prepare(DType type, size_t k, bool in_memory) {
    const size_t row = row_bytes(type, k);
    const size_t source_bytes = pair_columns * row;
    const size_t packed = pair_bytes(type, k);
    auto o = std::make_shared<Operands>();
    if (!in_memory) {
        o->source = buffer(source_bytes);
        o->packed = buffer(packed);
        const std::vector<float> x = random_floats(pair_columns * k, 3);
        quantize_plain(type, x.data(), x.size(), o->source.data());
    } else {
        memory()->content = "packing";  // whatever bytes are there are the source
    }
    // Other pages than the source: loads and stores of equal low address bits wait for each other.
    constexpr size_t stagger = 17 * 64;
    const size_t pairs = (memory_part / 2 - stagger) / std::max(packed, source_bytes);
    return [=](unsigned thread, size_t n) {
        const uint8_t* from = o->source.data();
        uint8_t* to = o->packed.data();
        if (in_memory) {
            from = memory()->part(thread) + n % pairs * source_bytes;
            to = memory()->part(thread) + memory_part / 2 + stagger + n % pairs * packed;
        }
        const uint8_t* rows[pair_columns];
        for (size_t c = 0; c < pair_columns; ++c) rows[c] = from + c * row;
        pack_pair(type, rows, group_columns, group_columns, k, to);
    };
}

void add_pack(DType type, size_t k, bool in_memory) {
    Case c;
    c.threads = in_memory ? setup().cores : 1;
    c.name = std::string("pack_") + name(type) + "/k:" + std::to_string(k) + "/" +
             (in_memory ? "memory" : "L2") + "/threads:" + std::to_string(c.threads);
    const double source = static_cast<double>(pair_columns * row_bytes(type, k));
    c.bytes = source;
    // What moves: the source in, the packed bytes out.
    const double moved = source + static_cast<double>(pair_bytes(type, k));
    c.cached_bytes = pair_columns * row_bytes(type, k);
    c.bounds.push_back({in_memory ? Roof::memory : Roof::cached, moved, 0});
    c.prepare = [=] { return prepare(type, k, in_memory); };
    add(std::move(c));
}

}  // namespace

void add_packing() {
    for (size_t t = 0; t < static_cast<size_t>(DType::count_); ++t)
        for (const bool in_memory : {false, true}) add_pack(static_cast<DType>(t), 1024, in_memory);
}

}  // namespace ridge::bench
