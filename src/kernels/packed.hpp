// Packed weights: how each GGUF tensor type is laid out for reading. Freestanding.
//
// A matrix of N output columns (rows of the file's tensor) and K inputs becomes ceil(N/32) pairs of
// column groups. A group is 16 columns, the lanes of one 512-bit register. A pair is one linear
// stream over K, made of units of `blocks` blocks of 32 k; reading pair after pair walks memory
// from end to end. A unit holds, in this order,
//
//   super   [2 groups]: f16 d[16], and f16 dmin[16] where the type has minima; one per 256 k.
//   scale   [blocks][2][scale_bytes], 16 lanes each: see ScaleKind.
//   codes   [blocks] of
//     low   [2][64 * low_bits]: 2, 4 or 8 bits of every code; the codes of a block are eight
//           "quads" V0..V7, V_j = 16 columns x 4 consecutive k (64 bytes, column-major in fours:
//           the operand shape of vpdpbusd). 4 bit: P_i = V_i | V_{i+4} << 4, i < 4. 2 bit:
//           P_i = V_i | V_{i+2} << 2 | V_{i+4} << 4 | V_{i+6} << 6, i < 2. 8 bit: V_j.
//     high  [2][64 * high_bits]: the bits above; 1 bit: H = sum of hi(V_j) << j (64 bytes);
//           2 bit: H_i = sum over j < 4 of hi(V_{4i+j}) << 2j, i < 2.
//
// A unit is as many blocks as share a super-block scale (8), or as make it whole cache lines (2
// with E8M0 scales, else 1); PairLayout has its offsets, and a pair of an odd count of blocks is
// filled up with zero codes and scales. Why a unit and no planes over all of K: one linear stream
// is what the memory serves best (measured on Zen 5, Q4_0, two threads: 57 to 66 GB/s; four planes
// a group, two groups at a time: 41; plain reads: 68), and a unit's scales come with its codes.
//
// Codes are unsigned; a weight is (code - zero) * scale, or code * scale + min, or book[code] *
// scale. Plain types: f32 [K][2][16], f16 [K][2][16], bf16 [ceil(K/2)][2][16][2].
// Columns past N (the second group of the last pair, too) and k past K hold zero codes and scales.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/types.hpp"

namespace ridge {

enum class ScaleKind : uint8_t {
    none,
    f16,      // f16 d[16]                                       (32 bytes a block)
    f16_min,  // f16 d[16], f16 m[16]                            (64)
    e8m0,     // uint8 e[16]; weight = book[code] * 2^(e-128)    (16)
    k4,       // uint8 scale[16], uint8 min[16]; d*scale, dmin*min   (32)
    k6,       // int8 scale[2][16], one per 16 k; d*scale        (32)
    k2,       // uint8 (scale | min << 4)[2][16], one per 16 k   (32)
    xs,       // int8 scale[16]; d*scale                         (16)
};

struct PackedSpec {
    uint8_t low_bits;  // 0 for plain types
    uint8_t high_bits;
    ScaleKind scale;
    bool wide16;  // one scale per 16 k instead of 32
    bool has_min;
    uint8_t zero;  // code that stands for weight 0 (128 with a book); 0 where minima exist
    bool book;     // codes index a code book of 16 signed bytes
};

inline constexpr PackedSpec packed_table[] = {
    {0, 0, ScaleKind::none, false, false, 0, false},    // F32
    {0, 0, ScaleKind::none, false, false, 0, false},    // F16
    {0, 0, ScaleKind::none, false, false, 0, false},    // BF16
    {4, 0, ScaleKind::f16, false, false, 8, false},     // Q4_0
    {4, 0, ScaleKind::f16_min, false, true, 0, false},  // Q4_1
    {4, 1, ScaleKind::f16, false, false, 16, false},    // Q5_0
    {4, 1, ScaleKind::f16_min, false, true, 0, false},  // Q5_1
    {8, 0, ScaleKind::f16, false, false, 128, false},   // Q8_0
    {2, 0, ScaleKind::k2, true, true, 0, false},        // Q2_K
    {2, 1, ScaleKind::k6, true, false, 4, false},       // Q3_K
    {4, 0, ScaleKind::k4, false, true, 0, false},       // Q4_K
    {4, 1, ScaleKind::k4, false, true, 0, false},       // Q5_K
    {4, 2, ScaleKind::k6, true, false, 32, false},      // Q6_K
    {4, 0, ScaleKind::f16, false, false, 128, true},    // IQ4_NL
    {4, 0, ScaleKind::xs, false, false, 128, true},     // IQ4_XS
    {4, 0, ScaleKind::e8m0, false, false, 128, true},   // MXFP4
};
static_assert(sizeof(packed_table) / sizeof(packed_table[0]) == static_cast<size_t>(DType::count_));

static constexpr const PackedSpec& packed_spec(DType t) {
    return packed_table[static_cast<size_t>(t)];
}
static constexpr bool is_quantized(DType t) {
    return packed_spec(t).low_bits != 0;
}

inline constexpr size_t group_columns = 16;
inline constexpr size_t pair_columns = 2 * group_columns;

static constexpr size_t scale_bytes(ScaleKind kind) {
    switch (kind) {
        case ScaleKind::none:
            return 0;
        case ScaleKind::f16_min:
            return 64;
        case ScaleKind::e8m0:
        case ScaleKind::xs:
            return 16;
        default:
            return 32;
    }
}

static constexpr bool has_super(ScaleKind kind) {
    return kind == ScaleKind::k4 || kind == ScaleKind::k6 || kind == ScaleKind::k2 ||
           kind == ScaleKind::xs;
}

static constexpr size_t align64(size_t n) {
    return (n + 63) / 64 * 64;
}

// A unit of a pair: what lies where, in bytes. Plain types: one k (bf16: two), all of it `low`.
struct PairLayout {
    size_t blocks;                     // blocks of 32 k a unit: 1, 2 or 8
    size_t low, high, scale, super;    // of one group: a block's, super a unit's
    size_t scale_at, codes_at, bytes;  // offsets in the unit, and its size

    constexpr size_t unit(size_t block) const { return block / blocks * bytes; }
    constexpr size_t super_of(size_t block, size_t group) const {
        return unit(block) + group * super;
    }
    constexpr size_t scale_of(size_t block, size_t group) const {
        return unit(block) + scale_at + (block % blocks * 2 + group) * scale;
    }
    constexpr size_t codes_of(size_t block) const {
        return unit(block) + codes_at + block % blocks * (2 * (low + high));
    }
    constexpr size_t low_of(size_t block, size_t group) const {
        return codes_of(block) + group * low;
    }
    constexpr size_t high_of(size_t block, size_t group) const {
        return codes_of(block) + 2 * low + group * high;
    }
};

static constexpr PairLayout pair_layout(DType t) {
    const PackedSpec& s = packed_spec(t);
    PairLayout p{};
    p.blocks = has_super(s.scale) ? 8 : s.scale == ScaleKind::e8m0 ? 2 : 1;
    p.low = s.low_bits != 0 ? 64u * s.low_bits
                            : group_columns * info(t).block_bytes * (t == DType::bf16 ? 2 : 1);
    p.high = 64u * s.high_bits;
    p.scale = scale_bytes(s.scale);
    p.super = !has_super(s.scale) ? 0 : s.has_min ? 64 : 32;
    p.scale_at = 2 * p.super;
    p.codes_at = p.scale_at + p.blocks * 2 * p.scale;
    p.bytes = p.codes_at + p.blocks * 2 * (p.low + p.high);
    return p;
}

// Units of a pair of k inputs.
static constexpr size_t pair_units(DType t, size_t k) {
    if (!is_quantized(t)) return t == DType::bf16 ? (k + 1) / 2 : k;
    const size_t blocks = pair_layout(t).blocks;
    return (k / 32 + blocks - 1) / blocks;
}

static constexpr size_t pair_bytes(DType t, size_t k) {
    return pair_units(t, k) * pair_layout(t).bytes;
}

static constexpr size_t packed_bytes(DType t, size_t n, size_t k) {
    return (n + pair_columns - 1) / pair_columns * pair_bytes(t, k);
}

}  // namespace ridge
