// Unpackers: half a column group (8 columns) of a packed pair (packed.hpp) to operands.
//
// A quad of 64 bytes (16 columns x 4 k) is two 32-byte vectors, so a half is what one register
// holds. `quads` turns a block of 32 k into eight vectors of codes, `scales` gives f32 scales (two
// where a scale covers 16 k) and minima. What the codes are depends on the type, because
// vpmaddubsw adds two products of u8 x s8 in 16 bits with saturation and vpaddw wraps; |a| <= 127:
//
//   codes          types                       largest pair         quads summed in 16 bits
//   0..3, 0..7     q2_k, q3_k                  2*7*127   =  1778    4 (one 16-k scale)  =  7112
//   0..15          q4_0, q4_1, q4_k            2*15*127  =  3810    8                   = 30480
//   0..31          q5_0, q5_1, q5_k, mxfp4     2*31*127  =  7874    4                   = 31496
//   0..63          q6_k                        2*63*127  = 16002    2                   = 32004
//   -128..127      q8_0, iq4_nl, iq4_xs        2*128*127 = 32512    1
//
// all below 32767. Signed codes enter as |w| (u8, 128 included) times a with the sign of w, which
// vpsignb makes exactly since a is never -128. MXFP4's book (-12..12) is raised by 16 to be
// unsigned.
#pragma once

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "base/quant_blocks.hpp"
#include "kernels/packed.hpp"

namespace ridge::avx2 {

template <DType T>
struct Unpacker {
    static constexpr PackedSpec spec = packed_spec(T);
    static constexpr bool wide16 = spec.wide16;
    static constexpr bool has_min = spec.has_min;
    static constexpr bool is_signed = spec.low_bits == 8 || (spec.book && T != DType::mxfp4);
    static constexpr int zero = is_signed ? 0 : T == DType::mxfp4 ? 16 : spec.zero;
    static constexpr int bits = T == DType::mxfp4 ? 5 : spec.low_bits + spec.high_bits;
    static constexpr size_t depth = is_signed ? 1 : bits == 6 ? 2 : bits == 5 || wide16 ? 4 : 8;
    // act_row.hpp's bias arrays hold -128 * sum; a zero point of 128 >> n needs bias >> n.
    static constexpr int bias_shift = zero == 32 ? 2 : zero == 16 ? 3 : zero == 8 ? 4 : 5;
    static constexpr PairLayout layout = pair_layout(T);

    const uint8_t* pair;
    size_t group;  // 0 or 1

    static inline Unpacker at(const uint8_t* pair, size_t group) { return {pair, group}; }

    static inline __m256i load(const uint8_t* p) {
        return _mm256_load_si256(reinterpret_cast<const __m256i*>(p));
    }
    static inline __m128i load_half(const uint8_t* p) {
        return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    }
    static inline __m256i book() {
        const int8_t* values = T == DType::mxfp4 ? mxfp4_values : iq4_values;
        return _mm256_broadcastsi128_si256(
            _mm_add_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(values)),
                         _mm_set1_epi8(static_cast<char>(zero))));
    }

    // Bit `j` (of bit pairs: pair j) of every byte of `h` to bit `to` upwards; `mask` selects it.
    template <int J, int To>
    static inline __m256i lifted(__m256i h, __m256i mask) {
        constexpr int by = To - J * spec.high_bits;
        return _mm256_and_si256(by >= 0 ? _mm256_slli_epi16(h, by < 0 ? 0 : by)
                                        : _mm256_srli_epi16(h, by < 0 ? -by : 0),
                                mask);
    }

    // Codes of columns 8 * half .. 8 * half + 7.
    inline void quads(size_t block, size_t half, __m256i v[8]) const {
        const uint8_t* p = pair + layout.low_of(block, group) + 32 * half;
        const __m256i nibble = _mm256_set1_epi8(0x0f);
        if constexpr (spec.low_bits == 8) {
            const __m256i flip = _mm256_set1_epi8(-128);
            for (size_t j = 0; j < 8; ++j) v[j] = _mm256_xor_si256(load(p + 64 * j), flip);
        } else if constexpr (spec.low_bits == 4) {
            for (size_t i = 0; i < 4; ++i) {
                const __m256i x = load(p + 64 * i);
                v[i] = _mm256_and_si256(x, nibble);
                v[i + 4] = _mm256_and_si256(_mm256_srli_epi16(x, 4), nibble);
            }
        } else {
            const __m256i two = _mm256_set1_epi8(3);
            for (size_t i = 0; i < 2; ++i) {
                const __m256i x = load(p + 64 * i);
                v[i] = _mm256_and_si256(x, two);
                v[i + 2] = _mm256_and_si256(_mm256_srli_epi16(x, 2), two);
                v[i + 4] = _mm256_and_si256(_mm256_srli_epi16(x, 4), two);
                v[i + 6] = _mm256_and_si256(_mm256_srli_epi16(x, 6), two);
            }
        }
        if constexpr (spec.high_bits == 1) {
            constexpr int to = spec.low_bits;
            const __m256i mask = _mm256_set1_epi8(1 << to);
            const __m256i h = load(pair + layout.high_of(block, group) + 32 * half);
            v[0] = _mm256_or_si256(v[0], lifted<0, to>(h, mask));
            v[1] = _mm256_or_si256(v[1], lifted<1, to>(h, mask));
            v[2] = _mm256_or_si256(v[2], lifted<2, to>(h, mask));
            v[3] = _mm256_or_si256(v[3], lifted<3, to>(h, mask));
            v[4] = _mm256_or_si256(v[4], lifted<4, to>(h, mask));
            v[5] = _mm256_or_si256(v[5], lifted<5, to>(h, mask));
            v[6] = _mm256_or_si256(v[6], lifted<6, to>(h, mask));
            v[7] = _mm256_or_si256(v[7], lifted<7, to>(h, mask));
        } else if constexpr (spec.high_bits == 2) {
            const __m256i mask = _mm256_set1_epi8(0x30);
            for (size_t i = 0; i < 2; ++i) {
                const __m256i h = load(pair + layout.high_of(block, group) + 64 * i + 32 * half);
                v[4 * i] = _mm256_or_si256(v[4 * i], lifted<0, 4>(h, mask));
                v[4 * i + 1] = _mm256_or_si256(v[4 * i + 1], lifted<1, 4>(h, mask));
                v[4 * i + 2] = _mm256_or_si256(v[4 * i + 2], lifted<2, 4>(h, mask));
                v[4 * i + 3] = _mm256_or_si256(v[4 * i + 3], lifted<3, 4>(h, mask));
            }
        }
        if constexpr (spec.book) {
            const __m256i table = book();
            for (int j = 0; j < 8; ++j) v[j] = _mm256_shuffle_epi8(table, v[j]);
        }
    }

    static inline __m256 halves(const uint8_t* p) { return _mm256_cvtph_ps(load_half(p)); }
    static inline __m256i widen_u(const uint8_t* p) {
        return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
    }
    static inline __m256 bytes_u(const uint8_t* p) { return _mm256_cvtepi32_ps(widen_u(p)); }
    static inline __m256 bytes_s(const uint8_t* p) {
        return _mm256_cvtepi32_ps(
            _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
    }
    // As an operator, so that the compiler can make it part of a fused multiply-add.
    static inline __m256 negated(__m256 x) { return -x; }

    // s[0], m[0] for the block; s[1], m[1] for its second 16 k where wide16.
    inline void scales(size_t block, size_t half, __m256 s[2], __m256 m[2]) const {
        const uint8_t* c = pair + layout.scale_of(block, group);
        const uint8_t* d = pair + layout.super_of(block, group) + 16 * half;
        if constexpr (spec.scale == ScaleKind::f16) {
            s[0] = halves(c + 16 * half);
        } else if constexpr (spec.scale == ScaleKind::f16_min) {
            s[0] = halves(c + 16 * half);
            m[0] = halves(c + 16 * half + 32);
        } else if constexpr (spec.scale == ScaleKind::e8m0) {
            // 2^(e-128) as the bits of an f32; e < 2 gives the subnormals 2^-128, 2^-127
            const __m256i e = widen_u(c + 8 * half);
            const __m256i normal = _mm256_slli_epi32(_mm256_sub_epi32(e, _mm256_set1_epi32(1)), 23);
            const __m256i tiny = _mm256_sllv_epi32(_mm256_set1_epi32(0x00200000), e);
            s[0] = _mm256_castsi256_ps(
                _mm256_blendv_epi8(normal, tiny, _mm256_cmpgt_epi32(_mm256_set1_epi32(2), e)));
        } else if constexpr (spec.scale == ScaleKind::k4) {
            s[0] = _mm256_mul_ps(halves(d), bytes_u(c + 8 * half));
            m[0] = negated(_mm256_mul_ps(halves(d + 32), bytes_u(c + 16 + 8 * half)));
        } else if constexpr (spec.scale == ScaleKind::k6) {
            s[0] = _mm256_mul_ps(halves(d), bytes_s(c + 8 * half));
            s[1] = _mm256_mul_ps(halves(d), bytes_s(c + 16 + 8 * half));
        } else if constexpr (spec.scale == ScaleKind::k2) {
            for (size_t h = 0; h < 2; ++h) {
                const __m256i x = widen_u(c + 16 * h + 8 * half);
                const __m256i low4 = _mm256_and_si256(x, _mm256_set1_epi32(15));
                s[h] = _mm256_mul_ps(halves(d), _mm256_cvtepi32_ps(low4));
                m[h] = negated(
                    _mm256_mul_ps(halves(d + 32), _mm256_cvtepi32_ps(_mm256_srli_epi32(x, 4))));
            }
        } else if constexpr (spec.scale == ScaleKind::xs) {
            s[0] = _mm256_mul_ps(halves(d), bytes_s(c + 8 * half));
        }
    }
};

}  // namespace ridge::avx2
