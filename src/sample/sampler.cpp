#include "sample/sampler.hpp"

#include <algorithm>
#include <cmath>

namespace ridge {

Result<Sampler> Sampler::create(const SamplerOptions& o, uint32_t vocab) {
    const auto bad = [](const char* what) { return fail(ErrorCode::invalid_argument, what); };
    if (!(o.temperature >= 0.0f) || o.temperature > 100.0f)
        return bad("the temperature must be between 0 and 100");
    if (!(o.top_p > 0.0f) || o.top_p > 1.0f) return bad("top-p must be above 0 and at most 1");
    if (!(o.min_p >= 0.0f) || o.min_p > 1.0f) return bad("min-p must be between 0 and 1");
    Sampler s;
    s.options_ = o;
    s.candidates_.resize(vocab);
    s.weights_.resize(vocab);
    s.random_.seed(o.seed);
    return s;
}

int32_t Sampler::greedy(std::span<const float> logits) {
    size_t best = 0;
    float most = -INFINITY;
    for (size_t i = 0; i < logits.size(); ++i)
        if (logits[i] > most) {
            most = logits[i];
            best = i;
        }
    return static_cast<int32_t>(best);
}

int32_t Sampler::sample(std::span<const float> logits) {
    if (options_.temperature == 0.0f) return greedy(logits);
    const size_t n = std::min(logits.size(), candidates_.size());
    for (size_t i = 0; i < n; ++i)
        candidates_[i] = {std::isnan(logits[i]) ? -INFINITY : logits[i], static_cast<int32_t>(i)};
    const auto better = [](const Candidate& a, const Candidate& b) {
        return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
    };
    size_t kept = options_.top_k == 0 ? n : std::min<size_t>(options_.top_k, n);
    std::partial_sort(candidates_.begin(), candidates_.begin() + static_cast<ptrdiff_t>(kept),
                      candidates_.begin() + static_cast<ptrdiff_t>(n), better);
    const double most = candidates_[0].logit;
    if (!std::isfinite(most)) return candidates_[0].id;
    // top-p and min-p look at probabilities before temperature.
    double total = 0.0;
    for (size_t i = 0; i < kept; ++i) total += weights_[i] = std::exp(candidates_[i].logit - most);
    if (options_.top_p < 1.0f) {
        double sum = 0.0;
        size_t count = 0;
        while (count < kept && sum < options_.top_p * total) sum += weights_[count++];
        kept = std::max<size_t>(count, 1);
    }
    while (kept > 1 && weights_[kept - 1] < options_.min_p) --kept;
    total = 0.0;
    for (size_t i = 0; i < kept; ++i)
        total += weights_[i] = std::exp((candidates_[i].logit - most) / options_.temperature);
    double r = static_cast<double>(random_() >> 11) * 0x1p-53 * total;
    for (size_t i = 0; i < kept; ++i) {
        r -= weights_[i];
        if (r < 0.0) return candidates_[i].id;
    }
    return candidates_[kept - 1].id;
}

}  // namespace ridge
