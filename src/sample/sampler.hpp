// Sampler: from logits to the next token. Greedy, or top-k, top-p, min-p and temperature in the
// order of llama.cpp's default chain.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "base/status.hpp"

namespace ridge {

struct SamplerOptions {
    float temperature = 0.8f;  // 0 = greedy
    uint32_t top_k = 40;       // 0 = off
    float top_p = 0.95f;       // 1 = off
    float min_p = 0.05f;       // 0 = off
    uint64_t seed = 0;
};

class Sampler {
  public:
    // Errors: a value out of range, named.
    static Result<Sampler> create(const SamplerOptions& options, uint32_t vocab);

    // The next token. NaN logits count as minus infinity. Does not allocate. The same seed and
    // logits give the same tokens.
    int32_t sample(std::span<const float> logits);

    // Index of the largest logit; the first of equals.
    static int32_t greedy(std::span<const float> logits);

  private:
    struct Candidate {
        float logit;
        int32_t id;
    };
    SamplerOptions options_;
    std::vector<Candidate> candidates_;
    std::vector<double> weights_;
    std::mt19937_64 random_;
};

}  // namespace ridge
