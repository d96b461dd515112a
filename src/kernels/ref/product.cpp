// Products of the ref set: the scalar statement of what every other set computes. Freestanding.
//
// q8 activations, quantized weights: out[r][c] is folded over blocks of 32 k in order. For a block
// (for each of its halves in order where a scale covers 16 k):
//
//     i = sum of (code - zero, or book value) * a        exact int32: |i| <= 32 * 128 * 127 < 2^24
//     f = fma(float(i), ws * as, f)                      ws = d or d * code, one f32 multiply
//     f = fma(min, as * sum of a, f)                     min = m or -(dmin * code), where it exists
//
// as and as * sum of a come with the activations (act_row.hpp); the sums themselves are computed
// here again, from the values alone. float(i) is exact, so sets that follow this formula agree bit
// for bit, however they add up i.
//
// f32 and bf16 activations: f = fma(w, a, f) over k in order, w as unpack_column gives it.
//
// Each column is decoded once and used for all rows. fma is one instruction on the boards; on a
// host's baseline it is a call that the machine's own fma answers.
#include "base/half.hpp"
#include "kernels/packed.hpp"
#include "kernels/ref/set.hpp"
#include "kernels/unpack_column.hpp"

namespace ridge::ref {

namespace {

float f32_at(const uint8_t* p) {
    float f;
    __builtin_memcpy(&f, p, 4);
    return f;
}

float bf16(float x) {
    return f32_from_bf16(bf16_from_f32(x));
}
float bf16_at(const uint8_t* p) {
    uint16_t h;
    __builtin_memcpy(&h, p, 2);
    return f32_from_bf16(h);
}

// One block of one column and one row.
float fold_block(const PackedSpec& spec, const ColumnBlock& w, const uint8_t* act,
                 const Q8Offsets& at, size_t block, float f) {
    int32_t sum[2] = {0, 0};
    for (size_t i = 0; i < 32; ++i)
        sum[i / 16] += w.value[i] * static_cast<int8_t>(act[32 * block + i]);
    const float as = f32_at(act + at.scale + 4 * block);
    if (spec.wide16) {
        if (spec.has_min)
            for (size_t h = 2; h-- > 0;)
                f = __builtin_fmaf(bf16(w.min[h]), bf16_at(act + at.fsum16 + 4 * block + 2 * h), f);
        const float t = __builtin_fmaf(static_cast<float>(sum[1]), w.scale[1],
                                       static_cast<float>(sum[0]) * w.scale[0]);
        f = __builtin_fmaf(t, as, f);
    } else {
        f = __builtin_fmaf(static_cast<float>(sum[0] + sum[1]), w.scale[0] * as, f);
        if (spec.has_min) f = __builtin_fmaf(w.min[0], f32_at(act + at.fsum + 4 * block), f);
    }
    return f;
}

void product_q8(DType type, const ProductArgs& p) {
    const PackedSpec& spec = packed_spec(type);
    const Q8Offsets at = q8_offsets(p.k);
    for (size_t c = 0; c < p.groups * group_columns; ++c) {
        const uint8_t* pair = p.weights + c / pair_columns * p.pair_bytes;
        for (size_t r = 0; r < p.rows; ++r) p.out[r * p.out_stride + c] = 0.0f;
        for (size_t block = 0; block < p.k / 32; ++block) {
            ColumnBlock w;
            column_block(type, pair, c % pair_columns, block, &w);
            for (size_t r = 0; r < p.rows; ++r) {
                float* out = p.out + r * p.out_stride + c;
                *out = fold_block(spec, w, p.act + r * p.act_stride, at, block, *out);
            }
        }
    }
}

float activation(ActFormat format, const uint8_t* row, size_t i) {
    return format == ActFormat::f32 ? f32_at(row + 4 * i) : bf16_at(row + 2 * i);
}

void product_float(DType type, ActFormat format, const ProductArgs& p) {
    auto* weights = reinterpret_cast<float*>(p.scratch);  // one column
    for (size_t c = 0; c < p.groups * group_columns; ++c) {
        unpack_column(type, p.weights + c / pair_columns * p.pair_bytes, c % pair_columns, p.k,
                      weights);
        for (size_t r = 0; r < p.rows; ++r) {
            const uint8_t* act = p.act + r * p.act_stride;
            float f = 0.0f;
            for (size_t i = 0; i < p.k; ++i)
                f = __builtin_fmaf(weights[i], activation(format, act, i), f);
            p.out[r * p.out_stride + c] = f;
        }
    }
}

void product(DType type, ActFormat format, const ProductArgs& p) {
    if (format == ActFormat::q8)
        product_q8(type, p);
    else
        product_float(type, format, p);
}

}  // namespace

#define RIDGE_PRODUCT(function, weight, act)       \
    void function(const ProductArgs& p) {          \
        product(DType::weight, ActFormat::act, p); \
    }
#include "kernels/ref/kernels.inc"
#undef RIDGE_PRODUCT

}  // namespace ridge::ref
