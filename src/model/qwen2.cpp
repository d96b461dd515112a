// qwen2: Qwen2, Qwen2.5 (0.5B to 72B, Coder, Math), and distillations into them.
//
// llama with biases of q, k and v, and RoPE of halves (pairs j, j + head/2).
#include <cmath>

#include "model/architectures.hpp"

namespace ridge {

Result<ModelProgram> build_qwen2(const GgufFile& file) {
    ProgramBuilder b(file, "qwen2");
    RIDGE_ASSIGN(const Dimensions d, read_dimensions(file, b));
    RIDGE_ASSIGN(const float base, b.real_or("rope.freq_base", 10000.0f));
    RIDGE_ASSIGN(const uint8_t table, read_rope_table(b, d, d.head_dim, base));
    const float scale = 1.0f / std::sqrt(static_cast<float>(d.head_dim));

    const WeightId embedding = b.embedding("token_embd.weight", d.vocab, d.hidden);
    BufferId x = b.embed(embedding, 1.0f, d.hidden);
    for (uint32_t i = 0; i < d.layers; ++i) {
        const std::string p = "blk." + std::to_string(i) + ".";
        b.layer(static_cast<int>(i));
        const auto [q, k, v] = project(b, d, p, x, true);
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
