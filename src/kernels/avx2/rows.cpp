// Row kernels of the avx2 set: one token's vectors, 8 lanes at a time with masked tails.
//
// The arithmetic is that of avx512/rows.cpp; where an order of summation matters, 16 lanes are two
// vectors (lane = index mod 16). Nothing is read or written past n and no alignment is required.
// Magnitudes: see ref/rows.cpp; exponentials are taken of non-positive arguments only.
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "base/half.hpp"
#include "kernels/avx2/rows_math.hpp"
#include "kernels/avx2/set.hpp"
#include "kernels/fused_rows.hpp"

namespace ridge::avx2 {
namespace {

// Sixteen partial sums (lane = index mod 16), one FMA an element, then a fixed tree; real square
// root and division, no estimates.
void rms_norm(const float* x, const float* w, size_t n, float eps, float* y) {
    __m256 low = _mm256_setzero_ps();
    __m256 high = _mm256_setzero_ps();
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        const __m256 a = _mm256_loadu_ps(x + i);
        const __m256 b = _mm256_loadu_ps(x + i + 8);
        low = _mm256_fmadd_ps(a, a, low);
        high = _mm256_fmadd_ps(b, b, high);
    }
    const __m256 a = load(x + i, n - i);
    low = _mm256_fmadd_ps(a, a, low);
    if (n - i > 8) {
        const __m256 b = load(x + i + 8, n - i - 8);
        high = _mm256_fmadd_ps(b, b, high);
    }
    const __m128 mean = _mm_set_ss(lane_sum(low, high) / static_cast<float>(n) + eps);
    const __m256 inverse = _mm256_set1_ps(1.0f / _mm_cvtss_f32(_mm_sqrt_ss(mean)));
    for (i = 0; i < n; i += 8) {
        const size_t left = n - i;
        const __m256 v = _mm256_mul_ps(load(x + i, left), inverse);
        store(y + i, left, _mm256_mul_ps(v, load(w + i, left)));
    }
}

// 127 / absmax must not overflow: blocks below 2^-100 count as zero.
constexpr float smallest_absmax = 7.888609e-31f;

__m256i quanta(__m256 v, __m256 inverse) {
    const __m256 q =
        _mm256_round_ps(_mm256_mul_ps(v, inverse), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    // |q| <= 127 for finite input; NaN and infinity become the most negative integer
    return _mm256_min_epi32(_mm256_max_epi32(_mm256_cvtps_epi32(q), _mm256_set1_epi32(-127)),
                            _mm256_set1_epi32(127));
}

int32_t lane_sum_i32(__m256i v) {
    const __m128i a = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    const __m128i b = _mm_add_epi32(a, _mm_shuffle_epi32(a, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(b, _mm_shuffle_epi32(b, 0xb1)));
}

void quantize(const float* x, size_t n, uint8_t* row, size_t k, size_t block0) {
    const Q8Offsets at = q8_offsets(k);
    uint8_t* values = row + block0 * 32;
    auto* scale = reinterpret_cast<float*>(row + at.scale) + block0;
    auto* bias = reinterpret_cast<int32_t*>(row + at.bias) + block0;
    auto* bias16 = reinterpret_cast<int32_t*>(row + at.bias16) + 2 * block0;
    auto* fsum = reinterpret_cast<float*>(row + at.fsum) + block0;
    auto* fsum16 = reinterpret_cast<uint16_t*>(row + at.fsum16) + 2 * block0;
    for (size_t b = 0; b < n / 32; ++b, x += 32, values += 32) {
        const __m256 v0 = _mm256_loadu_ps(x);
        const __m256 v1 = _mm256_loadu_ps(x + 8);
        const __m256 v2 = _mm256_loadu_ps(x + 16);
        const __m256 v3 = _mm256_loadu_ps(x + 24);
        const float absmax = lane_max(_mm256_max_ps(_mm256_max_ps(absolute(v0), absolute(v1)),
                                                    _mm256_max_ps(absolute(v2), absolute(v3))));
        const bool zero = !(absmax >= smallest_absmax);
        const __m256 inverse = _mm256_set1_ps(zero ? 0.0f : 127.0f / absmax);
        const float d = zero ? 0.0f : absmax / 127.0f;
        const __m256i q0 = quanta(v0, inverse);
        const __m256i q1 = quanta(v1, inverse);
        const __m256i q2 = quanta(v2, inverse);
        const __m256i q3 = quanta(v3, inverse);
        // packs works within 128-bit halves: dwords come out as 0 4 8 12 ... of 4 values each
        const __m256i bytes =
            _mm256_packs_epi16(_mm256_packs_epi32(q0, q1), _mm256_packs_epi32(q2, q3));
        const __m256i order = _mm256_set_epi32(7, 3, 6, 2, 5, 1, 4, 0);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(values),
                            _mm256_permutevar8x32_epi32(bytes, order));
        const int32_t sum0 = lane_sum_i32(_mm256_add_epi32(q0, q1));
        const int32_t sum1 = lane_sum_i32(_mm256_add_epi32(q2, q3));
        scale[b] = d;
        bias[b] = -128 * (sum0 + sum1);
        bias16[2 * b] = -128 * sum0;
        bias16[2 * b + 1] = -128 * sum1;
        fsum[b] = d * static_cast<float>(sum0 + sum1);
        fsum16[2 * b] = bf16_from_f32(d * static_cast<float>(sum0));
        fsum16[2 * b + 1] = bf16_from_f32(d * static_cast<float>(sum1));
    }
}

void to_bf16(const float* x, size_t n, uint16_t* out) {
    size_t i = 0;
    for (; i + 16 <= n; i += 16)
        _mm256_storeu_si256(
            reinterpret_cast<__m256i*>(out + i),
            packed(bf16_lanes(_mm256_loadu_ps(x + i)), bf16_lanes(_mm256_loadu_ps(x + i + 8))));
    for (; i < n; ++i) out[i] = bf16_from_f32(x[i]);
    if (n % 2 != 0) out[n] = 0;
}

void add(float* x, const float* y, size_t n) {
    for (size_t i = 0; i < n; i += 8) {
        const size_t left = n - i;
        store(x + i, left, _mm256_add_ps(load(x + i, left), load(y + i, left)));
    }
}

void scale(float* x, float s, size_t n) {
    const __m256 factor = _mm256_set1_ps(s);
    for (size_t i = 0; i < n; i += 8) {
        const size_t left = n - i;
        store(x + i, left, _mm256_mul_ps(load(x + i, left), factor));
    }
}

void silu_mul(float* gate, const float* up, size_t n) {
    for (size_t i = 0; i < n; i += 8) {
        const size_t left = n - i;
        const __m256 g = load(gate + i, left);
        const __m256 y = _mm256_mul_ps(_mm256_mul_ps(g, sigmoid(g)), load(up + i, left));
        store(gate + i, left, y);
    }
}

// 0.5 x (1 + tanh(u)) = x sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3): nothing cancels.
void gelu_mul(float* gate, const float* up, size_t n) {
    for (size_t i = 0; i < n; i += 8) {
        const size_t left = n - i;
        const __m256 g = load(gate + i, left);
        const __m256 slope = _mm256_fmadd_ps(_mm256_mul_ps(g, g), _mm256_set1_ps(0.0713548163f),
                                             _mm256_set1_ps(1.59576912f));
        const __m256 y = _mm256_mul_ps(g, sigmoid(_mm256_mul_ps(g, slope)));
        store(gate + i, left, _mm256_mul_ps(y, load(up + i, left)));
    }
}

void rope(float* x, const float* cos_sin, size_t n_rot) {
    const size_t half = n_rot / 2;
    for (size_t i = 0; i < half; i += 8) {
        const size_t left = half - i;
        const __m256 c = load(cos_sin + i, left);
        const __m256 s = load(cos_sin + half + i, left);
        const __m256 a = load(x + i, left);
        const __m256 b = load(x + half + i, left);
        store(x + i, left, _mm256_fmsub_ps(a, c, _mm256_mul_ps(b, s)));
        store(x + half + i, left, _mm256_fmadd_ps(b, c, _mm256_mul_ps(a, s)));
    }
}

void softcap(float* x, float cap, size_t n) {
    const __m256 c = _mm256_set1_ps(cap);
    for (size_t i = 0; i < n; i += 8) {
        const size_t left = n - i;
        const __m256 v = _mm256_div_ps(load(x + i, left), c);
        store(x + i, left, _mm256_mul_ps(c, tanh_f32(v)));
    }
}

// Each lane keeps its first largest value; then the smallest index of the lanes that hold the
// largest of all. Comparisons with NaN are false, so NaN never wins.
uint32_t argmax(const float* x, size_t n) {
    const __m256 lowest = _mm256_set1_ps(-__builtin_inff());
    const __m256i lanes = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
    __m256 best = lowest;
    __m256i index = lanes;
    for (size_t i = 0; i < n; i += 8) {
        const size_t left = n - i;
        const __m256 v =
            _mm256_blendv_ps(lowest, load(x + i, left), _mm256_castsi256_ps(tail_mask(left)));
        const __m256 better = _mm256_cmp_ps(v, best, _CMP_GT_OQ);
        const __m256i here = _mm256_add_epi32(lanes, _mm256_set1_epi32(static_cast<int32_t>(i)));
        best = _mm256_blendv_ps(best, v, better);
        index = _mm256_blendv_epi8(index, here, _mm256_castps_si256(better));
    }
    const float top = lane_max(best);
    if (top == -__builtin_inff()) {  // nothing but -inf and NaN
        for (size_t i = 0; i < n; ++i)
            if (x[i] == x[i]) return static_cast<uint32_t>(i);
        return 0;
    }
    float values[8];
    uint32_t indices[8];
    _mm256_storeu_ps(values, best);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(indices), index);
    uint32_t winner = UINT32_MAX;
    for (size_t lane = 0; lane < 8; ++lane)
        if (values[lane] == top && indices[lane] < winner) winner = indices[lane];
    return winner;
}

}  // namespace

const RowKernels row_kernels = {"avx2",
                                rms_norm,
                                add_norm_rows<add, rms_norm, quantize>,
                                quantize,
                                to_bf16,
                                add,
                                scale,
                                silu_mul,
                                gelu_mul,
                                glu_rows<silu_mul, quantize>,
                                glu_rows<gelu_mul, quantize>,
                                rope,
                                softcap,
                                argmax};

}  // namespace ridge::avx2
