// What each kernel's header says binds it, as numbers: the share of a roof that its instruction mix
// leaves. Derivations stand in the headers quoted here; change both together.
//
// They are those of the avx512 set. The other sets' headers argue in pipes that the roof loop does
// not fill either, so a share of the roof is all that is printed for them.
#pragma once

#include "kernels/packed.hpp"

namespace ridge::bench {

// avx512/panel_q8.hpp: "A 32-block of the 6 x 2 tile is 96 vpdpbusd and 12 each of convert,
// multiply and FMA; the last two share ports with vpdpbusd: 96 / 120 = 80 % of the int8 roof, 73 %
// with minima (12 more FMA). Scales per 16 k: two converts, a multiply and two FMA, 73 %; with
// minima (bf16, one vdpbf16ps a block) 67 %." For one row and group, then: 8 vpdpbusd and this many
// others.
constexpr double q8_others(const PackedSpec& s) {
    return s.wide16 ? (s.has_min ? 4.0 : 3.0) : (s.has_min ? 3.0 : 2.0);
}
constexpr double panel_q8_cap(const PackedSpec& s) {
    return 8.0 / (8.0 + q8_others(s));
}
static_assert(panel_q8_cap(packed_spec(DType::q4_0)) == 0.8);

// avx512/few_q8.hpp: "a block of one group and R rows is 8 R vpdpbusd, R each of convert, multiply
// and FMA, and 16 to 40 operations of unpacking, half of which share ports with vpdpbusd". Counted
// per type from avx512/unpack.hpp: codes (nibbles: three operations for two quads), high bits (a
// shift and a ternary operation a quad), the book (a shuffle a quad), scales; what is the same for
// a whole unit is computed once. "Half" is an estimate, so a little more than the cap is possible.
constexpr double unpack_operations(const PackedSpec& s) {
    double n = s.low_bits == 8 ? 0 : s.low_bits == 4 ? 12 : 14;
    if (s.high_bits != 0) n += 16;
    if (s.book) n += 8;
    switch (s.scale) {
        case ScaleKind::f16:
            return n + 2;
        case ScaleKind::f16_min:
            return n + 4;
        case ScaleKind::e8m0:
            return n + 6;
        case ScaleKind::k4:
            return n + 7;
        case ScaleKind::k6:
            return n + 6;
        case ScaleKind::k2:
            return n + 16;
        case ScaleKind::xs:
            return n + 3;
        default:
            return n;
    }
}
// "six rows, five with scales per 16 k. Q5_1 and Q5_K stop at five as well"
constexpr size_t few_q8_rows(const PackedSpec& s) {
    return s.wide16 || (s.has_min && s.high_bits != 0) ? 5 : 6;
}
// "Activations come as broadcast operands [...]; two loads a cycle feed two vpdpbusd": so loads
// bind like vpdpbusd. A row needs eight quads, its scale, and the sums for the zero point (two
// where a scale covers 16 k) or for the minima; the group its codes and scales.
constexpr double few_q8_loads(const PackedSpec& s, double rows) {
    const double row = 8.0 + 1.0 + (!s.has_min && s.wide16 ? 2.0 : 1.0);
    return row * rows + s.low_bits + s.high_bits + (s.has_min ? 2.0 : 1.0) * (s.wide16 ? 2.0 : 1.0);
}
// One row is stream_q8.hpp ("Bound: read bandwidth"), whose instructions are those of few_q8.hpp
// for R = 1, but a row's loads serve both groups of a pair.
constexpr double few_q8_cap(const PackedSpec& s, double rows) {
    const double ports = (8.0 + q8_others(s)) * rows + unpack_operations(s) / 2;
    const double loads = few_q8_loads(s, rows == 1.0 ? 0.5 : rows);
    return 8.0 * rows / (ports > loads ? ports : loads);
}

// avx512/product_f32.hpp: "Bound: the two FMA ports for many rows; read bandwidth for one row";
// tile_bf16.hpp: "Bound: the dot-product ports".
inline constexpr double plain_cap = 1.0;

// avx512/attend.cpp: "for many queries the dot-product ports (the softmax costs about 16 operations
// for 16 scores against head_dim dot products); for few, memory". Half of all vector pipes
// multiply, so half of the 16 are counted.
constexpr double attend_cap(double head_dim) {
    return head_dim / (head_dim + 8.0);
}

// avx512/rows.cpp: "All are bound by the L1 and L2 ports (a row is a few kilobytes); the
// exponentials cost about a dozen FMA-port operations for 16 values." avx512/quantize.hpp: "about
// 24 operations a block". So operations a block of 32 floats, over as many pipes as twice the
// FMA's.
inline constexpr double quantize_operations = 24;
// Addition and square; two products; quantization.
inline constexpr double add_norm_operations = 4 + 4 + quantize_operations;
// The unit: the exponential's dozen and two products, all on FMA ports, so they count twice.
inline constexpr double silu_operations = 2 * 2 * 14;

}  // namespace ridge::bench
