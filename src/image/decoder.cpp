#include "image/decoder.hpp"

#include <cmath>

#include "format/dequantize.hpp"

namespace ridge::image {
namespace {

const char* name_of(Op op) {
    constexpr const char* names[] = {"embed", "norm",      "product",  "head_norm",
                                     "rope",  "attention", "silu_mul", "gelu_mul",
                                     "add",   "softcap",   "logits"};
    return names[static_cast<size_t>(op)];
}

// Follows the data flow of a program: which step reads or writes a buffer.
class Flow {
  public:
    explicit Flow(const Program& p) : p_(p), used_(p.n_steps, false) {}

    // The only step of kind `op` that reads `in` (as in0, or as in1 where `second`), taken.
    const Step* reader(Op op, BufferId in, bool second = false) {
        for (uint32_t i = 0; i < p_.n_steps; ++i) {
            const Step& s = p_.steps[i];
            if (s.op == op && !used_[i] && (second ? s.in1 : s.in0) == in) return take(i);
        }
        return nullptr;
    }
    // The step of kind `op` that writes `out` and is not in place, taken.
    const Step* writer(Op op, BufferId out) {
        for (uint32_t i = 0; i < p_.n_steps; ++i) {
            const Step& s = p_.steps[i];
            if (s.op == op && !used_[i] && s.out == out && s.in0 != out) return take(i);
        }
        return nullptr;
    }
    const Step* first(Op op) {
        for (uint32_t i = 0; i < p_.n_steps; ++i)
            if (p_.steps[i].op == op && !used_[i]) return take(i);
        return nullptr;
    }
    const Step* left_over() const {
        for (uint32_t i = 0; i < p_.n_steps; ++i)
            if (!used_[i]) return &p_.steps[i];
        return nullptr;
    }

  private:
    const Step* take(uint32_t i) {
        used_[i] = true;
        return &p_.steps[i];
    }
    const Program& p_;
    std::vector<bool> used_;
};

Error lacks(const std::string& what, int layer) {
    return {ErrorCode::unsupported,
            "the board runs llama-shaped decoders (norm, attention with RoPE, silu-gated FFN), and "
            "this model has " +
                what + (layer >= 0 ? " in layer " + std::to_string(layer) : std::string())};
}

// One layer from residual x on; returns the residual it leaves.
Result<BufferId> recognise_layer(Flow& flow, const Program& p, int index, BufferId x,
                                 DecoderWeights::Layer& w, Decoder& d, DecoderLayer& out) {
    const auto no = [&](const std::string& what) {
        return tl::unexpected<Error>(lacks(what, index));
    };
    const Step* norm = flow.reader(Op::norm, x);
    if (!norm) return no("no norm before attention");
    const Step* attention = nullptr;
    for (uint32_t i = 0; i < p.n_steps && !attention; ++i)
        if (p.steps[i].op == Op::attention && p.steps[i].layer == index) {
            attention = flow.writer(Op::attention, p.steps[i].out);
        }
    if (!attention) return no("no attention");
    if (attention->window != 0) return no("attention in a window");
    if (attention->softcap != 0.0f) return no("soft-capped attention");
    const Step* q = flow.writer(Op::product, attention->in0);
    const Step* k = flow.writer(Op::product, attention->in1);
    const Step* v = flow.writer(Op::product, attention->in2);
    if (!q || !k || !v || q->in0 != norm->out || k->in0 != norm->out || v->in0 != norm->out)
        return no("queries, keys and values that are not three products of the norm's result");
    if (flow.reader(Op::head_norm, q->out) || flow.reader(Op::head_norm, k->out))
        return no("norms of queries and keys");
    const Step* rope_q = flow.reader(Op::rope, q->out);
    const Step* rope_k = flow.reader(Op::rope, k->out);
    if (!rope_q || !rope_k) return no("queries or keys without RoPE");
    const RopeTable& table = p.rope[rope_q->table];
    if (rope_q->table != rope_k->table || table.n_rot != p.attention.head_dim)
        return no("RoPE over a part of a head");
    if (table.long_factors != nullptr) return no("RoPE whose factors depend on the context");
    if (index > 0 && rope_q->table != d.rope_table) return no("another RoPE table than layer 0");
    if (table.magnitude != 1.0f) return no("RoPE that changes magnitudes");
    d.rope_table = rope_q->table;
    if (index > 0 && attention->value != d.attention_scale)
        return no("another attention scale than layer 0");
    d.attention_scale = attention->value;
    const Step* o = flow.reader(Op::product, attention->out);
    const Step* add = o ? flow.reader(Op::add, o->out, true) : nullptr;
    if (!add || add->in0 != x) return no("an attention output that is not added to the residual");

    const Step* norm2 = flow.reader(Op::norm, add->out);
    if (!norm2) return no("no norm before the FFN");
    const Step* glu = nullptr;
    for (uint32_t i = 0; i < p.n_steps && !glu; ++i)
        if (p.steps[i].op == Op::silu_mul && p.steps[i].layer == index)
            glu = flow.writer(Op::silu_mul, p.steps[i].out);
    if (!glu) return no("no FFN gated by silu");
    const Step* gate = flow.writer(Op::product, glu->in0);
    const Step* up = flow.writer(Op::product, glu->in1);
    const Step* down = flow.reader(Op::product, glu->out);
    if (!gate || !up || !down || gate->in0 != norm2->out || up->in0 != norm2->out)
        return no("an FFN that is not Wdown(silu(Wgate f) * Wup f)");
    const Step* add2 = flow.reader(Op::add, down->out, true);
    if (!add2 || add2->in0 != add->out) return no("an FFN that is not added to the residual");
    if (gate->bias != no_id || up->bias != no_id || down->bias != no_id)
        return no("biases in the FFN");
    const auto weight = [&](WeightId id) { return p.weights[static_cast<size_t>(id)]; };
    const uint32_t ffn = weight(gate->weight).n;
    if (index > 0 && ffn != d.ffn) return no("an FFN of another width than layer 0");
    d.ffn = ffn;
    out.attention_epsilon = norm->value;
    out.ffn_epsilon = norm2->value;
    w = {norm->weight, q->weight,    k->weight, v->weight, o->weight, norm2->weight, gate->weight,
         up->weight,   down->weight, q->bias,   k->bias,   v->bias,   o->bias};
    return add2->out;
}

Result<Matrix> read_matrix(const GgufFile& file, const Program& p, WeightId id) {
    if (id == no_id) return Matrix{};
    const Weight& w = p.weights[static_cast<size_t>(id)];
    const TensorInfo* t = file.find(w.name);
    if (t == nullptr) return fail(ErrorCode::internal, std::string(w.name) + " is gone");
    Matrix m{w.n, w.k, std::vector<float>(static_cast<size_t>(w.n) * w.k)};
    const size_t row_bytes = t->bytes / t->rows();  // several matrices may share a tensor's rows
    dequantize(t->type, t->data + w.first_row * row_bytes, m.values.size(), m.values.data());
    for (const float v : m.values)
        if (!std::isfinite(v))
            return fail(ErrorCode::bad_file,
                        file.path() + ": tensor '" + w.name + "' holds a value that is not finite");
    if (w.rope_head == 0) return m;
    // Interleaved pairs (2j, 2j + 1) become (j, j + half); a bias is one row of n values.
    const std::vector<float> from = m.values;
    const bool vector = w.kind == WeightKind::vector;
    const uint32_t rows = vector ? w.k : w.n;
    const size_t length = vector ? 1 : w.k;
    for (uint32_t r = 0; r < rows; ++r) {
        const uint32_t j = r % w.rope_head, half = w.rope_head / 2;
        const uint32_t source = r - j + (j < half ? 2 * j : 2 * (j - half) + 1);
        std::copy_n(&from[source * length], length, &m.values[r * length]);
    }
    return m;
}

}  // namespace

Result<DecoderWeights> recognise_decoder(const ModelProgram& model, Decoder& d) {
    const Program& p = model.program;
    d.layers = p.layers;
    d.hidden = p.hidden;
    d.vocab = p.vocab;
    d.context = p.context;
    d.heads = p.attention.heads;
    d.kv_heads = p.attention.kv_heads;
    d.head_dim = p.attention.head_dim;
    d.layer.resize(p.layers);
    DecoderWeights w{};
    w.layer.resize(p.layers);
    Flow flow(p);
    const auto no = [](const std::string& what) { return tl::unexpected<Error>(lacks(what, -1)); };
    const Step* embed = flow.first(Op::embed);
    if (!embed) return no("no embedding");
    w.embedding = embed->weight;
    d.embedding_scale = embed->value;
    BufferId x = embed->out;
    for (uint32_t i = 0; i < p.layers; ++i) {
        RIDGE_ASSIGN(x,
                     recognise_layer(flow, p, static_cast<int>(i), x, w.layer[i], d, d.layer[i]));
    }
    const Step* norm = flow.reader(Op::norm, x);
    const Step* head = norm ? flow.reader(Op::product, norm->out) : nullptr;
    const Step* logits = head ? flow.reader(Op::logits, head->out) : nullptr;
    if (!logits) return no("no norm and head behind its layers");
    if (head->bias != no_id) return no("a bias at the head");
    if (const Step* more = flow.left_over())
        return tl::unexpected<Error>(
            lacks("a step '" + std::string(name_of(more->op)) + "'", more->layer));
    w.final_norm = norm->weight;
    d.final_epsilon = norm->value;
    w.head = head->weight;
    d.tied = w.head == w.embedding;
    return w;
}

Result<Decoder> read_decoder(const GgufFile& file) {
    RIDGE_ASSIGN(const ModelProgram model, build_program(file));
    Decoder d;
    RIDGE_ASSIGN(const DecoderWeights w, recognise_decoder(model, d));
    const RopeTable& table = model.program.rope[d.rope_table];
    for (uint32_t i = 0; i < d.head_dim / 2; ++i)
        d.rope_frequency.push_back(
            std::pow(static_cast<long double>(table.base),
                     -2.0L * i / static_cast<long double>(d.head_dim)) *
            static_cast<long double>(table.frequency_scale) /
            static_cast<long double>(table.factors ? table.factors[i] : 1.0));
    const auto read = [&](WeightId id, Matrix& into) -> Status {
        RIDGE_ASSIGN(into, read_matrix(file, model.program, id));
        return {};
    };
    RIDGE_TRY(read(w.embedding, d.embedding));
    if (!d.tied) RIDGE_TRY(read(w.head, d.head));
    RIDGE_TRY(read(w.final_norm, d.final_norm));
    for (uint32_t i = 0; i < d.layers; ++i) {
        const DecoderWeights::Layer& from = w.layer[i];
        DecoderLayer& to = d.layer[i];
        const std::pair<WeightId, Matrix*> all[] = {{from.attention_norm, &to.attention_norm},
                                                    {from.q, &to.q},
                                                    {from.k, &to.k},
                                                    {from.v, &to.v},
                                                    {from.output, &to.output},
                                                    {from.ffn_norm, &to.ffn_norm},
                                                    {from.gate, &to.gate},
                                                    {from.up, &to.up},
                                                    {from.down, &to.down},
                                                    {from.q_bias, &to.q_bias},
                                                    {from.k_bias, &to.k_bias},
                                                    {from.v_bias, &to.v_bias},
                                                    {from.output_bias, &to.output_bias}};
        for (const auto& [id, into] : all) RIDGE_TRY(read(id, *into));
    }
    return d;
}

}  // namespace ridge::image
