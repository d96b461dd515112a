// Quantization to q8 rows (act_row.hpp), one block or four at a time with the same bits.
//
// Four blocks share vectors for maxima, divisions and sums: about 24 operations a block instead of
// 60. The four may lie behind one another in a row, or in the same place of four rows.
#pragma once

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "base/half.hpp"
#include "kernels/act_row.hpp"
#include "kernels/avx512/rows_math.hpp"

namespace ridge::avx512 {

// 127 / absmax must not overflow: blocks below 2^-100 count as zero.
static constexpr float smallest_absmax = 7.888609e-31f;

// |q| <= 127 for finite input. NaN and infinity become the most negative integer; and beside a NaN,
// which may hide the largest value from a block's maximum, q is any integer: callers clamp.
static inline __m512i quanta(__m512 v, __m512 inverse) {
    return _mm512_cvt_roundps_epi32(_mm512_mul_ps(v, inverse),
                                    _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

// Where a row's fields for one block lie.
struct Q8Fields {
    uint8_t* values;
    float* scale;
    int32_t* bias;
    int32_t* bias16;
    float* fsum;
    uint16_t* fsum16;
};

static inline void quantize_block(const float* x, const Q8Fields& f, size_t b) {
    const __m512 v0 = _mm512_loadu_ps(x);
    const __m512 v1 = _mm512_loadu_ps(x + 16);
    const float absmax = lane_max(_mm512_max_ps(_mm512_abs_ps(v0), _mm512_abs_ps(v1)));
    const bool zero = !(absmax >= smallest_absmax);
    const __m512 inverse = _mm512_set1_ps(zero ? 0.0f : 127.0f / absmax);
    const float d = zero ? 0.0f : absmax / 127.0f;
    const __m512i least = _mm512_set1_epi32(-127);
    const __m512i most = _mm512_set1_epi32(127);
    const __m512i q0 = _mm512_min_epi32(_mm512_max_epi32(quanta(v0, inverse), least), most);
    const __m512i q1 = _mm512_min_epi32(_mm512_max_epi32(quanta(v1, inverse), least), most);
    auto* out = reinterpret_cast<__m128i*>(f.values + 32 * b);
    _mm_storeu_si128(out, _mm512_cvtepi32_epi8(q0));
    _mm_storeu_si128(out + 1, _mm512_cvtepi32_epi8(q1));
    const int32_t sum0 = _mm512_reduce_add_epi32(q0);
    const int32_t sum1 = _mm512_reduce_add_epi32(q1);
    f.scale[b] = d;
    f.bias[b] = -128 * (sum0 + sum1);
    f.bias16[2 * b] = -128 * sum0;
    f.bias16[2 * b + 1] = -128 * sum1;
    f.fsum[b] = d * static_cast<float>(sum0 + sum1);
    f.fsum16[2 * b] = bf16_from_f32(d * static_cast<float>(sum0));
    f.fsum16[2 * b + 1] = bf16_from_f32(d * static_cast<float>(sum1));
}

// Largest magnitude of four blocks, each in all four elements of its 128-bit lane.
static inline __m512 absmax_of_four(const __m512* v) {
    __m512 a[4];
    for (int b = 0; b < 4; ++b)
        a[b] = _mm512_max_ps(_mm512_abs_ps(v[2 * b]), _mm512_abs_ps(v[2 * b + 1]));
    const __m512 a01 = _mm512_max_ps(_mm512_shuffle_f32x4(a[0], a[1], 0x44),
                                     _mm512_shuffle_f32x4(a[0], a[1], 0xee));
    const __m512 a23 = _mm512_max_ps(_mm512_shuffle_f32x4(a[2], a[3], 0x44),
                                     _mm512_shuffle_f32x4(a[2], a[3], 0xee));
    __m512 all =
        _mm512_max_ps(_mm512_shuffle_f32x4(a01, a23, 0x88), _mm512_shuffle_f32x4(a01, a23, 0xdd));
    all = _mm512_max_ps(all, _mm512_permute_ps(all, 0x4e));
    return _mm512_max_ps(all, _mm512_permute_ps(all, 0xb1));
}

// 64 bytes in order of four vectors of 16 values; saturation and the maximum clamp to +-127.
static inline __m512i bytes_of(const __m512i* q) {
    const __m512i order = _mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0);
    const __m512i bytes = _mm512_permutexvar_epi32(
        order, _mm512_packs_epi16(_mm512_packs_epi32(q[0], q[1]), _mm512_packs_epi32(q[2], q[3])));
    return _mm512_max_epi8(bytes, _mm512_set1_epi8(-127));
}

// Four blocks: values in order, and per block its fields (two elements where they are per 16 k).
struct FourBlocks {
    __m512i low, high;  // values of blocks 0, 1 and 2, 3
    __m128 scale, fsum;
    __m128i bias;
    __m128i fsum16;
    __m256i bias16;
};

// The same operations on the same operands as quantize_block. v: two vectors a block.
static inline FourBlocks quantize_four(const __m512* v) {
    FourBlocks out;
    const __m512 absmax = absmax_of_four(v);
    const __mmask16 live = _mm512_cmp_ps_mask(absmax, _mm512_set1_ps(smallest_absmax), _CMP_GE_OQ);
    const __m512 most = _mm512_set1_ps(127.0f);
    const __m512 inverse = _mm512_maskz_div_ps(live, most, absmax);
    const __m512 d = _mm512_maskz_div_ps(live, absmax, most);
    const __m512 spread[4] = {
        _mm512_shuffle_f32x4(inverse, inverse, 0x00), _mm512_shuffle_f32x4(inverse, inverse, 0x55),
        _mm512_shuffle_f32x4(inverse, inverse, 0xaa), _mm512_shuffle_f32x4(inverse, inverse, 0xff)};
    __m512i q[8];
    for (int i = 0; i < 8; ++i) q[i] = quanta(v[i], spread[i / 2]);
    out.low = bytes_of(q);
    out.high = bytes_of(q + 4);
    // per 128-bit lane: sums of 16 bytes of low twice, then of high twice
    const __m512i ones = _mm512_set1_epi8(1);
    const __m512i low4 = _mm512_dpbusd_epi32(_mm512_setzero_si512(), ones, out.low);
    const __m512i high4 = _mm512_dpbusd_epi32(_mm512_setzero_si512(), ones, out.high);
    __m512i sums =
        _mm512_add_epi32(_mm512_unpacklo_epi64(low4, high4), _mm512_unpackhi_epi64(low4, high4));
    sums = _mm512_add_epi32(sums, _mm512_shuffle_epi32(sums, _MM_PERM_CDAB));
    // the eight sums of 16 in order, then first and second halves of the four blocks
    sums = _mm512_permutexvar_epi32(
        _mm512_set_epi32(14, 6, 12, 4, 10, 2, 8, 0, 14, 10, 6, 2, 12, 8, 4, 0), sums);
    const __m512 scales = _mm512_permutexvar_ps(
        _mm512_set_epi32(12, 8, 4, 0, 12, 8, 4, 0, 12, 12, 8, 8, 4, 4, 0, 0), d);
    const __m256i sum16 = _mm512_castsi512_si256(sums);
    const __m128i sum32 =
        _mm_add_epi32(_mm512_extracti32x4_epi32(sums, 2), _mm512_extracti32x4_epi32(sums, 3));
    out.scale = _mm512_extractf32x4_ps(scales, 2);
    out.bias = _mm_sub_epi32(_mm_setzero_si128(), _mm_slli_epi32(sum32, 7));
    out.bias16 = _mm256_sub_epi32(_mm256_setzero_si256(), _mm256_slli_epi32(sum16, 7));
    out.fsum = _mm_mul_ps(out.scale, _mm_cvtepi32_ps(sum32));
    out.fsum16 = (__m128i)_mm256_cvtneps_pbh(
        _mm256_mul_ps(_mm512_castps512_ps256(scales), _mm256_cvtepi32_ps(sum16)));
    return out;
}

static inline Q8Fields q8_fields(uint8_t* row, size_t k, size_t block) {
    const Q8Offsets at = q8_offsets(k);
    return {row + block * 32,
            reinterpret_cast<float*>(row + at.scale) + block,
            reinterpret_cast<int32_t*>(row + at.bias) + block,
            reinterpret_cast<int32_t*>(row + at.bias16) + 2 * block,
            reinterpret_cast<float*>(row + at.fsum) + block,
            reinterpret_cast<uint16_t*>(row + at.fsum16) + 2 * block};
}

}  // namespace ridge::avx512
