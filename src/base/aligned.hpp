// Large zeroed memory straight from the operating system: page aligned, so aligned for every
// vector and cache line, and given back as a whole.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <utility>

#include "base/status.hpp"

namespace ridge {

class AlignedBuffer {
  public:
    AlignedBuffer() = default;
    // `bytes` of zeroed memory; 0 gives an empty buffer. With huge_pages the system is asked for
    // 2 MiB pages where it has them. Pages are taken at the first write: the thread that writes
    // first decides on which memory node of a large machine they lie. Error: out_of_memory.
    static Result<AlignedBuffer> allocate(size_t bytes, bool huge_pages = false);

    ~AlignedBuffer() { reset(); }
    AlignedBuffer(AlignedBuffer&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
    AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
        if (this != &other) {
            reset();
            data_ = std::exchange(other.data_, nullptr);
            size_ = std::exchange(other.size_, 0);
        }
        return *this;
    }

    uint8_t* data() { return data_; }
    const uint8_t* data() const { return data_; }
    size_t size() const { return size_; }
    void reset();

  private:
    uint8_t* data_ = nullptr;
    size_t size_ = 0;
};

}  // namespace ridge
