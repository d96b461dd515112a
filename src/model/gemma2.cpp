// gemma2: Gemma 2 2B, 9B, 27B.
//
// Embedding scaled by sqrt(hidden); norms before and after attention and FFN; every second layer
// attends globally, the others to a sliding window; scores soft-capped (cap tanh(s / cap)), logits
// too; GELU (tanh); tied head. The file's norm weights already hold 1 + w.
#include <cmath>

#include "model/architectures.hpp"

namespace ridge {

Result<ModelProgram> build_gemma2(const GgufFile& file) {
    ProgramBuilder b(file, "gemma2");
    RIDGE_ASSIGN(const Dimensions d, read_dimensions(file, b));
    RIDGE_ASSIGN(const float base, b.real_or("rope.freq_base", 10000.0f));
    RIDGE_ASSIGN(const uint32_t window, b.uint_or("attention.sliding_window", 4096, 0, 1u << 24));
    RIDGE_ASSIGN(const uint32_t pattern, b.uint_or("attention.sliding_window_pattern", 2, 1, 1000));
    // Files from before the keys existed leave them out: as in llama.cpp, all Gemma 2 have these.
    RIDGE_ASSIGN(const float score_cap, b.real_or_zero("attn_logit_softcapping", 50.0f));
    RIDGE_ASSIGN(const float logit_cap, b.real_or_zero("final_logit_softcapping", 30.0f));
    RIDGE_ASSIGN(const uint8_t table, read_rope_table(b, d, d.head_dim, base));
    // 27B (46 layers) scales queries by hidden / heads instead of the head size.
    const float scale =
        1.0f / std::sqrt(static_cast<float>(d.layers == 46 ? d.hidden / d.heads : d.head_dim));

    const WeightId embedding = b.embedding("token_embd.weight", d.vocab, d.hidden);
    BufferId x = b.embed(embedding, std::sqrt(static_cast<float>(d.hidden)), d.hidden);
    for (uint32_t i = 0; i < d.layers; ++i) {
        const std::string p = "blk." + std::to_string(i) + ".";
        b.layer(static_cast<int>(i));
        const auto [q, k, v] = project(b, d, p, x, false);
        b.rope(q, table);
        b.rope(k, table);
        const bool global = (i + 1) % pattern == 0;
        const BufferId a = b.attention(q, k, v, scale, global ? 0 : window, score_cap);
        const BufferId o =
            b.product(a, b.matrix(p + "attn_output.weight", d.hidden, d.q_width()), "projected");
        x = b.add(x, b.norm(o, b.vector(p + "post_attention_norm.weight", d.hidden), d.epsilon));
        x = gelu_ffn(b, d, p, x);
    }
    return finish(b, d, embedding, x, logit_cap);
}

}  // namespace ridge
