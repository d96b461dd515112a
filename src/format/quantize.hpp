// f32 weights to quantized blocks by plain rounding: what ridge's tools and tests write. Simple,
// deterministic, of reasonable quality; not a competitor of importance-weighted quantizers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/types.hpp"

namespace ridge {

// out[0..row_bytes(type, n)) = blocks that dequantize() turns back into about in[0..n).
// n must be a multiple of the type's block. Infinities and NaN give some finite code, never a trap.
void quantize_plain(DType type, const float* in, size_t n, uint8_t* out);

}  // namespace ridge
