#include "format/convert_shape.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "format/gguf_types.hpp"
#include "format/json_file.hpp"

namespace ridge::convert {

namespace {

using nlohmann::json;

struct Known {
    const char *model_type, *arch;
};
constexpr Known known[] = {{"llama", "llama"},   {"mistral", "llama"}, {"qwen2", "qwen2"},
                           {"qwen3", "qwen3"},   {"gemma2", "gemma2"}, {"gemma3_text", "gemma3"},
                           {"gemma3", "gemma3"}, {"phi3", "phi3"}};

class Parameters {
  public:
    explicit Parameters(const HfFolder& folder) : folder_(folder) {}

    Result<uint64_t> whole(const char* name, uint64_t low, uint64_t high,
                           std::optional<uint64_t> fallback = std::nullopt) const {
        const json& value = member(folder_.config, name);
        if (value.is_null() && fallback) return *fallback;
        const auto n = to_int(value);
        if (!n || *n < 0 || static_cast<uint64_t>(*n) < low || static_cast<uint64_t>(*n) > high)
            return fail(ErrorCode::bad_file,
                        fmt::format("'{}': {} is {}, not a whole number from {} to {}.",
                                    folder_.file("config.json"), name,
                                    value.is_null() ? "missing" : "of no use", low, high));
        return static_cast<uint64_t>(*n);
    }
    Result<float> real(const char* name, double fallback) const {
        const json& value = member(folder_.config, name);
        if (value.is_null()) return static_cast<float>(fallback);
        const auto f = to_float(value);
        if (!f || !(*f > 0.0) || *f > 1e12)
            return fail(ErrorCode::bad_file, fmt::format("'{}': {} is no positive number.",
                                                         folder_.file("config.json"), name));
        return static_cast<float>(*f);
    }
    tl::unexpected<Error> unsupported(const std::string& what) const {
        return fail(ErrorCode::unsupported, fmt::format("'{}': {}, which ridge does not run.",
                                                        folder_.file("config.json"), what));
    }

  private:
    const HfFolder& folder_;
};

// How many layers one period of local and global attention has: from its own key or layer_types.
Result<uint64_t> window_period(const HfFolder& folder, const ModelShape& s, uint64_t usual) {
    const Parameters p(folder);
    const json& types = member(folder.config, "layer_types");
    if (!types.is_array()) return p.whole("sliding_window_pattern", 1, 1000, usual);
    uint64_t period = types.size() + 1;  // all local
    for (size_t i = 0; i < types.size(); ++i)
        if (types[i] == "full_attention") {
            period = i + 1;
            break;
        }
    for (size_t i = 0; i < types.size(); ++i)
        if ((types[i] == "full_attention") != ((i + 1) % period == 0))
            return p.unsupported("its layer_types have no fixed period");
    if (types.size() != s.layers) return p.unsupported("layer_types are of another length");
    return period;
}

Status set_gemma(const HfFolder& folder, const ModelShape& s, GgufWriter& out) {
    const Parameters p(folder);
    const bool two = s.arch == "gemma2";
    const auto key = [&](const char* name) { return s.arch + "." + name; };
    RIDGE_ASSIGN(const uint64_t window, p.whole("sliding_window", 0, 1u << 24, two ? 4096u : 512u));
    out.set(key("attention.sliding_window"), static_cast<uint32_t>(window));
    RIDGE_ASSIGN(const uint64_t period, window_period(folder, s, two ? 2 : 6));
    if (period != (two ? 2u : 6u))
        out.set(key("attention.sliding_window_pattern"), static_cast<uint32_t>(period));
    // Queries are scaled by the head size, or in the 27B models by hidden / heads.
    RIDGE_ASSIGN(const float scalar,
                 p.real("query_pre_attn_scalar", static_cast<double>(s.head_dim)));
    const bool largest = s.layers == (two ? 46u : 62u);
    const uint64_t expected = largest ? s.hidden / s.heads : s.head_dim;
    if (scalar != static_cast<float>(expected))
        return p.unsupported(
            fmt::format("its query_pre_attn_scalar is {}, not {}", scalar, expected));
    for (const auto& [from, to] : {std::pair{"attn_logit_softcapping", "attn_logit_softcapping"},
                                   std::pair{"final_logit_softcapping", "final_logit_softcapping"}})
        if (!member(folder.config, from).is_null()) {
            RIDGE_ASSIGN(const float cap, p.real(from, 0.0));
            out.set(key(to), cap);
        }
    return {};
}

}  // namespace

std::string convertible_architectures() {
    std::string out;
    for (const Known& k : known) out += (out.empty() ? "" : ", ") + std::string(k.model_type);
    return out;
}

Result<ModelShape> set_parameters(const HfFolder& folder, GgufWriter& out) {
    const Parameters p(folder);
    const std::string type = to_text(member(folder.config, "model_type")).value_or("");
    ModelShape s;
    for (const Known& k : known)
        if (type == k.model_type) s.arch = k.arch;
    if (s.arch.empty())
        return fail(ErrorCode::unsupported,
                    fmt::format("'{}' is of model_type {}; ridge converts {}.", folder.path,
                                gguf::quoted(type), convertible_architectures()));
    RIDGE_ASSIGN(s.hidden, p.whole("hidden_size", 1, 1u << 17));
    RIDGE_ASSIGN(s.layers, p.whole("num_hidden_layers", 1, 512));
    RIDGE_ASSIGN(s.heads, p.whole("num_attention_heads", 1, 1024));
    RIDGE_ASSIGN(s.kv_heads, p.whole("num_key_value_heads", 1, 1024, s.heads));
    RIDGE_ASSIGN(s.head_dim, p.whole("head_dim", 2, 1024, s.gemma() ? 256u : s.hidden / s.heads));
    RIDGE_ASSIGN(const uint64_t ffn, p.whole("intermediate_size", 1, 1u << 20));
    RIDGE_ASSIGN(const uint64_t context, p.whole("max_position_embeddings", 1, 1u << 24, 131072u));
    RIDGE_ASSIGN(const float epsilon, p.real("rms_norm_eps", 1e-6));
    const json& tied = member(folder.config, "tie_word_embeddings");
    s.tied = tied.is_boolean() ? tied.get<bool>() : s.gemma();

    const auto key = [&](const char* name) { return s.arch + "." + name; };
    out.set("general.architecture", s.arch);
    out.set(key("context_length"), static_cast<uint32_t>(context));
    out.set(key("embedding_length"), static_cast<uint32_t>(s.hidden));
    out.set(key("block_count"), static_cast<uint32_t>(s.layers));
    out.set(key("feed_forward_length"), static_cast<uint32_t>(ffn));
    out.set(key("attention.head_count"), static_cast<uint32_t>(s.heads));
    out.set(key("attention.head_count_kv"), static_cast<uint32_t>(s.kv_heads));
    out.set(key("attention.key_length"), static_cast<uint32_t>(s.head_dim));
    out.set(key("attention.value_length"), static_cast<uint32_t>(s.head_dim));
    out.set(key("attention.layer_norm_rms_epsilon"), epsilon);
    if (s.gemma()) {
        RIDGE_TRY(set_gemma(folder, s, out));
    } else if (s.arch == "phi3") {
        const json& window = member(folder.config, "sliding_window");
        RIDGE_ASSIGN(const uint64_t n, p.whole("sliding_window", 0, 1u << 24, 0u));
        out.set(key("attention.sliding_window"), static_cast<uint32_t>(window.is_null() ? 0 : n));
    } else if (is_true(member(folder.config, "use_sliding_window")) ||
               (type == "mistral" && !member(folder.config, "sliding_window").is_null())) {
        return p.unsupported("it attends to a sliding window");
    }
    const std::string activation =
        to_text(member(folder.config, s.gemma() ? "hidden_activation" : "hidden_act"))
            .value_or(s.gemma() ? "gelu_pytorch_tanh" : "silu");
    if (activation != (s.gemma() ? "gelu_pytorch_tanh" : "silu"))
        return p.unsupported("its activation is " + gguf::quoted(activation));
    return s;
}

std::optional<TensorTarget> target_of(std::string_view name, const ModelShape& s) {
    for (const std::string_view part : {"vision_tower.", "multi_modal_projector."})
        if (name.starts_with(part) || name.starts_with("model." + std::string(part)))
            return TensorTarget{};  // images are not read
    if (name.ends_with("rotary_emb.inv_freq")) return TensorTarget{};
    std::string plain(name);
    if (plain.starts_with("language_model.")) plain.erase(0, 15);
    if (plain.starts_with("model.language_model.")) plain.erase(6, 15);
    TensorTarget out;
    if (s.gemma() && plain.ends_with("norm.weight")) out.add = 1.0f;
    if (plain == "model.embed_tokens.weight") {
        out.name = "token_embd.weight";
        return out;
    }
    if (plain == "model.norm.weight") {
        out.name = "output_norm.weight";
        return out;
    }
    if (plain == "lm_head.weight") {
        if (!s.tied) out.name = "output.weight";
        return out;
    }
    constexpr std::string_view layers = "model.layers.";
    if (!plain.starts_with(layers)) return std::nullopt;
    uint64_t layer = 0;
    const char* end = plain.data() + plain.size();
    const auto [rest, error] = std::from_chars(plain.data() + layers.size(), end, layer);
    if (error != std::errc() || layer >= s.layers || rest == end || *rest != '.')
        return std::nullopt;
    const std::string_view inside(rest + 1, static_cast<size_t>(end - rest - 1));
    const size_t dot = inside.rfind('.');
    if (dot == std::string_view::npos) return std::nullopt;
    const std::string_view part = inside.substr(0, dot), kind = inside.substr(dot + 1);
    struct Name {
        std::string_view from, to;
    };
    constexpr Name common[] = {{"input_layernorm", "attn_norm"},
                               {"self_attn.q_proj", "attn_q"},
                               {"self_attn.k_proj", "attn_k"},
                               {"self_attn.v_proj", "attn_v"},
                               {"self_attn.o_proj", "attn_output"},
                               {"self_attn.qkv_proj", "attn_qkv"},
                               {"self_attn.q_norm", "attn_q_norm"},
                               {"self_attn.k_norm", "attn_k_norm"},
                               {"pre_feedforward_layernorm", "ffn_norm"},
                               {"post_feedforward_layernorm", "post_ffw_norm"},
                               {"mlp.gate_proj", "ffn_gate"},
                               {"mlp.up_proj", "ffn_up"},
                               {"mlp.gate_up_proj", "ffn_up"},
                               {"mlp.down_proj", "ffn_down"}};
    std::string_view to;
    for (const Name& n : common)
        if (part == n.from) to = n.to;
    if (part == "post_attention_layernorm") to = s.gemma() ? "post_attention_norm" : "ffn_norm";
    if (to.empty() || (kind != "weight" && kind != "bias")) return std::nullopt;
    if (s.arch == "llama" && (to == "attn_q" || to == "attn_k")) out.interleave_head = s.head_dim;
    out.name = fmt::format("blk.{}.{}.{}", layer, to, kind);
    return out;
}

}  // namespace ridge::convert
