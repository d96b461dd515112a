// Unsigned 64-bit arithmetic that reports overflow instead of wrapping. Every size computed from a
// file's numbers goes through these: local checks beside plain operators are what other readers
// got wrong more than once. Freestanding.
#pragma once

#include <stdint.h>

namespace ridge {

// out = a + b; false (out unspecified) when the sum does not fit 64 bits.
[[nodiscard]] static inline bool checked_add(uint64_t a, uint64_t b, uint64_t& out) {
    return !__builtin_add_overflow(a, b, &out);
}

// out = a * b; false (out unspecified) when the product does not fit 64 bits.
[[nodiscard]] static inline bool checked_mul(uint64_t a, uint64_t b, uint64_t& out) {
    return !__builtin_mul_overflow(a, b, &out);
}

// out = the smallest multiple of `alignment` (a power of two) that is not below `value`.
[[nodiscard]] static inline bool checked_align(uint64_t value, uint64_t alignment, uint64_t& out) {
    if (!checked_add(value, alignment - 1, out)) return false;
    out &= ~(alignment - 1);
    return true;
}

}  // namespace ridge
