#include "sample/chooser.hpp"

namespace ridge {

Result<TokenChooser> TokenChooser::create(const SamplerOptions& options, const Tokenizer& tokenizer,
                                          uint32_t vocab, std::shared_ptr<const Grammar> grammar,
                                          bool ends) {
    RIDGE_ASSIGN(Sampler sampler, Sampler::create(options, vocab, &tokenizer));
    TokenChooser chooser(std::move(sampler));
    chooser.ends_ = ends;
    if (grammar != nullptr) {
        chooser.trie_ = TokenTrie::of(tokenizer);
        chooser.matcher_.emplace(std::move(grammar), chooser.trie_);
    }
    return chooser;
}

void TokenChooser::accept_prompt(std::span<const int32_t> ids) {
    for (const int32_t id : ids) sampler_.accept(id);
}

Result<std::span<const uint64_t>> TokenChooser::allowed() {
    RIDGE_ASSIGN(const std::span<const uint64_t> mask, matcher_->mask());
    if (ends_) return mask;
    without_ends_.assign(mask.begin(), mask.end());
    for (const int32_t id : trie_->ends())
        without_ends_[static_cast<size_t>(id) / 64] &=
            ~(uint64_t{1} << (static_cast<size_t>(id) % 64));
    return std::span<const uint64_t>(without_ends_);
}

Result<int32_t> TokenChooser::next(std::span<const float> logits) {
    if (!matcher_) {
        const int32_t id = sampler_.sample(logits);
        if (id < 0)
            return fail(ErrorCode::invalid_argument,
                        "the logit biases leave no token to choose; take one of them back");
        sampler_.accept(id);
        return id;
    }
    if (matcher_->closed()) return -1;
    RIDGE_ASSIGN(const std::span<const uint64_t> mask, allowed());
    const int32_t id = sampler_.sample(logits, mask);
    if (id < 0) {
        if (matcher_->complete()) return -1;
        return fail(
            ErrorCode::invalid_argument,
            "no token of this vocabulary goes on as the grammar (or the logit biases) want; "
            "the answer ends here, unfinished");
    }
    RIDGE_TRY(matcher_->accept(id));
    sampler_.accept(id);
    return id;
}

}  // namespace ridge
