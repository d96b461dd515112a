// Unpackers: one group of a packed pair (packed.hpp) to the operands of the int8 product.
//
// One struct a layout family, one template parameter a tensor type. `quads` turns a block of 32 k
// into eight vectors of unsigned codes (16 columns x 4 k), `scales` gives f32 scales (two where a
// scale covers 16 k) and minima. Codes of types with a book are book value + 128.
#pragma once

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "base/quant_blocks.hpp"
#include "kernels/packed.hpp"

namespace ridge::avx512 {

template <DType T>
struct Unpacker {
    static constexpr PackedSpec spec = packed_spec(T);
    static constexpr bool wide16 = spec.wide16;
    static constexpr bool has_min = spec.has_min;
    // bias arrays hold -128 * sum; a zero point of 128 >> n needs bias >> n.
    static constexpr int bias_shift = spec.zero == 128  ? 0
                                      : spec.zero == 32 ? 2
                                      : spec.zero == 16 ? 3
                                      : spec.zero == 8  ? 4
                                                        : 5;
    static constexpr PairLayout layout = pair_layout(T);

    const uint8_t* pair;
    size_t group;  // 0 or 1

    static inline Unpacker at(const uint8_t* pair, size_t group) { return {pair, group}; }

    static inline __m512i book() {
        const int8_t* values = T == DType::mxfp4 ? mxfp4_values : iq4_values;
        return _mm512_broadcast_i32x4(_mm_xor_si128(
            _mm_loadu_si128(reinterpret_cast<const __m128i*>(values)), _mm_set1_epi8(-128)));
    }

    inline void quads(size_t block, __m512i v[8]) const {
        const uint8_t* p = pair + layout.low_of(block, group);
        const __m512i nibble = _mm512_set1_epi8(0x0f);
        if constexpr (spec.low_bits == 8) {
            for (int j = 0; j < 8; ++j) v[j] = _mm512_load_si512(p + 64 * j);
        } else if constexpr (spec.low_bits == 4) {
            for (int i = 0; i < 4; ++i) {
                const __m512i x = _mm512_load_si512(p + 64 * i);
                v[i] = _mm512_and_si512(x, nibble);
                v[i + 4] = _mm512_and_si512(_mm512_srli_epi16(x, 4), nibble);
            }
        } else {
            const __m512i two = _mm512_set1_epi8(3);
            for (int i = 0; i < 2; ++i) {
                const __m512i x = _mm512_load_si512(p + 64 * i);
                v[i] = _mm512_and_si512(x, two);
                v[i + 2] = _mm512_and_si512(_mm512_srli_epi16(x, 2), two);
                v[i + 4] = _mm512_and_si512(_mm512_srli_epi16(x, 4), two);
                v[i + 6] = _mm512_and_si512(_mm512_srli_epi16(x, 6), two);
            }
        }
        if constexpr (spec.high_bits == 1) {
            // bit j of H to bit low_bits of V_j
            constexpr int at_bit = spec.low_bits;
            const __m512i mask = _mm512_set1_epi8(static_cast<char>(1 << at_bit));
            const __m512i h = _mm512_load_si512(pair + layout.high_of(block, group));
            // Unrolled, so that the shift counts are constants.
#pragma GCC unroll 8
            for (int j = 0; j < 8; ++j) {
                const __m512i moved = j < at_bit
                                          ? _mm512_slli_epi16(h, static_cast<unsigned>(at_bit - j))
                                          : _mm512_srli_epi16(h, static_cast<unsigned>(j - at_bit));
                v[j] = _mm512_or_si512(v[j], _mm512_and_si512(moved, mask));
            }
        } else if constexpr (spec.high_bits == 2) {
            const __m512i mask = _mm512_set1_epi8(0x30);
#pragma GCC unroll 2
            for (int i = 0; i < 2; ++i) {
                const __m512i h = _mm512_load_si512(pair + layout.high_of(block, group) +
                                                    64 * static_cast<size_t>(i));
#pragma GCC unroll 4
                for (int j = 0; j < 4; ++j) {
                    const __m512i moved =
                        j < 2 ? _mm512_slli_epi16(h, static_cast<unsigned>(4 - 2 * j))
                              : _mm512_srli_epi16(h, static_cast<unsigned>(2 * j - 4));
                    v[4 * i + j] = _mm512_or_si512(v[4 * i + j], _mm512_and_si512(moved, mask));
                }
            }
        }
        if constexpr (spec.book) {
            const __m512i table = book();
            for (int j = 0; j < 8; ++j) v[j] = _mm512_shuffle_epi8(table, v[j]);
        }
    }

    static inline __m512 half(const uint8_t* p) {
        return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
    }
    static inline __m512 bytes_u(const uint8_t* p) {
        return _mm512_cvtepi32_ps(
            _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
    }
    static inline __m512 bytes_s(const uint8_t* p) {
        return _mm512_cvtepi32_ps(
            _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
    }

    // s[0], m[0] for the block; s[1], m[1] for its second half where wide16.
    inline void scales(size_t block, __m512 s[2], __m512 m[2]) const {
        const uint8_t* c = pair + layout.scale_of(block, group);
        const uint8_t* super = pair + layout.super_of(block, group);
        if constexpr (spec.scale == ScaleKind::f16) {
            s[0] = half(c);
        } else if constexpr (spec.scale == ScaleKind::f16_min) {
            s[0] = half(c);
            m[0] = half(c + 32);
        } else if constexpr (spec.scale == ScaleKind::e8m0) {
            // 2^(e-128) as the bits of an f32; e < 2 gives the subnormals 2^-128, 2^-127
            const __m512i e =
                _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(c)));
            const __m512i normal = _mm512_slli_epi32(_mm512_sub_epi32(e, _mm512_set1_epi32(1)), 23);
            const __m512i tiny = _mm512_sllv_epi32(_mm512_set1_epi32(0x00200000), e);
            s[0] = _mm512_castsi512_ps(_mm512_mask_mov_epi32(
                normal, _mm512_cmplt_epu32_mask(e, _mm512_set1_epi32(2)), tiny));
        } else if constexpr (spec.scale == ScaleKind::k4) {
            s[0] = _mm512_mul_ps(half(super), bytes_u(c));
            m[0] = negated(_mm512_mul_ps(half(super + 32), bytes_u(c + 16)));
        } else if constexpr (spec.scale == ScaleKind::k6) {
            const __m512 d = half(super);
            s[0] = _mm512_mul_ps(d, bytes_s(c));
            s[1] = _mm512_mul_ps(d, bytes_s(c + 16));
        } else if constexpr (spec.scale == ScaleKind::k2) {
            const __m512 d = half(super);
            const __m512 dmin = half(super + 32);
            for (int h = 0; h < 2; ++h) {
                const __m512i x = _mm512_cvtepu8_epi32(
                    _mm_loadu_si128(reinterpret_cast<const __m128i*>(c + 16 * h)));
                s[h] = _mm512_mul_ps(
                    d, _mm512_cvtepi32_ps(_mm512_and_si512(x, _mm512_set1_epi32(15))));
                m[h] = negated(_mm512_mul_ps(dmin, _mm512_cvtepi32_ps(_mm512_srli_epi32(x, 4))));
            }
        } else if constexpr (spec.scale == ScaleKind::xs) {
            s[0] = _mm512_mul_ps(half(super), bytes_s(c));
        }
    }

    // As an operator, so that the compiler can make it part of a fused multiply-add.
    static inline __m512 negated(__m512 x) { return -x; }
};

}  // namespace ridge::avx512
