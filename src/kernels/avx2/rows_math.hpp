// exp, tanh, tails and lane sums of the avx2 set. Freestanding; static: every translation unit its
// own.
//
// The algorithms, constants and error bounds are those of ref/rows_math.hpp in vector form with FMA
// (relative error of exp at most 2e-7, of tanh 4e-7): exp_neg(x) for x <= 0, exactly 0 below
// -87.33, NaN for NaN.
#pragma once

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

namespace ridge::avx2 {

// Mask of the lanes of a vector that starts `left` elements before the end; all when left >= 8.
static inline __m256i tail_mask(size_t left) {
    const int32_t n = left >= 8 ? 8 : static_cast<int32_t>(left);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0));
}

// `left` elements from x, zeros after. Masked stores are slow on some processors: only tails use
// them.
static inline __m256 load(const float* x, size_t left) {
    return left >= 8 ? _mm256_loadu_ps(x) : _mm256_maskload_ps(x, tail_mask(left));
}
static inline void store(float* x, size_t left, __m256 v) {
    if (left >= 8)
        _mm256_storeu_ps(x, v);
    else
        _mm256_maskstore_ps(x, tail_mask(left), v);
}

struct ExpParts {
    __m256 q;      // e^r - 1
    __m256 power;  // 2^n
};

static inline ExpParts exp_parts(__m256 x) {
    const __m256 n = _mm256_round_ps(_mm256_mul_ps(x, _mm256_set1_ps(1.44269504f)),
                                     _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(0.693359375f), x);
    r = _mm256_fmadd_ps(n, _mm256_set1_ps(2.12194440e-4f), r);
    __m256 p = _mm256_set1_ps(1.392637600e-3f);
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(8.363333082e-3f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(4.166655346e-2f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.666657606e-1f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(5.0e-1f));
    const __m256i biased = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
    return {_mm256_fmadd_ps(_mm256_mul_ps(r, r), p, r),
            _mm256_castsi256_ps(_mm256_slli_epi32(biased, 23))};
}

static inline __m256 exp_neg(__m256 x) {
    // Very negative and -inf lanes compute garbage that the mask replaces by zero.
    const __m256 normal = _mm256_cmp_ps(x, _mm256_set1_ps(-87.33f), _CMP_NLT_UQ);
    const ExpParts e = exp_parts(x);
    return _mm256_and_ps(normal, _mm256_fmadd_ps(e.power, e.q, e.power));
}

static inline __m256 sign_bits() {
    return _mm256_castsi256_ps(_mm256_set1_epi32(INT32_MIN));
}

static inline __m256 absolute(__m256 x) {
    return _mm256_andnot_ps(sign_bits(), x);
}

// 1 / (1 + exp(-x)), stable for any magnitude: only exp(-|x|) is taken.
static inline __m256 sigmoid(__m256 x) {
    const __m256 one = _mm256_set1_ps(1.0f);
    const __m256 negative = _mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_LT_OQ);
    const __m256 e = exp_neg(_mm256_or_ps(sign_bits(), x));
    return _mm256_div_ps(_mm256_blendv_ps(one, e, negative), _mm256_add_ps(one, e));
}

// -t / (2 + t) with the sign of x, t = exp(-2|x|) - 1 without cancellation.
static inline __m256 tanh_f32(__m256 x) {
    const __m256 one = _mm256_set1_ps(1.0f);
    const __m256 twice = _mm256_mul_ps(absolute(x), _mm256_set1_ps(-2.0f));
    // the second operand wins when one is NaN
    const ExpParts e = exp_parts(_mm256_max_ps(_mm256_set1_ps(-87.0f), twice));
    const __m256 t = _mm256_fmadd_ps(e.power, e.q, _mm256_sub_ps(e.power, one));
    const __m256 magnitude = _mm256_div_ps(t, _mm256_add_ps(_mm256_set1_ps(2.0f), t));  // <= 0
    return _mm256_or_ps(absolute(magnitude), _mm256_and_ps(sign_bits(), x));
}

// Sum of 16 lanes held as two vectors, by the tree of the avx512 set.
static inline float lane_sum(__m256 low, __m256 high) {
    const __m256 a = _mm256_add_ps(low, high);
    const __m128 b = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    const __m128 c = _mm_add_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_add_ss(c, _mm_movehdup_ps(c)));
}

static inline float lane_max(__m256 a) {
    const __m128 b = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    const __m128 c = _mm_max_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_max_ss(c, _mm_movehdup_ps(c)));
}

// bf16 of eight floats in the low halves of 32-bit lanes, rounded to nearest even; NaN stays NaN.
static inline __m256i bf16_lanes(__m256 v) {
    const __m256i u = _mm256_castps_si256(v);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(u, 16), _mm256_set1_epi32(1));
    const __m256i bias = _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff));
    const __m256i rounded = _mm256_add_epi32(u, bias);
    const __m256i quiet = _mm256_or_si256(u, _mm256_set1_epi32(0x400000));
    const __m256 nan = _mm256_cmp_ps(v, v, _CMP_UNORD_Q);
    const __m256i all = _mm256_blendv_epi8(rounded, quiet, _mm256_castps_si256(nan));
    return _mm256_srli_epi32(all, 16);
}

// Sixteen bf16 in order from two vectors that hold eight each in the low halves of 32-bit lanes.
static inline __m256i packed(__m256i low, __m256i high) {
    return _mm256_permute4x64_epi64(_mm256_packus_epi32(low, high), 0xd8);
}

}  // namespace ridge::avx2
