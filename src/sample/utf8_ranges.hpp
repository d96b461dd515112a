// Ranges of code points as ranges of UTF-8 bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ridge {

// The texts whose i-th byte is between low[i] and high[i].
struct Utf8Range {
    size_t length = 0;
    std::array<uint8_t, 4> low{}, high{};
};

// Exactly the encodings of the code points low to high, which must hold no surrogate and end at
// U+10FFFF. The pieces do not overlap.
std::vector<Utf8Range> utf8_ranges(uint32_t low, uint32_t high);

}  // namespace ridge
