#include "sample/sampler.hpp"

#include <algorithm>
#include <cmath>

#include "sample/filters.hpp"

namespace ridge {
namespace {

// Uniform in [0, 1) from two or one outputs of the generator: what libstdc++'s generate_canonical
// gives, written out so that a seed means the same with every C++ library.
double uniform_double(std::mt19937& random) {
    const double low = static_cast<double>(random());
    const double r = (low + static_cast<double>(random()) * 0x1p32) * 0x1p-64;
    return std::min(r, 1.0 - 0x1p-53);
}
float uniform_float(std::mt19937& random) {
    return std::min(static_cast<float>(random()) * 0x1p-32f, 1.0f - 0x1p-24f);
}

}  // namespace

Result<Sampler> Sampler::create(const SamplerOptions& o, uint32_t vocab,
                                const Tokenizer* tokenizer) {
    RIDGE_TRY(check_sampler_options(o, vocab));
    Sampler s;
    s.options_ = o;
    s.candidates_.reserve(vocab);
    if (!o.logit_bias.empty()) s.biased_.resize(vocab);
    const auto has = [&](SamplerStage stage) {
        return o.mirostat == 0 &&
               std::find(o.stages.begin(), o.stages.end(), stage) != o.stages.end();
    };
    if (has(SamplerStage::penalties)) s.penalties_ = Penalties(o, vocab);
    if (has(SamplerStage::dry) && o.dry_multiplier != 0.0f) {
        DryPenalty::Breakers breakers;
        if (tokenizer != nullptr) breakers = DryPenalty::find_breakers(*tokenizer, o.dry_breakers);
        for (const std::vector<int32_t>& ids : o.dry_breaker_ids)
            if (!ids.empty()) breakers[ids[0]].emplace_back(ids.begin() + 1, ids.end());
        s.dry_ = DryPenalty(o, vocab, std::move(breakers));
    }
    // Then no stage changes which token is the best.
    s.greedy_ = o.temperature == 0.0f && o.dynatemp_range == 0.0f && o.mirostat == 0 &&
                has(SamplerStage::temperature) && o.typical_p == 1.0f &&
                o.xtc_probability == 0.0f && !s.penalties_.active() && !s.dry_.active();
    s.reset();
    return s;
}

void Sampler::reset() {
    // Seeds below 2^32 are llama.cpp's; the others are folded.
    const auto seed = static_cast<uint32_t>(options_.seed ^ (options_.seed >> 32));
    random_.seed(seed);
    xtc_random_.seed(seed);
    mu_ = 2.0f * options_.mirostat_tau;
    penalties_.clear();
    dry_.clear();
}

void Sampler::accept(int32_t id) {
    penalties_.accept(id);
    dry_.accept(id);
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

void Sampler::run(SamplerStage stage) {
    const SamplerOptions& o = options_;
    switch (stage) {
        case SamplerStage::penalties:
            penalties_.apply(candidates_);
            break;
        case SamplerStage::dry:
            dry_.apply(candidates_);
            break;
        case SamplerStage::top_n_sigma:
            mask_top_n_sigma(candidates_, o.top_n_sigma);
            break;
        case SamplerStage::top_k:
            keep_top_k(candidates_, o.top_k);
            break;
        case SamplerStage::typical:
            keep_typical(candidates_, o.typical_p, o.min_keep);
            break;
        case SamplerStage::top_p:
            keep_top_p(candidates_, o.top_p, o.min_keep);
            break;
        case SamplerStage::min_p:
            keep_min_p(candidates_, o.min_p, o.min_keep);
            break;
        case SamplerStage::xtc:
            if (o.xtc_probability <= 0.0f || o.xtc_threshold > 0.5f || candidates_.size() < 2)
                break;
            if (uniform_float(xtc_random_) > o.xtc_probability) break;
            exclude_top_choices(candidates_, o.xtc_threshold, o.min_keep);
            break;
        case SamplerStage::temperature:
            apply_dynamic_temperature(candidates_, o.temperature, o.dynatemp_range,
                                      o.dynatemp_exponent);
            break;
    }
}

int32_t Sampler::draw() {
    const auto list = candidates_.items();
    if (list.size() == 1) {
        list[0].p = 1.0f;
        return list[0].id;
    }
    candidates_.softmax();
    const double target = uniform_double(random_);
    double sum = 0.0;
    for (const Candidate& c : list) {
        sum += static_cast<double>(c.p);
        if (sum >= target && c.p > 0.0f) return c.id;
    }
    return std::max_element(
               list.begin(), list.end(),
               [](const Candidate& a, const Candidate& b) { return a.logit < b.logit; })
        ->id;
}

// Basu et al. 2021: candidates whose surprise (in bits) exceeds mu are dropped, and mu moves
// towards a surprise of tau.
int32_t Sampler::draw_mirostat() {
    apply_temperature(candidates_, options_.temperature);
    candidates_.sort();
    candidates_.softmax();
    size_t count = 0;
    for (const Candidate& c : candidates_.items()) {
        if (-std::log2(c.p) > mu_) break;
        ++count;
    }
    candidates_.keep_first(std::max<size_t>(count, 1));
    candidates_.softmax();
    const double target = uniform_double(random_);
    const auto list = candidates_.items();
    double sum = 0.0;
    size_t chosen = 0;
    for (size_t i = 0; i < list.size(); ++i) {
        if (list[i].p > 0.0f) chosen = i;
        sum += static_cast<double>(list[i].p);
        if (sum >= target && list[i].p > 0.0f) break;
    }
    mu_ -= options_.mirostat_eta * (-std::log2(list[chosen].p) - options_.mirostat_tau);
    return list[chosen].id;
}

int32_t Sampler::sample(std::span<const float> logits, std::span<const uint64_t> allowed) {
    if (!biased_.empty()) {
        const size_t n = std::min(logits.size(), biased_.size());
        std::copy_n(logits.begin(), n, biased_.begin());
        for (const auto& [id, bias] : options_.logit_bias)
            if (static_cast<size_t>(id) < n) biased_[static_cast<size_t>(id)] += bias;
        logits = std::span<const float>(biased_).first(n);
    }
    if (greedy_ && allowed.empty() && biased_.empty()) {
        const int32_t best = greedy(logits);
        candidates_.fill_with(best, logits.empty() ? 0.0f : logits[static_cast<size_t>(best)]);
        return best;
    }
    candidates_.fill(logits, allowed);
    if (candidates_.size() == 0) return -1;
    const float most = candidates_.largest();
    const bool limited = !allowed.empty() || !biased_.empty();
    if (limited && most == -INFINITY) return -1;
    if (!std::isfinite(most)) {  // infinite, or nothing but minus infinity: nothing to weigh
        for (const Candidate& c : candidates_.items())
            if (c.logit == most) return c.id;
        return candidates_.items()[0].id;
    }
    if (options_.mirostat == 2) return draw_mirostat();
    for (const SamplerStage stage : options_.stages) {
        run(stage);
        if (!std::isfinite(candidates_.largest())) break;  // penalties beyond what a float holds
    }
    if (!std::isfinite(candidates_.largest())) return candidates_.items()[0].id;
    return draw();
}

Logprobs log_probabilities(std::span<const float> logits, int32_t chosen, size_t count) {
    Logprobs out;
    float most = -INFINITY;
    for (const float x : logits)
        if (x > most) most = x;
    double total = 0.0;
    for (const float x : logits)
        if (!std::isnan(x)) total += std::exp(static_cast<double>(x) - static_cast<double>(most));
    const double norm = static_cast<double>(most) + std::log(total);
    const auto value = [&](size_t i) {
        const double x = static_cast<double>(logits[i]) - norm;
        return std::isnan(x) ? -INFINITY : static_cast<float>(x);
    };
    if (chosen >= 0 && static_cast<size_t>(chosen) < logits.size())
        out.chosen = value(static_cast<size_t>(chosen));
    std::vector<int32_t> ids(logits.size());
    for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int32_t>(i);
    const size_t n = std::min(count, ids.size());
    const auto score = [&](int32_t id) {
        const float x = logits[static_cast<size_t>(id)];
        return std::isnan(x) ? -INFINITY : x;
    };
    std::partial_sort(
        ids.begin(), ids.begin() + static_cast<ptrdiff_t>(n), ids.end(),
        [&](int32_t a, int32_t b) { return score(a) != score(b) ? score(a) > score(b) : a < b; });
    for (size_t i = 0; i < n; ++i) out.best.push_back({ids[i], value(static_cast<size_t>(ids[i]))});
    return out;
}

}  // namespace ridge
