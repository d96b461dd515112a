// Quantized types go block by block of 32 k: the codes of 16 columns are decoded into eight quads
// of 16 32-bit words, a word being four consecutive k of one column, and the quads are combined
// into planes. Both steps work on whole words (four codes at a time, little-endian), which makes
// them as fast as memory without any instruction set of its own: a column's block costs some 30
// instructions, and the loops over 16 words are vectorized at the baseline. Where the file's bytes
// are the low plane's already (two nibbles 16 k apart), they are only moved.
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

// Types whose 16 bytes of codes a block have weights 0..15 in the low and 16..31 in the high
// nibbles: word i of them is a column's word of P_i.
template <DType T>
constexpr bool direct() {
    return T == DType::q4_0 || T == DType::q4_1 || T == DType::q5_0 || T == DType::q5_1 ||
           T == DType::iq4_nl || T == DType::iq4_xs || T == DType::mxfp4;
}
template <DType T>
inline const uint8_t* nibbles(const uint8_t* b, size_t s) {
    constexpr size_t at = T == DType::mxfp4                        ? 1
                          : T == DType::q4_1                       ? 4
                          : T == DType::q5_0                       ? 6
                          : T == DType::q5_1 || T == DType::iq4_xs ? 8
                                                                   : 2;
    return b + at + 16 * s;
}

// Codes of block `s` (of 32 k) of the file block `b`, four a word: unsigned, or, of direct types,
// the four words of the low plane and then one with the fifth bits of all 32.
template <DType T>
inline void decode(const uint8_t* b, size_t s, uint32_t word[8]) {
    if constexpr (direct<T>()) {
        const uint8_t* codes = nibbles<T>(b, s);
        for (size_t j = 0; j < 4; ++j) word[j] = load32(codes + 4 * j);
        if constexpr (T == DType::q5_0 || T == DType::q5_1) word[4] = load32(codes - 4);
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

// Words that decode gives a column.
template <DType T>
constexpr size_t used_words() {
    return !direct<T>() ? 8 : packed_spec(T).high_bits == 0 ? 4 : 5;
}

// The words of 16 columns, as decode gives them, to one group's planes of one block. `low` and
// `high` need no alignment.
template <DType T>
inline void combine(const Quads& v, uint8_t* low, uint8_t* high) {
    constexpr PackedSpec spec = packed_spec(T);
    uint32_t plane[16];
    if constexpr (direct<T>()) {
        __builtin_memcpy(low, v, 256);
    } else if constexpr (spec.low_bits == 8) {
        __builtin_memcpy(low, v, sizeof(v));
    } else if constexpr (spec.low_bits == 4) {
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
    if constexpr (spec.high_bits == 1) {
        for (size_t c = 0; c < 16; ++c) {
            plane[c] = 0;
            for (size_t j = 0; j < 8; ++j) {
                uint32_t bits;
                if constexpr (direct<T>())
                    bits = spread(v[4][c] >> (4 * j));
                else
                    bits = (v[j][c] >> spec.low_bits) & low1;
                plane[c] |= bits << j;
            }
        }
        __builtin_memcpy(high, plane, 64);
    } else if constexpr (spec.high_bits == 2) {
        for (size_t i = 0; i < 2; ++i) {
            for (size_t c = 0; c < 16; ++c) {
                plane[c] = 0;
                for (size_t j = 0; j < 4; ++j)
                    plane[c] |= ((v[4 * i + j][c] >> spec.low_bits) & low2) << (2 * j);
            }
            __builtin_memcpy(high + 64 * i, plane, 64);
        }
    }
}

template <DType T>
void pack_quantized(const uint8_t* const* rows, const size_t n[2], size_t k, uint8_t* pair) {
    constexpr PackedSpec spec = packed_spec(T);
    constexpr PairLayout at = pair_layout(T);
    constexpr size_t block_bytes = info(T).block_bytes;
    constexpr size_t subs = info(T).block / 32;  // blocks of 32 k a file block: 1 or 8
    const size_t blocks = k / 32;
    const size_t units = pair_units(T, k);
    const bool filled = n[0] == group_columns && n[1] == group_columns;
    for (size_t u = 0; u < units; ++u)
        if (!filled || (u + 1) * at.blocks > blocks)
            __builtin_memset(pair + u * at.bytes, 0, at.bytes);
    Quads quads[2] = {};
    for (size_t block = 0; block < blocks; ++block) {
        const size_t s = block % subs;
        for (size_t g = 0; g < 2; ++g) {
            if (n[g] == 0) continue;
            const uint8_t* const* group_rows = rows + g * n[0];
            uint8_t* scale = pair + at.scale_of(block, g);
            for (size_t c = 0; c < n[g]; ++c) {
                const uint8_t* b = group_rows[c] + block / subs * block_bytes;
                uint32_t word[8];
                decode<T>(b, s, word);
                for (size_t j = 0; j < used_words<T>(); ++j) quads[g][j][c] = word[j];
                put_scales<T>(b, s, c, scale);
                if (has_super(spec.scale) && s == 0) {
                    uint8_t* super = pair + at.super_of(block, g);
                    copy16(super + 2 * c, b + super_at<T>());
                    if (spec.has_min) copy16(super + 32 + 2 * c, b + super_at<T>() + 2);
                }
            }
            combine<T>(quads[g], pair + at.low_of(block, g), pair + at.high_of(block, g));
        }
    }
}

// Elements of `Bytes` bytes, [k][2][16]; tiles of one cache line of each row.
template <size_t Bytes>
void transpose(const uint8_t* const* rows, const size_t n[2], size_t k, uint8_t* pair) {
    constexpr size_t tile = 64 / Bytes;
    if (n[0] + n[1] < pair_columns) __builtin_memset(pair, 0, k * Bytes * pair_columns);
    for (size_t k0 = 0; k0 < k; k0 += tile) {
        const size_t end = k0 + tile < k ? k0 + tile : k;
        for (size_t x = 0; x < n[0] + n[1]; ++x) {
            const size_t column = x < n[0] ? x : group_columns + x - n[0];
            for (size_t i = k0; i < end; ++i)
                __builtin_memcpy(pair + (i * pair_columns + column) * Bytes, rows[x] + i * Bytes,
                                 Bytes);
        }
    }
}

void pack_bf16(const uint8_t* const* rows, const size_t n[2], size_t k, uint8_t* pair) {
    transpose<4>(rows, n, k / 2, pair);
    if (k % 2 == 0) return;
    uint8_t* last = pair + k / 2 * (4 * pair_columns);  // the odd k and a zero beside it
    __builtin_memset(last, 0, 4 * pair_columns);
    for (size_t x = 0; x < n[0] + n[1]; ++x)
        copy16(last + 4 * (x < n[0] ? x : group_columns + x - n[0]), rows[x] + 2 * (k - 1));
}

}  // namespace

void pack_pair(DType t, const uint8_t* const* rows, size_t n_first, size_t n_second, size_t k,
               uint8_t* pair) {
    const size_t n[2] = {n_first, n_second};
    switch (t) {
        case DType::f32:
            return transpose<4>(rows, n, k, pair);
        case DType::f16:
            return transpose<2>(rows, n, k, pair);
        case DType::bf16:
            return pack_bf16(rows, n, k, pair);
        case DType::q4_0:
            return pack_quantized<DType::q4_0>(rows, n, k, pair);
        case DType::q4_1:
            return pack_quantized<DType::q4_1>(rows, n, k, pair);
        case DType::q5_0:
            return pack_quantized<DType::q5_0>(rows, n, k, pair);
        case DType::q5_1:
            return pack_quantized<DType::q5_1>(rows, n, k, pair);
        case DType::q8_0:
            return pack_quantized<DType::q8_0>(rows, n, k, pair);
        case DType::q2_k:
            return pack_quantized<DType::q2_k>(rows, n, k, pair);
        case DType::q3_k:
            return pack_quantized<DType::q3_k>(rows, n, k, pair);
        case DType::q4_k:
            return pack_quantized<DType::q4_k>(rows, n, k, pair);
        case DType::q5_k:
            return pack_quantized<DType::q5_k>(rows, n, k, pair);
        case DType::q6_k:
            return pack_quantized<DType::q6_k>(rows, n, k, pair);
        case DType::iq4_nl:
            return pack_quantized<DType::iq4_nl>(rows, n, k, pair);
        case DType::iq4_xs:
            return pack_quantized<DType::iq4_xs>(rows, n, k, pair);
        case DType::mxfp4:
            return pack_quantized<DType::mxfp4>(rows, n, k, pair);
        case DType::count_:
            return;
    }
}

}  // namespace ridge
