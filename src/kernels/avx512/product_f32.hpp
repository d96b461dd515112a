// Products of quantized and BF16 weights with f32 activations: out[r][c] = sum over k of a[r][k] *
// W[c][k] in f32.
//
// A pair is dequantized into a panel in scratch ([k][2][16] f32: scale * (code - zero), or scale *
// code + min, the very operations of dequantize()) and used for all rows by product_plain.hpp's
// tiles: one FMA a weight, k in order, so a row's bits depend on nothing but its activations.
// Bound: the FMA ports for many rows; dequantizing for few.
#pragma once

#include "kernels/avx512/product_plain.hpp"
#include "kernels/avx512/unpack.hpp"

namespace ridge::avx512 {

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
        const U u = U::at(pair, group);
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
            plain_pair<F32Step<float>, 2>(p, p.scratch, p.k, 0, out);
        } else {
            plain_pair<F32Step<float>, 1>(p, p.scratch, p.k, 0, out);
        }
    }
}

}  // namespace ridge::avx512
