// The logical program: what a model computes for a batch of tokens, as a list of steps over named
// buffers. Knows nothing of any machine. Freestanding; storage belongs to whoever built it.
//
// Every buffer holds one row of `width` floats a token. A step reads whole buffers and writes one.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/types.hpp"

namespace ridge {

using BufferId = int16_t;
using WeightId = int16_t;
inline constexpr int16_t no_id = -1;

enum class Op : uint8_t {
    embed,      // out = weight[token] * value
    norm,       // out = rms(in0) * weight, epsilon = value
    product,    // out = weight . in0 (+ bias)
    head_norm,  // in0 in place: rms norm of each head of head_dim, epsilon = value
    rope,       // in0 in place: rotate each head by the table `table`
    attention,  // out = softmax(value * in0 . K) V; in1, in2: this token's key and value
    silu_mul,   // out = silu(in0) * in1
    gelu_mul,   // out = gelu_tanh(in0) * in1
    add,        // out = in0 + in1
    softcap,    // in0 in place: value * tanh(in0 / value)
    logits,     // marks in0 as the result; from the norm before it on, only the tokens asked for
};

struct Step {
    Op op;
    int16_t layer;  // -1 outside the layers
    BufferId in0, in1, in2, out;
    WeightId weight, bias;
    float value;
    uint32_t window;       // attention: keys with 0 <= position - key < window; 0 = all before
    uint8_t table;         // rope: index into Program::rope
    float softcap = 0.0f;  // attention: scores s become softcap * tanh(s / softcap); 0 = none
};

struct Buffer {
    const char* name;
    uint32_t width;
};

enum class WeightKind : uint8_t { matrix, vector, embedding };

struct Weight {
    const char* name;  // tensor name in the file
    WeightKind kind;
    uint32_t n;              // outputs (rows in the file); vector: 1
    uint32_t k;              // inputs; vector: length
    uint32_t rope_head;      // > 0: rows are heads of this size whose pairs (2j, 2j+1) rotate; they
                             // are read as (j, j + rope_head/2), the order every step here uses
    uint32_t first_row = 0;  // row of the file's tensor that output 0 is: several matrices in one
};

// magnitude times cos/sin of position * base^(-2i/n_rot) * frequency_scale / factors[i], i <
// n_rot/2; contexts of more than `long_context` positions take long_factors instead (LongRoPE).
// Null factors are ones.
struct RopeTable {
    uint32_t n_rot;
    double base;
    double frequency_scale;
    const double* factors = nullptr;
    const double* long_factors = nullptr;
    uint32_t long_context = UINT32_MAX;
    float magnitude = 1.0f;
};

struct AttentionShape {
    uint32_t heads, kv_heads, head_dim;
};

struct Program {
    const Step* steps;
    uint32_t n_steps;
    const Buffer* buffers;
    uint32_t n_buffers;
    const Weight* weights;
    uint32_t n_weights;
    const RopeTable* rope;
    uint32_t n_rope;
    AttentionShape attention;
    uint32_t layers;
    uint32_t hidden;
    uint32_t vocab;
    uint32_t context;  // positions the model was trained for
};

// Ordinary multiplications a token that the program's products need: 2 x weights used.
uint64_t product_ops(const Program& p);

}  // namespace ridge
