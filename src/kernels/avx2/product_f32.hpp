// Products with unquantized activations: out[r][c] = sum over k of a[r][k] * W[c][k] in f32.
//
// F32 and F16 weights, and BF16 weights with bf16 activations, are read straight from the packed
// groups. Quantized types, and BF16 with f32 activations, are dequantized two groups at a time into
// panels in scratch ([k][16] f32 a group; scale * (code - zero), or scale * code + min, the very
// operations of dequantize()) that serve all rows. One FMA a weight, k in order, each output in an
// accumulator of its own: a row's bits depend on nothing but its activations, and equal ref's.
// Tiles of 6 rows x 16 columns (bf16: 4): 12 accumulators, two weights, one activation in 16
// registers. Bound: the two FMA ports for many rows, read bandwidth for one row of F16 or F32.
#pragma once

#include "kernels/avx2/product_unpack.hpp"
#include "kernels/avx2/tile_bf16.hpp"
#include "kernels/avx2/tile_f32.hpp"
#include "kernels/contract.hpp"

namespace ridge::avx2 {

// A tile of R rows and NG groups, as tile_f32 and tile_bf16 are called.
template <class B>
struct F32Tile {
    static constexpr size_t max_rows = 6;
    static constexpr size_t pair_rows = sizeof(B) == 4 ? 3 : 2;  // most over two groups at a time
    template <int R, int NG>
    static inline void run(const uint8_t* a, size_t a_stride, const uint8_t* b, size_t group_stride,
                           size_t steps, float* out, size_t out_stride) {
        tile_f32<R, NG, B>(a, a_stride, b, group_stride, 16 * sizeof(B), steps, out, out_stride);
    }
};
struct Bf16Tile {
    static constexpr size_t max_rows = 4;
    static constexpr size_t pair_rows = 1;
    template <int R, int NG>
    static inline void run(const uint8_t* a, size_t a_stride, const uint8_t* b, size_t group_stride,
                           size_t steps, float* out, size_t out_stride) {
        tile_bf16<R, NG>(a, a_stride, b, group_stride, 64, steps, out, out_stride);
    }
};

// Rows from `row` on, as many as R or fewer, over NG groups.
template <class Tile, int R, int NG>
static inline void few_rows(const ProductArgs& p, size_t row, const uint8_t* b, size_t group_stride,
                            size_t steps, float* out) {
    if constexpr (R > 0) {
        if (p.rows - row == R)
            Tile::template run<R, NG>(p.act + row * p.act_stride, p.act_stride, b, group_stride,
                                      steps, out + row * p.out_stride, p.out_stride);
        else
            few_rows<Tile, R - 1, NG>(p, row, b, group_stride, steps, out);
    }
}

// All rows over `groups` groups, group_stride bytes apart. Few rows take several groups at a time,
// so that there are enough independent accumulators to hide the latency of FMA.
template <class Tile>
static inline void tile_groups(const ProductArgs& p, const uint8_t* b, size_t group_stride,
                               size_t groups, size_t steps, float* out) {
    constexpr size_t most = Tile::max_rows;
    size_t g = 0;
    if (p.rows == 1)
        for (; g + 4 <= groups; g += 4)
            few_rows<Tile, 1, 4>(p, 0, b + g * group_stride, group_stride, steps, out + g * 16);
    if (p.rows <= Tile::pair_rows)
        for (; g + 2 <= groups; g += 2)
            few_rows<Tile, Tile::pair_rows, 2>(p, 0, b + g * group_stride, group_stride, steps,
                                               out + g * 16);
    for (; g < groups; ++g) {
        size_t row = 0;
        for (; row + most <= p.rows; row += most)
            Tile::template run<most, 1>(p.act + row * p.act_stride, p.act_stride,
                                        b + g * group_stride, 0, steps,
                                        out + row * p.out_stride + g * 16, p.out_stride);
        few_rows<Tile, most - 1, 1>(p, row, b + g * group_stride, 0, steps, out + g * 16);
    }
}

// Types read as they are packed.
template <class Tile>
static inline void product_plain(const ProductArgs& p, size_t steps) {
    tile_groups<Tile>(p, p.weights, p.group_bytes, p.groups, steps, p.out);
}

// The panel of a BF16 group.
static inline void widen_group(const uint8_t* group, size_t k, float* panel) {
    for (size_t i = 0; i < k; ++i)
        for (size_t half = 0; half < 2; ++half) {
            const __m256i pairs =
                _mm256_load_si256(reinterpret_cast<const __m256i*>(group + i / 2 * 64 + 32 * half));
            _mm256_store_ps(panel + i * 16 + 8 * half, i % 2 == 0 ? even_of(pairs) : odd_of(pairs));
        }
}

// The panel of a quantized group.
template <DType T>
static inline void dequantize_group(const uint8_t* group, size_t k, float* panel) {
    using U = Unpacker<T>;
    const U u = U::at(group, k);
    const __m256i low = _mm256_set1_epi32(255);
    const __m256i zero = _mm256_set1_epi32(U::has_min ? 0 : U::zero);
    for (size_t b = 0; b < k / 32; ++b)
        for (size_t half = 0; half < 2; ++half) {
            __m256i v[8];
            __m256 s[2], m[2];
            u.quads(b, half, v);
            u.scales(b, half, s, m);
            float* to = panel + b * 512 + 8 * half;
            for (size_t j = 0; j < 8; ++j) {
                const size_t part = U::wide16 ? j / 4 : 0;
                for (int i = 0; i < 4; ++i, to += 16) {
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

// Types dequantized into a panel, two groups at a time.
template <DType T>
static inline void product_panel(const ProductArgs& p) {
    const size_t panel_bytes = p.k * 64;
    for (size_t g = 0; g < p.groups; g += product_panel_groups) {
        const size_t left = p.groups - g;
        const size_t n = left < product_panel_groups ? left : product_panel_groups;
        for (size_t i = 0; i < n; ++i) {
            const uint8_t* group = p.weights + (g + i) * p.group_bytes;
            auto* panel = reinterpret_cast<float*>(p.scratch + i * panel_bytes);
            if constexpr (T == DType::bf16)
                widen_group(group, p.k, panel);
            else
                dequantize_group<T>(group, p.k, panel);
        }
        tile_groups<F32Tile<float>>(p, p.scratch, panel_bytes, n, p.k, p.out + g * 16);
    }
}

}  // namespace ridge::avx2
