// What the architectures' decoders have in common.
#include "model/architectures.hpp"

namespace ridge {
namespace {

BufferId gated_ffn(ProgramBuilder& b, const Dimensions& d, const std::string& p, BufferId x,
                   Op unit) {
    const BufferId h = b.norm(x, b.vector(p + "ffn_norm.weight", d.hidden), d.epsilon);
    const BufferId gate = b.product(h, b.matrix(p + "ffn_gate.weight", d.ffn, d.hidden), "gate");
    const BufferId up = b.product(h, b.matrix(p + "ffn_up.weight", d.ffn, d.hidden), "up");
    return b.product(b.glu(unit, gate, up), b.matrix(p + "ffn_down.weight", d.hidden, d.ffn),
                     "down");
}

}  // namespace

Projections project(ProgramBuilder& b, const Dimensions& d, const std::string& p, BufferId x,
                    bool biases, uint32_t rope_head) {
    const BufferId h = b.norm(x, b.vector(p + "attn_norm.weight", d.hidden), d.epsilon);
    const auto product = [&](const char* name, uint32_t width, uint32_t head) {
        const std::string tensor = p + "attn_" + name;
        const WeightId w = b.matrix(tensor + ".weight", width, d.hidden, head);
        return b.product(h, w, name,
                         biases ? b.vector_or_none(tensor + ".bias", width, head) : no_id);
    };
    const BufferId q = product("q", d.q_width(), rope_head);
    const BufferId k = product("k", d.kv_width(), rope_head);
    return {q, k, product("v", d.kv_width(), 0)};
}

BufferId silu_ffn(ProgramBuilder& b, const Dimensions& d, const std::string& p, BufferId x) {
    return b.add(x, gated_ffn(b, d, p, x, Op::silu_mul));
}

BufferId gelu_ffn(ProgramBuilder& b, const Dimensions& d, const std::string& p, BufferId x) {
    const BufferId y = gated_ffn(b, d, p, x, Op::gelu_mul);
    return b.add(x, b.norm(y, b.vector(p + "post_ffw_norm.weight", d.hidden), d.epsilon));
}

Result<ModelProgram> finish(ProgramBuilder& b, const Dimensions& d, WeightId embedding, BufferId x,
                            float softcap) {
    b.layer(-1);
    const BufferId h = b.norm(x, b.vector("output_norm.weight", d.hidden), d.epsilon);
    const WeightId head =
        b.has_tensor("output.weight") ? b.matrix("output.weight", d.vocab, d.hidden) : embedding;
    const BufferId logits = b.product(h, head, "logits");
    if (softcap > 0.0f) b.softcap(logits, softcap);
    b.logits(logits);
    return b.finish({d.heads, d.kv_heads, d.head_dim}, d.layers, d.hidden, d.vocab, d.context);
}

}  // namespace ridge
