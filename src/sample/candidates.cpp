#include "sample/candidates.hpp"

#include <algorithm>
#include <cmath>

namespace ridge {
namespace {

bool better(const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

}  // namespace

void Candidates::fill(std::span<const float> logits, std::span<const uint64_t> allowed) {
    const size_t n = std::min(logits.size(), all_.size());
    begin_ = size_ = 0;
    sorted_ = false;
    for (size_t i = 0; i < n; ++i) {
        if (!allowed.empty()) {
            const size_t word = i / 64;
            if (word >= allowed.size() || (allowed[word] >> (i % 64) & 1) == 0) continue;
        }
        all_[size_++] = {std::isnan(logits[i]) ? -INFINITY : logits[i], 0.0f, 0.0f,
                         static_cast<int32_t>(i)};
    }
}

void Candidates::fill_with(int32_t id, float logit) {
    begin_ = 0;
    size_ = all_.empty() ? 0 : 1;
    sorted_ = true;
    if (size_ == 1) all_[0] = {logit, 1.0f, 0.0f, id};
}

void Candidates::lead(size_t count) {
    if (sorted_) return;
    const auto list = items();
    const auto middle = list.begin() + static_cast<ptrdiff_t>(std::min(count, size_));
    std::partial_sort(list.begin(), middle, list.end(), better);
    if (count >= size_) sorted_ = true;
}

void Candidates::sort() {
    if (sorted_) return;
    std::sort(items().begin(), items().end(), better);
    sorted_ = true;
}

void Candidates::drop_first(size_t count) {
    const size_t n = std::min(count, size_);
    begin_ += n;
    size_ -= n;
}

void Candidates::keep_from(float logit) {
    const auto list = items();
    const auto end = std::remove_if(list.begin(), list.end(),
                                    [&](const Candidate& c) { return c.logit < logit; });
    size_ = static_cast<size_t>(end - list.begin());
}

float Candidates::largest() const {
    if (sorted_ && size_ > 0) return items()[0].logit;
    float most = -INFINITY;
    for (const Candidate& c : items()) most = std::max(most, c.logit);
    return most;
}

void Candidates::softmax() {
    const float most = largest();
    double total = 0.0;
    for (Candidate& c : items()) {
        c.p = std::exp(c.logit - most);
        total += static_cast<double>(c.p);
    }
    for (Candidate& c : items()) c.p = static_cast<float>(static_cast<double>(c.p) / total);
}

}  // namespace ridge
