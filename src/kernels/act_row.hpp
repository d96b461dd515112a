// Activation rows: the left operand of a product, one row a token. Freestanding.
//
// q8: K int8 values with one f32 scale per 32 of K (DESIGN.md, Numerics), and per block what the
// products need besides, so that no product sums activations again:
//
//   int8  value[K]
//   f32   scale[nb]       absmax / 127, nb = K / 32
//   int32 bias[nb]        -128 * (sum of the block's values): start of the integer accumulator for
//                         codes with zero point 128; shifted right for 32, 16, 8, 4
//   int32 bias16[2 nb]    the same per 16 k
//   f32   fsum[nb]        scale * (sum of the block's values): multiplies a weight block's minimum
//   bf16  fsum16[2 nb]    the same per 16 k, rounded: one vdpbf16ps takes both halves of a block.
//                         The rounding (2^-9 of a sum) is a tenth of what the values' own
//                         rounding does to that sum
//
// f32: K floats. bf16: K rounded up to even. Every row starts on a 64-byte border.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace ridge {

enum class ActFormat : uint8_t { q8, f32, bf16 };

struct Q8Offsets {
    size_t scale, bias, bias16, fsum, fsum16, bytes;
};

static constexpr Q8Offsets q8_offsets(size_t k) {
    const size_t nb = k / 32;
    Q8Offsets o{};
    o.scale = k;
    o.bias = o.scale + 4 * nb;
    o.bias16 = o.bias + 4 * nb;
    o.fsum = o.bias16 + 8 * nb;
    o.fsum16 = o.fsum + 4 * nb;
    o.bytes = (o.fsum16 + 4 * nb + 63) / 64 * 64;
    return o;
}

static constexpr size_t act_row_bytes(ActFormat f, size_t k) {
    switch (f) {
        case ActFormat::q8:
            return q8_offsets(k).bytes;
        case ActFormat::bf16:
            return (k * 2 + 2 + 63) / 64 * 64;
        default:
            return (k * 4 + 63) / 64 * 64;
    }
}

}  // namespace ridge
