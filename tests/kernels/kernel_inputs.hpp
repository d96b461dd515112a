// What the kernel tests share: memory that ends at an unmapped page, random inputs, the sets to
// test.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/registry.hpp"

namespace ridge::test {

// n elements whose last one ends at a page without access: a kernel that reads or writes past its
// extent faults. Aligned to 64 bytes where n elements are a multiple of 64 bytes. Filled with 0xff
// (NaN as f32 and bf16).
template <class T>
class Guarded {
  public:
    explicit Guarded(size_t n) : size_(n) {
        const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
        const size_t body = (n * sizeof(T) + page) / page * page;
        bytes_ = body + page;
        void* map =
            mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (map == MAP_FAILED) std::abort();
        base_ = static_cast<uint8_t*>(map);
        if (mprotect(base_ + body, page, PROT_NONE) != 0) std::abort();
        data_ = reinterpret_cast<T*>(base_ + body - n * sizeof(T));
        poison();
    }
    explicit Guarded(const std::vector<T>& values) : Guarded(values.size()) {
        if (!values.empty()) std::memcpy(data_, values.data(), values.size() * sizeof(T));
    }
    ~Guarded() { munmap(base_, bytes_); }
    Guarded(const Guarded&) = delete;
    Guarded& operator=(const Guarded&) = delete;

    void poison() { std::memset(static_cast<void*>(data_), 0xff, size_ * sizeof(T)); }
    T* data() { return data_; }
    const T* data() const { return data_; }
    size_t size() const { return size_; }
    T& operator[](size_t i) { return data_[i]; }
    const T& operator[](size_t i) const { return data_[i]; }
    std::vector<T> copy() const { return std::vector<T>(data_, data_ + size_); }

  private:
    uint8_t* base_ = nullptr;
    T* data_ = nullptr;
    size_t size_ = 0;
    size_t bytes_ = 0;
};

inline std::vector<float> normal_floats(size_t n, uint32_t seed, float deviation = 1.0f) {
    std::mt19937 engine(seed);
    std::normal_distribution<float> normal(0.0f, deviation);
    std::vector<float> values(n);
    for (float& v : values) v = normal(engine);
    return values;
}

// The sets of this build that this machine runs, best first.
inline std::vector<const KernelSet*> supported_sets() {
    std::vector<const KernelSet*> sets;
    for (const KernelSet& set : kernel_sets())
        if (set.supported()) sets.push_back(&set);
    return sets;
}

}  // namespace ridge::test
