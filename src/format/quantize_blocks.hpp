// Encoders of one block each, and the arithmetic they share. Internal to quantize*.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/half.hpp"

namespace ridge::quantize {

inline void store_half(uint8_t* p, float f) {
    const uint16_t h = f16_from_f32(f);
    std::memcpy(p, &h, 2);
}

// The value a scale has once it is stored as f16.
inline float through_half(float f) {
    return f32_from_f16(f16_from_f32(f));
}

inline float inverse(float scale) {
    return scale != 0.0f ? 1.0f / scale : 0.0f;
}

// round(v) limited to [low, high]; NaN gives low.
inline int round_code(float v, int low, int high) {
    if (!(v > static_cast<float>(low))) return low;
    if (v >= static_cast<float>(high)) return high;
    return static_cast<int>(v - static_cast<float>(low) + 0.5f) + low;
}

// The element of largest magnitude, with its sign; 0 when there is none (all zero or NaN).
inline float signed_max(const float* x, int n) {
    float best = 0.0f, magnitude = 0.0f;
    for (int i = 0; i < n; ++i) {
        const float a = x[i] < 0.0f ? -x[i] : x[i];
        if (a > magnitude) {
            magnitude = a;
            best = x[i];
        }
    }
    return best;
}

// Index of the nearest IQ4 value to v (v in units of the scale).
int nearest_iq4(float v);

void q2_k(const float* x, uint8_t* out);
void q3_k(const float* x, uint8_t* out);
void q4_k(const float* x, uint8_t* out);
void q5_k(const float* x, uint8_t* out);
void q6_k(const float* x, uint8_t* out);
void iq4_xs(const float* x, uint8_t* out);

}  // namespace ridge::quantize
