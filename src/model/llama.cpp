// llama: Llama 2/3, Mistral, TinyLlama, SmolLM and whatever else writes this architecture.
//
// x += Wo attention(rope(Wq h), rope(Wk h), Wv h), h = norm(x); x += Wdown(silu(Wgate h) * Wup h).
// The file keeps q and k rows in interleaved RoPE order (pairs 2j, 2j+1). Mistral 7B v0.1 attended
// to a window of 4096; files do not say so, and like llama.cpp ridge then attends to everything.
#include <cmath>

#include "model/architectures.hpp"

namespace ridge {

Result<ModelProgram> build_llama(const GgufFile& file) {
    ProgramBuilder b(file, "llama");
    RIDGE_ASSIGN(const Dimensions d, read_dimensions(file, b));
    RIDGE_ASSIGN(const float base, b.real_or("rope.freq_base", 10000.0f));
    RIDGE_ASSIGN(const uint8_t table, read_rope_table(b, d, d.head_dim, base));
    const float scale = 1.0f / std::sqrt(static_cast<float>(d.head_dim));

    const WeightId embedding = b.embedding("token_embd.weight", d.vocab, d.hidden);
    BufferId x = b.embed(embedding, 1.0f, d.hidden);
    for (uint32_t i = 0; i < d.layers; ++i) {
        const std::string p = "blk." + std::to_string(i) + ".";
        b.layer(static_cast<int>(i));
        const auto [q, k, v] = project(b, d, p, x, true, d.head_dim);
        b.rope(q, table);
        b.rope(k, table);
        const BufferId a = b.attention(q, k, v, scale, 0);
        x = b.add(x, b.product(a, b.matrix(p + "attn_output.weight", d.hidden, d.q_width()),
                               "projected", b.vector_or_none(p + "attn_output.bias", d.hidden)));
        x = silu_ffn(b, d, p, x);
    }
    return finish(b, d, embedding, x);
}

}  // namespace ridge
