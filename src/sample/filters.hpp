// The stages of the sampler chain that look at the distribution alone. Each leaves at least one
// candidate. All take candidates whose largest logit is finite.
#pragma once

#include "sample/candidates.hpp"

namespace ridge {

// The k best; k <= 0: all.
void keep_top_k(Candidates& c, int32_t k);

// The fewest of the best whose probabilities reach p (Holtzman et al. 2020, nucleus sampling).
void keep_top_p(Candidates& c, float p, size_t min_keep);

// Those with at least p times the best's probability.
void keep_min_p(Candidates& c, float p, size_t min_keep);

// Those nearest in surprise to the distribution's entropy, until their probabilities pass p
// (Meister et al. 2022, locally typical sampling). Leaves them in that order.
void keep_typical(Candidates& c, float p, size_t min_keep);

// Those within n standard deviations of the best logit (Tang et al. 2024, top-n-sigma): others get
// minus infinity and stay. Minus infinities do not count as logits.
void mask_top_n_sigma(Candidates& c, float n);

// All but the least probable of those that have at least `threshold` (exclude top choices); the
// caller has thrown the dice already.
void exclude_top_choices(Candidates& c, float threshold, size_t min_keep);

// Divides by the temperature; 0 leaves the best alone (others get minus infinity).
void apply_temperature(Candidates& c, float temperature);

// A temperature between temperature - range (at least 0) and temperature + range, by the entropy
// over its maximum, to the power of `exponent`.
void apply_dynamic_temperature(Candidates& c, float temperature, float range, float exponent);

}  // namespace ridge
