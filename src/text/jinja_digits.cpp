// Digits beyond ASCII, as Python knows them.
#include <algorithm>
#include <cstdint>
#include <iterator>

#include "text/jinja_text.hpp"

namespace ridge::jinja {
namespace {

struct Range {
    uint32_t first, last;
};

#include "text/jinja_digits.inc"

template <size_t n>
const Range* find_range(const Range (&table)[n], uint32_t c) {
    const auto* const found =
        std::lower_bound(std::begin(table), std::end(table), c,
                         [](const Range& r, uint32_t x) { return r.last < x; });
    return found != std::end(table) && c >= found->first ? found : nullptr;
}

}  // namespace

int decimal_value(uint32_t c) {
    if (c < 0x80) return c >= '0' && c <= '9' ? static_cast<int>(c - '0') : -1;
    const Range* const range = find_range(k_decimals, c);
    return range == nullptr ? -1 : static_cast<int>((c - range->first) % 10);
}

bool is_digit(uint32_t c) {
    return decimal_value(c) >= 0 || find_range(k_digits, c) != nullptr;
}

bool is_numeric(uint32_t c) {
    return is_digit(c) || find_range(k_numerics, c) != nullptr;
}

}  // namespace ridge::jinja
