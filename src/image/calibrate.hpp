// Ranges of what flows through a decoder, from prompts: what static scales and shifts are chosen
// by.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "image/forward.hpp"
#include "text/tokenizer.hpp"

namespace ridge::image {

// Largest magnitudes seen.
struct Ranges {
    uint32_t prompts = 0;
    uint64_t tokens = 0;
    std::array<std::vector<float>, tap_count> stage;  // [tap][layer]
    std::vector<std::vector<float>> q, k, v;          // [layer][head or KV head]

    float at(Tap tap, uint32_t layer) const { return stage[static_cast<size_t>(tap)][layer]; }
};

// Prompts are the lines of the text that are not empty and do not begin with '#'; of each the first
// 128 tokens count, fewer (16 at least) where a model is so large that they would take long. Runs
// on all cores; the result does not depend on how many there are. Error: invalid_argument where the
// text holds no prompt.
Result<Ranges> calibrate(const Decoder& d, const Tokenizer& tokenizer, std::string_view text);

}  // namespace ridge::image
