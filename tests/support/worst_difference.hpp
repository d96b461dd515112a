// How far computed numbers are from the wanted ones, at worst. A running maximum by std::max passes
// over NaN, and one that a NaN has got into is lowered by the next number; here what is no finite
// number is worse than everything, and stays so.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>

namespace ridge::test {

class WorstDifference {
  public:
    WorstDifference() = default;
    // Of two lists as long as each other.
    template <typename Got, typename Want>
    WorstDifference(const Got& got, const Want& want) {
        if (std::size(got) != std::size(want)) return;  // nothing is compared: see value()
        for (size_t i = 0; i < std::size(got); ++i) add(got[i], want[i]);
    }

    template <typename Got, typename Want>
    void add(Got got, Want want) {
        const double wanted = std::abs(static_cast<double>(want));
        const double d = std::abs(static_cast<double>(got) - static_cast<double>(want));
        if (const double it = finite(d); count_ == 0 || it > value_) {
            value_ = it;
            where_ = count_;
        }
        if (std::isfinite(wanted)) largest_ = std::max(largest_, wanted);
        ++count_;
    }

    // The largest |got - want|: infinite where one of them was no finite number, where the lists
    // were not equally long, and where nothing was compared at all.
    double value() const { return count_ == 0 ? infinity : value_; }
    // Which pair that was, in order of adding.
    size_t where() const { return where_; }
    // The largest finite |want|, for bounds relative to it: no such bound reaches an infinite
    // value().
    double largest() const { return largest_; }

  private:
    static constexpr double infinity = std::numeric_limits<double>::infinity();
    static double finite(double x) { return std::isfinite(x) ? x : infinity; }

    double value_ = 0, largest_ = 0;
    size_t where_ = 0, count_ = 0;
};

}  // namespace ridge::test
