// The tokens that may still come next, with their logits: what the stages of the sampler chain
// work on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ridge {

struct Candidate {
    float logit = 0.0f;
    float p = 0.0f;    // valid after softmax()
    float key = 0.0f;  // scratch of a stage that sorts by something else
    int32_t id = 0;
};

// Nothing allocates after reserve().
class Candidates {
  public:
    void reserve(size_t vocab) { all_.resize(vocab); }

    // One candidate for each logit (NaN counts as minus infinity), in order of ids; only those
    // whose bit is set where `allowed` (one bit a token, 64 a word) is not empty.
    void fill(std::span<const float> logits, std::span<const uint64_t> allowed);

    std::span<Candidate> items() { return {all_.data() + begin_, size_}; }
    std::span<const Candidate> items() const { return {all_.data() + begin_, size_}; }
    size_t size() const { return size_; }
    bool sorted() const { return sorted_; }  // by falling logit; equal ones by rising id

    void fill_with(int32_t id, float logit);  // that one alone, p = 1
    void set_unsorted() { sorted_ = false; }
    // Puts the best `count` first, in order; the others follow in any order and are kept.
    void lead(size_t count);
    void sort();

    void keep_first(size_t count) { size_ = count < size_ ? count : size_; }
    void drop_first(size_t count);
    // Keeps what has at least this logit, in the order it stands.
    void keep_from(float logit);

    float largest() const;
    // p = exp(logit) / sum, stable for any finite logits.
    void softmax();

  private:
    std::vector<Candidate> all_;
    size_t begin_ = 0, size_ = 0;
    bool sorted_ = false;
};

}  // namespace ridge
