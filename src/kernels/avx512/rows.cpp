// Row kernels of the avx512 set: one token's vectors, 16 lanes at a time with masked tails.
//
// All are bound by the L1 and L2 ports (a row is a few kilobytes); the exponentials cost about a
// dozen FMA-port operations for 16 values. Nothing is read or written past n, no alignment is
// required, and lane = index mod 16 everywhere, so that results do not depend on where a row lies.
// Magnitudes: see ref/rows.cpp; exponentials are taken of non-positive arguments only.
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/avx512/rows_math.hpp"
#include "kernels/avx512/set.hpp"

namespace ridge::avx512 {
namespace {

// Sixteen partial sums (lane = index mod 16), one FMA an element, then a fixed tree; real square
// root and division, no estimates.
void rms_norm(const float* x, const float* w, size_t n, float eps, float* y) {
    __m512 sum = _mm512_setzero_ps();
    for_vectors(n, [&](auto lanes, size_t i) {
        const __m512 v = load(lanes, x + i);
        sum = _mm512_fmadd_ps(v, v, sum);
    });
    const __m128 mean = _mm_set_ss(lane_sum(sum) / static_cast<float>(n) + eps);
    const __m512 inverse = _mm512_set1_ps(1.0f / _mm_cvtss_f32(_mm_sqrt_ss(mean)));
    for_vectors(n, [&](auto lanes, size_t i) {
        const __m512 v = _mm512_mul_ps(load(lanes, x + i), inverse);
        store(lanes, y + i, _mm512_mul_ps(v, load(lanes, w + i)));
    });
}

// 127 / absmax must not overflow: blocks below 2^-100 count as zero.
constexpr float smallest_absmax = 7.888609e-31f;

// |q| <= 127 for finite input; NaN and infinity become the most negative integer.
__m512i quanta(__m512 v, __m512 inverse) {
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
    float* fsum16;
};

void quantize_block(const float* x, const Q8Fields& f, size_t b) {
    const __m512 v0 = _mm512_loadu_ps(x);
    const __m512 v1 = _mm512_loadu_ps(x + 16);
    const float absmax = lane_max(_mm512_max_ps(_mm512_abs_ps(v0), _mm512_abs_ps(v1)));
    const bool zero = !(absmax >= smallest_absmax);
    const __m512 inverse = _mm512_set1_ps(zero ? 0.0f : 127.0f / absmax);
    const float d = zero ? 0.0f : absmax / 127.0f;
    const __m512i lowest = _mm512_set1_epi32(-127);
    const __m512i q0 = _mm512_max_epi32(quanta(v0, inverse), lowest);
    const __m512i q1 = _mm512_max_epi32(quanta(v1, inverse), lowest);
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
    f.fsum16[2 * b] = d * static_cast<float>(sum0);
    f.fsum16[2 * b + 1] = d * static_cast<float>(sum1);
}

// Largest magnitude of four blocks, each in all four elements of its 128-bit lane.
__m512 absmax_of_four(const __m512* v) {
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
__m512i bytes_of(const __m512i* q) {
    const __m512i order = _mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0);
    const __m512i bytes = _mm512_permutexvar_epi32(
        order, _mm512_packs_epi16(_mm512_packs_epi32(q[0], q[1]), _mm512_packs_epi32(q[2], q[3])));
    return _mm512_max_epi8(bytes, _mm512_set1_epi8(-127));
}

// Blocks b .. b + 3: the same operations on the same operands as quantize_block, four blocks'
// maxima, divisions and sums sharing vectors (about 24 operations a block instead of 60).
void quantize_four(const float* x, const Q8Fields& f, size_t b) {
    __m512 v[8];
    for (int i = 0; i < 8; ++i) v[i] = _mm512_loadu_ps(x + 16 * i);
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
    const __m512i low = bytes_of(q);
    const __m512i high = bytes_of(q + 4);
    _mm512_storeu_si512(f.values + 32 * b, low);
    _mm512_storeu_si512(f.values + 32 * b + 64, high);
    // per 128-bit lane: sums of 16 bytes of low twice, then of high twice
    const __m512i ones = _mm512_set1_epi8(1);
    const __m512i low4 = _mm512_dpbusd_epi32(_mm512_setzero_si512(), ones, low);
    const __m512i high4 = _mm512_dpbusd_epi32(_mm512_setzero_si512(), ones, high);
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
    const __m128 scale = _mm512_extractf32x4_ps(scales, 2);
    _mm_storeu_ps(f.scale + b, scale);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(f.bias + b),
                     _mm_sub_epi32(_mm_setzero_si128(), _mm_slli_epi32(sum32, 7)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(f.bias16 + 2 * b),
                        _mm256_sub_epi32(_mm256_setzero_si256(), _mm256_slli_epi32(sum16, 7)));
    _mm_storeu_ps(f.fsum + b, _mm_mul_ps(scale, _mm_cvtepi32_ps(sum32)));
    _mm256_storeu_ps(f.fsum16 + 2 * b,
                     _mm256_mul_ps(_mm512_castps512_ps256(scales), _mm256_cvtepi32_ps(sum16)));
}

void quantize(const float* x, size_t n, uint8_t* row, size_t k, size_t block0) {
    const Q8Offsets at = q8_offsets(k);
    const Q8Fields fields = {row + block0 * 32,
                             reinterpret_cast<float*>(row + at.scale) + block0,
                             reinterpret_cast<int32_t*>(row + at.bias) + block0,
                             reinterpret_cast<int32_t*>(row + at.bias16) + 2 * block0,
                             reinterpret_cast<float*>(row + at.fsum) + block0,
                             reinterpret_cast<float*>(row + at.fsum16) + 2 * block0};
    size_t b = 0;
    for (; b + 4 <= n / 32; b += 4) quantize_four(x + 32 * b, fields, b);
    for (; b < n / 32; ++b) quantize_block(x + 32 * b, fields, b);
}

void to_bf16(const float* x, size_t n, uint16_t* out) {
    size_t i = 0;
    for (; i + 16 <= n; i += 16)
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i),
                            (__m256i)_mm512_cvtneps_pbh(_mm512_loadu_ps(x + i)));
    if (i == n) return;
    const __m512 v = _mm512_maskz_loadu_ps(tail_mask(n - i), x + i);
    _mm256_mask_storeu_epi16(out + i, tail_mask(n + n % 2 - i), (__m256i)_mm512_cvtneps_pbh(v));
}

void add(float* x, const float* y, size_t n) {
    for_vectors(n, [&](auto lanes, size_t i) {
        const __m512 sum = _mm512_add_ps(load(lanes, x + i), load(lanes, y + i));
        store(lanes, x + i, sum);
    });
}

void scale(float* x, float s, size_t n) {
    const __m512 factor = _mm512_set1_ps(s);
    for_vectors(n, [&](auto lanes, size_t i) {
        store(lanes, x + i, _mm512_mul_ps(load(lanes, x + i), factor));
    });
}

void silu_mul(float* gate, const float* up, size_t n) {
    for_vectors(n, [&](auto lanes, size_t i) {
        const __m512 g = load(lanes, gate + i);
        const __m512 y = _mm512_mul_ps(_mm512_mul_ps(g, sigmoid(g)), load(lanes, up + i));
        store(lanes, gate + i, y);
    });
}

// 0.5 x (1 + tanh(u)) = x sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3): nothing cancels.
void gelu_mul(float* gate, const float* up, size_t n) {
    for_vectors(n, [&](auto lanes, size_t i) {
        const __m512 g = load(lanes, gate + i);
        const __m512 slope = _mm512_fmadd_ps(_mm512_mul_ps(g, g), _mm512_set1_ps(0.0713548163f),
                                             _mm512_set1_ps(1.59576912f));
        const __m512 y = _mm512_mul_ps(g, sigmoid(_mm512_mul_ps(g, slope)));
        store(lanes, gate + i, _mm512_mul_ps(y, load(lanes, up + i)));
    });
}

void rope(float* x, const float* cos_sin, size_t n_rot) {
    const size_t half = n_rot / 2;
    for_vectors(half, [&](auto lanes, size_t i) {
        const __m512 c = load(lanes, cos_sin + i);
        const __m512 s = load(lanes, cos_sin + half + i);
        const __m512 a = load(lanes, x + i);
        const __m512 b = load(lanes, x + half + i);
        store(lanes, x + i, _mm512_fmsub_ps(a, c, _mm512_mul_ps(b, s)));
        store(lanes, x + half + i, _mm512_fmadd_ps(b, c, _mm512_mul_ps(a, s)));
    });
}

void softcap(float* x, float cap, size_t n) {
    const __m512 c = _mm512_set1_ps(cap);
    for_vectors(n, [&](auto lanes, size_t i) {
        const __m512 v = _mm512_div_ps(load(lanes, x + i), c);
        store(lanes, x + i, _mm512_mul_ps(c, tanh_f32(v)));
    });
}

// Each lane keeps its first largest value; then the smallest index of the lanes that hold the
// largest of all. Comparisons with NaN are false, so NaN never wins.
uint32_t argmax(const float* x, size_t n) {
    const __m512 lowest = _mm512_set1_ps(-__builtin_inff());
    const __m512i lanes = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    __m512 best = lowest;
    __m512i index = lanes;
    for (size_t i = 0; i < n; i += 16) {
        const __m512 v = _mm512_mask_loadu_ps(lowest, tail_mask(n - i), x + i);
        const __mmask16 better = _mm512_cmp_ps_mask(v, best, _CMP_GT_OQ);
        best = _mm512_mask_mov_ps(best, better, v);
        index = _mm512_mask_mov_epi32(
            index, better, _mm512_add_epi32(lanes, _mm512_set1_epi32(static_cast<int32_t>(i))));
    }
    const float top = lane_max(best);
    if (top == -__builtin_inff()) {  // nothing but -inf and NaN
        for (size_t i = 0; i < n; ++i)
            if (x[i] == x[i]) return static_cast<uint32_t>(i);
        return 0;
    }
    const __mmask16 winners = _mm512_cmp_ps_mask(best, _mm512_set1_ps(top), _CMP_EQ_OQ);
    return _mm512_mask_reduce_min_epu32(winners, index);
}

}  // namespace

const RowKernels row_kernels = {"avx512", rms_norm, quantize, to_bf16, add,   scale,
                                silu_mul, gelu_mul, rope,     softcap, argmax};

}  // namespace ridge::avx512
