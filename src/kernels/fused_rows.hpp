// A gated unit and its quantization (RowKernels::silu_q8, gelu_q8) row by row, from a set's own
// unit and quantizer. Freestanding.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace ridge {

template <void (*add)(float*, const float*, size_t),
          void (*rms_norm)(const float*, const float*, size_t, float, float*),
          void (*quantize)(const float*, size_t, uint8_t*, size_t, size_t)>
static inline void add_norm_rows(const float* x, const float* y, float* sum, const float* w,
                                 size_t n, float eps, uint8_t* row, float* scratch) {
    __builtin_memcpy(scratch, x, n * sizeof(float));
    if (y != nullptr) add(scratch, y, n);
    if (sum != nullptr) __builtin_memcpy(sum, scratch, n * sizeof(float));
    rms_norm(scratch, w, n, eps, scratch);
    quantize(scratch, n, row, n, 0);
}

template <void (*unit)(float*, const float*, size_t),
          void (*quantize)(const float*, size_t, uint8_t*, size_t, size_t)>
static inline void glu_rows(const float* tile, size_t stride, size_t rows, uint8_t* out,
                            size_t out_stride, size_t k, size_t block) {
    for (size_t r = 0; r < rows; ++r) {
        const float* x = tile + r * stride;
        float gate[32];
        for (size_t half = 0; half < 2; ++half) {
            __builtin_memcpy(gate + 16 * half, x + 32 * half, 64);
            unit(gate + 16 * half, x + 32 * half + 16, 16);
        }
        quantize(gate, 32, out + r * out_stride, k, block);
    }
}

}  // namespace ridge
