// Searching quantizers of the blocks of 32 (quantize_fit.hpp).
//
// Each takes candidates for the scale (and minimum) from the block's range, stretched and clipped
// by fractions of a step; lets least squares replace each by the best one for the codes it gives;
// keeps the one that takes most off the error; and ends with rounding against the f16 values as
// stored, where the true error decides between the last few.
#include <cmath>
#include <initializer_list>

#include "base/quant_blocks.hpp"
#include "format/fit.hpp"
#include "format/quantize_blocks.hpp"

namespace ridge::quantize {

namespace {

constexpr int block = 32;

// The scale as it can be stored: f16, finite.
float storable(float scale) {
    const float limited = scale > 65504.0f ? 65504.0f : scale < -65504.0f ? -65504.0f : scale;
    return limited == limited ? through_half(limited) : 0.0f;
}

// Of `start` and what least squares makes of it twice, the storable scale of smallest error.
template <typename Code>
float settle(const float* x, const float* w, float start, const Code& code) {
    float best = 0.0f, best_error = scale_error(x, w, block, 0.0f, code);
    float at = start;
    for (int round = 0; round < 3; ++round) {
        const float d = storable(at);
        if (d == 0.0f) break;
        const float error = scale_error(x, w, block, d, code);
        if (error < best_error) {
            best_error = error;
            best = d;
        }
        at = scale_sums(x, w, block, 1.0f / d, code).best();
    }
    return best;
}

// The scale of either sign for codes low..high, low = -half: `reach` is what the largest magnitude
// is divided by to begin with.
float symmetric_scale(const float* x, const float* w, int low, int high) {
    const Range code(low, high);
    const float max = signed_max(x, block);
    if (max == 0.0f || !std::isfinite(max)) return 0.0f;
    float best = max / static_cast<float>(low);
    float best_gain = -1.0f;
    for (const int end : {low, high})
        for (int step = -6; step <= 9; ++step) {
            const float reach =
                static_cast<float>(end) + (end < 0 ? -0.2f : 0.2f) * static_cast<float>(step);
            const ScaleSums sums = scale_sums(x, w, block, reach / max, code);
            if (sums.gain() > best_gain) {
                best_gain = sums.gain();
                best = sums.best();
            }
        }
    return settle(x, w, best, code);
}

void encode_symmetric(const float* x, float d, int half, uint8_t* codes) {
    const float id = inverse(d);
    for (int j = 0; j < block; ++j)
        codes[j] = static_cast<uint8_t>(round_code(x[j] * id, -half, half - 1) + half);
}

struct ScaleMin {
    float scale, min;
};

// Scale and minimum, both storable, of codes 0..levels: w = scale * q + min.
ScaleMin affine_scale(const float* x, const float* w, int levels) {
    const Affine fit = fit_affine(x, w, block, levels, false);
    ScaleMin best{0.0f, storable(fit.min)};
    float best_error = no_error;
    Affine at = fit;
    for (int round = 0; round < 3; ++round) {
        const ScaleMin stored{storable(at.scale), storable(at.min)};
        const float error = affine_error(x, w, block, levels, {stored.scale, stored.min});
        if (error < best_error) {
            best_error = error;
            best = stored;
        }
        if (stored.scale == 0.0f) break;
        at = affine_best(x, w, block, levels, {stored.scale, stored.min}, false).fit;
    }
    return best;
}

void encode_affine(const float* x, const ScaleMin& s, int levels, uint8_t* codes) {
    const float id = inverse(s.scale);
    for (int j = 0; j < block; ++j)
        codes[j] = static_cast<uint8_t>(round_code((x[j] - s.min) * id, 0, levels));
}

// The value of IQ4's code book nearest to v.
struct Iq4 {
    Lanes operator()(const Lanes& v) const {
        Lanes value = all(static_cast<float>(iq4_values[0]));
        for (int k = 0; k < 15; ++k) {
            const float below = static_cast<float>(iq4_values[k]);
            const float above = static_cast<float>(iq4_values[k + 1]);
            value += v + v > all(below + above) ? all(above - below) : all(0.0f);
        }
        return value;
    }
};

}  // namespace

void fit_q4_0(const float* x, const float* w, uint8_t* out) {
    uint8_t codes[block];
    const float d = symmetric_scale(x, w, -8, 7);
    encode_symmetric(x, d, 8, codes);
    store_half(out, d);
    store_nibbles(codes, out + 2);
}

void fit_q5_0(const float* x, const float* w, uint8_t* out) {
    uint8_t codes[block];
    const float d = symmetric_scale(x, w, -16, 15);
    encode_symmetric(x, d, 16, codes);
    store_half(out, d);
    store_fifth_bits(codes, out + 2);
    store_nibbles(codes, out + 6);
}

void fit_q4_1(const float* x, const float* w, uint8_t* out) {
    uint8_t codes[block];
    const ScaleMin s = affine_scale(x, w, 15);
    encode_affine(x, s, 15, codes);
    store_half(out, s.scale);
    store_half(out + 2, s.min);
    store_nibbles(codes, out + 4);
}

void fit_q5_1(const float* x, const float* w, uint8_t* out) {
    uint8_t codes[block];
    const ScaleMin s = affine_scale(x, w, 31);
    encode_affine(x, s, 31, codes);
    store_half(out, s.scale);
    store_half(out + 2, s.min);
    store_fifth_bits(codes, out + 4);
    store_nibbles(codes, out + 8);
}

void fit_q8_0(const float* x, const float* w, uint8_t* out) {
    // At 8 bits the error is too small a part of the sums for a gain to tell it: errors decide.
    const Range code(-127, 127);
    const float max = std::fabs(signed_max(x, block));
    float best = 0.0f, best_error = no_error;
    for (const float reach : {127.0f, 126.6f, 127.4f}) {
        const float d = std::isfinite(max) ? settle(x, w, max / reach, code) : 0.0f;
        const float error = scale_error(x, w, block, d, code);
        if (error < best_error) {
            best_error = error;
            best = d;
        }
    }
    const float id = inverse(best);
    store_half(out, best);
    for (int j = 0; j < block; ++j)
        out[2 + j] = static_cast<uint8_t>(round_code(x[j] * id, -127, 127) & 255);
}

void fit_iq4_nl(const float* x, const float* w, uint8_t* out) {
    const Iq4 code;
    const float max = signed_max(x, block);
    float best = 0.0f, best_gain = -1.0f;
    if (max != 0.0f && std::isfinite(max))
        for (const float end : {-127.0f, 113.0f})
            for (int step = -6; step <= 7; ++step) {
                const float reach = end * (1.0f + 0.04f * static_cast<float>(step));
                const ScaleSums sums = scale_sums(x, w, block, reach / max, code);
                if (sums.gain() > best_gain) {
                    best_gain = sums.gain();
                    best = sums.best();
                }
            }
    const float d = settle(x, w, best, code);
    const float id = inverse(d);
    uint8_t codes[block];
    for (int j = 0; j < block; ++j) codes[j] = static_cast<uint8_t>(nearest_iq4(x[j] * id));
    store_half(out, d);
    store_nibbles(codes, out + 2);
}

}  // namespace ridge::quantize
