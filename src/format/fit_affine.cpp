// The fit of a scale and a minimum to up to 32 weights.
#include <cmath>

#include "format/fit.hpp"

namespace ridge::quantize {

AffineBest affine_best(const float* x, const float* w, int n, int levels, const Affine& at,
                       bool below_zero) {
    const Range code(0, levels);
    const Lanes is = all(at.scale != 0.0f ? 1.0f / at.scale : 0.0f), min = all(at.min);
    // Sums are taken about the weighted mean: weights far from zero would cancel otherwise.
    Lanes sw = all(0.0f), swx = all(0.0f);
    for (int i = 0; i < n; i += 4) {
        sw += load(w + i);
        swx += load(w + i) * load(x + i);
    }
    const float weight = total(sw);
    const float mean = weight > 0.0f ? total(swx) / weight : 0.0f;
    Lanes lq = all(0.0f), lqq = all(0.0f), lx = all(0.0f), lxq = all(0.0f);
    for (int i = 0; i < n; i += 4) {
        const Lanes v = load(x + i);
        const Lanes q = code((v - min) * is);
        const Lanes wi = load(w + i);
        const Lanes wq = wi * q, centred = v - all(mean);
        lq += wq;
        lqq += wq * q;
        lx += wi * centred;
        lxq += wq * centred;
    }
    const float q = total(lq), qq = total(lqq), xs = total(lx), xq = total(lxq);
    const float determinant = weight * qq - q * q;
    AffineBest out{{0.0f, mean}, 0.0f};
    if (determinant > 0.0f) {
        out.fit.scale = (weight * xq - q * xs) / determinant;
        const float shift = (qq * xs - q * xq) / determinant;
        out.fit.min = mean + shift;
        out.gain = out.fit.scale * xq + shift * xs;
    }
    if (below_zero && out.fit.min > 0.0f) {
        const float whole = xq + mean * q;  // sum of w*x*q about zero
        out.fit = {qq > 0.0f ? whole / qq : 0.0f, 0.0f};
        out.gain = out.fit.scale * whole - mean * mean * weight;
    }
    return out;
}

float affine_error(const float* x, const float* w, int n, int levels, const Affine& at) {
    const Range code(0, levels);
    const Lanes s = all(at.scale), is = all(at.scale != 0.0f ? 1.0f / at.scale : 0.0f);
    const Lanes min = all(at.min);
    Lanes sum = all(0.0f);
    for (int i = 0; i < n; i += 4) {
        const Lanes v = load(x + i);
        const Lanes e = (s * code((v - min) * is) + min) - v;
        sum += load(w + i) * (e * e);
    }
    return total(sum);
}

Affine fit_affine(const float* x, const float* w, int n, int levels, bool below_zero) {
    float low = x[0], high = x[0];
    for (int i = 1; i < n; ++i) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
    }
    if (below_zero && low > 0.0f) low = 0.0f;
    if (below_zero && high < 0.0f) high = 0.0f;
    const float range = high - low;
    if (!(range > 0.0f) || !std::isfinite(range)) return {0.0f, std::isfinite(low) ? low : 0.0f};
    const float step = range / static_cast<float>(levels);
    constexpr float cuts[] = {-0.3f, 0.0f, 0.3f, 0.7f, 1.2f};  // of a step, off either end
    AffineBest best{{step, low}, -1.0f};
    for (const float a : cuts)
        for (const float b : cuts) {
            const float from = below_zero && low == 0.0f ? low : low + a * step;
            const Affine at{(high - b * step - from) / static_cast<float>(levels), from};
            const AffineBest found = affine_best(x, w, n, levels, at, below_zero);
            if (found.gain > best.gain && found.fit.scale > 0.0f) best = found;
        }
    for (int round = 0; round < 2; ++round) {
        const AffineBest found = affine_best(x, w, n, levels, best.fit, below_zero);
        if (!(found.gain > best.gain) || !(found.fit.scale > 0.0f)) break;
        best = found;
    }
    return best.fit;
}

}  // namespace ridge::quantize
