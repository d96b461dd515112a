// Heads prepared for attention (attend_contract.hpp) on AVX-512. Freestanding; static: every
// translation unit its own.
//
// One pass after the sum of squares: norm, rotation, scale and rounding of 16 pairs at a time in
// registers, the arithmetic of rms_norm, rope and scale (rows.cpp) in their order. What binds is
// where x lies: rows are a whole product row apart, so the lines of a later row are asked for while
// one is computed. Magnitudes: those of rms_norm; |y| <= |x| sqrt(2) scale without a norm.
#pragma once

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/attend_contract.hpp"
#include "kernels/avx512/rows_math.hpp"

namespace ridge::avx512 {

static inline void put(AllLanes, float* at, __m512 v) {
    _mm512_storeu_ps(at, v);
}
static inline void put(__mmask16 mask, float* at, __m512 v) {
    _mm512_mask_storeu_ps(at, mask, v);
}
static inline void put(AllLanes, uint16_t* at, __m512 v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(at), (__m256i)_mm512_cvtneps_pbh(v));
}
static inline void put(__mmask16 mask, uint16_t* at, __m512 v) {
    _mm256_mask_storeu_epi16(at, mask, (__m256i)_mm512_cvtneps_pbh(v));
}

template <class Out>
static inline void prepare_head(const HeadArgs& a, const float* x, const float* cos_sin, Out* out) {
    __m512 inverse = _mm512_setzero_ps();
    if (a.norm != nullptr) {
        __m512 sum = _mm512_setzero_ps();
        for_vectors(a.head_dim, [&](auto lanes, size_t i) {
            const __m512 v = load(lanes, x + i);
            sum = _mm512_fmadd_ps(v, v, sum);
        });
        const __m128 mean = _mm_set_ss(lane_sum(sum) / static_cast<float>(a.head_dim) + a.epsilon);
        inverse = _mm512_set1_ps(1.0f / _mm_cvtss_f32(_mm_sqrt_ss(mean)));
    }
    const auto normed = [&](auto lanes, size_t i) {
        const __m512 v = load(lanes, x + i);
        if (a.norm == nullptr) return v;
        return _mm512_mul_ps(_mm512_mul_ps(v, inverse), load(lanes, a.norm + i));
    };
    const __m512 scale = _mm512_set1_ps(a.scale);
    const size_t half = a.n_rot / 2;
    for_vectors(half, [&](auto lanes, size_t i) {
        const __m512 c = load(lanes, cos_sin + i);
        const __m512 s = load(lanes, cos_sin + half + i);
        const __m512 u = normed(lanes, i);
        const __m512 v = normed(lanes, half + i);
        const __m512 low = _mm512_fmsub_ps(u, c, _mm512_mul_ps(v, s));
        const __m512 high = _mm512_fmadd_ps(v, c, _mm512_mul_ps(u, s));
        put(lanes, out + i, _mm512_mul_ps(low, scale));
        put(lanes, out + half + i, _mm512_mul_ps(high, scale));
    });
    for_vectors(a.head_dim - 2 * half, [&](auto lanes, size_t i) {
        put(lanes, out + 2 * half + i, _mm512_mul_ps(normed(lanes, 2 * half + i), scale));
    });
    for (size_t d = a.head_dim; d < kv_padded(a.head_dim); ++d) out[d] = Out{};
}

template <class Out>
static inline void prepare_heads(const HeadArgs& a) {
    constexpr uint32_t ahead = 2;
    Out* out = static_cast<Out*>(a.out);
    for (uint32_t r = 0; r < a.rows; ++r)
        for (uint32_t h = 0; h < a.heads; ++h, out += kv_padded(a.head_dim)) {
            const float* x = a.x + r * a.x_stride + static_cast<size_t>(h) * a.head_dim;
            if (r + ahead < a.rows)
                for (size_t i = 0; i < a.head_dim; i += 16)
                    _mm_prefetch(reinterpret_cast<const char*>(x + ahead * a.x_stride + i),
                                 _MM_HINT_T0);
            prepare_head(a, x, a.cos_sin + static_cast<size_t>(r) * a.n_rot, out);
        }
}

static inline void heads(const HeadArgs& a) {
    return a.bf16 ? prepare_heads<uint16_t>(a) : prepare_heads<float>(a);
}

}  // namespace ridge::avx512
