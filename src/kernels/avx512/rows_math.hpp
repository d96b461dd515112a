// exp, tanh, tails and lane sums of the avx512 set. Freestanding; static: every translation unit
// its own.
//
// The algorithms, constants and error bounds are those of ref/rows_math.hpp in vector form with FMA
// (relative error of exp at most 2e-7, of tanh 4e-7): exp_neg(x) for x <= 0, exactly 0 below
// -87.33, NaN for NaN.
#pragma once

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

namespace ridge::avx512 {

// The lanes of a vector that starts `left` elements before the end; all when left >= 16.
static inline __mmask16 tail_mask(size_t left) {
    return left >= 16 ? static_cast<__mmask16>(0xffff) : static_cast<__mmask16>((1u << left) - 1u);
}

// A whole vector, as opposed to a mask: loads and stores without one.
struct AllLanes {};
static inline __m512 load(AllLanes, const float* x) {
    return _mm512_loadu_ps(x);
}
static inline __m512 load(__mmask16 mask, const float* x) {
    return _mm512_maskz_loadu_ps(mask, x);
}
static inline void store(AllLanes, float* x, __m512 v) {
    _mm512_storeu_ps(x, v);
}
static inline void store(__mmask16 mask, float* x, __m512 v) {
    _mm512_mask_storeu_ps(x, mask, v);
}

// body(lanes, i) for i = 0, 16, ... below n: AllLanes, then the mask of the tail if there is one.
template <class Body>
static inline void for_vectors(size_t n, Body body) {
    size_t i = 0;
    for (; i + 16 <= n; i += 16) body(AllLanes{}, i);
    if (i < n) body(tail_mask(n - i), i);
}

struct ExpParts {
    __m512 q;  // e^r - 1
    __m512 n;  // power of two, an integer
};

static inline ExpParts exp_parts(__m512 x) {
    const __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(1.44269504f)),
                                          _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693359375f), x);
    r = _mm512_fmadd_ps(n, _mm512_set1_ps(2.12194440e-4f), r);
    __m512 p = _mm512_set1_ps(1.392637600e-3f);
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(8.363333082e-3f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(4.166655346e-2f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.666657606e-1f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(5.0e-1f));
    return {_mm512_fmadd_ps(_mm512_mul_ps(r, r), p, r), n};
}

static inline __m512 exp_neg(__m512 x) {
    // Very negative and -inf lanes compute garbage that the mask replaces by zero.
    const __mmask16 normal = _mm512_cmp_ps_mask(x, _mm512_set1_ps(-87.33f), _CMP_NLT_UQ);
    const ExpParts e = exp_parts(x);
    return _mm512_maskz_scalef_ps(normal, _mm512_add_ps(e.q, _mm512_set1_ps(1.0f)), e.n);
}

// 1 / (1 + exp(-x)), stable for any magnitude: only exp(-|x|) is taken. The division runs
// beside the exponential's multiplications; a polynomial reciprocal would compete with them.
static inline __m512 sigmoid(__m512 x) {
    const __m512 one = _mm512_set1_ps(1.0f);
    const __mmask16 negative = _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_LT_OQ);
    const __m512 e = exp_neg(_mm512_or_ps(x, _mm512_set1_ps(-0.0f)));
    return _mm512_div_ps(_mm512_mask_mov_ps(one, negative, e), _mm512_add_ps(one, e));
}

// -t / (2 + t) with the sign of x, t = exp(-2|x|) - 1 without cancellation.
static inline __m512 tanh_f32(__m512 x) {
    const __m512 one = _mm512_set1_ps(1.0f);
    const __m512 twice = _mm512_mul_ps(_mm512_abs_ps(x), _mm512_set1_ps(-2.0f));
    // the second operand wins when one is NaN
    const ExpParts e = exp_parts(_mm512_max_ps(_mm512_set1_ps(-87.0f), twice));
    const __m512 power = _mm512_scalef_ps(one, e.n);
    const __m512 t = _mm512_fmadd_ps(power, e.q, _mm512_sub_ps(power, one));
    const __m512 magnitude = _mm512_div_ps(t, _mm512_add_ps(_mm512_set1_ps(2.0f), t));  // <= 0
    const __m512i sign = _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(INT32_MIN));
    const __m512i absolute =
        _mm512_andnot_si512(_mm512_set1_epi32(INT32_MIN), _mm512_castps_si512(magnitude));
    return _mm512_castsi512_ps(_mm512_or_si512(absolute, sign));
}

// Sum of the lanes as a fixed tree: halves, quarters, ...
static inline float lane_sum(__m512 v) {
    const __m256 a = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
    const __m128 b = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    const __m128 c = _mm_add_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_add_ss(c, _mm_movehdup_ps(c)));
}

static inline float lane_max(__m512 v) {
    const __m256 a = _mm256_max_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
    const __m128 b = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    const __m128 c = _mm_max_ps(b, _mm_movehl_ps(b, b));
    return _mm_cvtss_f32(_mm_max_ss(c, _mm_movehdup_ps(c)));
}

}  // namespace ridge::avx512
