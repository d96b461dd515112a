// Every allocation, map and read of a load fails in turn: an error each time, and nothing is left
// behind: no memory, no descriptor, no mapping.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <new>

#include "format/convert.hpp"
#include "format/safetensors.hpp"
#include "runtime/model.hpp"
#include "support/allocations.hpp"
#include "support/parts.hpp"
#include "support/random_model.hpp"

namespace {

// Calls of mmap (of files and of memory), pread and read still to pass before one fails; below 0:
// none does.
std::atomic<long> calls_to_failure{-1};

bool fails_now() {
    return calls_to_failure.load() >= 0 && calls_to_failure.fetch_sub(1) == 0;
}

}  // namespace

// These stand before the C library's in this program.
extern "C" void* mmap(void* at, size_t bytes, int protection, int flags, int file,
                      off_t offset) noexcept {
    if (fails_now()) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return reinterpret_cast<void*>(syscall(SYS_mmap, at, bytes, protection, flags, file, offset));
}

extern "C" ssize_t pread(int file, void* to, size_t bytes, off_t offset) {
    if (fails_now()) {
        errno = EIO;
        return -1;
    }
    return syscall(SYS_pread64, file, to, bytes, offset);
}

extern "C" ssize_t read(int file, void* to, size_t bytes) {
    if (fails_now()) {
        errno = EIO;
        return -1;
    }
    return syscall(SYS_read, file, to, bytes);
}

namespace ridge {
namespace {

size_t open_descriptors() {
    size_t n = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
        n += entry.path().empty() ? 0 : 1;
    return n;
}

size_t mappings_of(const std::string& path) {
    std::ifstream maps("/proc/self/maps");
    size_t n = 0;
    for (std::string line; std::getline(maps, line);)
        n += line.find(path) != std::string::npos ? 1 : 0;
    return n;
}

class LoadFailures : public testing::Test {
  protected:
    void SetUp() override {
        path_ = test::write_model(dir_, test::smallest_llama("m"));
        out_ = dir_.file("out.gguf");
    }
    // Runs `load` with the k-th chance to fail taken, for every k until none is left. `arm` makes
    // the failure; what it returns says afterwards whether it happened.
    size_t each(const std::function<std::function<bool()>(size_t k)>& arm,
                const std::function<bool()>& load, const std::function<void()>& disarm,
                bool may_cope = false) {
        EXPECT_TRUE(load()) << "without failures";  // and what is made once is made
        const size_t descriptors = open_descriptors();
        for (size_t k = 0; k < 100000; ++k) {
            const size_t live = test::live_allocations();
            bool happened = false, worked = false;
            {
                const std::function<bool()> check = arm(k);
                const size_t armed = test::live_allocations();
                worked = load();
                happened = check();
                disarm();
                EXPECT_EQ(test::live_allocations(), armed) << "failure " << k;
            }
            EXPECT_EQ(test::live_allocations(), live) << "failure " << k;
            EXPECT_EQ(open_descriptors(), descriptors) << "failure " << k;
            EXPECT_EQ(mappings_of(path_), 0u) << "failure " << k;
            EXPECT_EQ(mappings_of(folder_), 0u) << "failure " << k;
            EXPECT_FALSE(std::filesystem::exists(out_)) << "failure " << k;
            EXPECT_FALSE(test::part_is_left(out_)) << "failure " << k;
            if (!happened) {
                EXPECT_TRUE(worked);
                return k;
            }
            // the library's sorts do without the buffer they did not get
            EXPECT_TRUE(!worked || may_cope) << "failure " << k << " was not noticed";
            if (HasFailure()) break;
        }
        return 0;
    }
    size_t each_allocation(const std::function<bool()>& load, bool may_cope = false) {
        return each(
            [&](size_t k) -> std::function<bool()> {
                void* place = room_;
                const auto* armed = new (place) test::FailAllocation(k);
                return [armed] { return armed->happened(); };
            },
            load, [&] { reinterpret_cast<test::FailAllocation*>(room_)->~FailAllocation(); },
            may_cope);
    }
    size_t each_call(const std::function<bool()>& load) {
        return each(
            [](size_t k) -> std::function<bool()> {
                calls_to_failure = static_cast<long>(k);
                return [] { return calls_to_failure.load() < 0; };
            },
            load, [] { calls_to_failure = -1; });
    }
    bool open() const {
        const auto file = GgufFile::open(path_);
        return file.has_value();
    }
    // Where the runtime lets bad_alloc pass, the program's main() says so in one sentence.
    bool load() const {
        try {
            ModelOptions options;
            options.threads = 1;
            options.chunk = 4;
            options.max_logits = 1;
            const auto model = Model::load(path_, options);
            return model.has_value();
        } catch (const std::bad_alloc&) {
            return false;
        }
    }
    bool open_safetensors() const { return SafetensorsFile::open(safetensors_).has_value(); }
    // A whole conversion; what it wrote is removed again.
    bool convert() const {
        try {
            ConvertOptions options;
            options.threads = 1;
            const bool done = convert_folder(folder_, out_, options).has_value();
            if (done) std::filesystem::remove(out_);
            return done;
        } catch (const std::bad_alloc&) {
            return false;
        }
    }

    test::TempDir dir_;
    std::string path_, out_;
    const std::string folder_ = std::string(RIDGE_TEST_DATA) + "/hf/qwen3";
    const std::string safetensors_ = folder_ + "/model.safetensors";
    alignas(test::FailAllocation) char room_[sizeof(test::FailAllocation)];
};

TEST_F(LoadFailures, OpeningSurvivesEachAllocation) {
    EXPECT_GT(each_allocation([&] { return open(); }), 20u);
}

TEST_F(LoadFailures, OpeningSurvivesEachMap) {
    EXPECT_EQ(each_call([&] { return open(); }), 1u);
}

TEST_F(LoadFailures, LoadingSurvivesEachAllocation) {
    EXPECT_GT(each_allocation([&] { return load(); }, true), 200u);
}

TEST_F(LoadFailures, LoadingSurvivesEachMapAndRead) {
    EXPECT_GT(each_call([&] { return load(); }), 5u);
}

TEST_F(LoadFailures, OpeningSafetensorsSurvivesEachAllocation) {
    EXPECT_GT(each_allocation([&] { return open_safetensors(); }), 20u);
}

TEST_F(LoadFailures, OpeningSafetensorsSurvivesEachMap) {
    EXPECT_EQ(each_call([&] { return open_safetensors(); }), 1u);
}

// Not of a conversion's allocations: nlohmann's JSON values allocate while they are destroyed and
// compared, where nothing can be thrown. The program ends with a sentence there (cli/main.cpp).
TEST_F(LoadFailures, ConvertingSurvivesEachMapAndRead) {
    EXPECT_GT(each_call([&] { return convert(); }), 20u);
}

}  // namespace
}  // namespace ridge
