// Products with unquantized activations: out[r][c] = sum over k of a[r][k] * W[c][k] in f32.
//
// F32 and F16 weights are read straight from the packed pairs; quantized types and BF16 are
// dequantized into a panel of a pair in scratch ([k][2][16] f32: scale * (code - zero), or scale *
// code + min, the very operations of dequantize()) and used for all rows. One FMA a weight, k in
// order, so a row's bits depend on nothing but its activations. Bound: the two FMA ports for many
// rows; read bandwidth for one row of F16 or F32.
#pragma once

#include "kernels/avx512/tile_bf16.hpp"
#include "kernels/avx512/tile_f32.hpp"
#include "kernels/avx512/unpack.hpp"
#include "kernels/contract.hpp"

namespace ridge::avx512 {

// A tile of R rows and the first NG groups of a pair, as tile_f32 and tile_bf16 are called.
template <class B>
struct F32Tile {
    template <int R, int NG>
    static inline void run(const uint8_t* a, size_t a_stride, const uint8_t* pair, size_t steps,
                           float* out, size_t out_stride) {
        constexpr size_t lanes = group_columns * sizeof(B);
        tile_f32<R, NG, B>(a, a_stride, pair, lanes, 2 * lanes, steps, out, out_stride);
    }
};
struct Bf16Tile {
    template <int R, int NG>
    static inline void run(const uint8_t* a, size_t a_stride, const uint8_t* pair, size_t steps,
                           float* out, size_t out_stride) {
        tile_bf16<R, NG>(a, a_stride, pair, 64, 128, steps, out, out_stride);
    }
};

template <class Tile, int NG>
static inline void tile_rows(const ProductArgs& p, const uint8_t* pair, size_t steps, float* out) {
    size_t row = 0;
    for (; row + 6 <= p.rows; row += 6)
        Tile::template run<6, NG>(p.act + row * p.act_stride, p.act_stride, pair, steps,
                                  out + row * p.out_stride, p.out_stride);
    const uint8_t* a = p.act + row * p.act_stride;
    float* o = out + row * p.out_stride;
    switch (p.rows - row) {
        case 5:
            Tile::template run<5, NG>(a, p.act_stride, pair, steps, o, p.out_stride);
            break;
        case 4:
            Tile::template run<4, NG>(a, p.act_stride, pair, steps, o, p.out_stride);
            break;
        case 3:
            Tile::template run<3, NG>(a, p.act_stride, pair, steps, o, p.out_stride);
            break;
        case 2:
            Tile::template run<2, NG>(a, p.act_stride, pair, steps, o, p.out_stride);
            break;
        case 1:
            Tile::template run<1, NG>(a, p.act_stride, pair, steps, o, p.out_stride);
            break;
        default:
            break;
    }
}

// Plain types: no panel.
template <class Tile>
static inline void product_plain(const ProductArgs& p, size_t steps) {
    const uint8_t* pair = p.weights;
    float* out = p.out;
    for (size_t i = 0; i < p.groups / 2; ++i, pair += p.pair_bytes, out += pair_columns)
        tile_rows<Tile, 2>(p, pair, steps, out);
    if (p.groups % 2 != 0) tile_rows<Tile, 1>(p, pair, steps, out);
}

// One group of a pair to its lanes of the panel.
template <DType T>
static inline void dequantize_group(const uint8_t* pair, size_t group, size_t k, float* panel) {
    panel += group * group_columns;
    if constexpr (T == DType::bf16) {
        for (size_t i = 0; i < (k + 1) / 2; ++i, panel += 2 * pair_columns) {
            const __m512i x = _mm512_load_si512(pair + (2 * i + group) * 64);
            _mm512_store_si512(panel, _mm512_slli_epi32(x, 16));
            if (2 * i + 1 < k)
                _mm512_store_si512(
                    panel + pair_columns,
                    _mm512_and_si512(x, _mm512_set1_epi32(static_cast<int>(0xffff0000u))));
        }
    } else {
        using U = Unpacker<T>;
        const U u = U::at(pair, group, k);
        const __m512i low = _mm512_set1_epi32(255);
        const __m512i zero = _mm512_set1_epi32(U::has_min ? 0 : U::spec.zero);
        for (size_t b = 0; b < k / 32; ++b) {
            __m512i v[8];
            __m512 s[2], m[2];
            u.quads(b, v);
            u.scales(b, s, m);
            for (int j = 0; j < 8; ++j) {
                const int h = U::wide16 ? j / 4 : 0;
                __m512i q = v[j];
                for (int i = 0; i < 4; ++i, panel += pair_columns) {
                    __m512 w = _mm512_mul_ps(
                        _mm512_cvtepi32_ps(_mm512_sub_epi32(_mm512_and_si512(q, low), zero)), s[h]);
                    if constexpr (U::has_min) w = _mm512_add_ps(w, m[h]);
                    _mm512_store_ps(panel, w);
                    q = _mm512_srli_epi32(q, 8);
                }
            }
        }
    }
}

// Types dequantized into a panel.
template <DType T>
static inline void product_panel_f32(const ProductArgs& p) {
    float* panel = reinterpret_cast<float*>(p.scratch);
    for (size_t g = 0; g < p.groups; g += 2) {
        const uint8_t* pair = p.weights + g / 2 * p.pair_bytes;
        float* out = p.out + g * group_columns;
        dequantize_group<T>(pair, 0, p.k, panel);
        if (g + 1 < p.groups) {
            dequantize_group<T>(pair, 1, p.k, panel);
            tile_rows<F32Tile<float>, 2>(p, p.scratch, p.k, out);
        } else {
            tile_rows<F32Tile<float>, 1>(p, p.scratch, p.k, out);
        }
    }
}

}  // namespace ridge::avx512
