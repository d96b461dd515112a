#include "sample/chooser.hpp"

namespace ridge {

Result<TokenChooser> TokenChooser::create(const SamplerOptions& options, const Tokenizer& tokenizer,
                                          uint32_t vocab, bool) {
    RIDGE_ASSIGN(Sampler sampler, Sampler::create(options, vocab, &tokenizer));
    return TokenChooser(std::move(sampler));
}

void TokenChooser::accept_prompt(std::span<const int32_t> ids) {
    for (const int32_t id : ids) sampler_.accept(id);
}

Result<int32_t> TokenChooser::next(std::span<const float> logits) {
    const int32_t id = sampler_.sample(logits);
    if (id < 0)
        return fail(ErrorCode::invalid_argument,
                    "the logit biases leave no token to choose; take one of them back");
    sampler_.accept(id);
    return id;
}

}  // namespace ridge
