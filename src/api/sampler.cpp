// Samplers and log-probabilities.
#include "api/api.hpp"
#include "sample/json_schema.hpp"

using namespace ridge;
using namespace ridge::api;

namespace {

SamplerOptions options_of(const ridge_sampler_params& p) {
    SamplerOptions o;
    o.temperature = p.temperature;
    o.top_p = p.top_p;
    o.min_p = p.min_p;
    o.top_k = p.top_k;
    o.seed = p.seed;
    o.top_n_sigma = p.top_n_sigma;
    o.typical_p = p.typical_p;
    o.xtc_probability = p.xtc_probability;
    o.xtc_threshold = p.xtc_threshold;
    o.dynatemp_range = p.dynatemp_range;
    o.dynatemp_exponent = p.dynatemp_exponent;
    o.penalty_last_n = p.penalty_last_n;
    o.repeat_penalty = p.repeat_penalty;
    o.frequency_penalty = p.frequency_penalty;
    o.presence_penalty = p.presence_penalty;
    o.dry_multiplier = p.dry_multiplier;
    o.dry_base = p.dry_base;
    o.dry_allowed_length = p.dry_allowed_length;
    o.dry_penalty_last_n = p.dry_penalty_last_n;
    o.mirostat = p.mirostat;
    o.mirostat_tau = p.mirostat_tau;
    o.mirostat_eta = p.mirostat_eta;
    for (size_t i = 0; p.bias != nullptr && i < p.n_bias; ++i)
        o.logit_bias.emplace_back(p.bias[i].token, p.bias[i].bias);
    return o;
}

Result<std::shared_ptr<const Grammar>> grammar_of(const ridge_sampler_params& p) {
    if (p.grammar == nullptr && p.json_schema == nullptr) return std::shared_ptr<const Grammar>();
    if (p.grammar != nullptr && p.json_schema != nullptr)
        return fail(ErrorCode::invalid_argument,
                    "an answer follows a grammar or a JSON schema, not both");
    if (p.grammar != nullptr) return Grammar::parse(p.grammar);
    RIDGE_ASSIGN(const std::string gbnf, json_schema_to_gbnf(p.json_schema));
    return Grammar::parse(gbnf);
}

}  // namespace

extern "C" {

void ridge_sampler_defaults(ridge_sampler_params* params) {
    if (params == nullptr) return;
    const SamplerOptions d;
    *params = {};
    params->size = sizeof *params;
    params->temperature = d.temperature;
    params->top_p = d.top_p;
    params->min_p = d.min_p;
    params->top_k = d.top_k;
    params->seed = d.seed;
    params->top_n_sigma = d.top_n_sigma;
    params->typical_p = d.typical_p;
    params->xtc_probability = d.xtc_probability;
    params->xtc_threshold = d.xtc_threshold;
    params->dynatemp_range = d.dynatemp_range;
    params->dynatemp_exponent = d.dynatemp_exponent;
    params->penalty_last_n = d.penalty_last_n;
    params->repeat_penalty = d.repeat_penalty;
    params->frequency_penalty = d.frequency_penalty;
    params->presence_penalty = d.presence_penalty;
    params->dry_multiplier = d.dry_multiplier;
    params->dry_base = d.dry_base;
    params->dry_allowed_length = d.dry_allowed_length;
    params->dry_penalty_last_n = d.dry_penalty_last_n;
    params->mirostat = d.mirostat;
    params->mirostat_tau = d.mirostat_tau;
    params->mirostat_eta = d.mirostat_eta;
}

ridge_status ridge_sampler_create(const ridge_model* model, const ridge_sampler_params* given,
                                  ridge_sampler** sampler) {
    return guard([&]() -> Status {
        if (model == nullptr || sampler == nullptr)
            return fail(ErrorCode::invalid_argument,
                        "ridge_sampler_create needs a model and a place");
        ridge_sampler_params p;
        ridge_sampler_defaults(&p);
        RIDGE_TRY(take_params(given, p));
        RIDGE_ASSIGN(std::shared_ptr<const Grammar> grammar, grammar_of(p));
        const uint32_t vocabulary = model->model->program().vocab;
        RIDGE_ASSIGN(TokenChooser made,
                     TokenChooser::create(options_of(p), model->model->tokenizer(), vocabulary,
                                          std::move(grammar)));
        *sampler = new ridge_sampler{std::move(made), vocabulary};
        return {};
    });
}

void ridge_sampler_free(ridge_sampler* sampler) {
    delete sampler;
}

void ridge_sampler_prompt(ridge_sampler* sampler, const int32_t* tokens, size_t n) {
    if (sampler != nullptr && tokens != nullptr) sampler->chooser.accept_prompt({tokens, n});
}

int32_t ridge_sample(ridge_sampler* sampler, const float* logits) {
    return static_cast<int32_t>(guard_count([&]() -> Result<int64_t> {
        RIDGE_TRY(needs(sampler, no_sampler));
        RIDGE_TRY(needs(logits, "the logits are null; ridge_logits has none for this index"));
        RIDGE_ASSIGN(const int32_t id, sampler->chooser.next({logits, sampler->vocabulary}));
        return int64_t{id < 0 ? RIDGE_SAMPLE_DONE : id};
    }));
}

ridge_status ridge_log_probabilities(const ridge_model* model, const float* logits, int32_t token,
                                     float* of_token, int32_t* best, float* of_best, size_t n) {
    return guard([&]() -> Status {
        RIDGE_TRY(needs(model, no_model));
        const uint32_t vocabulary = model->model->program().vocab;
        if (logits == nullptr || token < 0 || static_cast<uint32_t>(token) >= vocabulary ||
            n > vocabulary || (n != 0 && (best == nullptr || of_best == nullptr)))
            return fail(ErrorCode::invalid_argument,
                        "log-probabilities are of logits, of a token of the vocabulary, and of at "
                        "most as many best ones as it has");
        const Logprobs p = log_probabilities({logits, vocabulary}, token, n);
        if (of_token != nullptr) *of_token = p.chosen;
        for (size_t i = 0; i < n && i < p.best.size(); ++i) {
            best[i] = p.best[i].id;
            of_best[i] = p.best[i].logprob;
        }
        return {};
    });
}

}  // extern "C"
