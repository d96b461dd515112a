#include "sample/filters.hpp"

#include <algorithm>
#include <cmath>

namespace ridge {
namespace {

// Sum of -p log p, in nats; p = 0 contributes nothing.
double entropy(const Candidates& c) {
    double sum = 0.0;
    for (const Candidate& x : c.items())
        if (x.p > 0.0f) sum -= static_cast<double>(x.p) * std::log(static_cast<double>(x.p));
    return sum;
}

}  // namespace

void keep_top_k(Candidates& c, int32_t k) {
    if (k <= 0) return;
    const size_t count = std::min(static_cast<size_t>(k), c.size());
    c.lead(count);
    c.keep_first(count);
    c.lead(count);  // those that stay are in order: say so
}

void keep_top_p(Candidates& c, float p, size_t min_keep) {
    if (p >= 1.0f) return;
    c.softmax();
    // Most of the mass is in few of many: order those first.
    size_t ordered = c.size() > 1024 ? 256 : c.size();
    c.lead(ordered);
    double sum = 0.0;
    for (size_t i = 0; i < c.size(); ++i) {
        if (i == ordered) {
            ordered = c.size();
            c.sort();
        }
        sum += static_cast<double>(c.items()[i].p);
        if (sum >= static_cast<double>(p) && i + 1 >= min_keep) {
            c.keep_first(i + 1);
            break;
        }
    }
    c.sort();
}

void keep_min_p(Candidates& c, float p, size_t min_keep) {
    if (p <= 0.0f || c.size() == 0) return;
    const float least = c.largest() + std::log(p);
    if (!c.sorted()) {
        size_t enough = 0;
        for (const Candidate& x : c.items()) enough += x.logit >= least ? 1 : 0;
        if (enough >= std::max<size_t>(min_keep, 1)) {
            c.keep_from(least);
            return;
        }
        c.sort();
    }
    size_t count = 1;
    while (count < c.size() && (c.items()[count].logit >= least || count < min_keep)) ++count;
    c.keep_first(count);
}

void keep_typical(Candidates& c, float p, size_t min_keep) {
    if (p >= 1.0f) return;
    c.sort();
    c.softmax();
    const double expected = entropy(c);
    for (Candidate& x : c.items())
        x.key = static_cast<float>(std::abs(-std::log(static_cast<double>(x.p)) - expected));
    std::sort(c.items().begin(), c.items().end(), [](const Candidate& a, const Candidate& b) {
        return a.key != b.key ? a.key < b.key : a.id < b.id;
    });
    c.set_unsorted();
    double sum = 0.0;
    for (size_t i = 0; i < c.size(); ++i) {
        sum += static_cast<double>(c.items()[i].p);
        if (sum > static_cast<double>(p) && i + 1 >= min_keep) {
            c.keep_first(i + 1);
            return;
        }
    }
}

void mask_top_n_sigma(Candidates& c, float n) {
    if (n <= 0.0f || c.size() <= 1) return;
    double sum = 0.0, squares = 0.0;
    size_t count = 0;
    for (const Candidate& x : c.items())
        if (x.logit != -INFINITY) {
            sum += static_cast<double>(x.logit);
            ++count;
        }
    if (count == 0) return;
    const double mean = sum / static_cast<double>(count);
    for (const Candidate& x : c.items())
        if (x.logit != -INFINITY)
            squares +=
                (static_cast<double>(x.logit) - mean) * (static_cast<double>(x.logit) - mean);
    const double deviation = std::sqrt(squares / static_cast<double>(count));
    const double least = static_cast<double>(c.largest()) - static_cast<double>(n) * deviation;
    for (Candidate& x : c.items())
        if (static_cast<double>(x.logit) < least) x.logit = -INFINITY;
}

void exclude_top_choices(Candidates& c, float threshold, size_t min_keep) {
    c.sort();
    c.softmax();
    size_t last = 0;
    for (size_t i = 0; i < c.size() && c.items()[i].p >= threshold; ++i) last = i;
    if (last > 0 && c.size() - last >= min_keep) c.drop_first(last);
}

void apply_temperature(Candidates& c, float temperature) {
    if (temperature <= 0.0f) {
        Candidate* best = nullptr;
        for (Candidate& x : c.items()) {
            if (best == nullptr || x.logit > best->logit) {
                if (best != nullptr) best->logit = -INFINITY;
                best = &x;
            } else {
                x.logit = -INFINITY;
            }
        }
        if (!c.sorted()) return;
        c.keep_first(1);
        return;
    }
    const float most = c.largest();
    if (std::isfinite(most / temperature)) {
        for (Candidate& x : c.items()) x.logit /= temperature;
        return;
    }
    // Relative to the largest, so that a tiny temperature does not make infinities of all.
    for (Candidate& x : c.items())
        x.logit = x.logit == most ? 0.0f : (x.logit - most) / temperature;
}

void apply_dynamic_temperature(Candidates& c, float temperature, float range, float exponent) {
    if (range <= 0.0f) {
        apply_temperature(c, temperature);
        return;
    }
    if (c.size() <= 1) return;
    c.sort();
    c.softmax();
    const double share = std::max(0.0, entropy(c) / std::log(static_cast<double>(c.size())));
    const double low = std::max(0.0f, temperature - range);
    const double high = temperature + range;
    const double chosen = low + (high - low) * std::pow(share, static_cast<double>(exponent));
    // A negative exponent of a tiny entropy asks for more than any temperature there is.
    apply_temperature(c, static_cast<float>(std::min(chosen, 1e30)));
}

}  // namespace ridge
