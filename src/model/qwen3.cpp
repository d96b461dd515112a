// qwen3: the dense Qwen3 models (0.6B to 32B).
//
// llama with an RMS norm of each q and k head before RoPE, and RoPE of halves (pairs j, j +
// head/2). The heads together may be wider than the hidden size.
#include <cmath>

#include "model/architectures.hpp"

namespace ridge {

Result<ModelProgram> build_qwen3(const GgufFile& file) {
    ProgramBuilder b(file, "qwen3");
    RIDGE_ASSIGN(const Dimensions d, read_dimensions(file, b));
    RIDGE_ASSIGN(const float base, b.real_or("rope.freq_base", 1e6f));
    RIDGE_ASSIGN(const uint8_t table, read_rope_table(b, d, d.head_dim, base));
    const float scale = 1.0f / std::sqrt(static_cast<float>(d.head_dim));

    const WeightId embedding = b.embedding("token_embd.weight", d.vocab, d.hidden);
    BufferId x = b.embed(embedding, 1.0f, d.hidden);
    for (uint32_t i = 0; i < d.layers; ++i) {
        const std::string p = "blk." + std::to_string(i) + ".";
        b.layer(static_cast<int>(i));
        const auto [q, k, v] = project(b, d, p, x, false);
        b.head_norm(q, b.vector(p + "attn_q_norm.weight", d.head_dim), d.epsilon);
        b.head_norm(k, b.vector(p + "attn_k_norm.weight", d.head_dim), d.epsilon);
        b.rope(q, table);
        b.rope(k, table);
        const BufferId a = b.attention(q, k, v, scale, 0);
        x = b.add(x, b.product(a, b.matrix(p + "attn_output.weight", d.hidden, d.q_width()),
                               "projected"));
        x = silu_ffn(b, d, p, x);
    }
    return finish(b, d, embedding, x);
}

}  // namespace ridge
