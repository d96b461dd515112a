// Products with unquantized activations: out[r][c] = sum over k of a[r][k] * W[c][k] in f32.
//
// F32 and F16 weights are read straight from the packed groups; quantized types and BF16 are
// dequantized into a panel of two groups in scratch ([k][16] f32 a group: scale * (code - zero), or
// scale * code + min, the very operations of dequantize()) and used for all rows. One FMA a weight,
// k in order, so a row's bits depend on nothing but its activations. Bound: the two FMA ports for
// many rows; read bandwidth for one row of F16 or F32.
#pragma once

#include "kernels/avx512/tile_bf16.hpp"
#include "kernels/avx512/tile_f32.hpp"
#include "kernels/avx512/unpack.hpp"
#include "kernels/contract.hpp"

namespace ridge::avx512 {

// A tile of R rows and NG groups, as tile_f32 and tile_bf16 are called.
template <class B>
struct F32Tile {
    template <int R, int NG>
    static inline void run(const uint8_t* a, size_t a_stride, const uint8_t* b, size_t group_stride,
                           size_t steps, float* out, size_t out_stride) {
        tile_f32<R, NG, B>(a, a_stride, b, group_stride, 16 * sizeof(B), steps, out, out_stride);
    }
};
struct Bf16Tile {
    template <int R, int NG>
    static inline void run(const uint8_t* a, size_t a_stride, const uint8_t* b, size_t group_stride,
                           size_t steps, float* out, size_t out_stride) {
        tile_bf16<R, NG>(a, a_stride, b, group_stride, 64, steps, out, out_stride);
    }
};

template <class Tile, int NG>
static inline void tile_rows(const ProductArgs& p, const uint8_t* b, size_t group_stride,
                             size_t steps, float* out) {
    size_t row = 0;
    for (; row + 6 <= p.rows; row += 6)
        Tile::template run<6, NG>(p.act + row * p.act_stride, p.act_stride, b, group_stride, steps,
                                  out + row * p.out_stride, p.out_stride);
    const uint8_t* a = p.act + row * p.act_stride;
    float* o = out + row * p.out_stride;
    switch (p.rows - row) {
        case 5:
            Tile::template run<5, NG>(a, p.act_stride, b, group_stride, steps, o, p.out_stride);
            break;
        case 4:
            Tile::template run<4, NG>(a, p.act_stride, b, group_stride, steps, o, p.out_stride);
            break;
        case 3:
            Tile::template run<3, NG>(a, p.act_stride, b, group_stride, steps, o, p.out_stride);
            break;
        case 2:
            Tile::template run<2, NG>(a, p.act_stride, b, group_stride, steps, o, p.out_stride);
            break;
        case 1:
            Tile::template run<1, NG>(a, p.act_stride, b, group_stride, steps, o, p.out_stride);
            break;
        default:
            break;
    }
}

// Plain types: no panel.
template <class Tile>
static inline void product_plain(const ProductArgs& p, size_t steps) {
    size_t g = 0;
    if (p.rows == 1)
        for (; g + 4 <= p.groups; g += 4)
            Tile::template run<1, 4>(p.act, p.act_stride, p.weights + g * p.group_bytes,
                                     p.group_bytes, steps, p.out + g * 16, p.out_stride);
    for (; g + 2 <= p.groups; g += 2)
        tile_rows<Tile, 2>(p, p.weights + g * p.group_bytes, p.group_bytes, steps, p.out + g * 16);
    if (g < p.groups)
        tile_rows<Tile, 1>(p, p.weights + g * p.group_bytes, p.group_bytes, steps, p.out + g * 16);
}

template <DType T>
static inline void dequantize_group(const uint8_t* group, size_t k, float* panel) {
    if constexpr (T == DType::bf16) {
        for (size_t pair = 0; pair < (k + 1) / 2; ++pair, panel += 32) {
            const __m512i x = _mm512_load_si512(group + pair * 64);
            _mm512_store_si512(panel, _mm512_slli_epi32(x, 16));
            if (2 * pair + 1 < k)
                _mm512_store_si512(
                    panel + 16,
                    _mm512_and_si512(x, _mm512_set1_epi32(static_cast<int>(0xffff0000u))));
        }
    } else {
        using U = Unpacker<T>;
        const U u = U::at(group, k);
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
                for (int i = 0; i < 4; ++i, panel += 16) {
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
    const size_t group_floats = p.k * 16;
    for (size_t g = 0; g < p.groups; g += 2) {
        const bool two = g + 1 < p.groups;
        dequantize_group<T>(p.weights + g * p.group_bytes, p.k, panel);
        if (two)
            dequantize_group<T>(p.weights + (g + 1) * p.group_bytes, p.k, panel + group_floats);
        const uint8_t* b = p.scratch;
        if (two)
            tile_rows<F32Tile<float>, 2>(p, b, group_floats * 4, p.k, p.out + g * 16);
        else
            tile_rows<F32Tile<float>, 1>(p, b, group_floats * 4, p.k, p.out + g * 16);
    }
}

}  // namespace ridge::avx512
