// Searching quantizers of the super-blocks of 256 (quantize_fit.hpp).
//
// First each sub-block is fitted as if its scale and minimum could be stored exactly. Then rounds
// of: choose each sub-block's scale and minimum codes near the fit by the error they cause; with
// all codes fixed, let least squares choose the super-block's own scale (and scale of minimums).
#include <cmath>
#include <cstring>
#include <initializer_list>

#include "base/quant_blocks.hpp"
#include "format/fit.hpp"
#include "format/quantize_blocks.hpp"

namespace ridge::quantize {

namespace {

constexpr int rounds = 3;

float positive_half(float v) {
    if (!(v > 0.0f)) return 0.0f;
    return through_half(v > 65504.0f ? 65504.0f : v);
}

// --- scale and minimum: eight sub-blocks of 32, 6-bit codes for both
// ---------------------------------

constexpr int sub = 32, subs = 8, top_code = 63;

// The scale and minimum codes of one sub-block near `fit`, by error; returns the error.
float choose(const float* x, const float* w, int levels, float d, float dmin, const Affine& fit,
             uint8_t& scale, uint8_t& min) {
    const int s0 = round_code(fit.scale * inverse(d), 0, top_code);
    float best = no_error;
    for (int s = s0 - 1; s <= s0 + 1; ++s) {
        if (s < 0 || s > top_code) continue;
        // With this scale the fit's middle stays where it was: the minimum moves against the scale.
        const float ds = d * static_cast<float>(s);
        const float middle = 0.5f * static_cast<float>(levels) * (fit.scale - ds);
        const float wanted = -(fit.min + middle);
        const int m0 = round_code(wanted * inverse(dmin), 0, top_code);
        const int m1 = round_code(-fit.min * inverse(dmin), 0, top_code);
        for (const int m : {m0 - 1, m0, m0 + 1, m1}) {
            if (m < 0 || m > top_code) continue;
            const float error =
                affine_error(x, w, sub, levels, {ds, -(dmin * static_cast<float>(m))});
            if (error < best) {
                best = error;
                scale = static_cast<uint8_t>(s);
                min = static_cast<uint8_t>(m);
            }
        }
    }
    return best;
}

// d and dmin of least squares for the codes of `s`; false where they are not determined.
bool refit(const float* x, const float* w, int levels, const SuperAffine& s, float& d,
           float& dmin) {
    const Range code(0, levels);
    double aa = 0, ab = 0, bb = 0, ax = 0, bx = 0;
    for (int j = 0; j < subs; ++j) {
        const float ds = s.d * static_cast<float>(s.scales[j]);
        const float m = s.dmin * static_cast<float>(s.mins[j]);
        const Lanes is = all(inverse(ds));
        Lanes lw = all(0.0f), lq = lw, lqq = lw, lx = lw, lxq = lw;
        for (int i = j * sub; i < (j + 1) * sub; i += 4) {
            const Lanes v = load(x + i), wi = load(w + i);
            const Lanes q = code((v + all(m)) * is), wq = wi * q;
            lw += wi;
            lq += wq;
            lqq += wq * q;
            lx += wi * v;
            lxq += wq * v;
        }
        const double sc = s.scales[j], mc = -static_cast<double>(s.mins[j]);
        aa += sc * sc * static_cast<double>(total(lqq));
        ab += sc * mc * static_cast<double>(total(lq));
        bb += mc * mc * static_cast<double>(total(lw));
        ax += sc * static_cast<double>(total(lxq));
        bx += mc * static_cast<double>(total(lx));
    }
    const double determinant = aa * bb - ab * ab;
    if (bb == 0.0 && aa > 0.0) {
        d = static_cast<float>(ax / aa);
        return true;
    }
    if (!(determinant > 0.0)) return false;
    d = static_cast<float>((bb * ax - ab * bx) / determinant);
    dmin = static_cast<float>((aa * bx - ab * ax) / determinant);
    return d > 0.0f && dmin >= 0.0f;
}

void encode(const float* x, const float* w, int levels, SuperAffine& out) {
    Affine fits[subs];
    float max_scale = 0.0f, max_min = 0.0f;
    for (int j = 0; j < subs; ++j) {
        fits[j] = fit_affine(x + j * sub, w + j * sub, sub, levels, true);
        max_scale = fits[j].scale > max_scale ? fits[j].scale : max_scale;
        max_min = -fits[j].min > max_min ? -fits[j].min : max_min;
    }
    std::memset(&out, 0, sizeof out);
    float d = max_scale / static_cast<float>(top_code);
    float dmin = max_min / static_cast<float>(top_code);
    float best = no_error;
    for (int round = 0; round < rounds; ++round) {
        SuperAffine s{};
        s.d = positive_half(d);
        s.dmin = positive_half(dmin);
        float error = 0.0f;
        for (int j = 0; j < subs; ++j)
            error += choose(x + j * sub, w + j * sub, levels, s.d, s.dmin, fits[j], s.scales[j],
                            s.mins[j]);
        if (error < best) {
            best = error;
            out = s;
        }
        if (!refit(x, w, levels, s, d, dmin)) break;
    }
    for (int j = 0; j < subs; ++j) {
        const float is = inverse(out.d * static_cast<float>(out.scales[j]));
        const float min = out.dmin * static_cast<float>(out.mins[j]);
        for (int i = j * sub; i < (j + 1) * sub; ++i)
            out.codes[i] = static_cast<uint8_t>(round_code((x[i] + min) * is, 0, levels));
    }
}

// --- scale only: sixteen sub-blocks of 16, 8-bit codes
// -----------------------------------------------

constexpr int small = 16;

// The scale, of either sign, of codes -32..31 for 16 weights.
float fit_small(const float* x, const float* w) {
    const Range code(-32, 31);
    const float max = signed_max(x, small);
    if (max == 0.0f || !std::isfinite(max)) return 0.0f;
    float best = max / -32.0f, best_error = no_error;
    for (const int end : {-32, 31})
        for (int step = -3; step <= 4; ++step) {
            const float reach =
                static_cast<float>(end) + (end < 0 ? -0.3f : 0.3f) * static_cast<float>(step);
            const float scale = scale_sums(x, w, small, reach / max, code).best();
            const float error = scale_error(x, w, small, scale, code);
            if (error < best_error) {
                best_error = error;
                best = scale;
            }
        }
    return best;
}

void encode(const float* x, const float* w, SuperSymmetric& out) {
    const Range code(-32, 31);
    float fits[small];
    for (int j = 0; j < small; ++j) fits[j] = fit_small(x + small * j, w + small * j);
    const float max = signed_max(fits, small);
    std::memset(&out, 0, sizeof out);
    float d = std::fabs(max) / 127.0f, best = no_error;
    for (int round = 0; round < rounds; ++round) {
        SuperSymmetric s{};
        s.d = positive_half(d);
        float error = 0.0f;
        double aa = 0, ax = 0;
        for (int j = 0; j < small; ++j) {
            const float *xj = x + small * j, *wj = w + small * j;
            const int s0 = round_code(fits[j] * inverse(s.d), -127, 127);
            float least = no_error;
            for (int c = s0 - 1; c <= s0 + 1; ++c) {
                if (c < -127 || c > 127) continue;
                const float e = scale_error(xj, wj, small, s.d * static_cast<float>(c), code);
                if (e < least) {
                    least = e;
                    s.scales[j] = static_cast<int8_t>(c);
                }
            }
            error += least;
            const float ds = s.d * static_cast<float>(s.scales[j]);
            const ScaleSums sums = scale_sums(xj, wj, small, inverse(ds), code);
            const double c = s.scales[j];
            aa += c * c * static_cast<double>(sums.wqq);
            ax += c * static_cast<double>(sums.wxq);
        }
        if (error < best) {
            best = error;
            out = s;
        }
        if (!(aa > 0.0) || !(ax > 0.0)) break;
        d = static_cast<float>(ax / aa);
    }
    for (int i = 0; i < 256; ++i) {
        const float is = inverse(out.d * static_cast<float>(out.scales[i / small]));
        out.codes[i] = static_cast<int8_t>(round_code(x[i] * is, -32, 31));
    }
}

}  // namespace

void fit_q4_k(const float* x, const float* w, uint8_t* out) {
    SuperAffine s;
    encode(x, w, 15, s);
    store_q4_k(s, out);
}

void fit_q5_k(const float* x, const float* w, uint8_t* out) {
    SuperAffine s;
    encode(x, w, 31, s);
    store_q5_k(s, out);
}

void fit_q6_k(const float* x, const float* w, uint8_t* out) {
    SuperSymmetric s;
    encode(x, w, s);
    store_q6_k(s, out);
}

}  // namespace ridge::quantize
