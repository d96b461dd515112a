// A decoder as a board's firmware knows it: the one shape of program that boards run, recognised in
// a logical program by its data flow, and its weights as floats.
//
// x += Wo attention(rope(Wq h), rope(Wk h), Wv h), h = norm(x); x += Wdown(silu(Wgate f) * Wup f),
// f = norm(x); logits = Whead norm(x) at the end. Biases are optional.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "format/gguf.hpp"
#include "model/builder.hpp"

namespace ridge::image {

// A matrix or vector of the model in f32: rows of k values. Rows of q and k are in the order in
// which the pairs (j, j + head_dim / 2) rotate, whatever order the file has.
struct Matrix {
    uint32_t n = 0, k = 0;
    std::vector<float> values;

    const float* row(uint32_t i) const { return &values[static_cast<size_t>(i) * k]; }
    bool empty() const { return values.empty(); }
};

struct DecoderLayer {
    Matrix attention_norm, q, k, v, output, ffn_norm, gate, up, down;
    Matrix q_bias, k_bias, v_bias, output_bias;  // empty: none
    float attention_epsilon = 0, ffn_epsilon = 0;
};

struct Decoder {
    uint32_t layers = 0, hidden = 0, ffn = 0, heads = 0, kv_heads = 0, head_dim = 0;
    uint32_t vocab = 0, context = 0;
    uint8_t rope_table = 0;                   // of the program
    std::vector<long double> rope_frequency;  // radians a position, of each pair of a head
    float attention_scale = 0;                // scores are q . k times this
    float embedding_scale = 1;
    float final_epsilon = 0;
    bool tied = false;                   // the head is the embedding
    Matrix embedding, head, final_norm;  // head is empty where it is tied
    std::vector<DecoderLayer> layer;

    uint32_t q_width() const { return heads * head_dim; }
    uint32_t kv_width() const { return kv_heads * head_dim; }
    const Matrix& head_matrix() const { return tied ? embedding : head; }
};

// The weights a program reads, by role.
struct DecoderWeights {
    struct Layer {
        WeightId attention_norm, q, k, v, output, ffn_norm, gate, up, down;
        WeightId q_bias, k_bias, v_bias, output_bias;
    };
    WeightId embedding, head, final_norm;
    std::vector<Layer> layer;
};

// Finds the decoder in a program; shapes and scalars in `decoder`, no values. Error: unsupported,
// with the first step that a board's decoder does not have.
Result<DecoderWeights> recognise_decoder(const ModelProgram& model, Decoder& decoder);

// The decoder of a file, values dequantized. Errors: those of build_program and
// recognise_decoder; a weight that is not finite.
Result<Decoder> read_decoder(const GgufFile& file);

}  // namespace ridge::image
