// The kernel contract: a kernel is a record and one function. Freestanding.
//
// A record says what the kernel computes and what it needs; the caller owns threads, memory and
// scheduling. Sets (ref, avx2, avx512) list their kernels in kernels.inc; selection takes the first
// set of the chain whose requirements the machine meets (registry.hpp).
//
// What every kernel promises: a row's result does not depend on how many rows or columns are
// computed with it; K is folded in one fixed order; nothing is read past the extents given here.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/types.hpp"
#include "kernels/act_row.hpp"
#include "kernels/attend_contract.hpp"

namespace ridge {

// out[r][c] = sum over k of a[r][k] * W[c][k] for r < rows and the 16 * groups columns of `groups`
// column groups, the first of a pair and those behind it; an odd count leaves the second group of
// the last pair out. `out` is f32 with `out_stride` floats a row, 64-byte aligned rows.
struct ProductArgs {
    const uint8_t* weights;  // first pair of column groups, packed (packed.hpp)
    size_t pair_bytes;       // distance to the next pair
    size_t groups;           // >= 1
    size_t k;
    const uint8_t* act;  // rows in the kernel's ActFormat (act_row.hpp)
    size_t act_stride;   // bytes
    size_t rows;         // >= 1
    float* out;
    size_t out_stride;
    uint8_t* scratch;       // product_scratch_bytes(k), 64-byte aligned, private to the thread
    size_t prefetch_bytes;  // distance for streaming reads; 0 = none
};
using ProductFn = void (*)(const ProductArgs&);

// Scratch for one unpacked panel of `product_panel_groups` groups: codes or f32, scales, minima.
inline constexpr size_t product_panel_groups = 2;
static constexpr size_t product_scratch_bytes(size_t k) {
    return product_panel_groups * 16 * (k * 4 + (k / 16 + 1) * 8) + 256;
}

struct ProductKernel {
    const char* name;  // product_q8_<type>_<set>
    DType weight;
    ActFormat act;
    ProductFn run;
};

// Row kernels: one token's vectors. n is a count of floats; no alignment is required.
struct RowKernels {
    const char* set;
    // y = x / sqrt(mean(x^2) + eps) * w, lanes summed in a fixed order. y may be x.
    void (*rms_norm)(const float* x, const float* w, size_t n, float eps, float* y);
    // Residual, norm and quantization in one: s = x + y (s = x where y is null), stored to `sum`
    // unless that is null; q8 row of rms_norm(s, w). n a multiple of 32; `scratch` n floats,
    // 64-byte aligned. The bits are those of add, rms_norm and quantize one after the other.
    void (*add_norm_q8)(const float* x, const float* y, float* sum, const float* w, size_t n,
                        float eps, uint8_t* row, float* scratch);
    // q8 row (act_row.hpp) of x: one 32-block at a time, n a multiple of 32. `block0` and `n` place
    // a part of a row: values and per-block fields of blocks block0 .. block0 + n/32 of a row of k.
    void (*quantize)(const float* x, size_t n, uint8_t* row, size_t k, size_t block0);
    // bf16, round to nearest even; an odd n is followed by one zero.
    void (*to_bf16)(const float* x, size_t n, uint16_t* out);
    // x += y
    void (*add)(float* x, const float* y, size_t n);
    // x *= s
    void (*scale)(float* x, float s, size_t n);
    // gate = act(gate) * up; silu: g / (1 + exp(-g)); gelu: tanh form
    void (*silu_mul)(float* gate, const float* up, size_t n);
    void (*gelu_mul)(float* gate, const float* up, size_t n);
    // Unit, then quantization: row r of the tile, at tile + r * stride, holds gate 0..15, up 0..15,
    // gate 16..31, up 16..31; act(gate) * up becomes block `block` of q8 row r (of k values) of
    // `out`. The bits are those of silu_mul or gelu_mul followed by quantize.
    void (*silu_q8)(const float* tile, size_t stride, size_t rows, uint8_t* out, size_t out_stride,
                    size_t k, size_t block);
    void (*gelu_q8)(const float* tile, size_t stride, size_t rows, uint8_t* out, size_t out_stride,
                    size_t k, size_t block);
    // Rotates pairs (i, i + n_rot/2), i < n_rot/2; cos_sin holds n_rot/2 cosines, then sines.
    void (*rope)(float* x, const float* cos_sin, size_t n_rot);
    // x = cap * tanh(x / cap)
    void (*softcap)(float* x, float cap, size_t n);
    // First index of the largest value (NaN never wins).
    uint32_t (*argmax)(const float* x, size_t n);
};

}  // namespace ridge
