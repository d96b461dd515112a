// Packed weights: how each GGUF tensor type is laid out for reading. Freestanding.
//
// A matrix of N output columns (rows of the file's tensor) and K inputs becomes ceil(N/16) column
// groups. A group holds 16 columns, lanes of one 512-bit register, as up to four planes, each a
// linear stream over K and each starting on a 64-byte border:
//
//   low     2, 4 or 8 bits of every code; for a block of 32 k the codes are eight "quads"
//           V0..V7, V_j = 16 columns x 4 consecutive k (64 bytes, column-major in fours: the
//           operand shape of vpdpbusd). 4 bit: P_i = V_i | V_{i+4} << 4, i < 4. 2 bit: P_i = V_i |
//           V_{i+2} << 2 | V_{i+4} << 4 | V_{i+6} << 6, i < 2. 8 bit: V_j themselves.
//   high    the bits above: 1 bit: H = sum of hi(V_j) << j (64 bytes); 2 bit: H_i = sum over j < 4
//           of hi(V_{4i+j}) << 2j, i < 2.
//   scale   per block of 32 k, 16 lanes each: see ScaleKind.
//   super   per 256 k: f16 d[16], and f16 dmin[16] where the type has minima.
//
// Codes are unsigned; a weight is (code - zero) * scale, or code * scale + min, or book[code] *
// scale. Plain types: f32 [K][16], f16 [K][16], bf16 [ceil(K/2)][16][2].
// Columns past N and k past K (bf16 only) hold zero codes and zero scales.
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

// Byte offsets of one group's planes, and its size; all multiples of 64.
struct GroupPlanes {
    size_t low, high, scale, super, bytes;
};

static constexpr size_t align64(size_t n) {
    return (n + 63) / 64 * 64;
}

static constexpr GroupPlanes group_planes(DType t, size_t k) {
    const PackedSpec& s = packed_spec(t);
    GroupPlanes p{};
    if (s.low_bits == 0) {
        const size_t rows = t == DType::bf16 ? (k + 1) / 2 * 2 : k;
        p.high = p.scale = p.super = p.bytes = align64(rows * group_columns * info(t).block_bytes);
        return p;
    }
    const size_t blocks = k / 32;
    p.high = blocks * 64 * s.low_bits;
    p.scale = p.high + blocks * 64 * s.high_bits;
    p.super = p.scale + align64(blocks * scale_bytes(s.scale));
    const size_t super_bytes = has_super(s.scale) ? (s.has_min ? 64u : 32u) : 0u;
    p.bytes = p.super + align64(k / 256 * super_bytes);
    return p;
}

static constexpr size_t packed_bytes(DType t, size_t n, size_t k) {
    return (n + group_columns - 1) / group_columns * group_planes(t, k).bytes;
}

}  // namespace ridge
