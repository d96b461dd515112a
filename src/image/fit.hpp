// Does a model fit the AI Max 395? Every limit, with numbers, from shapes alone.
#pragma once

#include <string>
#include <vector>

#include "boards/ai-max-395/firmware/image.h"
#include "image/shape.hpp"

namespace ridge::image {

// The RoPE table's positions: more than any context a model of this size was trained for, because
// decoding goes on past the ring's 128 slots.
inline constexpr uint32_t rope_positions = 4096;

// Dimensions of the image, offsets and sizes; checksums, scales and shifts are left zero. The shape
// must fit.
ImageHeader plan_image(const ModelShape& shape);

// What does not fit, one reason each; empty: it fits. `head_stored`: the file has a head of its own
// (its elements are among matrix_weights).
std::vector<std::string> misfits(const ModelShape& shape, bool head_stored);

}  // namespace ridge::image
