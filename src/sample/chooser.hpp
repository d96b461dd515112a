// TokenChooser: a sampler, its penalties' history and, where there is one, the grammar that the
// answer must follow, moved on together. What generates text asks it for one token after the other.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/status.hpp"
#include "sample/grammar_matcher.hpp"
#include "sample/sampler.hpp"
#include "text/tokenizer.hpp"

namespace ridge {

class TokenChooser {
  public:
    // `vocab` is the number of logits. `grammar`: null where the answer is free. `ends` false:
    // under a grammar, the tokens that end an answer are never chosen. Errors: an option out of
    // range.
    static Result<TokenChooser> create(const SamplerOptions& options, const Tokenizer& tokenizer,
                                       uint32_t vocab,
                                       std::shared_ptr<const Grammar> grammar = nullptr,
                                       bool ends = true);

    // The penalties take the prompt into account; the grammar is for the answer alone.
    void accept_prompt(std::span<const int32_t> ids);

    // The next token of the answer, already accepted. -1: the answer is complete and there is no
    // token to say so (none in the vocabulary, or `ends` is false). Errors: grammar and biases
    // leave no token (the answer ends here, unfinished), or the grammar passed a limit.
    Result<int32_t> next(std::span<const float> logits);

    // Has the grammar's text ended or may it end here? True where there is no grammar.
    bool complete() const { return !matcher_ || matcher_->complete(); }

  private:
    explicit TokenChooser(Sampler sampler) : sampler_(std::move(sampler)) {}
    Result<std::span<const uint64_t>> allowed();

    Sampler sampler_;
    std::shared_ptr<const TokenTrie> trie_;
    std::optional<GrammarMatcher> matcher_;
    bool ends_ = true;
    std::vector<uint64_t> without_ends_;
};

}  // namespace ridge
