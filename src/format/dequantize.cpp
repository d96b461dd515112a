#include "format/dequantize.hpp"

#include <cstring>

#include "base/half.hpp"
#include "base/quant_blocks.hpp"

namespace ridge {

namespace {

float half_at(const uint8_t* p) {
    uint16_t h;
    std::memcpy(&h, p, 2);
    return f32_from_f16(h);
}

uint32_t u32_at(const uint8_t* p) {
    uint32_t u;
    std::memcpy(&u, p, 4);
    return u;
}

void q4_0(const uint8_t* b, float* out) {
    const float d = half_at(b);
    for (int j = 0; j < 16; ++j) {
        out[j] = d * static_cast<float>((b[2 + j] & 15) - 8);
        out[j + 16] = d * static_cast<float>((b[2 + j] >> 4) - 8);
    }
}

void q4_1(const uint8_t* b, float* out) {
    const float d = half_at(b), m = half_at(b + 2);
    for (int j = 0; j < 16; ++j) {
        out[j] = d * static_cast<float>(b[4 + j] & 15) + m;
        out[j + 16] = d * static_cast<float>(b[4 + j] >> 4) + m;
    }
}

void q5_0(const uint8_t* b, float* out) {
    const float d = half_at(b);
    const uint32_t high = u32_at(b + 2);
    for (int j = 0; j < 16; ++j) {
        const int lo = (b[6 + j] & 15) | static_cast<int>((high >> j & 1) << 4);
        const int hi = (b[6 + j] >> 4) | static_cast<int>((high >> (j + 16) & 1) << 4);
        out[j] = d * static_cast<float>(lo - 16);
        out[j + 16] = d * static_cast<float>(hi - 16);
    }
}

void q5_1(const uint8_t* b, float* out) {
    const float d = half_at(b), m = half_at(b + 2);
    const uint32_t high = u32_at(b + 4);
    for (int j = 0; j < 16; ++j) {
        const int lo = (b[8 + j] & 15) | static_cast<int>((high >> j & 1) << 4);
        const int hi = (b[8 + j] >> 4) | static_cast<int>((high >> (j + 16) & 1) << 4);
        out[j] = d * static_cast<float>(lo) + m;
        out[j + 16] = d * static_cast<float>(hi) + m;
    }
}

void q8_0(const uint8_t* b, float* out) {
    const float d = half_at(b);
    for (int j = 0; j < 32; ++j) out[j] = static_cast<float>(static_cast<int8_t>(b[2 + j])) * d;
}

void iq4_nl(const uint8_t* b, float* out) {
    const float d = half_at(b);
    for (int j = 0; j < 16; ++j) {
        out[j] = d * static_cast<float>(iq4_values[b[2 + j] & 15]);
        out[j + 16] = d * static_cast<float>(iq4_values[b[2 + j] >> 4]);
    }
}

void mxfp4(const uint8_t* b, float* out) {
    const float d = mxfp4_scale(b[0]);
    for (int j = 0; j < 16; ++j) {
        out[j] = d * static_cast<float>(mxfp4_values[b[1 + j] & 15]);
        out[j + 16] = d * static_cast<float>(mxfp4_values[b[1 + j] >> 4]);
    }
}

// Super-blocks: weight i = 128 * half + 32 * group + j for the types whose codes are 2 bits wide,
// 64 * pair + 32 * nibble + j for those of 4 bits.

void q2_k(const uint8_t* b, float* out) {
    const float d = half_at(b + 80), dmin = half_at(b + 82);
    for (int i = 0; i < 256; ++i) {
        const int half = i / 128, group = i / 32 % 4, j = i % 32;
        const uint8_t scale = b[i / 16];
        const int q = (b[16 + 32 * half + j] >> (2 * group)) & 3;
        out[i] = d * static_cast<float>(scale & 15) * static_cast<float>(q) -
                 dmin * static_cast<float>(scale >> 4);
    }
}

void q3_k(const uint8_t* b, float* out) {
    const float d = half_at(b + 108);
    for (int i = 0; i < 256; ++i) {
        const int half = i / 128, group = i / 32 % 4, j = i % 32;
        const float scale = d * static_cast<float>(q3k_scale(b + 96, static_cast<size_t>(i / 16)));
        const int low = (b[32 + 32 * half + j] >> (2 * group)) & 3;
        const int high = (b[j] >> (i / 32)) & 1;
        out[i] = scale * static_cast<float>(low + 4 * high - 4);
    }
}

void q4_k(const uint8_t* b, float* out) {
    const float d = half_at(b), dmin = half_at(b + 2);
    for (int s = 0; s < 8; ++s) {
        uint8_t scale, min;
        q4k_scale_min(b + 4, static_cast<size_t>(s), &scale, &min);
        const float ds = d * static_cast<float>(scale), dm = dmin * static_cast<float>(min);
        const uint8_t* codes = b + 16 + 32 * (s / 2);
        for (int j = 0; j < 32; ++j)
            out[32 * s + j] = ds * static_cast<float>((codes[j] >> (4 * (s % 2))) & 15) - dm;
    }
}

void q5_k(const uint8_t* b, float* out) {
    const float d = half_at(b), dmin = half_at(b + 2);
    for (int s = 0; s < 8; ++s) {
        uint8_t scale, min;
        q4k_scale_min(b + 4, static_cast<size_t>(s), &scale, &min);
        const float ds = d * static_cast<float>(scale), dm = dmin * static_cast<float>(min);
        const uint8_t* codes = b + 48 + 32 * (s / 2);
        for (int j = 0; j < 32; ++j) {
            const int q = ((codes[j] >> (4 * (s % 2))) & 15) | ((b[16 + j] >> s & 1) << 4);
            out[32 * s + j] = ds * static_cast<float>(q) - dm;
        }
    }
}

void q6_k(const uint8_t* b, float* out) {
    const float d = half_at(b + 208);
    for (int i = 0; i < 256; ++i) {
        const int half = i / 128, group = i / 32 % 4, j = i % 32;
        // nibbles: 64 bytes a half hold groups 0, 1 in their low and 2, 3 in their high nibbles
        const int low = (b[64 * half + 32 * (group % 2) + j] >> (4 * (group / 2))) & 15;
        const int high = (b[128 + 32 * half + j] >> (2 * group)) & 3;
        const float scale = d * static_cast<float>(static_cast<int8_t>(b[192 + i / 16]));
        out[i] = scale * static_cast<float>((low | (high << 4)) - 32);
    }
}

void iq4_xs(const uint8_t* b, float* out) {
    const float d = half_at(b);
    const auto high = static_cast<uint16_t>(b[2] | (b[3] << 8));
    for (int s = 0; s < 8; ++s) {
        const float ds = d * static_cast<float>(iq4xs_scale(high, b + 4, static_cast<size_t>(s)));
        const uint8_t* codes = b + 8 + 16 * s;
        for (int j = 0; j < 16; ++j) {
            out[32 * s + j] = ds * static_cast<float>(iq4_values[codes[j] & 15]);
            out[32 * s + j + 16] = ds * static_cast<float>(iq4_values[codes[j] >> 4]);
        }
    }
}

template <typename F>
void each_block(DType type, const uint8_t* blocks, size_t n, float* out, F&& decode) {
    const DTypeInfo& format = info(type);
    for (size_t i = 0; i < n / format.block; ++i)
        decode(blocks + i * format.block_bytes, out + i * format.block);
}

}  // namespace

void dequantize(DType type, const uint8_t* blocks, size_t n, float* out) {
    switch (type) {
        case DType::f32:
            std::memcpy(out, blocks, n * sizeof(float));
            return;
        case DType::f16:
            for (size_t i = 0; i < n; ++i) out[i] = half_at(blocks + 2 * i);
            return;
        case DType::bf16:
            for (size_t i = 0; i < n; ++i) {
                uint16_t h;
                std::memcpy(&h, blocks + 2 * i, 2);
                out[i] = f32_from_bf16(h);
            }
            return;
        case DType::q4_0:
            return each_block(type, blocks, n, out, q4_0);
        case DType::q4_1:
            return each_block(type, blocks, n, out, q4_1);
        case DType::q5_0:
            return each_block(type, blocks, n, out, q5_0);
        case DType::q5_1:
            return each_block(type, blocks, n, out, q5_1);
        case DType::q8_0:
            return each_block(type, blocks, n, out, q8_0);
        case DType::q2_k:
            return each_block(type, blocks, n, out, q2_k);
        case DType::q3_k:
            return each_block(type, blocks, n, out, q3_k);
        case DType::q4_k:
            return each_block(type, blocks, n, out, q4_k);
        case DType::q5_k:
            return each_block(type, blocks, n, out, q5_k);
        case DType::q6_k:
            return each_block(type, blocks, n, out, q6_k);
        case DType::iq4_nl:
            return each_block(type, blocks, n, out, iq4_nl);
        case DType::iq4_xs:
            return each_block(type, blocks, n, out, iq4_xs);
        case DType::mxfp4:
            return each_block(type, blocks, n, out, mxfp4);
        case DType::count_:
            return;
    }
}

}  // namespace ridge
