// RoPE as a file's metadata and tensors scale it.
//
// linear: all frequencies divided by a factor s. YaRN (arXiv:2309.00071, section 3): pair i turns
// with its own frequency where it completes more than beta_fast turns in the original context, with
// 1/s of it below beta_slow turns, and with a mixture between; cosines and sines grow by
// 0.1 ln s + 1, or by the factor that the model's configuration gives. Llama 3: the converter has
// put its rule into a tensor of divisors. LongRoPE (arXiv:2402.13753): two sets of divisors, the
// long one for contexts beyond the original; as in llama.cpp the context that is asked for decides,
// where transformers looks at each sequence's length and mixes both in one cache.
//
// Keys and their meaning are those of llama.cpp's converter. Its runtime reads yarn_attn_factor,
// the betas and yarn_ext_factor for few architectures, none of these; here, as in transformers,
// they count.
#include <algorithm>
#include <cmath>

#include "format/gguf_types.hpp"
#include "model/architectures.hpp"

namespace ridge {
namespace {

struct Yarn {
    double factor, extrapolation, beta_fast, beta_slow, context, base;
};

// Pair whose wave turns `turns` times in the original context.
double pair_of(const Yarn& y, uint32_t n_rot, double turns) {
    return n_rot * std::log(y.context / (turns * 2.0 * 3.14159265358979323846)) /
           (2.0 * std::log(y.base));
}

std::vector<double> yarn_divisors(const Yarn& y, uint32_t n_rot) {
    const double low = std::max(0.0, std::floor(pair_of(y, n_rot, y.beta_fast)));
    const double high = std::min(n_rot - 1.0, std::ceil(pair_of(y, n_rot, y.beta_slow)));
    std::vector<double> divisors(n_rot / 2);
    for (uint32_t i = 0; i < n_rot / 2; ++i) {
        const double ramp = std::clamp((i - low) / std::max(0.001, high - low), 0.0, 1.0);
        const double own = (1.0 - ramp) * y.extrapolation;
        divisors[i] = 1.0 / ((1.0 - own) / y.factor + own);
    }
    return divisors;
}

Status apply_yarn(ProgramBuilder& b, const Dimensions& d, double factor, RopeTable& table) {
    RIDGE_ASSIGN(const uint32_t original,
                 b.uint_or("rope.scaling.original_context_length", d.context, 1, 1u << 24));
    RIDGE_ASSIGN(const float beta_fast, b.real_or("rope.scaling.yarn_beta_fast", 32.0f));
    RIDGE_ASSIGN(const float beta_slow, b.real_or("rope.scaling.yarn_beta_slow", 1.0f));
    RIDGE_ASSIGN(const float magnitude, b.real_or_zero("rope.scaling.yarn_attn_factor"));
    RIDGE_ASSIGN(const float extrapolation, b.real_or_zero("rope.scaling.yarn_ext_factor", 1.0f));
    if (table.base <= 1.0 || extrapolation > 1.0f)
        return fail(ErrorCode::bad_file, b.file().path() +
                                             ": YaRN needs a rope.freq_base above 1 and a "
                                             "yarn_ext_factor of at most 1");
    table.factors = b.keep(
        yarn_divisors({factor, static_cast<double>(extrapolation), static_cast<double>(beta_fast),
                       static_cast<double>(beta_slow), static_cast<double>(original), table.base},
                      table.n_rot));
    if (magnitude > 0.0f)
        table.magnitude = magnitude;
    else if (factor > 1.0 && extrapolation > 0.0f)
        table.magnitude = static_cast<float>(0.1 * std::log(factor) + 1.0);
    return {};
}

Status apply_longrope(ProgramBuilder& b, const Dimensions& d, RopeTable& table) {
    RIDGE_ASSIGN(std::vector<double> near,
                 b.positive_values("rope_factors_short.weight", table.n_rot / 2));
    RIDGE_ASSIGN(std::vector<double> far,
                 b.positive_values("rope_factors_long.weight", table.n_rot / 2));
    RIDGE_ASSIGN(table.long_context,
                 b.uint_or("rope.scaling.original_context_length", d.context, 1, 1u << 24));
    table.factors = b.keep(std::move(near));
    table.long_factors = b.keep(std::move(far));
    return {};
}

}  // namespace

Result<uint8_t> read_rope_table(ProgramBuilder& b, const Dimensions& d, uint32_t n_rot,
                                float base) {
    RIDGE_ASSIGN(const uint32_t stated, b.uint_or("rope.dimension_count", n_rot, 2, d.head_dim));
    if (stated != n_rot)
        return fail(ErrorCode::unsupported,
                    b.file().path() + ": rope.dimension_count " + std::to_string(stated) +
                        " differs from the head size " + std::to_string(d.head_dim) +
                        "; partial rotation is supported for phi3 only");
    RopeTable table{n_rot, static_cast<double>(base), 1.0};
    RIDGE_ASSIGN(float factor, b.real_or_zero("rope.scaling.factor"));
    if (factor == 0.0f) {
        RIDGE_ASSIGN(factor, b.real_or_zero("rope.scale_linear"));  // the key's older name
    }
    if (factor == 0.0f) factor = 1.0f;
    const std::string type = b.text_or("rope.scaling.type", "linear");
    const bool two_sets =
        b.has_tensor("rope_factors_long.weight") || b.has_tensor("rope_factors_short.weight");
    if (type == "linear") {
        table.frequency_scale = 1.0 / static_cast<double>(factor);
    } else if (type == "yarn") {
        RIDGE_TRY(apply_yarn(b, d, static_cast<double>(factor), table));
    } else if (type != "none" && type != "longrope") {
        return fail(ErrorCode::unsupported, b.file().path() + ": RoPE scaling " +
                                                gguf::quoted(type) +
                                                " is not supported; supported are none, linear, "
                                                "yarn and longrope");
    }
    if (two_sets || type == "longrope") {
        if (type == "yarn" || b.has_tensor("rope_freqs.weight"))
            return fail(ErrorCode::unsupported,
                        b.file().path() +
                            ": LongRoPE factors beside other factors of RoPE's "
                            "frequencies are not supported");
        RIDGE_TRY(apply_longrope(b, d, table));
    } else if (b.has_tensor("rope_freqs.weight")) {
        RIDGE_ASSIGN(std::vector<double> own, b.positive_values("rope_freqs.weight", n_rot / 2));
        for (uint32_t i = 0; table.factors != nullptr && i < n_rot / 2; ++i)
            own[i] *= table.factors[i];
        table.factors = b.keep(std::move(own));
    }
    RIDGE_ASSIGN(const float attention, b.real_or("rope.scaling.attn_factor", 1.0f));
    table.magnitude *= attention;
    return b.rope_table(table);
}

}  // namespace ridge
