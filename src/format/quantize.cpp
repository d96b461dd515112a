// Plain types and blocks of 32. Layouts: base/quant_blocks.hpp.
//
// Symmetric types with an odd range (-8..7) put the element of largest magnitude, with its sign, on
// the longer end: d = max / -8. Codes are rounded against the scale as stored (f16), not as
// computed.
#include "format/quantize.hpp"

#include "base/quant_blocks.hpp"
#include "format/quantize_blocks.hpp"

namespace ridge {

namespace quantize {

namespace {

// Symmetric codes 0..2*half-1 around `half`; returns the scale.
float symmetric(const float* x, int half, uint8_t* codes) {
    const float d = through_half(signed_max(x, 32) / static_cast<float>(-half));
    const float id = inverse(d);
    for (int j = 0; j < 32; ++j)
        codes[j] =
            static_cast<uint8_t>(round_code(x[j] * id + static_cast<float>(half), 0, 2 * half - 1));
    return d;
}

struct ScaleMin {
    float scale, min;
};

// Codes 0..levels over [min, max].
ScaleMin affine(const float* x, int levels, uint8_t* codes) {
    float low = x[0], high = x[0];
    for (int j = 1; j < 32; ++j) {
        low = x[j] < low ? x[j] : low;
        high = x[j] > high ? x[j] : high;
    }
    const float m = through_half(low);
    const float d = through_half((high - m) / static_cast<float>(levels));
    const float id = inverse(d);
    for (int j = 0; j < 32; ++j)
        codes[j] = static_cast<uint8_t>(round_code((x[j] - m) * id, 0, levels));
    return {d, m};
}

void q4_0(const float* x, uint8_t* out) {
    uint8_t codes[32];
    store_half(out, symmetric(x, 8, codes));
    store_nibbles(codes, out + 2);
}

void q5_0(const float* x, uint8_t* out) {
    uint8_t codes[32];
    store_half(out, symmetric(x, 16, codes));
    store_fifth_bits(codes, out + 2);
    store_nibbles(codes, out + 6);
}

void q4_1(const float* x, uint8_t* out) {
    uint8_t codes[32];
    const auto [d, m] = affine(x, 15, codes);
    store_half(out, d);
    store_half(out + 2, m);
    store_nibbles(codes, out + 4);
}

void q5_1(const float* x, uint8_t* out) {
    uint8_t codes[32];
    const auto [d, m] = affine(x, 31, codes);
    store_half(out, d);
    store_half(out + 2, m);
    store_fifth_bits(codes, out + 4);
    store_nibbles(codes, out + 8);
}

void q8_0(const float* x, uint8_t* out) {
    const float max = signed_max(x, 32);
    const float d = through_half((max < 0.0f ? -max : max) / 127.0f);
    const float id = inverse(d);
    store_half(out, d);
    for (int j = 0; j < 32; ++j)
        out[2 + j] = static_cast<uint8_t>(round_code(x[j] * id, -127, 127) & 255);
}

void iq4_nl(const float* x, uint8_t* out) {
    const float d = through_half(signed_max(x, 32) / -127.0f);
    const float id = inverse(d);
    uint8_t codes[32];
    for (int j = 0; j < 32; ++j) codes[j] = static_cast<uint8_t>(nearest_iq4(x[j] * id));
    store_half(out, d);
    store_nibbles(codes, out + 2);
}

// OCP Microscaling: the shared exponent puts the largest magnitude into [4, 8) of e2m1's units,
// whose largest value is 6.
void mxfp4(const float* x, uint8_t* out) {
    // between neighbours of 0 1 2 3 4 6 8 12, from above; ties go down
    constexpr float borders[] = {10.0f, 7.0f, 5.0f, 3.5f, 2.5f, 1.5f, 0.5f};
    const uint32_t bits = f32_bits(signed_max(x, 32)) & 0x7fffffffu;
    const uint32_t exponent = bits >> 23;  // biased; 255 for infinities
    const uint32_t e = exponent < 2 ? 0 : exponent == 255 ? 252 : exponent - 2;
    const float id =
        inverse(mxfp4_scale(static_cast<uint8_t>(e)));  // in units of the doubled values
    uint8_t codes[32];
    for (int j = 0; j < 32; ++j) {
        const float a = (x[j] < 0.0f ? -x[j] : x[j]) * id;
        int code = 7;

        for (const float border : borders) {
            if (a > border) break;
            --code;
        }
        codes[j] = static_cast<uint8_t>(x[j] < 0.0f && code > 0 ? code + 8 : code);
    }
    out[0] = static_cast<uint8_t>(e);
    store_nibbles(codes, out + 1);
}

}  // namespace

int nearest_iq4(float v) {
    int code = 0;
    for (int k = 0; k < 15; ++k)
        code += 2.0f * v > static_cast<float>(iq4_values[k] + iq4_values[k + 1]) ? 1 : 0;
    return code;
}

}  // namespace quantize

namespace {

template <typename F>
void each_block(DType type, const float* in, size_t n, uint8_t* out, F&& encode) {
    const DTypeInfo& format = info(type);
    for (size_t i = 0; i < n / format.block; ++i)
        encode(in + i * format.block, out + i * format.block_bytes);
}

}  // namespace

void quantize_plain(DType type, const float* in, size_t n, uint8_t* out) {
    switch (type) {
        case DType::f32:
            std::memcpy(out, in, n * sizeof(float));
            return;
        case DType::f16:
            for (size_t i = 0; i < n; ++i) quantize::store_half(out + 2 * i, in[i]);
            return;
        case DType::bf16:
            for (size_t i = 0; i < n; ++i) {
                const uint16_t h = bf16_from_f32(in[i]);
                std::memcpy(out + 2 * i, &h, 2);
            }
            return;
        case DType::q4_0:
            return each_block(type, in, n, out, quantize::q4_0);
        case DType::q4_1:
            return each_block(type, in, n, out, quantize::q4_1);
        case DType::q5_0:
            return each_block(type, in, n, out, quantize::q5_0);
        case DType::q5_1:
            return each_block(type, in, n, out, quantize::q5_1);
        case DType::q8_0:
            return each_block(type, in, n, out, quantize::q8_0);
        case DType::q2_k:
            return each_block(type, in, n, out, quantize::q2_k);
        case DType::q3_k:
            return each_block(type, in, n, out, quantize::q3_k);
        case DType::q4_k:
            return each_block(type, in, n, out, quantize::q4_k);
        case DType::q5_k:
            return each_block(type, in, n, out, quantize::q5_k);
        case DType::q6_k:
            return each_block(type, in, n, out, quantize::q6_k);
        case DType::iq4_nl:
            return each_block(type, in, n, out, quantize::iq4_nl);
        case DType::iq4_xs:
            return each_block(type, in, n, out, quantize::iq4_xs);
        case DType::mxfp4:
            return each_block(type, in, n, out, quantize::mxfp4);
        case DType::count_:
            return;
    }
}

}  // namespace ridge
