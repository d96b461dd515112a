#include "sample/penalties.hpp"

#include <algorithm>
#include <cmath>

namespace ridge {

int32_t History::back(size_t i) const {
    return ring_[(next_ + ring_.size() - 1 - i) % ring_.size()];
}

int32_t History::push(int32_t id) {
    if (ring_.empty()) return -1;
    const int32_t out = size_ == ring_.size() ? ring_[next_] : -1;
    ring_[next_] = id;
    next_ = (next_ + 1) % ring_.size();
    size_ = std::min(size_ + 1, ring_.size());
    return out;
}

Penalties::Penalties(const SamplerOptions& o, uint32_t vocab)
    : repeat_(o.repeat_penalty), frequency_(o.frequency_penalty), presence_(o.presence_penalty) {
    const bool off = repeat_ == 1.0f && frequency_ == 0.0f && presence_ == 0.0f;
    if (off || o.penalty_last_n == 0) return;
    history_ = History(static_cast<size_t>(o.penalty_last_n));
    counts_.resize(vocab);
}

void Penalties::accept(int32_t id) {
    if (id < 0 || static_cast<size_t>(id) >= counts_.size()) return;
    ++counts_[static_cast<size_t>(id)];
    const int32_t out = history_.push(id);
    if (out >= 0) --counts_[static_cast<size_t>(out)];
}

void Penalties::apply(Candidates& c) const {
    if (counts_.empty()) return;
    for (Candidate& x : c.items()) {
        const uint32_t count = counts_[static_cast<size_t>(x.id)];
        if (count == 0) continue;
        x.logit = x.logit <= 0.0f ? x.logit * repeat_ : x.logit / repeat_;
        x.logit -= static_cast<float>(count) * frequency_ + presence_;
    }
    c.set_unsorted();
}

void Penalties::clear() {
    history_.clear();
    std::fill(counts_.begin(), counts_.end(), 0u);
}

DryPenalty::DryPenalty(const SamplerOptions& o, uint32_t vocab, Breakers breakers)
    : breakers_(std::move(breakers)),
      multiplier_(o.dry_multiplier),
      base_(o.dry_base),
      allowed_(static_cast<size_t>(o.dry_allowed_length)) {
    if (multiplier_ == 0.0f || base_ < 1.0f || o.dry_penalty_last_n == 0) return;
    history_ = History(static_cast<size_t>(o.dry_penalty_last_n));
    match_.resize(static_cast<size_t>(o.dry_penalty_last_n));
    longest_.resize(vocab);
}

void DryPenalty::accept(int32_t id) {
    if (id >= 0 && static_cast<size_t>(id) < longest_.size()) history_.push(id);
}

size_t DryPenalty::reach() const {
    for (size_t i = 0; i < history_.size(); ++i) {
        const auto found = breakers_.find(history_.back(i));
        if (found == breakers_.end()) continue;
        size_t longest = 0;
        bool whole = false;
        for (const std::vector<int32_t>& tail : found->second) {
            if (tail.size() > i) continue;  // not written to its end yet
            size_t same = 0;
            while (same < tail.size() && tail[same] == history_.back(i - same - 1)) ++same;
            if (same < tail.size()) continue;
            whole = true;
            longest = std::max(longest, tail.size());
        }
        if (whole) return i - longest;
    }
    return history_.size();
}

// Reading from the newest token back, match_[k] is the length of the common prefix of the sequence
// and of its rest from k: the Z function (Gusfield 1997, 1.4), in linear time. The token that came
// after that earlier occurrence is the one at k - 1.
void DryPenalty::apply(Candidates& c) {
    if (longest_.empty()) return;
    const size_t n = history_.size();
    if (n <= allowed_) return;
    const size_t limit = reach();
    if (limit < allowed_) return;
    size_t left = 0, right = 0;  // the furthest window [left, right) that repeats the beginning
    for (size_t k = 1; k < n; ++k) {
        size_t same = k < right ? std::min<size_t>(match_[k - left], right - k) : 0;
        while (k + same < n && history_.back(same) == history_.back(k + same)) ++same;
        match_[k] = static_cast<uint32_t>(same);
        if (k + same > right) {
            left = k;
            right = k + same;
        }
    }
    // What is stored in longest_ is the length plus one: 0 says that nothing repeats.
    for (size_t k = 1; k < n; ++k) {
        const auto length = static_cast<uint32_t>(std::min<size_t>(match_[k], limit));
        if (length < allowed_) continue;
        uint32_t& best = longest_[static_cast<size_t>(history_.back(k - 1))];
        best = std::max(best, length + 1);
    }
    const double most = base_ > 1.000001f ? std::floor(88.7228391 / std::log(base_)) : 0.0;
    for (Candidate& x : c.items()) {
        const uint32_t stored = longest_[static_cast<size_t>(x.id)];
        if (stored == 0) continue;
        const auto breaker = breakers_.find(x.id);
        if (breaker != breakers_.end() &&
            std::any_of(breaker->second.begin(), breaker->second.end(),
                        [](const std::vector<int32_t>& tail) { return tail.empty(); }))
            continue;
        double exponent = static_cast<double>(stored - 1 - allowed_);
        if (most > 0.0) exponent = std::min(exponent, most);
        x.logit -= multiplier_ * static_cast<float>(std::pow(static_cast<double>(base_), exponent));
    }
    for (size_t k = 1; k < n; ++k) longest_[static_cast<size_t>(history_.back(k - 1))] = 0;
    c.set_unsorted();
}

DryPenalty::Breakers DryPenalty::find_breakers(const Tokenizer& tokenizer,
                                               const std::vector<std::string>& breakers) {
    constexpr size_t max_bytes = 40, max_tail = 20;  // as llama.cpp: bounds the scan in reach()
    Breakers found;
    for (const std::string& whole : breakers) {
        const std::string breaker = whole.substr(0, max_bytes);
        if (breaker.empty()) continue;
        for (int32_t id = 0; id < tokenizer.size(); ++id) {
            const std::string_view word =
                tokenizer.is_control(id) ? tokenizer.raw(id) : tokenizer.bytes(id);
            if (word.find(breaker) != std::string_view::npos) {
                found[id].push_back({});
                continue;
            }
            // The word may end with the breaker's beginning.
            for (size_t at = word.find(breaker[0]); at != std::string_view::npos;
                 at = word.find(breaker[0], at + 1)) {
                const std::string_view head = word.substr(at);
                if (head.size() >= breaker.size() || !breaker.starts_with(head)) continue;
                std::vector<int32_t> tail =
                    tokenizer.encode(breaker.substr(head.size()), false, false);
                tail.resize(std::min(tail.size(), max_tail));
                auto& tails = found[id];
                if (std::find(tails.begin(), tails.end(), tail) == tails.end())
                    tails.push_back(std::move(tail));
            }
        }
    }
    return found;
}

}  // namespace ridge
