#include "sample/options.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace ridge {
namespace {

struct StageName {
    SamplerStage stage;
    char letter;
    const char* names;  // the first is the canonical one; separated by spaces
};

constexpr StageName kStageNames[] = {
    {SamplerStage::penalties, 'e', "penalties"},
    {SamplerStage::dry, 'd', "dry"},
    {SamplerStage::top_n_sigma, 's', "top_n_sigma top-n-sigma topnsigma"},
    {SamplerStage::top_k, 'k', "top_k top-k topk"},
    {SamplerStage::typical, 'y', "typ_p typ-p typp typ typical"},
    {SamplerStage::top_p, 'p', "top_p top-p topp nucleus"},
    {SamplerStage::min_p, 'm', "min_p min-p minp"},
    {SamplerStage::xtc, 'x', "xtc"},
    {SamplerStage::temperature, 't', "temperature temp"},
};

bool is_one_of(std::string_view name, std::string_view names) {
    while (!names.empty()) {
        const size_t end = std::min(names.find(' '), names.size());
        if (names.substr(0, end) == name) return true;
        names.remove_prefix(std::min(end + 1, names.size()));
    }
    return false;
}

tl::unexpected<Error> bad(std::string message) {
    return fail(ErrorCode::invalid_argument, std::move(message));
}

bool within(float value, float low, float high) {
    return value >= low && value <= high;
}

}  // namespace

Status check_sampler_options(const SamplerOptions& o, uint32_t vocab) {
    if (!within(o.temperature, 0.0f, 100.0f))
        return bad("the temperature must be between 0 and 100");
    if (!(o.top_p > 0.0f) || o.top_p > 1.0f) return bad("top-p must be above 0 and at most 1");
    if (!within(o.min_p, 0.0f, 1.0f)) return bad("min-p must be between 0 and 1");
    if (!std::isfinite(o.top_n_sigma)) return bad("top-n-sigma must be a finite number");
    if (!(o.typical_p > 0.0f) || o.typical_p > 1.0f)
        return bad("typical-p must be above 0 and at most 1");
    if (!within(o.xtc_probability, 0.0f, 1.0f))
        return bad("xtc-probability must be between 0 and 1");
    if (!within(o.xtc_threshold, 0.0f, 1.0f)) return bad("xtc-threshold must be between 0 and 1");
    if (!within(o.dynatemp_range, 0.0f, 100.0f))
        return bad("dynatemp-range must be between 0 and 100");
    if (!within(o.dynatemp_exponent, -100.0f, 100.0f))
        return bad("dynatemp-exp must be between -100 and 100");
    if (o.penalty_last_n < 0 || o.penalty_last_n > kMaxPenaltyWindow)
        return bad(fmt::format("repeat-last-n must be between 0 and {}", kMaxPenaltyWindow));
    if (!(o.repeat_penalty > 0.0f) || !std::isfinite(o.repeat_penalty) ||
        !std::isfinite(1.0f / o.repeat_penalty))
        return bad("repeat-penalty must be a finite number above 0");
    if (!std::isfinite(o.frequency_penalty))
        return bad("frequency-penalty must be a finite number");
    if (!std::isfinite(o.presence_penalty)) return bad("presence-penalty must be a finite number");
    if (!std::isfinite(o.dry_multiplier)) return bad("dry-multiplier must be a finite number");
    if (!std::isfinite(o.dry_base)) return bad("dry-base must be a finite number");
    if (o.dry_allowed_length < 0) return bad("dry-allowed-length must not be negative");
    if (o.dry_penalty_last_n < 0 || o.dry_penalty_last_n > kMaxPenaltyWindow)
        return bad(fmt::format("dry-penalty-last-n must be between 0 and {}", kMaxPenaltyWindow));
    if (o.mirostat != 0 && o.mirostat != 2)
        return bad("mirostat is 0 (off) or 2; ridge does not have version 1");
    if (!within(o.mirostat_tau, 0.0f, 100.0f)) return bad("mirostat-ent must be between 0 and 100");
    if (!within(o.mirostat_eta, 0.0f, 1.0f)) return bad("mirostat-lr must be between 0 and 1");
    for (const auto& [id, bias] : o.logit_bias) {
        if (id < 0 || static_cast<uint32_t>(id) >= vocab)
            return bad(fmt::format("logit-bias names token {}, the vocabulary has 0 to {}", id,
                                   static_cast<int64_t>(vocab) - 1));
        if (std::isnan(bias) || bias == INFINITY)
            return bad(fmt::format("the logit-bias of token {} must be a number or -inf", id));
    }
    return {};
}

Result<std::vector<SamplerStage>> parse_sampler_names(std::string_view names) {
    std::vector<SamplerStage> stages;
    while (!names.empty()) {
        const size_t end = std::min(names.find(';'), names.size());
        std::string name(names.substr(0, end));
        for (char& c : name)
            if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
        names.remove_prefix(std::min(end + 1, names.size()));
        bool found = false;
        for (const StageName& s : kStageNames)
            if (is_one_of(name, s.names)) {
                stages.push_back(s.stage);
                found = true;
            }
        if (!found)
            return bad(
                fmt::format("there is no sampler '{}'; there are penalties, dry, "
                            "top_n_sigma, top_k, typ_p, top_p, min_p, xtc and temperature",
                            name));
    }
    return stages;
}

Result<std::vector<SamplerStage>> parse_sampler_letters(std::string_view letters) {
    std::vector<SamplerStage> stages;
    for (const char c : letters) {
        bool found = false;
        for (const StageName& s : kStageNames)
            if (s.letter == c) {
                stages.push_back(s.stage);
                found = true;
            }
        if (!found)
            return bad(fmt::format("there is no sampler '{}'; the letters are edskypmxt", c));
    }
    return stages;
}

Result<std::pair<int32_t, float>> parse_logit_bias(std::string_view text) {
    const auto wrong = [&] {
        return bad(
            fmt::format("the logit bias '{}' is not of the form TOKEN+BIAS or TOKEN-BIAS, "
                        "for example 15043-1.5 or 15043-inf",
                        text));
    };
    int32_t id = 0;
    const char* end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, id);
    if (error != std::errc{} || at == end || (*at != '+' && *at != '-') || id < 0) return wrong();
    if (at + 1 == end || at[1] == '-' || at[1] == '+') return wrong();
    float bias = 0.0f;
    const auto [last, failed] = std::from_chars(at + 1, end, bias);
    if (failed != std::errc{} || last != end || std::isnan(bias)) return wrong();
    return std::pair{id, *at == '-' ? -bias : bias};
}

}  // namespace ridge
