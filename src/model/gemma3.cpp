// gemma3 (text): Gemma 3 270M, 1B, 4B, 12B, 27B.
//
// Embedding scaled by sqrt(hidden); norms before and after attention and FFN; RMS norm of each q
// and k head before RoPE (halves rotate); every 6th layer attends globally with rope.freq_base and
// the file's scaling (linear by 8 from 4B on), the others to a sliding window with base 10000 and
// none; GELU (tanh); tied head. The file's norm weights already hold 1 + w. A file without a window
// has global layers only.
#include <cmath>

#include "model/architectures.hpp"

namespace ridge {

Result<ModelProgram> build_gemma3(const GgufFile& file) {
    ProgramBuilder b(file, "gemma3");
    RIDGE_ASSIGN(const Dimensions d, read_dimensions(file, b));
    RIDGE_ASSIGN(const float base, b.real_or("rope.freq_base", 1e6f));
    RIDGE_ASSIGN(const float local_base, b.real_or("rope.freq_base_swa", 10000.0f));
    RIDGE_ASSIGN(const uint32_t window, b.uint_or("attention.sliding_window", 0, 0, 1u << 24));
    RIDGE_ASSIGN(const uint32_t pattern, b.uint_or("attention.sliding_window_pattern", 6, 1, 1000));
    RIDGE_ASSIGN(const float logit_cap, b.real_or_zero("final_logit_softcapping"));
    RIDGE_ASSIGN(const uint8_t global_table, read_rope_table(b, d, d.head_dim, base));
    const uint8_t local_table =
        window == 0 ? global_table
                    : b.rope_table({d.head_dim, static_cast<double>(local_base), 1.0});
    // 27B (62 layers) scales queries by hidden / heads instead of the head size.
    const float scale =
        1.0f / std::sqrt(static_cast<float>(d.layers == 62 ? d.hidden / d.heads : d.head_dim));

    const WeightId embedding = b.embedding("token_embd.weight", d.vocab, d.hidden);
    BufferId x = b.embed(embedding, std::sqrt(static_cast<float>(d.hidden)), d.hidden);
    for (uint32_t i = 0; i < d.layers; ++i) {
        const std::string p = "blk." + std::to_string(i) + ".";
        const bool global = window == 0 || (i + 1) % pattern == 0;
        const uint8_t table = global ? global_table : local_table;
        b.layer(static_cast<int>(i));
        const auto [q, k, v] = project(b, d, p, x, false);
        b.head_norm(q, b.vector(p + "attn_q_norm.weight", d.head_dim), d.epsilon);
        b.head_norm(k, b.vector(p + "attn_k_norm.weight", d.head_dim), d.epsilon);
        b.rope(q, table);
        b.rope(k, table);
        const BufferId a = b.attention(q, k, v, scale, global ? 0 : window);
        const BufferId o =
            b.product(a, b.matrix(p + "attn_output.weight", d.hidden, d.q_width()), "projected");
        x = b.add(x, b.norm(o, b.vector(p + "post_attention_norm.weight", d.hidden), d.epsilon));
        x = gelu_ffn(b, d, p, x);
    }
    return finish(b, d, embedding, x, logit_cap);
}

}  // namespace ridge
