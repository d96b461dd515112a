// exp and tanh of the ref set, without libm. Freestanding; static: every translation unit its own.
//
// exp(x), x <= 0: n = round(x / ln 2), r = x - n ln 2 with ln 2 = 355/512 - 2.1219444e-4 (the first
// product is exact: nine significant bits times seven), so |r| <= 0.347, and
//
//   e^r - 1 = r + r^2 (c0 + c1 r + c2 r^2 + c3 r^3 + c4 r^4)        (Chebyshev fit, error 1.1e-8)
//
// then 2^n by its bits. Relative error at most 2e-7; below -87.33, where the result would be
// subnormal, exactly 0, -inf included; NaN stays NaN. Nothing overflows: the argument is never
// positive, and callers (sigmoid, tanh, softmax) never need it to be.
// tanh(x) = -t / (2 + t), t = exp(-2|x|) - 1 taken without cancellation: relative error at most
// 4e-7.
#pragma once

#include <stdint.h>

#include "base/half.hpp"

namespace ridge::ref {

inline constexpr float exp_lowest = -87.33f;

struct ExpParts {
    float q;      // e^r - 1
    float power;  // 2^n
};

// x in [exp_lowest, 0].
static inline ExpParts exp_parts(float x) {
    const int32_t n = static_cast<int32_t>(x * 1.44269504f - 0.5f);
    const float nf = static_cast<float>(n);
    const float r = (x - nf * 0.693359375f) + nf * 2.12194440e-4f;
    const float p =
        5.0e-1f +
        r * (1.666657606e-1f + r * (4.166655346e-2f + r * (8.363333082e-3f + r * 1.392637600e-3f)));
    return {r + r * r * p, f32_from_bits(static_cast<uint32_t>(n + 127) << 23)};
}

static inline float exp_neg(float x) {
    if (!(x >= exp_lowest)) return x < exp_lowest ? 0.0f : x;
    const ExpParts e = exp_parts(x);
    return e.power + e.power * e.q;
}

// 1 / (1 + exp(-x))
static inline float sigmoid(float x) {
    const float e = exp_neg(x < 0.0f ? x : -x);
    return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}

static inline float tanh_f32(float x) {
    const float twice = x < 0.0f ? 2.0f * x : -2.0f * x;
    if (!(twice >= exp_lowest)) return twice < exp_lowest ? (x < 0.0f ? -1.0f : 1.0f) : x;
    const ExpParts e = exp_parts(twice);
    const float t = e.power * e.q + (e.power - 1.0f);
    const float magnitude = -t / (2.0f + t);
    return x < 0.0f ? -magnitude : magnitude;
}

}  // namespace ridge::ref
