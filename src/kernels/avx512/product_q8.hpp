// The int8 product: out[r][c] = sum over k of a[r][k] * W[c][k], quantized weights, q8 activations.
//
// Mathematics, for each output and each block of 32 k in order:
//     i = sum of code * a - zero * sum of a          exact int32: |i| <= 32 * 255 * 127 < 2^21
//     f = fma(float(i), ws * as, f);  f = fma(min, as * sum of a, f) where the type has minima
// (per 16 k where a scale covers 16). Lanes are 16 output columns, so neither rows nor columns of
// company enter a result, and both loops below give the same bits.
//
// vpdpbusd takes unsigned codes from a register and four activations broadcast from memory. The
// zero point is the accumulator's start value, prepared with the activations (act_row.hpp).
//
// Two loops: stream_q8.hpp for few rows, panel_q8.hpp for many.
#pragma once

#include "kernels/avx512/panel_q8.hpp"
#include "kernels/avx512/stream_q8.hpp"

namespace ridge::avx512 {

template <DType T>
static inline void product_q8(const ProductArgs& p) {
    using U = Unpacker<T>;
    switch (p.rows) {
        case 1:
            return stream_groups<T, 1>(p);
        case 2:
            return stream_groups<T, 2>(p);
        case 3:
            return stream_groups<T, 3>(p);
        case 4:
            return stream_groups<T, 4>(p);
        case 5:
            return stream_groups<T, 5>(p);
        // Six rows of two groups do not fit the registers.
        default:
            break;
    }
    size_t g = 0;
    for (; g + 2 <= p.groups; g += 2)
        panel_rows<U::wide16, U::has_min, 2>(unpack_panel<T, 2>(p, g), p, p.out + g * 16);
    if (g < p.groups)
        panel_rows<U::wide16, U::has_min, 1>(unpack_panel<T, 1>(p, g), p, p.out + g * 16);
}

}  // namespace ridge::avx512
