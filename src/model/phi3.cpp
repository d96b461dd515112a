// phi3: Phi-3 mini and medium, Phi-3.5 mini, Phi-4 and Phi-4-mini.
//
// llama with q, k and v in one tensor and gate and up in another, RoPE of halves over the first
// rope.dimension_count elements of a head (three quarters in Phi-4-mini), and LongRoPE in the
// models of 128k. A window that the file states is applied, as transformers does; llama.cpp ignores
// it (pull request 13676), which differs beyond 2047 tokens in Phi-3-mini-4k.
#include <cmath>

#include "model/architectures.hpp"

namespace ridge {

Result<ModelProgram> build_phi3(const GgufFile& file) {
    ProgramBuilder b(file, "phi3");
    RIDGE_ASSIGN(const Dimensions d, read_dimensions(file, b));
    RIDGE_ASSIGN(const float base, b.real_or("rope.freq_base", 10000.0f));
    RIDGE_ASSIGN(const uint32_t n_rot,
                 b.uint_or("rope.dimension_count", d.head_dim, 2, d.head_dim));
    if (n_rot % 2 != 0)
        return fail(ErrorCode::bad_file, file.path() + ": phi3.rope.dimension_count " +
                                             std::to_string(n_rot) + " must be even");
    RIDGE_ASSIGN(const uint32_t window, b.uint_or("attention.sliding_window", 0, 0, 1u << 24));
    RIDGE_ASSIGN(const uint8_t table, read_rope_table(b, d, n_rot, base));
    const float scale = 1.0f / std::sqrt(static_cast<float>(d.head_dim));
    const uint32_t rows = d.q_width() + 2 * d.kv_width();

    const WeightId embedding = b.embedding("token_embd.weight", d.vocab, d.hidden);
    BufferId x = b.embed(embedding, 1.0f, d.hidden);
    for (uint32_t i = 0; i < d.layers; ++i) {
        const std::string p = "blk." + std::to_string(i) + ".";
        b.layer(static_cast<int>(i));
        const auto part = [&](const char* name, uint32_t first, uint32_t n) {
            const std::string alone = p + "attn_" + name + ".weight";  // in files of early 2024
            return b.has_tensor(alone)
                       ? b.matrix(alone, n, d.hidden)
                       : b.matrix_part(p + "attn_qkv.weight", rows, first, n, d.hidden);
        };
        const BufferId h = b.norm(x, b.vector(p + "attn_norm.weight", d.hidden), d.epsilon);
        const BufferId q = b.product(h, part("q", 0, d.q_width()), "q");
        const BufferId k = b.product(h, part("k", d.q_width(), d.kv_width()), "k");
        const BufferId v = b.product(h, part("v", d.q_width() + d.kv_width(), d.kv_width()), "v");
        b.rope(q, table);
        b.rope(k, table);
        const BufferId a = b.attention(q, k, v, scale, window);
        x = b.add(x, b.product(a, b.matrix(p + "attn_output.weight", d.hidden, d.q_width()),
                               "projected"));
        const BufferId f = b.norm(x, b.vector(p + "ffn_norm.weight", d.hidden), d.epsilon);
        const auto half = [&](uint32_t first, const char* name) {
            return b.product(
                f, b.matrix_part(p + "ffn_up.weight", 2 * d.ffn, first, d.ffn, d.hidden), name);
        };
        const BufferId gate = half(0, "gate");
        const BufferId up = half(d.ffn, "up");
        x = b.add(x, b.product(b.glu(Op::silu_mul, gate, up),
                               b.matrix(p + "ffn_down.weight", d.hidden, d.ffn), "down"));
    }
    return finish(b, d, embedding, x);
}

}  // namespace ridge
