// f32 weights to quantized blocks of small error: what `ridge quantize` writes.
//
// plain rounding (quantize.hpp) takes each block's scale from its range; here scales and minimums
// are searched for, so that the weighted squared error of the block as the decoder will see it is
// small.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/types.hpp"

namespace ridge {

// out[0..row_bytes(type, n)) = blocks that minimise, as far as a bounded search finds it,
//   sum over i of importance[i] * (in[i] - dequantized[i])^2
// with importance[i] >= 0, the mean square of the activation that weight i meets (null: all 1;
// blocks whose importance is all 0 count as all 1). n must be a multiple of the type's block. Types
// without a search of their own are rounded plainly. Infinities and NaN give some finite code,
// never a trap. Deterministic: equal input gives equal bytes on every machine.
void quantize_fit(DType type, const float* in, size_t n, const float* importance, uint8_t* out);

}  // namespace ridge
