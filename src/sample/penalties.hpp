// The stages of the sampler chain that look back on the tokens so far: repeat, frequency and
// presence penalties, and DRY.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "sample/candidates.hpp"
#include "sample/options.hpp"
#include "text/tokenizer.hpp"

namespace ridge {

// The last `capacity` tokens. Does not allocate once made.
class History {
  public:
    explicit History(size_t capacity = 0) : ring_(capacity) {}
    size_t size() const { return size_; }
    int32_t back(size_t i) const;  // i = 0 is the newest
    // Adds a token; returns the one that fell out, or -1.
    int32_t push(int32_t id);
    void clear() { size_ = next_ = 0; }

  private:
    std::vector<int32_t> ring_;
    size_t size_ = 0, next_ = 0;
};

// logit = logit / repeat (times, where it is not positive) - count * frequency - presence, for each
// token in the window (Keskar et al. 2019; the other two as OpenAI's API documents them).
class Penalties {
  public:
    Penalties() = default;
    Penalties(const SamplerOptions& options, uint32_t vocab);
    bool active() const { return !counts_.empty(); }
    void accept(int32_t id);
    void apply(Candidates& c) const;
    void clear();

  private:
    History history_;
    std::vector<uint32_t> counts_;  // empty: off
    float repeat_ = 1.0f, frequency_ = 0.0f, presence_ = 0.0f;
};

// "Don't repeat yourself": a token that would lengthen a repetition of `length` tokens, length at
// least the allowed one, loses multiplier * base^(length - allowed). Repetitions end at sequence
// breakers (p-e-w, text-generation-webui #5677; koboldcpp #982).
class DryPenalty {
  public:
    // A sequence breaker as tokens: its first token, then the rest of each way to write it.
    using Breakers = std::unordered_map<int32_t, std::vector<std::vector<int32_t>>>;

    DryPenalty() = default;
    DryPenalty(const SamplerOptions& options, uint32_t vocab, Breakers breakers);
    bool active() const { return !longest_.empty(); }
    void accept(int32_t id);
    void apply(Candidates& c);
    void clear() { history_.clear(); }

    // The tokens that hold a breaker, alone or with those that would follow.
    static Breakers find_breakers(const Tokenizer& tokenizer,
                                  const std::vector<std::string>& breakers);

  private:
    // Tokens from the newest back to the nearest breaker.
    size_t reach() const;

    History history_;
    Breakers breakers_;
    std::vector<uint32_t> match_;    // scratch: at i, how far the newest tokens repeat from i on
    std::vector<uint32_t> longest_;  // scratch, by token; empty: off
    float multiplier_ = 0.0f, base_ = 1.0f;
    size_t allowed_ = 0;
};

}  // namespace ridge
