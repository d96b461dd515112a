// The lowered program: a flat list of fused steps bound to kernels, weights and a memory plan.
// Freestanding: a firmware image is this list, serialised.
//
// Five kinds of step remain. A decoder layer is
//     prepare | product q,k,v | (rotate) | attend | prepare | product o | prepare | product
//     gate,up + GLU | product down
// Steps marked `replicate` are done by every thread for itself when few rows are computed (what is
// cheaper to do twice than to wait for) and then need no barrier: five barriers a layer in decode.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "kernels/contract.hpp"
#include "program/program.hpp"

namespace ridge {

enum class StepKind : uint8_t {
    embed,    // x = table[token] * scale
    prepare,  // x' = x + norm(y, post_norm) (each part optional); act = format(norm(x', norm))
    product,  // out = W act, up to three matrices side by side; or GLU of two into an act buffer
    rotate,   // large batches: head norm, RoPE, scale of q; key and value into the cache
    attend,   // attention over spans; small batches: with what rotate does
};

enum class Epilogue : uint8_t { store, silu_mul, gelu_mul };

inline constexpr uint32_t max_segments = 3;
// Up to so many rows, replicated steps are done by each thread.
inline constexpr uint32_t small_rows = 4;

// One matrix of a product step: its column groups 2p and 2p + 1 are pair p; in an interleaved step
// its group g is half of pair g.
struct Segment {
    WeightId weight;
    DType type;
    uint32_t n;             // output columns
    uint32_t groups;        // ceil(n / 16)
    uint32_t out_column;    // first column in the out buffer (multiple of 16)
    const uint8_t* packed;  // first pair that holds it; bound when weights are loaded
    size_t pair_bytes;
    const ProductKernel* kernel;
    const float* bias;  // n floats, or null
    WeightId bias_weight;
};

// What a step moves and computes; attention's part depends on positions and is in `attend` costs.
struct Cost {
    uint64_t weight_bytes;  // read once a pass, however many rows
    uint64_t row_bytes;     // read and written per row
    uint64_t row_int8_ops;  // multiply and add counted as two
    uint64_t row_bf16_ops;
    uint64_t row_f32_ops;
    uint64_t key_ops;    // attend: operations per row and visible key ...
    uint64_t key_bytes;  // ... and cache bytes per visible key (one pass over the keys)
    bool key_ops_bf16;   // else f32
};

struct LoweredStep {
    StepKind kind;
    bool replicate;
    bool head;        // works on the rows whose logits are asked for
    bool first_head;  // prepare: gathers those rows from all rows
    int16_t layer;

    // Buffers (indices into MemoryPlan); no_id where unused.
    BufferId x, y, x_out;  // prepare: residual in, pending product, residual out
    BufferId act;          // prepare: out; product: in
    BufferId out;          // product: f32 out, or act out with a GLU; attend: out; embed: out
    BufferId qkv;          // rotate, attend

    ActFormat format;      // of act
    ActFormat out_format;  // product with GLU: of out
    bool act_private;      // product: act comes from a replicated prepare
    uint32_t k;            // width of act: prepare and product
    uint32_t width;        // of x

    WeightId norm_weight, post_norm_weight, k_norm_weight;
    const float* norm;       // prepare: before the act; rotate/attend: q head norm
    const float* post_norm;  // prepare: of y
    const float* k_norm;     // rotate/attend: k head norm
    float epsilon;

    // embed
    WeightId table_weight;
    const uint8_t* table;  // packed pairs (tied head) or rows of the file
    size_t table_stride;   // pair or row bytes
    DType table_type;
    bool table_packed;
    void (*dequantize)(DType, const uint8_t*, size_t, float*);             // rows of the file
    void (*unpack_column)(DType, const uint8_t*, size_t, size_t, float*);  // packed pairs
    float scale;  // embed: factor; rotate/attend: softmax scale

    // product
    uint32_t n_segments;
    Segment segment[max_segments];
    Epilogue epilogue;
    bool interleaved;  // GLU: a pair is a group of gate and one of up (one type)
    float softcap;     // product: of the result; attend: of the scores; 0 = none

    // rotate, attend
    uint32_t heads, kv_heads, head_dim;
    uint32_t q_column, k_column, v_column;
    uint32_t window;
    uint32_t rope_table;
    uint32_t n_rot;
    uint32_t cache_layer;  // index into the KV cache's layers

    Cost cost;
};

// Pairs that segment i of a product step takes in memory: those of an interleaved step's second
// matrix are the first one's.
static inline uint32_t segment_pairs(const LoweredStep& s, uint32_t i) {
    if (s.interleaved) return i == 0 ? s.segment[0].groups : 0;
    return (s.segment[i].groups + 1) / 2;
}

// Where a buffer lives: row r of it is at arena + offset + r * row_bytes.
struct BufferPlan {
    const char* name;
    size_t offset;
    size_t row_bytes;
    uint32_t rows;  // rows reserved
};

struct MemoryPlan {
    const BufferPlan* buffers;
    uint32_t n_buffers;
    size_t arena_bytes;
    size_t act_bytes;      // largest act row: replicated prepares keep small_rows of them a thread
    size_t scratch_bytes;  // a thread's scratch, everything included
    size_t tile_bytes;     // ... of it: GLU tile
    size_t product_bytes;  // ... of it: product scratch
    size_t attend_bytes;   // ... of it: attention scratch
};

struct Lowered {
    const LoweredStep* steps;
    uint32_t n_steps;
    MemoryPlan memory;
    BufferId logits;
    uint32_t vocab;
    uint32_t max_rows;    // rows a pass may have
    uint32_t max_logits;  // of them with logits
};

// Operations and bytes of one step over `rows` rows with `keys` visible keys summed over the rows
// and `key_span` distinct keys read.
struct StepCost {
    double bytes, int8_ops, bf16_ops, f32_ops;
};
StepCost step_cost(const LoweredStep& s, uint32_t rows, uint64_t keys, uint64_t distinct_keys);

}  // namespace ridge
