// Scoring: perplexity of a text, and the divergence of one model's predictions from another's.
#pragma once

#include <functional>
#include <span>

#include "base/status.hpp"
#include "runtime/model.hpp"

namespace ridge {

struct ScoreOptions {
    uint32_t window = 512;    // tokens of one independent stretch of text
    uint32_t first = 256;     // positions from here on are scored: they have this much to go by
    uint64_t max_tokens = 0;  // read at most so many tokens of the text; 0 = all
    // Ids as given, or with each window's first token replaced by BOS where the vocabulary adds one
    // (what llama.cpp does).
    bool bos = true;
};

struct Score {
    uint64_t tokens = 0;  // scored
    uint64_t windows = 0;
    double perplexity = 0, perplexity_error = 0;  // exp of the mean negative log-likelihood
    // Against the oracle; unset (0) without one. Errors are standard errors of the mean.
    bool compared = false;
    double oracle_perplexity = 0;
    double mean_kld = 0, mean_kld_error = 0;  // nats, KL(oracle || model)
    double kld_999 = 0, kld_max = 0;          // 99.9th percentile
    double same_top = 0, same_top_error = 0;  // share of positions with the same best token
};

// Scores whole windows of `ids` (a shorter rest is left out). Both models compute the same ids;
// `oracle` may be null. Errors: fewer ids than one window, ids outside the vocabulary.
Result<Score> score(Model& model, Model* oracle, std::span<const int32_t> ids,
                    const ScoreOptions& options,
                    const std::function<void(double share, const Score& so_far)>& progress = {});

}  // namespace ridge
