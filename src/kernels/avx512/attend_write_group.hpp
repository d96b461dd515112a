// Writing the 16 positions of a key group into a KV page (kv_page.hpp) on AVX-512, with the bits
// that kv_write gives one by one. Freestanding; static: every translation unit its own.
//
// K is a transposition: 16 words of 32 bits (a pair of bf16 or int8, an f32 or a widened f16) of
// each of 16 keys become 16 vectors of one word of all keys, in 64 shuffles. V interleaves the two
// rows of a key pair. Every line of the page is written once and whole. int8: one scale a vector,
// as in attend_write.hpp. Bound: memory; about 4.5 operations for 16 values of K.
#pragma once

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/attend_write.hpp"
#include "kernels/avx512/rows_math.hpp"

namespace ridge::avx512 {

// v[i] word j becomes v[j] word i.
static inline void transpose_words(__m512i* v) {
    __m512i t[16];
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) {
        t[2 * i] = _mm512_unpacklo_epi32(v[2 * i], v[2 * i + 1]);
        t[2 * i + 1] = _mm512_unpackhi_epi32(v[2 * i], v[2 * i + 1]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        v[4 * i] = _mm512_unpacklo_epi64(t[4 * i], t[4 * i + 2]);
        v[4 * i + 1] = _mm512_unpackhi_epi64(t[4 * i], t[4 * i + 2]);
        v[4 * i + 2] = _mm512_unpacklo_epi64(t[4 * i + 1], t[4 * i + 3]);
        v[4 * i + 3] = _mm512_unpackhi_epi64(t[4 * i + 1], t[4 * i + 3]);
    }
    // v[4 i + j]: rows 4 i .. 4 i + 3 of columns j, j + 4, j + 8, j + 12
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
        t[j] = _mm512_shuffle_i32x4(v[j], v[j + 4], 0x88);
        t[j + 4] = _mm512_shuffle_i32x4(v[j + 8], v[j + 12], 0x88);
        t[j + 8] = _mm512_shuffle_i32x4(v[j], v[j + 4], 0xdd);
        t[j + 12] = _mm512_shuffle_i32x4(v[j + 8], v[j + 12], 0xdd);
    }
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
        v[j] = _mm512_shuffle_i32x4(t[j], t[j + 4], 0x88);
        v[j + 8] = _mm512_shuffle_i32x4(t[j], t[j + 4], 0xdd);
        v[j + 4] = _mm512_shuffle_i32x4(t[j + 8], t[j + 12], 0x88);
        v[j + 12] = _mm512_shuffle_i32x4(t[j + 8], t[j + 12], 0xdd);
    }
}

// kv_vector_scale of attend_write.hpp: the largest magnitude, NaN left out.
static inline float vector_scale(const float* x, uint32_t n, float* inverse) {
    __m512 top = _mm512_setzero_ps();
    for_vectors(n, [&](auto lanes, size_t i) {
        top = _mm512_max_ps(_mm512_abs_ps(load(lanes, x + i)), top);
    });
    const float absmax = lane_max(top);
    const bool zero = !(absmax >= 7.888609e-31f);
    *inverse = zero ? 0.0f : 127.0f / absmax;
    return zero ? 0.0f : absmax / 127.0f;
}

// kv_quantum of 16 values.
static inline __m128i quanta16(__m512 v, float inverse) {
    const int32_t magic = 0x4b400000;
    const __m512 shifted = _mm512_add_ps(_mm512_mul_ps(v, _mm512_set1_ps(inverse)),
                                         _mm512_set1_ps(f32_from_bits(magic)));
    const __m512i q = _mm512_sub_epi32(_mm512_castps_si512(shifted), _mm512_set1_epi32(magic));
    return _mm512_cvtepi32_epi8(
        _mm512_max_epi32(_mm512_min_epi32(q, _mm512_set1_epi32(127)), _mm512_set1_epi32(-127)));
}

static inline __m256i halves_of(__m512 v) {
    const __m512 most = _mm512_set1_ps(65504.0f);
    const __m512 least = _mm512_set1_ps(-65504.0f);
    return _mm512_cvtps_ph(_mm512_max_ps(least, _mm512_min_ps(most, v)),
                           _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

// Words w .. w + 15 of a key of `left` more values.
template <KvType type>
static inline __m512i key_words(const float* x, size_t left, float inverse) {
    const __m512 low = _mm512_maskz_loadu_ps(tail_mask(left), x);
    if constexpr (type == KvType::f32) return _mm512_castps_si512(low);
    if constexpr (type == KvType::f16) return _mm512_cvtepu16_epi32(halves_of(low));
    const __m512 high =
        left > 16 ? _mm512_maskz_loadu_ps(tail_mask(left - 16), x + 16) : _mm512_setzero_ps();
    if constexpr (type == KvType::bf16) return (__m512i)_mm512_cvtne2ps_pbh(high, low);
    return _mm512_cvtepu16_epi32(_mm256_set_m128i(quanta16(high, inverse), quanta16(low, inverse)));
}

template <KvType type>
static inline void write_keys(uint8_t* at, uint32_t head_dim, const float* k, size_t stride,
                              const float* inverse) {
    constexpr size_t pack = kv_paired(type) ? 2 : 1;
    constexpr size_t bytes = pack * kv_element_bytes(type);  // of a word in the page
    const size_t words = kv_k_rows(type, head_dim) / pack;
    for (size_t w = 0; w < words; w += 16) {
        __m512i v[16];
        for (size_t i = 0; i < 16; ++i)
            v[i] = key_words<type>(k + i * stride + w * pack, head_dim - w * pack, inverse[i]);
        transpose_words(v);
        for (size_t i = 0; i < 16 && w + i < words; ++i) {
            uint8_t* line = at + (w + i) * 16 * bytes;
            if constexpr (bytes == 4)
                _mm512_storeu_si512(line, v[i]);
            else
                _mm256_storeu_si256(reinterpret_cast<__m256i*>(line), _mm512_cvtepi32_epi16(v[i]));
        }
    }
}

template <KvType type>
static inline void write_values(uint8_t* at, uint32_t head_dim, const float* v, size_t stride,
                                const float* inverse) {
    constexpr size_t pack = kv_paired(type) ? 2 : 1;
    const size_t padded = kv_padded(head_dim);
    for (size_t i = 0; i < 16; i += pack)
        for (size_t d = 0; d < head_dim; d += 16) {
            const __mmask16 mask = tail_mask(head_dim - d);
            const __m512 a = _mm512_maskz_loadu_ps(mask, v + i * stride + d);
            uint8_t* to = at + (i * padded + d * pack) * kv_element_bytes(type);
            auto* to256 = reinterpret_cast<__m256i*>(to);
            if constexpr (type == KvType::f32) {
                _mm512_storeu_ps(to, a);
            } else if constexpr (type == KvType::f16) {
                _mm256_storeu_si256(to256, halves_of(a));
            } else {
                const __m512 b = _mm512_maskz_loadu_ps(mask, v + (i + 1) * stride + d);
                if constexpr (type == KvType::bf16) {
                    const __m512i even = _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(a));
                    const __m512i odd = _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(b));
                    _mm512_storeu_si512(to, _mm512_or_si512(even, _mm512_slli_epi32(odd, 16)));
                } else {
                    const __m128i even = quanta16(a, inverse[i]);
                    const __m128i odd = quanta16(b, inverse[i + 1]);
                    _mm256_storeu_si256(to256, _mm256_set_m128i(_mm_unpackhi_epi8(even, odd),
                                                                _mm_unpacklo_epi8(even, odd)));
                }
            }
        }
}

template <KvType type>
static inline void write_group_as(uint8_t* page, uint32_t head_dim, uint32_t group, const float* k,
                                  size_t k_stride, const float* v, size_t v_stride) {
    float k_inverse[16] = {};
    float v_inverse[16] = {};
    if constexpr (type == KvType::int8) {
        auto* scales = reinterpret_cast<float*>(page + kv_scale_offset(type, head_dim));
        for (size_t i = 0; i < 16; ++i) {
            scales[16 * group + i] = vector_scale(k + i * k_stride, head_dim, &k_inverse[i]);
            scales[kv_span + 16 * group + i] =
                vector_scale(v + i * v_stride, head_dim, &v_inverse[i]);
        }
    }
    constexpr size_t element = kv_element_bytes(type);
    const size_t k_bytes = kv_k_rows(type, head_dim) * element;  // of a key
    const size_t v_bytes = kv_padded(head_dim) * element;
    write_keys<type>(page + 16 * group * k_bytes, head_dim, k, k_stride, k_inverse);
    write_values<type>(page + kv_v_offset(type, head_dim) + 16 * group * v_bytes, head_dim, v,
                       v_stride, v_inverse);
}

static inline void write_group(uint8_t* page, KvType type, uint32_t head_dim, uint32_t group,
                               const float* k, size_t k_stride, const float* v, size_t v_stride) {
    const auto as = type == KvType::bf16  ? write_group_as<KvType::bf16>
                    : type == KvType::f16 ? write_group_as<KvType::f16>
                    : type == KvType::f32 ? write_group_as<KvType::f32>
                                          : write_group_as<KvType::int8>;
    as(page, head_dim, group, k, k_stride, v, v_stride);
}

}  // namespace ridge::avx512
