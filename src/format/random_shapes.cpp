// Shapes of random models: reading their JSON, and which type each matrix gets.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/mapped_file.hpp"
#include "format/gguf_types.hpp"
#include "format/random_model.hpp"

namespace ridge {

namespace {

using nlohmann::json;

// Takes a member into `out` when it is there; false when it is of another type.
bool take(const json& object, const char* name, uint32_t& out) {
    const auto it = object.find(name);
    if (it == object.end()) return true;
    if (!it->is_number_unsigned() || it->get<uint64_t>() > UINT32_MAX) return false;
    out = it->get<uint32_t>();
    return true;
}
bool take(const json& object, const char* name, float& out) {
    const auto it = object.find(name);
    if (it == object.end()) return true;
    if (!it->is_number()) return false;
    out = it->get<float>();
    return true;
}
bool take(const json& object, const char* name, bool& out) {
    const auto it = object.find(name);
    if (it == object.end()) return true;
    if (!it->is_boolean()) return false;
    out = it->get<bool>();
    return true;
}
bool take(const json& object, const char* name, std::string& out) {
    const auto it = object.find(name);
    if (it == object.end()) return true;
    if (!it->is_string()) return false;
    out = it->get<std::string>();
    return true;
}
bool take(const json& object, const char* name, std::vector<float>& out) {
    const auto it = object.find(name);
    if (it == object.end()) return true;
    if (!it->is_array()) return false;
    for (const json& v : *it) {
        if (!v.is_number()) return false;
        out.push_back(v.get<float>());
    }
    return true;
}

// llama.cpp's rule for the layers that a K_M mix spends more bits on.
bool more_bits(uint64_t layer, uint64_t layers) {
    return layer < layers / 8 || layer >= 7 * layers / 8 || (layer - layers / 8) % 3 == 2;
}

// The type for a row that `type`'s block may not divide.
DType fit_block(DType type, uint64_t row_length) {
    if (row_length % info(type).block == 0) return type;
    DType smaller = type;
    switch (type) {
        case DType::q2_k:
        case DType::q3_k:
        case DType::iq4_xs:
            smaller = DType::iq4_nl;
            break;
        case DType::q4_k:
            smaller = DType::q5_0;
            break;
        case DType::q5_k:
            smaller = DType::q5_1;
            break;
        case DType::q6_k:
            smaller = DType::q8_0;
            break;
        default:
            return DType::f16;
    }
    return row_length % info(smaller).block == 0 ? smaller : DType::f16;
}

DType mixed_type(const ShapeConfig& c, std::string_view tensor) {
    const bool is_output = tensor == "output.weight" || (c.tied && tensor == "token_embd.weight");
    if (is_output) return DType::q6_k;
    if (c.mix == Mix::q4_0) return DType::q4_0;
    const bool favoured =
        tensor.ends_with(".attn_v.weight") || tensor.ends_with(".ffn_down.weight");
    uint64_t layer = 0;
    if (favoured && tensor.starts_with("blk.")) {
        std::from_chars(tensor.data() + 4, tensor.data() + tensor.size(), layer);
        if (more_bits(layer, c.block_count)) return DType::q6_k;
    }
    return c.mix == Mix::q4_k_m ? DType::q4_k : DType::q5_k;
}

}  // namespace

DType matrix_type(const ShapeConfig& config, std::string_view tensor, uint64_t row_length) {
    const DType wanted = config.mix == Mix::none ? config.type : mixed_type(config, tensor);
    return fit_block(wanted, row_length);
}

Result<Mix> parse_mix(std::string_view name) {
    std::string lower(name);
    std::ranges::transform(lower, lower.begin(),
                           [](unsigned char ch) { return static_cast<char>(std::tolower(ch)); });
    if (lower == "none") return Mix::none;
    if (lower == "q4_0") return Mix::q4_0;
    if (lower == "q4_k_m") return Mix::q4_k_m;
    if (lower == "q5_k_m") return Mix::q5_k_m;
    return fail(ErrorCode::invalid_argument,
                fmt::format("There is no mix {}; choose Q4_0, Q4_K_M, Q5_K_M or none.",
                            gguf::quoted(name)));
}

Result<ShapeConfig> read_shape_config(const std::string& path) {
    RIDGE_ASSIGN(const auto file, MappedFile::open(path));
    const auto* text = reinterpret_cast<const char*>(file.data());
    const json object = json::parse(text, text + file.size(), nullptr, false);
    const auto bad = [&](const std::string& what) {
        return fail(ErrorCode::bad_file, fmt::format("'{}': {}.", path, what));
    };
    if (!object.is_object()) return bad("not a JSON object");
    ShapeConfig c;
    std::string type = name(c.type), mix = "none";
#define RIDGE_TAKE(member, into) \
    if (!take(object, #member, into)) return bad("the value of \"" #member "\" does not fit")
    RIDGE_TAKE(name, c.name);
    RIDGE_TAKE(architecture, c.architecture);
    RIDGE_TAKE(vocab_size, c.vocab_size);
    RIDGE_TAKE(block_count, c.block_count);
    RIDGE_TAKE(context_length, c.context_length);
    RIDGE_TAKE(embedding_length, c.embedding_length);
    RIDGE_TAKE(feed_forward_length, c.feed_forward_length);
    RIDGE_TAKE(head_count, c.head_count);
    RIDGE_TAKE(head_count_kv, c.head_count_kv);
    RIDGE_TAKE(key_length, c.key_length);
    RIDGE_TAKE(rms_epsilon, c.rms_epsilon);
    RIDGE_TAKE(rope_freq_base, c.rope_freq_base);
    RIDGE_TAKE(tied, c.tied);
    RIDGE_TAKE(attention_bias, c.attention_bias);
    RIDGE_TAKE(sliding_window, c.sliding_window);
    RIDGE_TAKE(sliding_window_pattern, c.sliding_window_pattern);
    RIDGE_TAKE(rope_dimension_count, c.rope_dimension_count);
    RIDGE_TAKE(attn_softcap, c.attn_softcap);
    RIDGE_TAKE(final_softcap, c.final_softcap);
    RIDGE_TAKE(rope_scaling, c.rope_scaling);
    RIDGE_TAKE(rope_scaling_factor, c.rope_scaling_factor);
    RIDGE_TAKE(rope_original_context, c.rope_original_context);
    RIDGE_TAKE(rope_attn_factor, c.rope_attn_factor);
    RIDGE_TAKE(yarn_attn_factor, c.yarn_attn_factor);
    RIDGE_TAKE(yarn_beta_fast, c.yarn_beta_fast);
    RIDGE_TAKE(yarn_beta_slow, c.yarn_beta_slow);
    RIDGE_TAKE(rope_freqs, c.rope_freqs);
    RIDGE_TAKE(rope_factors_short, c.rope_factors_short);
    RIDGE_TAKE(rope_factors_long, c.rope_factors_long);
    RIDGE_TAKE(type, type);
    RIDGE_TAKE(mix, mix);
    RIDGE_TAKE(logits, c.logits);
#undef RIDGE_TAKE
    if (const auto it = object.find("seed"); it != object.end()) {
        if (!it->is_number_unsigned()) return bad("\"seed\" is not a whole number");
        c.seed = it->get<uint64_t>();
    }
    const auto known = gguf::dtype_from_name(type);
    if (!known)
        return bad(fmt::format("\"type\" is {}; choose one of {}", gguf::quoted(type),
                               gguf::supported_types()));
    c.type = *known;
    RIDGE_ASSIGN(c.mix, parse_mix(mix));
    if (const auto it = object.find("tokens"); it != object.end()) {
        if (!it->is_array()) return bad("\"tokens\" is not an array");
        for (const json& id : *it) {
            if (!id.is_number_unsigned() || id.get<uint64_t>() >= c.vocab_size)
                return bad("\"tokens\" holds something else than ids below vocab_size");
            c.tokens.push_back(id.get<int32_t>());
        }
    }
    return c;
}

}  // namespace ridge
