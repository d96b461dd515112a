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
#include "kernels/kv_page.hpp"

namespace ridge {

// out[r][c] = sum over k of a[r][k] * W[c][k] for r < rows and the 16 * groups columns of `groups`
// consecutive column groups. `out` is f32 with `out_stride` floats a row, 64-byte aligned rows.
struct ProductArgs {
    const uint8_t* weights;  // first column group, packed (packed.hpp)
    size_t group_bytes;      // distance to the next group
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
    uint32_t stream_rows;  // up to so many rows the packed bytes are read straight through
};

// Row kernels: one token's vectors. n is a count of floats; no alignment is required.
struct RowKernels {
    const char* set;
    // y = x / sqrt(mean(x^2) + eps) * w, lanes summed in a fixed order. y may be x.
    void (*rms_norm)(const float* x, const float* w, size_t n, float eps, float* y);
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
    // Rotates pairs (i, i + n_rot/2), i < n_rot/2; cos_sin holds n_rot/2 cosines, then sines.
    void (*rope)(float* x, const float* cos_sin, size_t n_rot);
    // x = cap * tanh(x / cap)
    void (*softcap)(float* x, float cap, size_t n);
    // First index of the largest value (NaN never wins).
    uint32_t (*argmax)(const float* x, size_t n);
};

// Attention of `n_q` query vectors over one span of keys (kv_page.hpp): for each query i with
// visible keys [lo[i], hi[i]) of the span, s = q.k, m = max s, p = exp(s - m), l = sum p,
// o = sum p * v. Queries are pre-scaled by the softmax scale. A query without visible keys gets
// m = -inf, l = 0, o = 0. In the bf16 path (KvType bf16, int8) q and p are rounded to bf16.
struct AttendArgs {
    const uint8_t* page;  // K and V of one kv head over the span
    KvType type;
    uint32_t head_dim;
    const float* q;      // [n_q][q_stride]
    size_t q_stride;     // floats
    uint32_t n_q;        // 1 .. attend_max_queries
    const uint16_t* lo;  // visible keys of the span, 0 .. kv_span
    const uint16_t* hi;
    float* m;  // [n_q]
    float* l;  // [n_q]
    float* o;  // [n_q][o_stride], head_dim padded to 16 floats
    size_t o_stride;
    uint8_t* scratch;  // attend_scratch_bytes(head_dim), 64-byte aligned
};

inline constexpr uint32_t attend_max_queries = 32;
static constexpr size_t attend_scratch_bytes(size_t head_dim) {
    const size_t padded = (head_dim + 15) / 16 * 16;
    // scores f32, probabilities bf16, queries bf16, K and V converted to f32 or bf16
    return attend_max_queries * (kv_span * 6 + padded * 4) + kv_span * padded * 8 + 4096;
}

struct AttendKernels {
    const char* set;
    void (*span)(const AttendArgs&);
    // (m, l, o) += (m2, l2, o2), o of n floats: the online-softmax merge, later span second.
    void (*merge)(float* m, float* l, float* o, float m2, float l2, const float* o2, size_t n);
    // out = o * (1 / l), or zero where l == 0
    void (*finish)(float l, const float* o, float* out, size_t n);
    // Writes key and value of one position (slot 0 .. kv_span-1) into a page.
    void (*write)(uint8_t* page, KvType type, uint32_t head_dim, uint32_t slot, const float* k,
                  const float* v);
};

}  // namespace ridge
