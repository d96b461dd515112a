// f16 and bf16 to and from f32, bit exact with IEEE round to nearest even. Freestanding.
// static: each translation unit keeps its own copy, so that code compiled with an instruction
// set's flags is never shared with code that is not.
#pragma once

#include <stdint.h>

namespace ridge {

static inline uint32_t f32_bits(float f) {
    uint32_t u;
    __builtin_memcpy(&u, &f, 4);
    return u;
}
static inline float f32_from_bits(uint32_t u) {
    float f;
    __builtin_memcpy(&f, &u, 4);
    return f;
}

static inline float f32_from_bf16(uint16_t h) {
    return f32_from_bits(static_cast<uint32_t>(h) << 16);
}

// NaN stays NaN (quiet), infinities stay, everything else rounds to nearest even.
static inline uint16_t bf16_from_f32(float f) {
    const uint32_t u = f32_bits(f);
    if ((u & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((u >> 16) | 64u);
    return static_cast<uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}

static inline float f32_from_f16(uint16_t h) {
    const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
    const uint32_t magnitude = h & 0x7fffu;
    if (magnitude >= 0x7c00u)  // infinity or NaN
        return f32_from_bits(sign | 0x7f800000u | ((magnitude & 0x3ffu) << 13));
    if (magnitude >= 0x400u) return f32_from_bits(sign | ((magnitude << 13) + 0x38000000u));
    // subnormal: magnitude * 2^-24 is exact in f32
    const float value = static_cast<float>(magnitude) * 5.9604644775390625e-8f;
    return f32_from_bits(sign | f32_bits(value));
}

static inline uint16_t f16_from_f32(float f) {
    const uint32_t u = f32_bits(f);
    const uint32_t sign = (u >> 16) & 0x8000u;
    const uint32_t magnitude = u & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);
    if (magnitude >= 0x47800000u) return static_cast<uint16_t>(sign | 0x7c00u);  // >= 65536
    if (magnitude < 0x38800000u) {  // below 2^-14: adding 0.5 aligns the last kept bit to 2^-24
        const float shifted = f32_from_bits(magnitude) + 0.5f;
        return static_cast<uint16_t>(sign | (f32_bits(shifted) - 0x3f000000u));
    }
    const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
    return static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

}  // namespace ridge
