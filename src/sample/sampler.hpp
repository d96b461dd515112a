// Sampler: from logits to the next token. Logit bias, then the stages of SamplerOptions::stages,
// then one draw; or mirostat 2. Order, defaults and draws are llama.cpp's: the same seed and logits
// give the same tokens as its sampler library (docs/sampling.md names the exceptions).
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "sample/candidates.hpp"
#include "sample/options.hpp"
#include "sample/penalties.hpp"
#include "text/tokenizer.hpp"

namespace ridge {

class Sampler {
  public:
    // `tokenizer` is only needed to find DRY's sequence breakers; without, DRY has none. Errors: a
    // value out of range, named.
    static Result<Sampler> create(const SamplerOptions& options, uint32_t vocab,
                                  const Tokenizer* tokenizer = nullptr);

    // The next token. NaN logits count as minus infinity. `allowed` (one bit a token, 64 a word;
    // empty: all) comes before every stage; -1 where it and the biases leave no token. Does not
    // allocate. The penalties see a token only once it was accepted.
    int32_t sample(std::span<const float> logits, std::span<const uint64_t> allowed = {});

    // Tells the penalties of a token that is now part of the text: one of the prompt or one that
    // was sampled. Ids outside the vocabulary are ignored.
    void accept(int32_t id);

    // As after create(): history, random numbers and mirostat's state.
    void reset();

    // What the last sample() was drawn from, with probabilities.
    std::span<const Candidate> candidates() const { return candidates_.items(); }

    // Index of the largest logit; the first of equals.
    static int32_t greedy(std::span<const float> logits);

  private:
    void run(SamplerStage stage);
    int32_t draw();
    int32_t draw_mirostat();

    SamplerOptions options_;
    Candidates candidates_;
    Penalties penalties_;
    DryPenalty dry_;
    std::vector<float> biased_;
    std::mt19937 random_, xtc_random_;
    float mu_ = 0.0f;
    bool greedy_ = false;
};

// The natural logarithms of softmax(logits) for the `count` best tokens, best first, and for one
// token that the caller names: before any stage, as completion APIs report them.
struct TokenLogprob {
    int32_t id = 0;
    float logprob = 0.0f;
};
struct Logprobs {
    float chosen = 0.0f;
    std::vector<TokenLogprob> best;
};
Logprobs log_probabilities(std::span<const float> logits, int32_t chosen, size_t count);

}  // namespace ridge
