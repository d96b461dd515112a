// One column of a packed pair of column groups (packed.hpp): the reference reading of the layout,
// used by the embedding gather and by the ref products. Freestanding.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/types.hpp"

namespace ridge {

// 32 consecutive k of one column of a quantized group. value = code - zero, or the book's entry: a
// weight is value * scale, + min where the type has minima. Element i uses scale[i / 16], min[i /
// 16] (equal halves unless the type has a scale per 16 k). scale is d or d * code and min is m or
// -(dmin * code), one f32 multiply each; min is 0 for types without minima.
struct ColumnBlock {
    int16_t value[32];
    float scale[2];
    float min[2];
};

// Block `block` (32 k) of `column` (0..31) of a pair. t is a quantized type.
void column_block(DType t, const uint8_t* pair, size_t column, size_t block, ColumnBlock* out);

// out[0..k) = the weights of `column` (0..31); the bits equal dequantize() of the file's row,
// products and sums rounded separately. Any type.
void unpack_column(DType t, const uint8_t* pair, size_t column, size_t k, float* out);

}  // namespace ridge
