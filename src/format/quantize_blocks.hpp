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

// codes[32] into 16 bytes: weight j in the low nibble of byte j, j + 16 in the high one.
inline void store_nibbles(const uint8_t* codes, uint8_t* out) {
    for (int j = 0; j < 16; ++j)
        out[j] = static_cast<uint8_t>((codes[j] & 15) | ((codes[j + 16] & 15) << 4));
}

// Bit 4 of codes[32] into 4 bytes, bit j of the word from weight j.
inline void store_fifth_bits(const uint8_t* codes, uint8_t* out) {
    uint32_t bits = 0;
    for (int j = 0; j < 32; ++j) bits |= static_cast<uint32_t>(codes[j] >> 4) << j;
    std::memcpy(out, &bits, 4);
}

// A super-block of Q2_K, Q4_K or Q5_K before its bits are packed: w = d*scale*q - dmin*min.
struct SuperAffine {
    float d, dmin;  // as stored
    uint8_t scales[16], mins[16];
    uint8_t codes[256];
};

// One of Q3_K or Q6_K: w = d*scale*q, q signed.
struct SuperSymmetric {
    float d;  // as stored
    int8_t scales[16];
    int8_t codes[256];
};

void store_q4_k(const SuperAffine& s, uint8_t* out);
void store_q5_k(const SuperAffine& s, uint8_t* out);
void store_q6_k(const SuperSymmetric& s, uint8_t* out);

// Index of the nearest IQ4 value to v (v in units of the scale).
int nearest_iq4(float v);

void q2_k(const float* x, uint8_t* out);
void q3_k(const float* x, uint8_t* out);
void q4_k(const float* x, uint8_t* out);
void q5_k(const float* x, uint8_t* out);
void q6_k(const float* x, uint8_t* out);
void iq4_xs(const float* x, uint8_t* out);

}  // namespace ridge::quantize
