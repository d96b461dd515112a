// The contract of attention kernels (contract.hpp says what every kernel promises): preparing
// heads, writing the cache, attending to one span, merging spans. Freestanding.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "kernels/kv_page.hpp"

namespace ridge {

// Heads as attention takes them: y = scale * rope(norm(x)), norm and rope optional, for `heads`
// consecutive heads of each of `rows` consecutive positions. A head's bits do not depend on how
// many are prepared with it.
struct HeadArgs {
    const float* x;   // row r, head h at x + r * x_stride + h * head_dim
    size_t x_stride;  // floats
    uint32_t rows, heads, head_dim;
    const float* norm;     // head_dim weights of the root-mean-square norm, or null
    float epsilon;         // of the norm
    const float* cos_sin;  // n_rot / 2 cosines, then sines, for each row; rows follow each other
    uint32_t n_rot;        // pairs (i, i + n_rot / 2) are rotated; 0: none
    float scale;
    bool bf16;       // elements of out: bf16, round to nearest even; else f32
    void* out;       // [rows * heads][kv_padded(head_dim)], 64-byte aligned; padding becomes zero
    float* scratch;  // kv_padded(head_dim) floats
};

// Attention of `n_q` query vectors over one span of keys (kv_page.hpp): for each query i with
// visible keys [lo[i], hi[i]) of the span, s = q.k, m = max s, p = exp(s - m), l = sum p,
// o = sum p * v. Queries are pre-scaled by the softmax scale. With a soft-cap c, s = c tanh(q.k /
// c) (Gemma 2). A query without visible keys gets m = -inf, l = 0, o = 0. With bf16 and int8 pages
// (kv_paired) q and p are rounded to bf16.
struct AttendArgs {
    const uint8_t* page;  // K and V of one kv head over the span
    KvType type;
    uint32_t head_dim;
    const void* q;       // [n_q][kv_padded(head_dim)] of bf16 where kv_paired(type), else f32
    uint32_t n_q;        // 1 .. attend_max_queries
    const uint16_t* lo;  // visible keys of the span, 0 .. kv_span
    const uint16_t* hi;
    float* m;  // [n_q]
    float* l;  // [n_q]
    float* o;  // [n_q][o_stride], head_dim padded to 16 floats
    size_t o_stride;
    float softcap;     // of the scores; 0: none
    uint8_t* scratch;  // attend_scratch_bytes(head_dim), 64-byte aligned
};

inline constexpr uint32_t attend_max_queries = 32;
static constexpr size_t attend_scratch_bytes(size_t head_dim) {
    // scores f32 and probabilities bf16; K and V converted to bf16
    return attend_max_queries * kv_span * 6 + kv_span * kv_padded(head_dim) * 4 + 4096;
}

struct AttendKernels {
    const char* set;
    void (*heads)(const HeadArgs&);
    void (*span)(const AttendArgs&);
    // (m, l, o) += (m2, l2, o2), o of n floats: the online-softmax merge, later span second.
    void (*merge)(float* m, float* l, float* o, float m2, float l2, const float* o2, size_t n);
    // out = o * (1 / l), or zero where l == 0
    void (*finish)(float l, const float* o, float* out, size_t n);
    // Writes key and value of one position (slot 0 .. kv_span-1) into a page.
    void (*write)(uint8_t* page, KvType type, uint32_t head_dim, uint32_t slot, const float* k,
                  const float* v);
    // The same of the 16 positions of a key group: slots 16 group .. 16 group + 15; strides in
    // floats.
    void (*write_group)(uint8_t* page, KvType type, uint32_t head_dim, uint32_t group,
                        const float* k, size_t k_stride, const float* v, size_t v_stride);
};

}  // namespace ridge
