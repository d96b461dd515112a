// How well a chip's logits agree with the oracle's over teacher-forced positions.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace ridge::test {

struct Agreement {
    uint64_t positions = 0, same_argmax = 0, in_top5 = 0;
    double oracle_nats = 0, chip_nats = 0;  // sums of negative log-likelihoods of the next token

    // One position: both logits, and the token that follows in the text.
    template <typename T>
    void add(std::span<const double> oracle, std::span<const T> chip, int32_t next) {
        ++positions;
        const auto best = std::max_element(oracle.begin(), oracle.end()) - oracle.begin();
        size_t above = 0;  // of the chip's logits: ties and NaN count against it
        for (size_t i = 0; i < chip.size(); ++i)
            above += static_cast<std::ptrdiff_t>(i) != best &&
                     !(chip[i] < chip[static_cast<size_t>(best)]);
        same_argmax += above == 0;
        in_top5 += above < 5;
        oracle_nats += nats(oracle, next);
        chip_nats += nats(chip, next);
    }
    double top1() const { return percent(same_argmax); }
    double top5() const { return percent(in_top5); }
    double oracle_nll() const { return oracle_nats / static_cast<double>(positions); }
    double chip_nll() const { return chip_nats / static_cast<double>(positions); }

    template <typename T>
    static double nats(std::span<const T> logits, int32_t next) {
        const double largest = static_cast<double>(*std::max_element(logits.begin(), logits.end()));
        double sum = 0;
        for (const T x : logits) sum += std::exp(static_cast<double>(x) - largest);
        return std::log(sum) + largest - static_cast<double>(logits[static_cast<size_t>(next)]);
    }

  private:
    double percent(uint64_t n) const {
        return 100 * static_cast<double>(n) / static_cast<double>(positions);
    }
};

// Draws from softmax(logits) by a generator of its own (xorshift64*), so that texts are the same
// everywhere that logits are.
class Draw {
  public:
    explicit Draw(uint64_t seed) : state_(seed * 2685821657736338717u + 1) {}
    int32_t operator()(std::span<const double> logits) {
        const double largest = *std::max_element(logits.begin(), logits.end());
        double sum = 0;
        for (const double x : logits) sum += std::exp(x - largest);
        double left = uniform() * sum;
        for (size_t i = 0; i < logits.size(); ++i)
            if ((left -= std::exp(logits[i] - largest)) < 0) return static_cast<int32_t>(i);
        return static_cast<int32_t>(logits.size() - 1);
    }
    double uniform() {
        state_ ^= state_ >> 12;
        state_ ^= state_ << 25;
        state_ ^= state_ >> 27;
        return static_cast<double>(state_ * 2685821657736338717u >> 11) * 0x1p-53;
    }
    uint32_t below(uint32_t n) { return static_cast<uint32_t>(uniform() * n); }

  private:
    uint64_t state_;
};

}  // namespace ridge::test
