// llama: Llama 2/3, Mistral, TinyLlama, SmolLM and whatever else writes this architecture.
//
// x += Wo attention(rope(Wq h), rope(Wk h), Wv h), h = norm(x); x += Wdown(silu(Wgate h) * Wup h).
// The file keeps q and k rows in interleaved RoPE order (pairs 2j, 2j+1).
#include <cmath>

#include "model/architectures.hpp"

namespace ridge {

Result<ModelProgram> build_llama(const GgufFile& file) {
    ProgramBuilder b(file, "llama");
    RIDGE_ASSIGN(const Dimensions d, read_dimensions(file, b));
    RIDGE_ASSIGN(const float base, b.real_or("rope.freq_base", 10000.0f));
    RIDGE_ASSIGN(const uint32_t n_rot,
                 b.uint_or("rope.dimension_count", d.head_dim, 2, d.head_dim));
    RIDGE_ASSIGN(const uint32_t experts, b.uint_or("expert_count", 0, 0, 100000));
    if (experts > 0)
        return fail(ErrorCode::unsupported,
                    file.path() + ": mixture-of-experts llama models are not supported yet");
    RIDGE_TRY(refuse_rope_scaling(file, "llama"));
    if (n_rot % 2 != 0 || (n_rot != d.head_dim))
        return fail(ErrorCode::unsupported,
                    file.path() + ": llama.rope.dimension_count " + std::to_string(n_rot) +
                        " differs from the head size " + std::to_string(d.head_dim) +
                        "; partial rotation is not supported for llama yet");
    const uint8_t table = b.rope_table(n_rot, base, 1.0);
    const float scale = 1.0f / std::sqrt(static_cast<float>(d.head_dim));
    const uint32_t q_width = d.heads * d.head_dim;
    const uint32_t kv_width = d.kv_heads * d.head_dim;

    const WeightId embedding = b.embedding("token_embd.weight", d.vocab, d.hidden);
    BufferId x = b.embed(embedding, 1.0f, d.hidden);
    for (uint32_t i = 0; i < d.layers; ++i) {
        const std::string p = "blk." + std::to_string(i) + ".";
        b.layer(static_cast<int>(i));
        const BufferId h = b.norm(x, b.vector(p + "attn_norm.weight", d.hidden), d.epsilon);
        const BufferId q =
            b.product(h, b.matrix(p + "attn_q.weight", q_width, d.hidden, d.head_dim), "q",
                      b.vector_or_none(p + "attn_q.bias", q_width, d.head_dim));
        const BufferId k =
            b.product(h, b.matrix(p + "attn_k.weight", kv_width, d.hidden, d.head_dim), "k",
                      b.vector_or_none(p + "attn_k.bias", kv_width, d.head_dim));
        const BufferId v = b.product(h, b.matrix(p + "attn_v.weight", kv_width, d.hidden), "v",
                                     b.vector_or_none(p + "attn_v.bias", kv_width));
        b.rope(q, table);
        b.rope(k, table);
        const BufferId a = b.attention(q, k, v, scale, 0);
        x = b.add(x, b.product(a, b.matrix(p + "attn_output.weight", d.hidden, q_width),
                               "projected", b.vector_or_none(p + "attn_output.bias", d.hidden)));
        const BufferId f = b.norm(x, b.vector(p + "ffn_norm.weight", d.hidden), d.epsilon);
        const BufferId gate =
            b.product(f, b.matrix(p + "ffn_gate.weight", d.ffn, d.hidden), "gate");
        const BufferId up = b.product(f, b.matrix(p + "ffn_up.weight", d.ffn, d.hidden), "up");
        const BufferId g = b.glu(Op::silu_mul, gate, up);
        x = b.add(x, b.product(g, b.matrix(p + "ffn_down.weight", d.hidden, d.ffn), "down"));
    }
    b.layer(-1);
    const BufferId h = b.norm(x, b.vector("output_norm.weight", d.hidden), d.epsilon);
    const WeightId head =
        b.has_tensor("output.weight") ? b.matrix("output.weight", d.vocab, d.hidden) : embedding;
    b.logits(b.product(h, head, "logits"));
    return b.finish({d.heads, d.kv_heads, d.head_dim}, d.layers, d.hidden, d.vocab, d.context);
}

}  // namespace ridge
