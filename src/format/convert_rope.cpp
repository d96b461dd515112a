// RoPE bases and scaling of a model folder, as GGUF keys and factor tensors.
#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "format/convert_shape.hpp"
#include "format/gguf_types.hpp"
#include "format/json_file.hpp"

namespace ridge::convert {

namespace {

using nlohmann::json;

// rope_parameters of newer folders, rope_scaling of older ones; null where nothing is scaled.
const json& scaling_of(const json& config) {
    const json& now = member(config, "rope_parameters");
    if (now.is_null()) return member(config, "rope_scaling");
    const json& full = member(now, "full_attention");
    return full.is_null() ? now : full;
}

std::optional<double> number(const json& config, const json& scaling, const char* name) {
    if (const auto f = to_float(member(scaling, name))) return f;
    return to_float(member(config, name));
}

// Llama 3: long waves are slowed by `factor`, short ones kept, those between blended. The file
// holds what each frequency is divided by.
Status llama3_factors(const json& r, double base, uint64_t n_rot, std::vector<float>& out) {
    const double factor = to_float(member(r, "factor")).value_or(8.0);
    const double low = to_float(member(r, "low_freq_factor")).value_or(1.0);
    const double high = to_float(member(r, "high_freq_factor")).value_or(4.0);
    const double original =
        to_float(member(r, "original_max_position_embeddings")).value_or(8192.0);
    if (!(factor > 0 && low > 0 && high > low && original > 0))
        return fail(ErrorCode::bad_file, "The llama3 RoPE scaling has no usable numbers.");
    for (uint64_t i = 0; i < n_rot / 2; ++i) {
        const double wave =
            2.0 * std::numbers::pi *
            std::pow(base, 2.0 * static_cast<double>(i) / static_cast<double>(n_rot));
        const double smooth = (original / wave - low) / (high - low);
        double f = 1.0 / ((1.0 - smooth) / factor + smooth);
        if (wave < original / high) f = 1.0;
        if (wave > original / low) f = factor;
        out.push_back(static_cast<float>(f));
    }
    return {};
}

Result<std::vector<float>> factor_list(const json& list, uint64_t n_rot, const char* name) {
    std::vector<float> out;
    if (list.is_array())
        for (const json& v : list) out.push_back(static_cast<float>(to_float(v).value_or(0.0)));
    bool good = out.size() == n_rot / 2;
    for (const float f : out) good = good && f > 0.0f;
    if (!good)
        return fail(ErrorCode::bad_file, fmt::format("The RoPE scaling's {} is no list of {} "
                                                     "positive numbers.",
                                                     name, n_rot / 2));
    return out;
}

}  // namespace

Status set_rope(const HfFolder& folder, const ModelShape& s, GgufWriter& out,
                RopeFactors& factors) {
    const json& config = folder.config;
    const json& r = scaling_of(config);
    const auto key = [&](const char* name) { return s.arch + ".rope." + name; };
    const bool gemma3 = s.arch == "gemma3";
    const double base = number(config, r, "rope_theta").value_or(gemma3 ? 1e6 : 1e4);
    const double share = number(config, r, "partial_rotary_factor").value_or(1.0);
    if (!(base > 1.0 && base < 1e12 && share > 0.0 && share <= 1.0))
        return fail(ErrorCode::bad_file,
                    fmt::format("'{}': the RoPE base or share is out of range.",
                                folder.file("config.json")));
    const auto n_rot = static_cast<uint64_t>(share * static_cast<double>(s.head_dim));
    out.set(key("freq_base"), static_cast<float>(base));
    out.set(key("dimension_count"), static_cast<uint32_t>(n_rot));
    if (gemma3) {
        const json& local = member(member(config, "rope_parameters"), "sliding_attention");
        const double theta =
            to_float(member(local, "rope_theta"))
                .value_or(to_float(member(config, "rope_local_base_freq")).value_or(1e4));
        out.set(key("freq_base_swa"), static_cast<float>(theta));
    }

    std::string type = to_text(member(r, "rope_type")).value_or("");
    if (type.empty()) type = to_text(member(r, "type")).value_or("default");
    const auto factor = to_float(member(r, "factor"));
    const auto original = number(config, r, "original_max_position_embeddings");
    if (s.arch == "phi3" && original)
        out.set(key("scaling.original_context_length"), static_cast<uint32_t>(*original));
    if (type == "default") return {};
    if ((type == "linear" || type == "yarn") && (!factor || !(*factor > 0.0)))
        return fail(ErrorCode::bad_file, fmt::format("'{}': the RoPE scaling has no factor.",
                                                     folder.file("config.json")));
    if (type == "linear") {
        out.set(key("scaling.type"), "linear");
        out.set(key("scaling.factor"), static_cast<float>(*factor));
        return {};
    }
    if (type == "yarn") {
        out.set(key("scaling.type"), "yarn");
        out.set(key("scaling.factor"), static_cast<float>(*factor));
        if (original)
            out.set(key("scaling.original_context_length"), static_cast<uint32_t>(*original));
        if (const auto f = to_float(member(r, "beta_fast")))
            out.set(key("scaling.yarn_beta_fast"), static_cast<float>(*f));
        if (const auto f = to_float(member(r, "beta_slow")))
            out.set(key("scaling.yarn_beta_slow"), static_cast<float>(*f));
        if (const auto f = to_float(member(r, "attention_factor")))
            out.set(key("scaling.yarn_attn_factor"), static_cast<float>(*f));
        if (!member(r, "mscale").is_null() || !member(r, "mscale_all_dim").is_null())
            return fail(ErrorCode::unsupported,
                        fmt::format("'{}': yarn with its own magnitude is not converted.",
                                    folder.file("config.json")));
        return {};
    }
    if (type == "llama3" && s.arch == "llama") {
        RIDGE_TRY(llama3_factors(r, base, n_rot, factors.freqs));
        return out.add_tensor("rope_freqs.weight", DType::f32, {factors.freqs.size()},
                              factors.freqs.data());
    }
    if ((type == "longrope" || type == "su") && s.arch == "phi3") {
        const double context = to_float(member(config, "max_position_embeddings")).value_or(0.0);
        if (!original || !(*original > 1.0) || !(context > 0.0))
            return fail(ErrorCode::bad_file,
                        fmt::format("'{}': longrope without its original context.",
                                    folder.file("config.json")));
        const double scale = context / *original;
        const double magnitude =
            scale > 1.0 ? std::sqrt(1.0 + std::log(scale) / std::log(*original)) : 1.0;
        out.set(key("scaling.attn_factor"), static_cast<float>(magnitude));
        RIDGE_ASSIGN(factors.longs, factor_list(member(r, "long_factor"), n_rot, "long_factor"));
        RIDGE_ASSIGN(factors.shorts, factor_list(member(r, "short_factor"), n_rot, "short_factor"));
        RIDGE_TRY(out.add_tensor("rope_factors_long.weight", DType::f32, {factors.longs.size()},
                                 factors.longs.data()));
        return out.add_tensor("rope_factors_short.weight", DType::f32, {factors.shorts.size()},
                              factors.shorts.data());
    }
    return fail(ErrorCode::unsupported,
                fmt::format("'{}': RoPE scaling {} of {} is not converted.",
                            folder.file("config.json"), gguf::quoted(type), s.arch));
}

}  // namespace ridge::convert
