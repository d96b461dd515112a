// Gated units, and the epilogue of a gate and up product: unit, then quantization, four rows at a
// time.
#pragma once

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/avx512/quantize.hpp"
#include "kernels/avx512/rows_math.hpp"

namespace ridge::avx512 {

static inline __m512 silu(__m512 gate, __m512 up) {
    return _mm512_mul_ps(_mm512_mul_ps(gate, sigmoid(gate)), up);
}

// 0.5 x (1 + tanh(u)) = x sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3): nothing cancels.
static inline __m512 gelu(__m512 gate, __m512 up) {
    const __m512 slope = _mm512_fmadd_ps(_mm512_mul_ps(gate, gate), _mm512_set1_ps(0.0713548163f),
                                         _mm512_set1_ps(1.59576912f));
    return _mm512_mul_ps(_mm512_mul_ps(gate, sigmoid(_mm512_mul_ps(gate, slope))), up);
}

// Row r of the tile: gate 0..15, up 0..15, gate 16..31, up 16..31; its products become block
// `block` of q8 row r of `out`. Four rows share the quantization's vectors; the division of the
// sigmoid and the four chains of the exponential overlap.
template <__m512 (*unit)(__m512, __m512)>
static void glu_rows(const float* tile, size_t stride, size_t rows, uint8_t* out, size_t out_stride,
                     size_t k, size_t block) {
    size_t r = 0;
    for (; r + 4 <= rows; r += 4) {
        __m512 v[8];
        for (size_t i = 0; i < 8; ++i) {
            const float* x = tile + (r + i / 2) * stride + i % 2 * 32;
            v[i] = unit(_mm512_loadu_ps(x), _mm512_loadu_ps(x + 16));
        }
        const FourBlocks q = quantize_four(v);
        alignas(64) uint8_t values[128];
        alignas(16) uint16_t fsum16[8];
        alignas(32) int32_t bias16[8];
        alignas(16) float scale[4], fsum[4];
        alignas(16) int32_t bias[4];
        _mm512_store_si512(values, q.low);
        _mm512_store_si512(values + 64, q.high);
        _mm_store_ps(scale, q.scale);
        _mm_store_ps(fsum, q.fsum);
        _mm_store_si128(reinterpret_cast<__m128i*>(fsum16), q.fsum16);
        _mm_store_si128(reinterpret_cast<__m128i*>(bias), q.bias);
        _mm256_store_si256(reinterpret_cast<__m256i*>(bias16), q.bias16);
        for (size_t i = 0; i < 4; ++i) {
            const Q8Fields f = q8_fields(out + (r + i) * out_stride, k, block);
            __builtin_memcpy(f.values, values + 32 * i, 32);
            *f.scale = scale[i];
            *f.bias = bias[i];
            __builtin_memcpy(f.bias16, bias16 + 2 * i, 8);
            *f.fsum = fsum[i];
            __builtin_memcpy(f.fsum16, fsum16 + 2 * i, 4);
        }
    }
    for (; r < rows; ++r) {
        alignas(64) float x[32];
        for (size_t h = 0; h < 2; ++h) {
            const float* gate = tile + r * stride + h * 32;
            _mm512_store_ps(x + 16 * h, unit(_mm512_loadu_ps(gate), _mm512_loadu_ps(gate + 16)));
        }
        quantize_block(x, q8_fields(out + r * out_stride, k, block), 0);
    }
}

}  // namespace ridge::avx512
