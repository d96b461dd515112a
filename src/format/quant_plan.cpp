#include "format/quant_plan.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace ridge {

namespace {

constexpr QuantTargetInfo targets[] = {
    {"F32", QuantTarget::f32, DType::f32, 0},
    {"F16", QuantTarget::f16, DType::f16, 1},
    {"BF16", QuantTarget::bf16, DType::bf16, 32},
    {"Q4_0", QuantTarget::q4_0, DType::q4_0, 2},
    {"Q4_1", QuantTarget::q4_1, DType::q4_1, 3},
    {"Q5_0", QuantTarget::q5_0, DType::q5_0, 8},
    {"Q5_1", QuantTarget::q5_1, DType::q5_1, 9},
    {"Q8_0", QuantTarget::q8_0, DType::q8_0, 7},
    {"Q4_K_S", QuantTarget::q4_k_s, DType::q4_k, 14},
    {"Q4_K_M", QuantTarget::q4_k_m, DType::q4_k, 15},
    {"Q5_K_S", QuantTarget::q5_k_s, DType::q5_k, 16},
    {"Q5_K_M", QuantTarget::q5_k_m, DType::q5_k, 17},
    {"Q6_K", QuantTarget::q6_k, DType::q6_k, 18},
    {"IQ4_NL", QuantTarget::iq4_nl, DType::iq4_nl, 25},
};

enum class Kind { embedding, output, attn_v, ffn_down, other };

bool contains(std::string_view name, std::string_view part) {
    return name.find(part) != std::string_view::npos;
}

Kind kind_of(std::string_view name) {
    if (name == "output.weight") return Kind::output;
    if (name == "token_embd.weight") return Kind::embedding;
    // fused QKV holds V
    if (contains(name, "attn_qkv.weight") || contains(name, "attn_v.weight")) return Kind::attn_v;
    if (contains(name, "ffn_down")) return Kind::ffn_down;
    return Kind::other;
}

// Matrices of weights; norms, expert gates, position tables and convolutions stay as they are.
bool is_quantizable(const TensorInfo& tensor) {
    constexpr std::string_view kept[] = {
        "_norm.weight",      "ffn_gate_inp.weight", "ssm_conv1d",  "shortconv.conv.weight",
        "attn_rel_b.weight", ".position_embd",      ".patch_embd", "per_layer_model_proj"};
    const std::string_view name = tensor.name;
    if (tensor.dims[1] * tensor.dims[2] * tensor.dims[3] < 2 || !name.ends_with("weight"))
        return false;
    if (name == "position_embd.weight" || name == "token_types.weight") return false;
    return std::none_of(std::begin(kept), std::end(kept),
                        [&](std::string_view part) { return contains(name, part); });
}

// N of "blk.N."; -1 for other names.
int layer_of(std::string_view name) {
    int layer = -1;
    if (name.starts_with("blk."))
        std::from_chars(name.data() + 4, name.data() + name.size(), layer);
    return layer;
}

// The first value of a key that may be one number or one a layer.
uint64_t first_uint(const GgufFile& file, const std::string& key) {
    if (const auto value = file.get_uint(key)) return *value;
    const auto list = file.get_ints(key);
    return list && !list->empty() && list->front() > 0 ? static_cast<uint64_t>(list->front()) : 0;
}

// What the choice for one tensor depends on beside its name.
struct Shape {
    int layers;
    uint64_t heads_per_kv;
    bool tied, seventy_billion;
    bool importance;
};

Shape shape_of(const GgufFile& file, bool importance) {
    const std::string arch(file.get_string("general.architecture").value_or(""));
    const uint64_t heads = first_uint(file, arch + ".attention.head_count");
    uint64_t kv = first_uint(file, arch + ".attention.head_count_kv");
    if (kv == 0) kv = heads;
    Shape s{};
    s.layers = static_cast<int>(
        std::min<uint64_t>(file.get_uint(arch + ".block_count").value_or(0), 1 << 20));
    s.heads_per_kv = kv == 0 ? 1 : heads / kv;
    s.tied = file.find("output.weight") == nullptr;
    s.seventy_billion = s.layers == 80 && (arch == "qwen2" || (arch == "llama" && heads != kv));
    s.importance = importance;
    return s;
}

// The first and last eighth of the layers and every third between.
bool more_bits(int i, int n) {
    return i < n / 8 || i >= 7 * n / 8 || (i - n / 8) % 3 == 2;
}

// `i` is the tensor's place among those of its kind, of which there are n.
DType attn_v_type(QuantTarget target, DType usual, const Shape& s, int i, int n) {
    DType type = usual;
    if (target == QuantTarget::iq4_nl && s.heads_per_kv >= 4) type = DType::q5_k;
    if ((target == QuantTarget::q4_k_m || target == QuantTarget::q5_k_m) && more_bits(i, n))
        type = DType::q6_k;
    if (target == QuantTarget::q4_k_s && i < 4) type = DType::q5_k;
    if (s.seventy_billion && type == DType::q4_k) type = DType::q5_k;
    return type;
}

DType ffn_down_type(QuantTarget target, DType usual, const Shape& s, int i) {
    const bool first = i < s.layers / 8;
    switch (target) {
        case QuantTarget::q4_k_m:
        case QuantTarget::q5_k_m:
            return more_bits(i, s.layers) ? DType::q6_k : usual;
        case QuantTarget::q4_k_s:
            return first ? DType::q5_k : usual;
        case QuantTarget::iq4_nl:
            return first && !s.importance ? DType::q5_k : usual;
        case QuantTarget::q4_0:
            return first && s.importance ? DType::q4_1 : usual;
        case QuantTarget::q5_0:
            return first && s.importance ? DType::q5_1 : usual;
        default:
            return usual;
    }
}

DType fallback_of(DType type) {
    switch (type) {
        case DType::q4_k:
            return DType::q5_0;
        case DType::q5_k:
            return DType::q5_1;
        case DType::q6_k:
            return DType::q8_0;
        default:
            return DType::f16;
    }
}

bool divides(DType type, const TensorInfo& tensor) {
    return tensor.dims[0] % info(type).block == 0;
}

}  // namespace

std::optional<QuantTargetInfo> find_quant_target(std::string_view name) {
    std::string upper(name);
    for (char& c : upper)
        if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    if (upper == "Q4_K" || upper == "Q5_K") upper += "_M";
    for (const QuantTargetInfo& t : targets)
        if (upper == t.name) return t;
    return std::nullopt;
}

std::string quant_targets() {
    std::string out;
    for (const QuantTargetInfo& t : targets) out += (out.empty() ? "" : ", ") + std::string(t.name);
    return out;
}

std::vector<PlannedTensor> plan_quantization(const GgufFile& file, const QuantTargetInfo& target,
                                             bool importance, bool pure) {
    const Shape shape = shape_of(file, importance);
    std::vector<PlannedTensor> out;
    std::vector<size_t> by_layer;
    for (const TensorInfo& tensor : file.tensors()) {
        by_layer.push_back(out.size());
        out.push_back({&tensor, tensor.type, tensor.type});
    }
    // Places among the tensors of a kind are counted by layer, in whatever order the file has them.
    std::stable_sort(by_layer.begin(), by_layer.end(), [&](size_t a, size_t b) {
        return layer_of(out[a].from->name) < layer_of(out[b].from->name);
    });
    int n_attn_v = 0, i_attn_v = 0, i_ffn_down = 0;
    for (const PlannedTensor& t : out) n_attn_v += kind_of(t.from->name) == Kind::attn_v ? 1 : 0;
    for (const size_t i : by_layer) {
        PlannedTensor& t = out[i];
        if (!is_quantizable(*t.from)) continue;
        DType type = target.type;
        const bool plain = info(type).block == 1;
        const Kind kind = kind_of(t.from->name);
        if (!plain && !pure) {
            if (kind == Kind::output || (kind == Kind::embedding && shape.tied))
                type = !divides(type, *t.from) || type == DType::q8_0 ? DType::q8_0 : DType::q6_k;
            else if (kind == Kind::attn_v)
                type = attn_v_type(target.target, type, shape, i_attn_v++, n_attn_v);
            else if (kind == Kind::ffn_down)
                type = ffn_down_type(target.target, type, shape, i_ffn_down++);
        }
        t.wanted = type;
        while (!divides(type, *t.from)) type = fallback_of(type);
        t.type = type;
    }
    return out;
}

}  // namespace ridge
