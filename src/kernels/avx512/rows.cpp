// Row kernels of the avx512 set: one token's vectors, 16 lanes at a time with masked tails.
//
// All are bound by the L1 and L2 ports (a row is a few kilobytes); the exponentials cost about a
// dozen FMA-port operations for 16 values. Nothing is read or written past n, no alignment is
// required, and lane = index mod 16 everywhere, so that results do not depend on where a row lies.
// Magnitudes: see ref/rows.cpp; exponentials are taken of non-positive arguments only.
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/avx512/glu.hpp"
#include "kernels/avx512/quantize.hpp"
#include "kernels/avx512/set.hpp"

namespace ridge::avx512 {
namespace {

// A real square root and division, no estimates; the lanes' sums by a fixed tree.
__m512 inverse_rms(__m512 squares, size_t n, float eps) {
    const __m128 mean = _mm_set_ss(lane_sum(squares) / static_cast<float>(n) + eps);
    return _mm512_set1_ps(1.0f / _mm_cvtss_f32(_mm_sqrt_ss(mean)));
}

// Sixteen partial sums (lane = index mod 16), one FMA an element.
void rms_norm(const float* x, const float* w, size_t n, float eps, float* y) {
    __m512 sum = _mm512_setzero_ps();
    for_vectors(n, [&](auto lanes, size_t i) {
        const __m512 v = load(lanes, x + i);
        sum = _mm512_fmadd_ps(v, v, sum);
    });
    const __m512 inverse = inverse_rms(sum, n, eps);
    for_vectors(n, [&](auto lanes, size_t i) {
        const __m512 v = _mm512_mul_ps(load(lanes, x + i), inverse);
        store(lanes, y + i, _mm512_mul_ps(v, load(lanes, w + i)));
    });
}

void store_four(const FourBlocks& q, const Q8Fields& f, size_t b) {
    _mm512_storeu_si512(f.values + 32 * b, q.low);
    _mm512_storeu_si512(f.values + 32 * b + 64, q.high);
    _mm_storeu_ps(f.scale + b, q.scale);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(f.bias + b), q.bias);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(f.bias16 + 2 * b), q.bias16);
    _mm_storeu_ps(f.fsum + b, q.fsum);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(f.fsum16 + 2 * b), q.fsum16);
}

void quantize(const float* x, size_t n, uint8_t* row, size_t k, size_t block0) {
    const Q8Fields f = q8_fields(row, k, block0);
    size_t b = 0;
    for (; b + 4 <= n / 32; b += 4) {
        __m512 v[8];
        for (int i = 0; i < 8; ++i) v[i] = _mm512_loadu_ps(x + 32 * b + 16 * i);
        store_four(quantize_four(v), f, b);
    }
    for (; b < n / 32; ++b) quantize_block(x + 32 * b, f, b);
}

// Two passes over the row: sum, store and squares; then norm and quantization from registers.
void add_norm_q8(const float* x, const float* y, float* sum, const float* w, size_t n, float eps,
                 uint8_t* row, float* scratch) {
    const float* s = x;
    __m512 squares = _mm512_setzero_ps();
    if (y != nullptr) {
        float* out = sum != nullptr ? sum : scratch;
        s = out;
        for (size_t i = 0; i < n; i += 16) {
            const __m512 v = _mm512_add_ps(_mm512_loadu_ps(x + i), _mm512_loadu_ps(y + i));
            _mm512_storeu_ps(out + i, v);
            squares = _mm512_fmadd_ps(v, v, squares);
        }
    } else {
        for (size_t i = 0; i < n; i += 16) {
            const __m512 v = _mm512_loadu_ps(x + i);
            if (sum != nullptr) _mm512_storeu_ps(sum + i, v);
            squares = _mm512_fmadd_ps(v, v, squares);
        }
    }
    const __m512 inverse = inverse_rms(squares, n, eps);
    const Q8Fields f = q8_fields(row, n, 0);
    const auto normed = [&](size_t i) {
        return _mm512_mul_ps(_mm512_mul_ps(_mm512_loadu_ps(s + i), inverse),
                             _mm512_loadu_ps(w + i));
    };
    size_t b = 0;
    for (; b + 4 <= n / 32; b += 4) {
        __m512 v[8];
        for (size_t i = 0; i < 8; ++i) v[i] = normed(32 * b + 16 * i);
        store_four(quantize_four(v), f, b);
    }
    for (; b < n / 32; ++b) {
        alignas(64) float block[32];
        for (size_t i = 0; i < 32; i += 16) _mm512_store_ps(block + i, normed(32 * b + i));
        quantize_block(block, f, b);
    }
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
        store(lanes, gate + i, silu(load(lanes, gate + i), load(lanes, up + i)));
    });
}

void gelu_mul(float* gate, const float* up, size_t n) {
    for_vectors(n, [&](auto lanes, size_t i) {
        store(lanes, gate + i, gelu(load(lanes, gate + i), load(lanes, up + i)));
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

const RowKernels row_kernels = {
    "avx512", rms_norm, add_norm_q8,    quantize,       to_bf16, add,     scale,
    silu_mul, gelu_mul, glu_rows<silu>, glu_rows<gelu>, rope,    softcap, argmax};

}  // namespace ridge::avx512
