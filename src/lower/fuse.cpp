// How fusion reads a program: norms and sums are lazy, they become part of the prepare step in
// front of the next product. `Value` says what a logical buffer is so far.
#include "lower/fuse.hpp"

#include <string>

#include "format/dequantize.hpp"
#include "kernels/packed.hpp"
#include "kernels/unpack_column.hpp"

namespace ridge {
namespace {

struct Value {
    enum class Kind {
        none,
        residual,
        product,
        post_normed,
        sum,
        normed,
        act,
        attention
    } kind = Kind::none;
    BufferId x = no_id;  // residual; or the product, attention output or act itself
    BufferId y = no_id;  // sum: pending product
    WeightId post_norm = no_id;
    WeightId norm = no_id;  // normed
    float epsilon = 0.0f;
    BufferId source = no_id;  // normed: logical buffer under the norm
    WeightId head_norm = no_id;
    uint32_t rope = UINT32_MAX;
    uint32_t column = 0;  // product: first column
    float scale = 0.0f;
};

class Fuser {
  public:
    Fuser(const Program& p, const GgufFile& file, const KernelChoice& kernels, bool f32)
        : p_(p), file_(file), kernels_(kernels), f32_(f32), values_(p.n_buffers) {}

    Result<FusedProgram> run() {
        for (uint32_t i = 0; i < p_.n_steps;) {
            RIDGE_ASSIGN(const uint32_t used, step(i));
            i += used;
        }
        if (out_.logits == no_id) return unexpected("it has no logits");
        return std::move(out_);
    }

  private:
    tl::unexpected<Error> unexpected(const std::string& what) const {
        return fail(ErrorCode::internal, "the program cannot be lowered: " + what);
    }
    Value& value(BufferId id) { return values_[static_cast<size_t>(id)]; }
    uint32_t width(BufferId id) const { return p_.buffers[id].width; }
    const Weight& weight(WeightId id) const { return p_.weights[id]; }
    DType type(WeightId id) const { return file_.find(weight(id).name)->type; }

    BufferId buffer(const char* name, size_t row_bytes, bool head = false) {
        out_.buffers.push_back({name, row_bytes, head});
        return static_cast<BufferId>(out_.buffers.size() - 1);
    }

    LoweredStep& push(StepKind kind, int16_t layer) {
        LoweredStep s{};
        s.kind = kind;
        s.layer = layer;
        s.x = s.y = s.x_out = s.act = s.out = s.qkv = no_id;
        s.norm_weight = s.post_norm_weight = s.k_norm_weight = s.table_weight = no_id;
        out_.steps.push_back(s);
        return out_.steps.back();
    }

    // Is the buffer read by an add (and so a norm over it a post-norm)?
    bool read_by_add(BufferId id) const {
        for (uint32_t i = 0; i < p_.n_steps; ++i)
            if (p_.steps[i].op == Op::add && p_.steps[i].in1 == id) return true;
        return false;
    }
    const Step* reader(BufferId id, Op op) const {
        for (uint32_t i = 0; i < p_.n_steps; ++i)
            if (p_.steps[i].op == op && p_.steps[i].in0 == id) return &p_.steps[i];
        return nullptr;
    }

    ActFormat format_for(const WeightId* weights, uint32_t n) const {
        if (f32_) return ActFormat::f32;
        const ActFormat first = preferred_act(type(weights[0]));
        for (uint32_t i = 1; i < n; ++i)
            if (preferred_act(type(weights[i])) != first) return ActFormat::f32;
        return first;
    }

    Result<uint32_t> step(uint32_t i);
    Status embed(const Step& s);
    Result<uint32_t> products(uint32_t first);
    Result<BufferId> prepare(BufferId in, ActFormat format, bool head, int16_t layer);
    Status attention(const Step& s);
    Status bind(LoweredStep& s, uint32_t at, WeightId w, WeightId bias, uint32_t column);

    const Program& p_;
    const GgufFile& file_;
    const KernelChoice& kernels_;
    bool f32_;
    std::vector<Value> values_;
    FusedProgram out_;
    uint32_t cache_layers_ = 0;
};

Result<uint32_t> Fuser::step(uint32_t i) {
    const Step& s = p_.steps[i];
    switch (s.op) {
        case Op::embed:
            RIDGE_TRY(embed(s));
            return 1u;
        case Op::product:
            return products(i);
        case Op::attention:
            RIDGE_TRY(attention(s));
            return 1u;
        case Op::head_norm:
            value(s.in0).head_norm = s.weight;
            value(s.in0).epsilon = s.value;
            return 1u;
        case Op::rope:
            value(s.in0).rope = s.table;
            return 1u;
        case Op::softcap:
            if (out_.steps.empty() || out_.steps.back().out != value(s.in0).x)
                return unexpected("soft-capping of something other than the last product");
            out_.steps.back().softcap = s.value;
            return 1u;
        case Op::logits:
            out_.logits = value(s.in0).x;
            return 1u;
        case Op::norm: {
            Value v = value(s.in0);
            if (v.kind == Value::Kind::product && read_by_add(s.out)) {
                v.kind = Value::Kind::post_normed;
                v.post_norm = s.weight;
            } else {
                v.kind = Value::Kind::normed;
                v.norm = s.weight;
                v.source = s.in0;
            }
            v.epsilon = s.value;
            value(s.out) = v;
            return 1u;
        }
        case Op::add: {
            const Value& x = value(s.in0);
            const Value& y = value(s.in1);
            if (x.kind != Value::Kind::residual ||
                (y.kind != Value::Kind::product && y.kind != Value::Kind::post_normed))
                return unexpected("an addition that is not residual + product");
            Value v;
            v.kind = Value::Kind::sum;
            v.x = x.x;
            v.y = y.x;
            v.post_norm = y.post_norm;
            v.epsilon = y.epsilon;
            value(s.out) = v;
            return 1u;
        }
        case Op::silu_mul:
        case Op::gelu_mul:
            return unexpected("a gated unit apart from its products");
    }
    return unexpected("unknown step");
}

Status Fuser::embed(const Step& s) {
    LoweredStep& l = push(StepKind::embed, s.layer);
    l.width = width(s.out);
    l.out = buffer("x", l.width * 4ull);
    l.table_weight = s.weight;
    l.table_type = type(s.weight);
    l.dequantize = dequantize;
    l.unpack_column = unpack_column;
    l.scale = s.value;
    // Stored once: a tied head's packed pairs are the table.
    for (uint32_t i = 0; i < p_.n_steps; ++i)
        if (p_.steps[i].op == Op::product && p_.steps[i].weight == s.weight) l.table_packed = true;
    value(s.out).kind = Value::Kind::residual;
    value(s.out).x = l.out;
    return {};
}

// The step that turns logical buffer `in` into activations.
Result<BufferId> Fuser::prepare(BufferId in, ActFormat format, bool head, int16_t layer) {
    const Value v = value(in);
    const uint32_t k = width(in);
    LoweredStep& s = push(StepKind::prepare, layer);
    s.replicate = true;
    s.head = s.first_head = head;
    s.format = format;
    s.k = s.width = k;
    s.act = buffer("act", act_row_bytes(format, k), head);
    if (v.kind == Value::Kind::attention) {
        s.x = v.x;
        return s.act;
    }
    if (v.kind != Value::Kind::normed) return unexpected("a product of something not normed");
    s.norm_weight = v.norm;
    s.epsilon = v.epsilon;
    const Value base = value(v.source);
    s.x = base.x;
    if (base.kind == Value::Kind::sum) {
        s.y = base.y;
        s.post_norm_weight = base.post_norm;
        if (!head) s.x_out = buffer("x", k * 4ull);
        Value& now = value(v.source);
        now = Value{};
        now.kind = Value::Kind::residual;
        now.x = s.x_out;
    } else if (base.kind != Value::Kind::residual) {
        return unexpected("a norm of something that is not the residual stream");
    }
    return s.act;
}

Status Fuser::bind(LoweredStep& s, uint32_t at, WeightId w, WeightId bias, uint32_t column) {
    Segment& g = s.segment[at];
    g.weight = w;
    g.bias_weight = bias;
    g.type = type(w);
    g.n = weight(w).n;
    g.groups = (g.n + 15) / 16;
    g.out_column = column;
    g.pair_bytes = pair_bytes(g.type, s.k);
    g.kernel = kernels_.product(g.type, s.format);
    if (g.kernel == nullptr)
        return fail(ErrorCode::unsupported, std::string("no kernel multiplies ") + name(g.type) +
                                                " weights (tensor '" + weight(w).name + "')");
    return {};
}

// Consecutive products of one input: q, k, v; gate and up with their unit; or one alone.
Result<uint32_t> Fuser::products(uint32_t first) {
    const Step& s0 = p_.steps[first];
    uint32_t n = 1;
    while (n < max_segments && first + n < p_.n_steps && p_.steps[first + n].op == Op::product &&
           p_.steps[first + n].in0 == s0.in0)
        ++n;
    WeightId weights[max_segments] = {};
    for (uint32_t i = 0; i < n; ++i) weights[i] = p_.steps[first + i].weight;
    const Step* next = first + n < p_.n_steps ? &p_.steps[first + n] : nullptr;
    const bool glu = n == 2 && next != nullptr &&
                     (next->op == Op::silu_mul || next->op == Op::gelu_mul) &&
                     next->in0 == s0.out && next->in1 == p_.steps[first + 1].out;
    const bool head = reader(s0.out, Op::logits) != nullptr;

    const ActFormat format = format_for(weights, n);
    BufferId act = no_id;
    if (value(s0.in0).kind == Value::Kind::act) {
        act = value(s0.in0).x;
    } else {
        RIDGE_ASSIGN(act, prepare(s0.in0, format, head, s0.layer));
    }
    LoweredStep& s = push(StepKind::product, s0.layer);
    s.head = head;
    s.act = act;
    s.act_private = value(s0.in0).kind != Value::Kind::act;
    s.format = format;
    s.k = width(s0.in0);
    s.n_segments = n;
    uint32_t column = 0;
    for (uint32_t i = 0; i < n; ++i) {
        RIDGE_TRY(bind(s, i, weights[i], p_.steps[first + i].bias, column));
        column += s.segment[i].groups * 16;
    }
    if (!glu) {
        s.out = buffer(p_.buffers[s0.out].name, column * 4ull, head);
        for (uint32_t i = 0; i < n; ++i) {
            Value v;
            v.kind = Value::Kind::product;
            v.x = s.out;
            v.column = s.segment[i].out_column;
            value(p_.steps[first + i].out) = v;
        }
        return n;
    }
    s.interleaved = s.segment[0].type == s.segment[1].type;
    const Step* down = reader(next->out, Op::product);
    if (down == nullptr) return unexpected("a gated unit that no product reads");
    s.epilogue = next->op == Op::silu_mul ? Epilogue::silu_mul : Epilogue::gelu_mul;
    s.out_format = format_for(&down->weight, 1);
    s.out = buffer("gated", act_row_bytes(s.out_format, s.segment[0].n));
    Value v;
    v.kind = Value::Kind::act;
    v.x = s.out;
    value(next->out) = v;
    return n + 1;
}

Status Fuser::attention(const Step& s) {
    const Value q = value(s.in0);
    const Value k = value(s.in1);
    const Value v = value(s.in2);
    if (q.kind != Value::Kind::product || k.x != q.x || v.x != q.x)
        return unexpected("attention whose q, k and v do not come from one product");
    const BufferId out = buffer("attention", width(s.in0) * 4ull);
    for (const StepKind kind : {StepKind::rotate, StepKind::attend}) {
        LoweredStep& l = push(kind, s.layer);
        l.qkv = q.x;
        l.q_column = q.column;
        l.k_column = k.column;
        l.v_column = v.column;
        l.norm_weight = q.head_norm;
        l.k_norm_weight = k.head_norm;
        l.epsilon = q.epsilon;
        l.scale = s.value;
        l.softcap = s.softcap;
        l.heads = p_.attention.heads;
        l.kv_heads = p_.attention.kv_heads;
        l.head_dim = p_.attention.head_dim;
        l.window = s.window;
        l.rope_table = q.rope;
        l.n_rot = q.rope < p_.n_rope ? p_.rope[q.rope].n_rot : 0;
        l.cache_layer = cache_layers_;
        if (kind == StepKind::attend) l.out = out;
    }
    if (out_.steps[out_.steps.size() - 1].heads / out_.steps.back().kv_heads > attend_max_queries)
        return fail(ErrorCode::unsupported,
                    "more than " + std::to_string(attend_max_queries) +
                        " query heads share one KV head, which no attention kernel takes");
    ++cache_layers_;
    Value a;
    a.kind = Value::Kind::attention;
    a.x = out;
    value(s.out) = a;
    return {};
}

}  // namespace

Result<FusedProgram> fuse(const Program& program, const GgufFile& file, const KernelChoice& kernels,
                          bool f32_activations) {
    return Fuser(program, file, kernels, f32_activations).run();
}

}  // namespace ridge
