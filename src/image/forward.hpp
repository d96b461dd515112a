// A plain float forward pass of a decoder, for calibration: every position of a sequence, with a
// look at what flows between the stages.
//
// Products add in f32, in order of k, positions side by side; everything else is f32 with double
// sums. Serves ranges and scales; it is no oracle.
#pragma once

#include <functional>
#include <span>

#include "image/decoder.hpp"

namespace ridge::image {

enum class Tap : uint8_t {
    residual,       // hidden wide: the embedding (layer 0), and after each layer's two additions
    attention_in,   // normed, hidden wide
    q,              // rotated, heads x head_dim
    k,              // rotated, KV heads x head_dim
    v,              //
    attention_out,  // heads x head_dim
    output,         // Wo's result
    ffn_in,         // normed
    gate,           // ffn wide
    up,
    hidden,    // silu(gate) * up
    down,      // Wdown's result
    final_in,  // normed, of the last norm
    logits,
};
inline constexpr size_t tap_count = 14;

// rows of `width` values, position by position.
using TapFn =
    std::function<void(Tap tap, uint32_t layer, std::span<const float> rows, uint32_t width)>;

// Runs positions 0 .. ids.size() - 1. `with_logits`: also the head, for every position. Ids must be
// inside the vocabulary.
void forward(const Decoder& d, std::span<const int32_t> ids, bool with_logits, const TapFn& tap);

}  // namespace ridge::image
