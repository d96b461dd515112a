// Rows of 12-bit numbers with a scale each, as the AI Max 395's image stores matrices
// (boards/ai-max-395/firmware/image.h, NUMERICS).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "image/decoder.hpp"

namespace ridge::image {

inline constexpr int largest_weight = 2047;  // of 12 bits, the same on both sides of zero

// Mantissas with one exponent: value[i] = mantissa[i] * 2^-exponent, the largest magnitude in
// [2^30, 2^31); all zero where all values are.
struct Scaled {
    std::vector<int32_t> mantissa;
    int32_t exponent = 0;
};
Scaled scale_together(std::span<const double> values);

// int16[n][k], each |value| <= 2047, and what each row's unit is worth.
struct QuantizedRows {
    uint32_t n = 0, k = 0;
    std::vector<int16_t> values;
    std::vector<double> scale;
};

// The unit of a row is its largest magnitude / 2047; values are rounded to nearest, half away from
// zero. `column_factor` (empty, or k values) multiplies columns first.
QuantizedRows quantize_rows(const Matrix& m, std::span<const double> column_factor = {});
// The unit of all rows is `unit`; what exceeds 2047 of it is clamped.
QuantizedRows quantize_with(const Matrix& m, double unit);

// round(value * 2^frac) within int32.
int32_t to_fixed(double value, int frac);
// The largest frac with largest * 2^frac <= limit, at most `most`.
int32_t frac_for(double largest, double limit, int32_t most);

}  // namespace ridge::image
