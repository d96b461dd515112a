// Quantized blocks to f32, for every type ridge reads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/types.hpp"

namespace ridge {

// out[0..n) = the weights that `blocks` (row_bytes(type, n) bytes, no alignment needed) stand for.
// n must be a multiple of the type's block. The bits equal those of the reference decoders of the
// GGUF format: products and differences in f32, in the order that base/quant_blocks.hpp writes.
void dequantize(DType type, const uint8_t* blocks, size_t n, float* out);

}  // namespace ridge
