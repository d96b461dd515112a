// Arithmetic of the searching quantizers: four weights at a time, rounding without branches, the
// sums that least squares needs. Internal to fit_*.cpp.
//
// GCC's and clang's vector types stand for the four lanes, so that plain SSE2 (and any other
// machine) does what the loops say; sums are folded in one fixed order.
#pragma once

#include <cstring>
#include <limits>

namespace ridge::quantize {

using Lanes = float __attribute__((vector_size(16)));

inline Lanes load(const float* p) {
    Lanes v;
    std::memcpy(&v, p, sizeof v);
    return v;
}

inline Lanes all(float v) {
    return Lanes{v, v, v, v};
}

inline float total(const Lanes& v) {
    return (v[0] + v[1]) + (v[2] + v[3]);
}

// v limited to [low, high] and rounded to the nearest integer, ties to even; NaN gives low.
// |low|, |high| < 2^22, so that adding 1.5 * 2^23 leaves no fraction.
inline Lanes nearest(Lanes v, const Lanes& low, const Lanes& high) {
    const Lanes magic = all(12582912.0f);
    v = v > low ? v : low;
    v = v < high ? v : high;
    return (v + magic) - magic;
}

// Codes q of x over an integer range.
struct Range {
    Lanes low, high;
    Range(int lowest, int highest)
        : low(all(static_cast<float>(lowest))), high(all(static_cast<float>(highest))) {}
    Lanes operator()(const Lanes& v) const { return nearest(v, low, high); }
};

inline constexpr float no_error = std::numeric_limits<float>::infinity();

// Sum of w * (scale * code(x * inverse) - x)^2 over n weights.
template <typename Code>
float scale_error(const float* x, const float* w, int n, float scale, const Code& code) {
    const Lanes s = all(scale), is = all(scale != 0.0f ? 1.0f / scale : 0.0f);
    Lanes sum = all(0.0f);
    for (int i = 0; i < n; i += 4) {
        const Lanes v = load(x + i);
        const Lanes e = s * code(v * is) - v;
        sum += load(w + i) * (e * e);
    }
    return total(sum);
}

// Sums over codes q = code(x * inverse): wqq = sum w*q*q, wxq = sum w*x*q.
struct ScaleSums {
    float wqq, wxq;
    float best() const { return wqq > 0.0f ? wxq / wqq : 0.0f; }  // the scale of least squares
    float gain() const {
        return wqq > 0.0f ? wxq * wxq / wqq : 0.0f;
    }  // what it takes off sum w*x*x
};

template <typename Code>
ScaleSums scale_sums(const float* x, const float* w, int n, float inverse, const Code& code) {
    const Lanes is = all(inverse);
    Lanes wqq = all(0.0f), wxq = all(0.0f);
    for (int i = 0; i < n; i += 4) {
        const Lanes v = load(x + i);
        const Lanes q = code(v * is);
        const Lanes wq = load(w + i) * q;
        wqq += wq * q;
        wxq += wq * v;
    }
    return {total(wqq), total(wxq)};
}

}  // namespace ridge::quantize
