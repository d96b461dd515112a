// The int8 product: out[r][c] = sum over k of a[r][k] * W[c][k], quantized weights, q8 activations.
//
// Mathematics, for each output and each block of 32 k in order:
//     i = sum of code * a - zero * sum of a          exact int32: |i| <= 32 * 255 * 127 < 2^21
//     f = fma(float(i), ws * as, f);  f = fma(min, as * sum of a, f) where the type has minima
// Where scales and minima cover 16 k (halves 0 and 1 of the block; ^ means rounded to bf16):
//     f = fma(min1^, (as * sum of a1)^, f);  f = fma(min0^, (as * sum of a0)^, f)
//     f = fma(fma(float(i1), ws1, float(i0) * ws0), as, f)
// Lanes are 16 output columns, so neither rows nor columns of company enter a result, and all loops
// below give the same bits.
//
// vpdpbusd takes unsigned codes from a register and four activations broadcast from memory. The
// zero point is the accumulator's start value, prepared with the activations (act_row.hpp).
//
// Three loops: stream_q8.hpp for one row, few_q8.hpp for two to six, panel_q8.hpp for more.
#pragma once

#include "kernels/avx512/few_q8.hpp"
#include "kernels/avx512/panel_q8.hpp"
#include "kernels/avx512/stream_q8.hpp"

namespace ridge::avx512 {

template <DType T>
static inline void product_q8(const ProductArgs& p) {
    switch (p.rows) {
        case 1:
            return stream_groups<T>(p);
        case 2:
            return few_groups<T, 2>(p);
        case 3:
            return few_groups<T, 3>(p);
        case 4:
            return few_groups<T, 4>(p);
        case 5:
            return few_groups<T, 5>(p);
        case 6:
            if constexpr (few_rows<T> == 6) return few_groups<T, 6>(p);
            break;
        default:
            break;
    }
    size_t g = 0;
    for (; g + 2 <= p.groups; g += 2) panel_groups<T, 2>(p, g);
    if (g < p.groups) panel_groups<T, 1>(p, g);
}

}  // namespace ridge::avx512
