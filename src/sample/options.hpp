// What a user can ask of the sampler, with llama.cpp's defaults (common/common.h,
// common_params_sampling, at the commit in docs/sampling.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.hpp"

namespace ridge {

// The stages of the chain that can be ordered. Logit bias comes before them, the draw after.
enum class SamplerStage : uint8_t {
    penalties,
    dry,
    top_n_sigma,
    top_k,
    typical,
    top_p,
    min_p,
    xtc,
    temperature,
};

struct SamplerOptions {
    float temperature = 0.8f;  // 0 = the best of what the other stages leave
    int32_t top_k = 40;        // 0 or less = off
    float top_p = 0.95f;       // 1 = off
    float min_p = 0.05f;       // 0 = off
    uint64_t seed = 0;

    float top_n_sigma = -1.0f;  // 0 or less = off
    float typical_p = 1.0f;     // 1 = off
    float xtc_probability = 0.0f;
    float xtc_threshold = 0.1f;      // above 0.5 = off
    float dynatemp_range = 0.0f;     // temperature - range to temperature + range; 0 = off
    float dynatemp_exponent = 1.0f;  // of the normalized entropy

    int32_t penalty_last_n = 64;  // tokens that the three penalties look back on; 0 = off
    float repeat_penalty = 1.0f;  // divides positive logits, multiplies negative ones; 1 = off
    float frequency_penalty = 0.0f;
    float presence_penalty = 0.0f;

    float dry_multiplier = 0.0f;     // 0 = off
    float dry_base = 1.75f;          // below 1 = off
    int32_t dry_allowed_length = 2;  // repeated this long without a penalty
    int32_t dry_penalty_last_n = 64;
    std::vector<std::string> dry_breakers = {"\n", ":", "\"", "*"};
    std::vector<std::vector<int32_t>> dry_breaker_ids{};  // more of them, as tokens

    int32_t mirostat = 0;  // 0 or 2; 2 replaces all stages but temperature
    float mirostat_tau = 5.0f;
    float mirostat_eta = 0.1f;

    size_t min_keep = 0;  // candidates that top-p, min-p, typical and XTC leave at least
    std::vector<std::pair<int32_t, float>> logit_bias{};  // token, what is added to its logit
    std::vector<SamplerStage> stages = {
        SamplerStage::penalties, SamplerStage::dry,     SamplerStage::top_n_sigma,
        SamplerStage::top_k,     SamplerStage::typical, SamplerStage::top_p,
        SamplerStage::min_p,     SamplerStage::xtc,     SamplerStage::temperature,
    };
};

// Largest window of the penalties: what a history may cost in memory.
inline constexpr int32_t kMaxPenaltyWindow = 1 << 20;

// Errors: a value out of range, named as the command line names it; a biased token that the
// vocabulary of `vocab` tokens does not have.
Status check_sampler_options(const SamplerOptions& options, uint32_t vocab);

// "top_k;top_p;temperature", in llama.cpp's spellings ("top-k", "topk", "temp", "nucleus", ...).
// Errors: a name that is no stage, with those that are. The empty text is the empty chain.
Result<std::vector<SamplerStage>> parse_sampler_names(std::string_view names);

// The same by one letter a stage, llama.cpp's "edskypmxt".
Result<std::vector<SamplerStage>> parse_sampler_letters(std::string_view letters);

// "15043+1.5" or "15043-inf". Errors: anything else.
Result<std::pair<int32_t, float>> parse_logit_bias(std::string_view text);

}  // namespace ridge
