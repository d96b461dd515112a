// Super-blocks of 256 weights. Layouts: base/quant_blocks.hpp.
//
// Each sub-block gets a scale (and a minimum where the type has one) from its range, improved by
// least squares: with the codes fixed, the best scale and minimum are a linear fit; with those
// fixed the codes are rounded again; the pair of smallest squared error is kept. The sub-blocks'
// scales are then themselves quantized against the super-block's f16 scale, and the final codes
// rounded against what the decoder will see.
#include "base/quant_blocks.hpp"
#include "format/quantize_blocks.hpp"

namespace ridge::quantize {

namespace {

constexpr int fit_rounds = 3;

struct Affine {
    float scale, min;  // w = scale * q - min, both >= 0
};

// The fit of codes 0..levels to x[0..n).
Affine fit_affine(const float* x, int n, int levels) {
    float low = 0.0f, high = 0.0f;  // the stored minimum is >= 0: the range includes 0
    for (int i = 0; i < n; ++i) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
    }
    Affine at{(high - low) / static_cast<float>(levels), -low};
    Affine best = at;
    float best_error = -1.0f;
    for (int round = 0; round <= fit_rounds; ++round) {
        const float is = inverse(at.scale);
        float error = 0, sq = 0, sqq = 0, sx = 0, sxq = 0;
        for (int i = 0; i < n; ++i) {
            const auto q = static_cast<float>(round_code((x[i] + at.min) * is, 0, levels));
            const float difference = at.scale * q - at.min - x[i];
            error += difference * difference;
            sq += q;
            sqq += q * q;
            sx += x[i];
            sxq += x[i] * q;
        }
        if (best_error < 0.0f || error < best_error) {
            best_error = error;
            best = at;
        }
        const auto count = static_cast<float>(n);
        const float determinant = count * sqq - sq * sq;
        if (!(determinant > 0.0f)) break;
        at.scale = (count * sxq - sq * sx) / determinant;
        at.min = (sq * sxq - sqq * sx) / determinant;
        if (at.min < 0.0f) {
            at.min = 0.0f;
            at.scale = sxq / sqq;
        }
        if (!(at.scale > 0.0f)) break;
    }
    return best;
}

// The scale (of either sign) of codes -half..half-1 for x[0..n).
float fit_symmetric(const float* x, int n, int half) {
    float at = signed_max(x, n) / static_cast<float>(-half);
    float best = at, best_error = -1.0f;
    for (int round = 0; round <= fit_rounds && at != 0.0f; ++round) {
        const float is = inverse(at);
        float error = 0, sqq = 0, sxq = 0;
        for (int i = 0; i < n; ++i) {
            const auto q = static_cast<float>(round_code(x[i] * is, -half, half - 1));
            const float difference = at * q - x[i];
            error += difference * difference;
            sqq += q * q;
            sxq += x[i] * q;
        }
        if (best_error < 0.0f || error < best_error) {
            best_error = error;
            best = at;
        }
        if (!(sqq > 0.0f)) break;
        at = sxq / sqq;
    }
    return best;
}

// Fits sub-blocks of `n` weights with codes 0..levels and scale codes 0..scale_levels.
void encode_affine(const float* x, int n, int levels, int scale_levels, SuperAffine& out) {
    const int count = 256 / n;
    Affine fits[16];
    float max_scale = 0.0f, max_min = 0.0f;
    for (int j = 0; j < count; ++j) {
        fits[j] = fit_affine(x + j * n, n, levels);
        max_scale = fits[j].scale > max_scale ? fits[j].scale : max_scale;
        max_min = fits[j].min > max_min ? fits[j].min : max_min;
    }
    out.d = through_half(max_scale / static_cast<float>(scale_levels));
    out.dmin = through_half(max_min / static_cast<float>(scale_levels));
    const float id = inverse(out.d), idmin = inverse(out.dmin);
    for (int j = 0; j < count; ++j) {
        out.scales[j] = static_cast<uint8_t>(round_code(fits[j].scale * id, 0, scale_levels));
        out.mins[j] = static_cast<uint8_t>(round_code(fits[j].min * idmin, 0, scale_levels));
        const float is = inverse(out.d * static_cast<float>(out.scales[j]));
        const float min = out.dmin * static_cast<float>(out.mins[j]);
        for (int i = j * n; i < (j + 1) * n; ++i)
            out.codes[i] = static_cast<uint8_t>(round_code((x[i] + min) * is, 0, levels));
    }
}

// Fits sub-blocks of 16 with codes -half..half-1 and scale codes -scale_levels..scale_levels.
void encode_symmetric(const float* x, int half, int scale_levels, SuperSymmetric& out) {
    float fits[16];
    for (int j = 0; j < 16; ++j) fits[j] = fit_symmetric(x + 16 * j, 16, half);
    const float max = signed_max(fits, 16);
    out.d = through_half((max < 0.0f ? -max : max) / static_cast<float>(scale_levels));
    const float id = inverse(out.d);
    for (int j = 0; j < 16; ++j) {
        out.scales[j] = static_cast<int8_t>(round_code(fits[j] * id, -scale_levels, scale_levels));
        const float is = inverse(out.d * static_cast<float>(out.scales[j]));
        for (int i = 16 * j; i < 16 * (j + 1); ++i)
            out.codes[i] = static_cast<int8_t>(round_code(x[i] * is, -half, half - 1));
    }
}

// Two-bit codes of 256 weights into 64 bytes: weight 128 * half + 32 * pair + j in pair `pair` of
// byte 32 * half + j.
template <typename Code>
void store_pairs(const Code& code, uint8_t* out) {
    std::memset(out, 0, 64);
    for (int i = 0; i < 256; ++i) {
        uint8_t& byte = out[32 * (i / 128) + i % 32];
        byte = static_cast<uint8_t>(byte | ((code(i) & 3) << (2 * (i / 32 % 4))));
    }
}

// Four-bit codes of 256 weights into 128 bytes, 64 weights to 32 bytes, low nibbles first.
void store_nibble_rows(const uint8_t* codes, uint8_t* out) {
    for (int i = 0; i < 128; ++i) {
        const int first = 64 * (i / 32) + i % 32;
        out[i] = static_cast<uint8_t>((codes[first] & 15) | ((codes[first + 32] & 15) << 4));
    }
}

}  // namespace

void q2_k(const float* x, uint8_t* out) {
    SuperAffine s;
    encode_affine(x, 16, 3, 15, s);
    for (int j = 0; j < 16; ++j) out[j] = static_cast<uint8_t>(s.scales[j] | (s.mins[j] << 4));
    store_pairs([&](int i) { return s.codes[i]; }, out + 16);
    store_half(out + 80, s.d);
    store_half(out + 82, s.dmin);
}

void q3_k(const float* x, uint8_t* out) {
    SuperSymmetric s;
    encode_symmetric(x, 4, 31, s);
    std::memset(out, 0, 32);
    for (int i = 0; i < 256; ++i)  // the high bit is set where the code, plus 4, is at least 4
        out[i % 32] = static_cast<uint8_t>(out[i % 32] | ((s.codes[i] >= 0 ? 1 : 0) << (i / 32)));
    store_pairs([&](int i) { return s.codes[i] + 4; }, out + 32);
    q3k_pack_scales(s.scales, out + 96);
    store_half(out + 108, s.d);
}

void store_q4_k(const SuperAffine& s, uint8_t* out) {
    store_half(out, s.d);
    store_half(out + 2, s.dmin);
    q4k_pack_scale_min(s.scales, s.mins, out + 4);
    store_nibble_rows(s.codes, out + 16);
}

void q4_k(const float* x, uint8_t* out) {
    SuperAffine s;
    encode_affine(x, 32, 15, 63, s);
    store_q4_k(s, out);
}

void store_q5_k(const SuperAffine& s, uint8_t* out) {
    store_half(out, s.d);
    store_half(out + 2, s.dmin);
    q4k_pack_scale_min(s.scales, s.mins, out + 4);
    std::memset(out + 16, 0, 32);
    for (int i = 0; i < 256; ++i) {
        uint8_t& byte = out[16 + i % 32];
        byte = static_cast<uint8_t>(byte | ((s.codes[i] >> 4) << (i / 32)));
    }
    store_nibble_rows(s.codes, out + 48);
}

void q5_k(const float* x, uint8_t* out) {
    SuperAffine s;
    encode_affine(x, 32, 31, 63, s);
    store_q5_k(s, out);
}

void store_q6_k(const SuperSymmetric& s, uint8_t* out) {
    std::memset(out, 0, 128);
    for (int i = 0; i < 256; ++i) {
        const int group = i / 32 % 4;
        uint8_t& byte = out[64 * (i / 128) + 32 * (group % 2) + i % 32];
        byte = static_cast<uint8_t>(byte | (((s.codes[i] + 32) & 15) << (4 * (group / 2))));
    }
    store_pairs([&](int i) { return (s.codes[i] + 32) >> 4; }, out + 128);
    std::memcpy(out + 192, s.scales, 16);
    store_half(out + 208, s.d);
}

void q6_k(const float* x, uint8_t* out) {
    SuperSymmetric s;
    encode_symmetric(x, 32, 127, s);
    store_q6_k(s, out);
}

void iq4_xs(const float* x, uint8_t* out) {
    float fits[8];
    for (int j = 0; j < 8; ++j) fits[j] = signed_max(x + 32 * j, 32) / -127.0f;
    const float max = signed_max(fits, 8);
    const float d = through_half((max < 0.0f ? -max : max) / 31.0f);
    const float id = inverse(d);
    std::memset(out, 0, 8);
    store_half(out, d);
    for (int j = 0; j < 8; ++j) {
        const int scale = round_code(fits[j] * id, -31, 31);
        const float is = inverse(d * static_cast<float>(scale));
        const int stored = scale + 32;
        const int high = (stored >> 4) << (2 * (j % 4));
        out[2 + j / 4] = static_cast<uint8_t>(out[2 + j / 4] | high);
        out[4 + j / 2] = static_cast<uint8_t>(out[4 + j / 2] | ((stored & 15) << (4 * (j % 2))));
        for (int i = 0; i < 16; ++i) {
            const int lo = nearest_iq4(x[32 * j + i] * is);
            const int hi = nearest_iq4(x[32 * j + 16 + i] * is);
            out[8 + 16 * j + i] = static_cast<uint8_t>(lo | (hi << 4));
        }
    }
}

}  // namespace ridge::quantize
