// TokenChooser: a sampler, its penalties' history and, where there is one, the grammar that the
// text must follow, moved on together. What generates text asks it for one token after the other.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/status.hpp"
#include "sample/sampler.hpp"
#include "text/tokenizer.hpp"

namespace ridge {

class TokenChooser {
  public:
    // `vocab` is the number of logits. `ends` false: the tokens that end an answer are never
    // chosen under a grammar. Errors: an option out of range.
    static Result<TokenChooser> create(const SamplerOptions& options, const Tokenizer& tokenizer,
                                       uint32_t vocab, bool ends = true);

    // The penalties take the prompt into account; a grammar does not.
    void accept_prompt(std::span<const int32_t> ids);

    // The next token of the answer, already accepted; -1: the answer is complete and the
    // vocabulary has no token to say so. Errors: nothing is left that grammar and biases allow.
    Result<int32_t> next(std::span<const float> logits);

  private:
    explicit TokenChooser(Sampler sampler) : sampler_(std::move(sampler)) {}
    Sampler sampler_;
};

}  // namespace ridge
