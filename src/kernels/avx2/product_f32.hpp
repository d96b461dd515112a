// Products with unquantized activations: out[r][c] = sum over k of a[r][k] * W[c][k] in f32.
//
// F32 and F16 weights, and BF16 weights with bf16 activations, are read straight from the packed
// pairs. Quantized types, and BF16 with f32 activations, are dequantized pair by pair into a panel
// in scratch ([k][2][16] f32; scale * (code - zero), or scale * code + min, the very operations of
// dequantize()) that serves all rows. One FMA a weight, k in order, each output in an
// accumulator of its own: a row's bits depend on nothing but its activations, and equal ref's.
// Tiles of 6 rows x 16 columns (bf16: 4): 12 accumulators, two weights, one activation in 16
// registers. Bound: the two FMA ports for many rows, read bandwidth for one row of F16 or F32.
#pragma once

#include "kernels/avx2/product_unpack.hpp"
#include "kernels/avx2/tile_bf16.hpp"
#include "kernels/avx2/tile_f32.hpp"
#include "kernels/contract.hpp"

namespace ridge::avx2 {

// A tile of R rows and the first NG groups of a pair, as tile_f32 and tile_bf16 are called.
template <class B>
struct F32Tile {
    static constexpr size_t max_rows = 6;
    static constexpr size_t pair_rows = sizeof(B) == 4 ? 3 : 2;  // most over two groups at a time
    static constexpr size_t lanes = group_columns * sizeof(B);   // bytes of a group's step
    template <int R, int NG>
    static inline void run(const uint8_t* a, size_t a_stride, const uint8_t* b, size_t steps,
                           float* out, size_t out_stride) {
        tile_f32<R, NG, B>(a, a_stride, b, lanes, 2 * lanes, steps, out, out_stride);
    }
};
struct Bf16Tile {
    static constexpr size_t max_rows = 4;
    static constexpr size_t pair_rows = 2;
    static constexpr size_t lanes = 64;
    template <int R, int NG>
    static inline void run(const uint8_t* a, size_t a_stride, const uint8_t* b, size_t steps,
                           float* out, size_t out_stride) {
        tile_bf16<R, NG>(a, a_stride, b, lanes, 2 * lanes, steps, out, out_stride);
    }
};

// Rows from `row` on, as many as R or fewer, over NG groups.
template <class Tile, int R, int NG>
static inline void few_rows(const ProductArgs& p, size_t row, const uint8_t* b, size_t steps,
                            float* out) {
    if constexpr (R > 0) {
        if (p.rows - row == R)
            Tile::template run<R, NG>(p.act + row * p.act_stride, p.act_stride, b, steps,
                                      out + row * p.out_stride, p.out_stride);
        else
            few_rows<Tile, R - 1, NG>(p, row, b, steps, out);
    }
}

// All rows over the first `groups` groups of a pair. Few rows take both at a time, which keeps the
// memory's order and gives more independent accumulators to hide the latency of FMA.
template <class Tile>
static inline void tile_pair(const ProductArgs& p, const uint8_t* b, size_t groups, size_t steps,
                             float* out) {
    constexpr size_t most = Tile::max_rows;
    if (p.rows <= Tile::pair_rows && groups == 2)
        return few_rows<Tile, Tile::pair_rows, 2>(p, 0, b, steps, out);
    for (size_t g = 0; g < groups; ++g, b += Tile::lanes, out += group_columns) {
        size_t row = 0;
        for (; row + most <= p.rows; row += most)
            Tile::template run<most, 1>(p.act + row * p.act_stride, p.act_stride, b, steps,
                                        out + row * p.out_stride, p.out_stride);
        few_rows<Tile, most - 1, 1>(p, row, b, steps, out);
    }
}

// Types read as they are packed.
template <class Tile>
static inline void product_plain(const ProductArgs& p, size_t steps) {
    for (size_t g = 0; g < p.groups; g += 2)
        tile_pair<Tile>(p, p.weights + g / 2 * p.pair_bytes, p.groups - g == 1 ? 1 : 2, steps,
                        p.out + g * group_columns);
}

// A BF16 group of a pair to its lanes of the panel.
static inline void widen_group(const uint8_t* pair, size_t group, size_t k, float* panel) {
    panel += group * group_columns;
    for (size_t i = 0; i < k; ++i)
        for (size_t half = 0; half < 2; ++half) {
            const __m256i pairs = _mm256_load_si256(
                reinterpret_cast<const __m256i*>(pair + (i / 2 * 2 + group) * 64 + 32 * half));
            _mm256_store_ps(panel + i * pair_columns + 8 * half,
                            i % 2 == 0 ? even_of(pairs) : odd_of(pairs));
        }
}

// A quantized group of a pair to its lanes of the panel.
template <DType T>
static inline void dequantize_group(const uint8_t* pair, size_t group, size_t k, float* panel) {
    using U = Unpacker<T>;
    const U u = U::at(pair, group);
    panel += group * group_columns;
    const __m256i low = _mm256_set1_epi32(255);
    const __m256i zero = _mm256_set1_epi32(U::has_min ? 0 : U::zero);
    for (size_t b = 0; b < k / 32; ++b)
        for (size_t half = 0; half < 2; ++half) {
            __m256i v[8];
            __m256 s[2], m[2];
            u.quads(b, half, v);
            u.scales(b, half, s, m);
            float* to = panel + b * 32 * pair_columns + 8 * half;
            for (size_t j = 0; j < 8; ++j) {
                const size_t part = U::wide16 ? j / 4 : 0;
                for (int i = 0; i < 4; ++i, to += pair_columns) {
                    __m256i q;
                    if constexpr (U::is_signed)
                        q = _mm256_srai_epi32(_mm256_slli_epi32(v[j], 24 - 8 * i), 24);
                    else
                        q = _mm256_sub_epi32(_mm256_and_si256(_mm256_srli_epi32(v[j], 8 * i), low),
                                             zero);
                    __m256 w = _mm256_mul_ps(_mm256_cvtepi32_ps(q), s[part]);
                    if constexpr (U::has_min) w = _mm256_add_ps(w, m[part]);
                    _mm256_store_ps(to, w);
                }
            }
        }
}

// Types dequantized into a panel.
template <DType T>
static inline void product_panel(const ProductArgs& p) {
    auto* panel = reinterpret_cast<float*>(p.scratch);
    for (size_t g = 0; g < p.groups; g += 2) {
        const size_t n = p.groups - g == 1 ? 1 : 2;
        const uint8_t* pair = p.weights + g / 2 * p.pair_bytes;
        for (size_t i = 0; i < n; ++i) {
            if constexpr (T == DType::bf16)
                widen_group(pair, i, p.k, panel);
            else
                dequantize_group<T>(pair, i, p.k, panel);
        }
        tile_pair<F32Tile<float>>(p, p.scratch, n, p.k, p.out + g * group_columns);
    }
}

}  // namespace ridge::avx2
