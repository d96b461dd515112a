// Quantized types go block by block of 32 k: the codes of 16 columns are decoded into eight quads
// of 16 32-bit words, a word being four consecutive k of one column, and the quads are combined
// into planes. Both steps work on whole words (four codes at a time, little-endian), which makes
// them as fast as memory without any instruction set of its own: a column's block costs some 30
// instructions, and the loops over 16 words are vectorized at the baseline.
#include "kernels/pack.hpp"

#include "base/quant_blocks.hpp"
#include "kernels/packed.hpp"

namespace ridge {

namespace {

inline uint32_t load32(const uint8_t* p) {
    uint32_t u;
    __builtin_memcpy(&u, p, 4);
    return u;
}
inline void copy16(uint8_t* to, const uint8_t* from) {
    __builtin_memcpy(to, from, 2);
}

constexpr uint32_t low1 = 0x01010101u, low2 = 0x03030303u, low4 = 0x0f0f0f0fu;

// 4 bits to the lowest bits of 4 bytes.
inline uint32_t spread(uint32_t bits) {
    return ((bits & 15) * 0x00204081u) & low1;
}

// Blocks of 16 bytes whose low nibbles are weights 0..15 and high nibbles 16..31.
inline void nibbles(const uint8_t* p, uint32_t word[8]) {
    for (size_t j = 0; j < 4; ++j) {
        const uint32_t x = load32(p + 4 * j);
        word[j] = x & low4;
        word[j + 4] = (x >> 4) & low4;
    }
}

// Unsigned codes of block `s` (of 32 k) of the file block `b`, four a word.
template <DType T>
inline void decode(const uint8_t* b, size_t s, uint32_t word[8]) {
    if constexpr (T == DType::q4_0 || T == DType::iq4_nl) {
        nibbles(b + 2, word);
    } else if constexpr (T == DType::q4_1) {
        nibbles(b + 4, word);
    } else if constexpr (T == DType::mxfp4) {
        nibbles(b + 1, word);
    } else if constexpr (T == DType::iq4_xs) {
        nibbles(b + 8 + 16 * s, word);
    } else if constexpr (T == DType::q5_0 || T == DType::q5_1) {
        constexpr size_t bits_at = T == DType::q5_0 ? 2 : 4;
        nibbles(b + bits_at + 4, word);
        const uint32_t bits = load32(b + bits_at);
        for (size_t j = 0; j < 8; ++j) word[j] |= spread(bits >> (4 * j)) << 4;
    } else if constexpr (T == DType::q8_0) {
        for (size_t j = 0; j < 8; ++j) word[j] = load32(b + 2 + 4 * j) ^ 0x80808080u;
    } else if constexpr (T == DType::q2_k) {
        const uint8_t* codes = b + 16 + 32 * (s / 4);
        for (size_t j = 0; j < 8; ++j) word[j] = (load32(codes + 4 * j) >> (2 * (s % 4))) & low2;
    } else if constexpr (T == DType::q3_k) {
        const uint8_t* codes = b + 32 + 32 * (s / 4);
        for (size_t j = 0; j < 8; ++j)
            word[j] = ((load32(codes + 4 * j) >> (2 * (s % 4))) & low2) |
                      (((load32(b + 4 * j) >> s) & low1) << 2);
    } else if constexpr (T == DType::q4_k) {
        const uint8_t* codes = b + 16 + 32 * (s / 2);
        for (size_t j = 0; j < 8; ++j) word[j] = (load32(codes + 4 * j) >> (4 * (s % 2))) & low4;
    } else if constexpr (T == DType::q5_k) {
        const uint8_t* codes = b + 48 + 32 * (s / 2);
        for (size_t j = 0; j < 8; ++j)
            word[j] = ((load32(codes + 4 * j) >> (4 * (s % 2))) & low4) |
                      (((load32(b + 16 + 4 * j) >> s) & low1) << 4);
    } else {
        static_assert(T == DType::q6_k);
        const uint8_t* codes = b + 64 * (s / 4) + 32 * (s % 2);
        const uint8_t* pairs = b + 128 + 32 * (s / 4);
        for (size_t j = 0; j < 8; ++j)
            word[j] = ((load32(codes + 4 * j) >> (4 * (s % 4 / 2))) & low4) |
                      (((load32(pairs + 4 * j) >> (2 * (s % 4))) & low2) << 4);
    }
}

// Scales of block `s` of the file block `b` to lane `c` of the block's part of the scale plane.
template <DType T>
inline void put_scales(const uint8_t* b, size_t s, size_t c, uint8_t* scale) {
    constexpr ScaleKind kind = packed_spec(T).scale;
    if constexpr (kind == ScaleKind::f16 || kind == ScaleKind::f16_min) {
        copy16(scale + 2 * c, b);
        if constexpr (kind == ScaleKind::f16_min) copy16(scale + 32 + 2 * c, b + 2);
    } else if constexpr (kind == ScaleKind::e8m0) {
        scale[c] = b[0];
    } else if constexpr (kind == ScaleKind::k4) {
        q4k_scale_min(b + 4, s, scale + c, scale + 16 + c);
    } else if constexpr (kind == ScaleKind::k2) {
        scale[c] = b[2 * s];
        scale[16 + c] = b[2 * s + 1];
    } else if constexpr (kind == ScaleKind::xs) {
        const auto high = static_cast<uint16_t>(b[2] | (b[3] << 8));
        scale[c] = static_cast<uint8_t>(iq4xs_scale(high, b + 4, s));
    } else if constexpr (T == DType::q3_k) {
        scale[c] = static_cast<uint8_t>(q3k_scale(b + 96, 2 * s));
        scale[16 + c] = static_cast<uint8_t>(q3k_scale(b + 96, 2 * s + 1));
    } else {
        static_assert(T == DType::q6_k);
        scale[c] = b[192 + 2 * s];
        scale[16 + c] = b[193 + 2 * s];
    }
}

// Offset of d in a super-block; dmin follows it.
template <DType T>
constexpr size_t super_at() {
    return T == DType::q2_k ? 80 : T == DType::q3_k ? 108 : T == DType::q6_k ? 208 : 0;
}

using Quads = uint32_t[8][16];

// Eight quads to the planes of one block. `low` and `high` need no alignment.
template <PackedSpec S>
inline void combine(const Quads& v, uint8_t* low, uint8_t* high) {
    uint32_t plane[16];
    if constexpr (S.low_bits == 8) {
        __builtin_memcpy(low, v, sizeof(v));
    } else if constexpr (S.low_bits == 4) {
        for (size_t i = 0; i < 4; ++i) {
            for (size_t c = 0; c < 16; ++c)
                plane[c] = (v[i][c] & low4) | ((v[i + 4][c] & low4) << 4);
            __builtin_memcpy(low + 64 * i, plane, 64);
        }
    } else {
        for (size_t i = 0; i < 2; ++i) {
            for (size_t c = 0; c < 16; ++c)
                plane[c] = (v[i][c] & low2) | ((v[i + 2][c] & low2) << 2) |
                           ((v[i + 4][c] & low2) << 4) | ((v[i + 6][c] & low2) << 6);
            __builtin_memcpy(low + 64 * i, plane, 64);
        }
    }
    if constexpr (S.high_bits == 1) {
        for (size_t c = 0; c < 16; ++c) {
            plane[c] = 0;
            for (size_t j = 0; j < 8; ++j) plane[c] |= ((v[j][c] >> S.low_bits) & low1) << j;
        }
        __builtin_memcpy(high, plane, 64);
    } else if constexpr (S.high_bits == 2) {
        for (size_t i = 0; i < 2; ++i) {
            for (size_t c = 0; c < 16; ++c) {
                plane[c] = 0;
                for (size_t j = 0; j < 4; ++j)
                    plane[c] |= ((v[4 * i + j][c] >> S.low_bits) & low2) << (2 * j);
            }
            __builtin_memcpy(high + 64 * i, plane, 64);
        }
    }
}

template <DType T>
void pack_quantized(const uint8_t* const* rows, size_t n_columns, size_t k, uint8_t* group) {
    constexpr PackedSpec spec = packed_spec(T);
    constexpr size_t block_bytes = info(T).block_bytes;
    constexpr size_t subs = info(T).block / 32;  // blocks of 32 k a file block: 1 or 8
    constexpr size_t scale_step = scale_bytes(spec.scale);
    constexpr size_t super_step = spec.has_min ? 64 : 32;
    const GroupPlanes at = group_planes(T, k);
    const size_t blocks = k / 32;
    if (n_columns < group_columns) {
        __builtin_memset(group + at.scale, 0, at.bytes - at.scale);
    } else {
        const size_t scale_end = at.scale + blocks * scale_step;
        __builtin_memset(group + scale_end, 0, at.super - scale_end);
        const size_t super_end = has_super(spec.scale) ? at.super + k / 256 * super_step : at.super;
        __builtin_memset(group + super_end, 0, at.bytes - super_end);
    }
    Quads quads = {};
    for (size_t block = 0; block < blocks; ++block) {
        const size_t s = block % subs;
        uint8_t* scale = group + at.scale + block * scale_step;
        for (size_t c = 0; c < n_columns; ++c) {
            const uint8_t* b = rows[c] + block / subs * block_bytes;
            uint32_t word[8];
            decode<T>(b, s, word);
            for (size_t j = 0; j < 8; ++j) quads[j][c] = word[j];
            put_scales<T>(b, s, c, scale);
            if (has_super(spec.scale) && s == 0) {
                uint8_t* super = group + at.super + block / subs * super_step;
                copy16(super + 2 * c, b + super_at<T>());
                if (spec.has_min) copy16(super + 32 + 2 * c, b + super_at<T>() + 2);
            }
        }
        combine<spec>(quads, group + block * (64 * spec.low_bits),
                      group + at.high + block * (64 * spec.high_bits));
    }
}

// Elements of `Bytes` bytes, [k][16]; tiles of 16 k keep the strided writes in L1.
template <size_t Bytes>
void transpose(const uint8_t* const* rows, size_t n_columns, size_t k, uint8_t* group) {
    if (n_columns < group_columns) __builtin_memset(group, 0, k * Bytes * group_columns);
    for (size_t k0 = 0; k0 < k; k0 += 16) {
        const size_t end = k0 + 16 < k ? k0 + 16 : k;
        for (size_t c = 0; c < n_columns; ++c)
            for (size_t i = k0; i < end; ++i)
                __builtin_memcpy(group + (i * group_columns + c) * Bytes, rows[c] + i * Bytes,
                                 Bytes);
    }
}

void pack_bf16(const uint8_t* const* rows, size_t n_columns, size_t k, uint8_t* group) {
    transpose<4>(rows, n_columns, k / 2, group);
    if (k % 2 == 0) return;
    uint8_t* last = group + k / 2 * 64;  // the odd k and a zero beside it
    __builtin_memset(last, 0, 64);
    for (size_t c = 0; c < n_columns; ++c) copy16(last + 4 * c, rows[c] + 2 * (k - 1));
}

}  // namespace

void pack_group(DType t, const uint8_t* const* rows, size_t n_columns, size_t k, uint8_t* group) {
    switch (t) {
        case DType::f32:
            return transpose<4>(rows, n_columns, k, group);
        case DType::f16: {
            transpose<2>(rows, n_columns, k, group);
            __builtin_memset(group + k * 32, 0, align64(k * 32) - k * 32);
            return;
        }
        case DType::bf16:
            return pack_bf16(rows, n_columns, k, group);
        case DType::q4_0:
            return pack_quantized<DType::q4_0>(rows, n_columns, k, group);
        case DType::q4_1:
            return pack_quantized<DType::q4_1>(rows, n_columns, k, group);
        case DType::q5_0:
            return pack_quantized<DType::q5_0>(rows, n_columns, k, group);
        case DType::q5_1:
            return pack_quantized<DType::q5_1>(rows, n_columns, k, group);
        case DType::q8_0:
            return pack_quantized<DType::q8_0>(rows, n_columns, k, group);
        case DType::q2_k:
            return pack_quantized<DType::q2_k>(rows, n_columns, k, group);
        case DType::q3_k:
            return pack_quantized<DType::q3_k>(rows, n_columns, k, group);
        case DType::q4_k:
            return pack_quantized<DType::q4_k>(rows, n_columns, k, group);
        case DType::q5_k:
            return pack_quantized<DType::q5_k>(rows, n_columns, k, group);
        case DType::q6_k:
            return pack_quantized<DType::q6_k>(rows, n_columns, k, group);
        case DType::iq4_nl:
            return pack_quantized<DType::iq4_nl>(rows, n_columns, k, group);
        case DType::iq4_xs:
            return pack_quantized<DType::iq4_xs>(rows, n_columns, k, group);
        case DType::mxfp4:
            return pack_quantized<DType::mxfp4>(rows, n_columns, k, group);
        case DType::count_:
            return;
    }
}

}  // namespace ridge
