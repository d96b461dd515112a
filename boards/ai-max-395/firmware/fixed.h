// Integer arithmetic of the kernels. Nothing here branches on data: a prefill executes the same
// instructions whatever the numbers are.
#pragma once

#include <stdint.h>

namespace ridge::fw {

// Upper halves of 32 x 32 bit products.
static inline int32_t mulh(int32_t a, int32_t b) {
    return static_cast<int32_t>((static_cast<int64_t>(a) * b) >> 32);
}
static inline uint32_t mulhu(uint32_t a, uint32_t b) {
    return static_cast<uint32_t>((static_cast<uint64_t>(a) * b) >> 32);
}
// Wrapping left shift; n < 32.
static inline int32_t shl(int32_t a, uint32_t n) {
    return static_cast<int32_t>(static_cast<uint32_t>(a) << n);
}
static inline int32_t wrap_add(int32_t a, int32_t b) {
    return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
}
static inline int32_t wrap_sub(int32_t a, int32_t b) {
    return static_cast<int32_t>(static_cast<uint32_t>(a) - static_cast<uint32_t>(b));
}
// -1 where negative, else 0; the empty asm keeps the compiler from making a branch of it.
static inline int32_t sign_mask(int32_t a) {
    int32_t s = a >> 31;
    __asm__("" : "+r"(s));
    return s;
}
static inline int32_t min_of(int32_t a, int32_t b) {  // |a - b| < 2^31
    const int32_t d = wrap_sub(a, b);
    return b + (d & sign_mask(d));
}
static inline int32_t max_of(int32_t a, int32_t b) {
    const int32_t d = wrap_sub(a, b);
    return wrap_sub(a, d & sign_mask(d));
}
static inline int32_t clamp_to(int32_t a, int32_t limit) {  // within [-limit, limit]
    return max_of(min_of(a, limit), -limit);
}
static inline int32_t abs_of(int32_t a) {
    const int32_t s = sign_mask(a);
    return wrap_sub(a ^ s, s);
}
// |a|, or |a| - 1 where a is negative: as many bits.
static inline int32_t near_abs(int32_t a) {
    return a ^ sign_mask(a);
}
// Leading zeros; 32 for 0.
static inline int32_t leading_zeros(uint32_t x) {
    int32_t n = 0;
    for (int32_t step = 16; step > 0; step /= 2) {
        int32_t empty = (x >> (32 - step)) == 0;
        __asm__("" : "+r"(empty));
        n += empty * step;
        x <<= empty * step;
    }
    return n + static_cast<int32_t>(1u - (x >> 31));
}

// y * 2^-n, rounded half up, for n of either sign: (y << left) + half >> right.
struct Shift {
    uint32_t left, right;
    int32_t half;
    int32_t operator()(int32_t y) const { return wrap_add(shl(y, left), half) >> right; }
};
static inline Shift shift_by(int32_t n) {
    const int32_t left = max_of(-n, 0), right = max_of(n, 0);
    Shift s;
    s.left = static_cast<uint32_t>(min_of(left, 31));
    s.right = static_cast<uint32_t>(min_of(right, 31));
    s.half = static_cast<int32_t>((1u << s.right) >> 1);
    return s;
}

// 2^61 / d for d in [2^30, 2^31], relative error below 2e-8 after three steps of Newton's method,
// 2e-5 after two. d = D * 2^31, y = Y * 2^30: Y <- Y (2 - D Y), from Y = 48/17 - 32/17 D.
template <int steps>
static inline uint32_t reciprocal(uint32_t d) {
    uint32_t y = 3031741621u - mulhu(d, 4042322161u);
    for (int i = 0; i < steps; ++i) y = mulhu(y, 0x40000000u - mulhu(d, y)) << 3;
    return y;
}

// 2^46 / sqrt(v) for v in [2^30, 2^32): v = V * 2^32, y = Y * 2^30, Y <- Y (3 - V Y^2) / 2 four
// times, from the line 2.2 - 1.25 V (11 % off at most); relative error below 1e-7.
static inline uint32_t reciprocal_root(uint32_t v) {
    uint32_t y = 2362232013u - mulhu(v, 1342177280u);
    for (int i = 0; i < 4; ++i) y = mulhu(y, 0x30000000u - mulhu(mulhu(y, y), v)) << 3;
    return y;
}

// Exponent and mantissa of a positive integer: x << zeros is in [2^30, 2^31).
struct Normal {
    int32_t zeros;
    int32_t mantissa;
};
static inline Normal normalize(int32_t x) {  // x >= 0; 0 counts as 1
    x |= x == 0;
    const int32_t zeros = leading_zeros(static_cast<uint32_t>(x)) - 1;
    return {zeros, shl(x, static_cast<uint32_t>(zeros))};
}

// Scale of a row of activations: a = aq * mantissa * 2^-exponent.
struct Scale {
    int32_t mantissa, exponent;
};

// What rounds v << zeros to a number within +-2047, the largest |v| having mantissa `largest`:
// (mulh(v << zeros, factor) + 2^17) >> 18.
static inline int32_t round_factor(int32_t largest) {
    const uint32_t r = reciprocal<3>(static_cast<uint32_t>(largest));
    return static_cast<int32_t>(r - (r >> 11));  // 2047 / 2048 of it
}
static inline int16_t round12(int32_t v, int32_t factor) {
    return static_cast<int16_t>((mulh(v, factor) + (1 << 17)) >> 18);
}

inline constexpr uint32_t over_2047 = 2148532224u;  // 2^42 / 2047

// 2^x in 16 pieces an octave, y = a + b (x - x0), each piece's error balanced: relative error below
// 1.2e-4. Values are 2047 * 2^8 * 2^x: `pieces` lies in SRAM, so that a look-up always takes as
// long.
struct Piece {
    int32_t a, b;
};
inline constexpr int32_t exp2_one = 2047 << 8;
// For x <= 0 with 16 fraction bits: 2^(x + whole) * exp2_one; whole = -(x >> 16).
static inline int32_t exp2_piece(const Piece* pieces, int32_t x) {
    const uint32_t f = static_cast<uint32_t>(x) & 0xffffu;
    const Piece& p = pieces[f >> 12];
    return p.a + ((p.b * static_cast<int32_t>(f & 0xfffu)) >> 12);
}

}  // namespace ridge::fw
