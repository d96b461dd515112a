// Byte layouts of GGUF's quantized blocks: code books and the unpacking of the packed scales.
// Freestanding; static and constexpr so that each instruction set's objects keep their own copies.
//
// Layouts (GGUF; offsets in bytes, f16 little-endian, "lo/hi" the nibbles of a byte):
//   Q4_0    d f16 @0 | 16 codes @2: weight j in lo, j+16 in hi            w = d * (q - 8)
//   Q4_1    d @0, m @2 | 16 codes @4                                       w = d * q + m
//   Q5_0    d @0 | 32 fifth bits @2 (bit j: weight j) | 16 codes @6        w = d * (q - 16)
//   Q5_1    d @0, m @2 | fifth bits @4 | 16 codes @8                       w = d * q + m
//   Q8_0    d @0 | 32 int8 @2                                              w = d * q
//   IQ4_NL  as Q4_0                                                        w = d * iq4_values[q]
//   MXFP4   e8m0 @0 | 16 codes @1 as Q4_0                                  w = 2^(e-128) *
//   values[q]
// Super-blocks of 256 weights in sub-blocks of 16 (Q2_K, Q3_K, Q6_K) or 32:
//   Q2_K    16 x (scale lo, min hi) @0 | codes @16 (64) | d @80, dmin @82  w = d*s*q - dmin*m
//   Q3_K    high bits @0 (32) | codes @32 (64) | scales @96 (12) | d @108  w = d*(s-32)*(q - 4)
//   Q4_K    d @0, dmin @2 | scales @4 (12) | codes @16 (128)               w = d*s*q - dmin*m
//   Q5_K    d @0, dmin @2 | scales @4 (12) | fifth bits @16 (32) | codes @48 (128)
//   Q6_K    low nibbles @0 (128) | high pairs @128 (64) | int8 scales @192 (16) | d @208
//   IQ4_XS  d @0 | high scale pairs u16 @2 | low scale nibbles @4 (4) | codes @8 (128)
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/half.hpp"

namespace ridge {

// IQ4_NL and IQ4_XS: the 16 values a code stands for, times the scale.
inline constexpr int8_t iq4_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                          1,    13,   25,  38,  53,  69,  89,  113};

// MXFP4: e2m1 values doubled (OCP Microscaling Formats 1.0), to go with the halved scale below.
inline constexpr int8_t mxfp4_values[16] = {0, 1,  2,  3,  4,  6,  8,  12,
                                            0, -1, -2, -3, -4, -6, -8, -12};

// 2^(e - 128): half of the e8m0 scale, exact for every e (subnormal for 0 and 1).
static inline float mxfp4_scale(uint8_t e) {
    return f32_from_bits(e < 2 ? 0x00200000u << e : static_cast<uint32_t>(e - 1) << 23);
}

// Q4_K, Q5_K: 6-bit scale and minimum of sub-block j (0..7) out of 12 packed bytes. Bytes 0..3 hold
// scales 0..3 and 4..7 minimums 0..3 in their low 6 bits; 8..11 the low nibbles of scales (lo) and
// minimums (hi) 4..7, whose top 2 bits are the top bits of bytes 0..3 and 4..7.
static inline void q4k_scale_min(const uint8_t* packed, size_t j, uint8_t* scale, uint8_t* min) {
    if (j < 4) {
        *scale = packed[j] & 63;
        *min = packed[j + 4] & 63;
    } else {
        *scale = static_cast<uint8_t>((packed[j + 4] & 15) | ((packed[j - 4] >> 6) << 4));
        *min = static_cast<uint8_t>((packed[j + 4] >> 4) | ((packed[j] >> 6) << 4));
    }
}

// The inverse: packs 8 scales and 8 minimums, each 0..63, into 12 bytes.
static inline void q4k_pack_scale_min(const uint8_t* scales, const uint8_t* mins, uint8_t* packed) {
    for (size_t j = 0; j < 4; ++j) {
        packed[j] = static_cast<uint8_t>(scales[j] | ((scales[j + 4] >> 4) << 6));
        packed[j + 4] = static_cast<uint8_t>(mins[j] | ((mins[j + 4] >> 4) << 6));
        packed[j + 8] = static_cast<uint8_t>((scales[j + 4] & 15) | ((mins[j + 4] & 15) << 4));
    }
}

// Q3_K: the signed scale (-32..31) of sub-block j (0..15) out of 12 packed bytes: low nibbles in
// bytes 0..7 (j < 8 lo, else hi), high pairs in bytes 8..11 (byte j % 4, pair j / 4).
static inline int8_t q3k_scale(const uint8_t* packed, size_t j) {
    const int low = j < 8 ? packed[j] & 15 : packed[j - 8] >> 4;
    const int high = (packed[8 + j % 4] >> (2 * (j / 4))) & 3;
    return static_cast<int8_t>((low | (high << 4)) - 32);
}

// The inverse, for 16 scales.
static inline void q3k_pack_scales(const int8_t* scales, uint8_t* packed) {
    for (size_t i = 0; i < 12; ++i) packed[i] = 0;
    for (size_t j = 0; j < 16; ++j) {
        const int s = scales[j] + 32;
        packed[j % 8] = static_cast<uint8_t>(packed[j % 8] | ((s & 15) << (j < 8 ? 0 : 4)));
        packed[8 + j % 4] = static_cast<uint8_t>(packed[8 + j % 4] | ((s >> 4) << (2 * (j / 4))));
    }
}

// IQ4_XS: the signed scale (-32..31) of sub-block j (0..7): low nibbles in `low` (even j lo, odd j
// hi), high pairs in `high`.
static inline int8_t iq4xs_scale(uint16_t high, const uint8_t* low, size_t j) {
    const int lo = (low[j / 2] >> (4 * (j % 2))) & 15;
    const int hi = (high >> (2 * j)) & 3;
    return static_cast<int8_t>((lo | (hi << 4)) - 32);
}

}  // namespace ridge
