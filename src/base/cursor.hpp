// A bounds-checked reader of little-endian bytes. Every read says whether it fitted; a failed read
// moves nothing and writes nothing. Lengths are 64 bits wide, as files store them, and are compared
// with what remains before any pointer is formed. Freestanding.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace ridge {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "ridge reads little-endian files in place");

class Cursor {
  public:
    Cursor(const uint8_t* data, size_t size) : begin_(data), at_(data), end_(data + size) {}

    size_t offset() const { return static_cast<size_t>(at_ - begin_); }
    size_t remaining() const { return static_cast<size_t>(end_ - at_); }
    const uint8_t* position() const { return at_; }

    // Reads one number of a fundamental type, unaligned.
    template <typename T>
    [[nodiscard]] bool read(T& out) {
        if (remaining() < sizeof(T)) return false;
        __builtin_memcpy(&out, at_, sizeof(T));
        at_ += sizeof(T);
        return true;
    }

    // out = the next `length` bytes, still in place.
    [[nodiscard]] bool take(uint64_t length, const uint8_t*& out) {
        if (length > remaining()) return false;
        out = at_;
        at_ += length;
        return true;
    }

    [[nodiscard]] bool skip(uint64_t length) {
        const uint8_t* ignored;
        return take(length, ignored);
    }

  private:
    const uint8_t* begin_;
    const uint8_t* at_;
    const uint8_t* end_;
};

}  // namespace ridge
