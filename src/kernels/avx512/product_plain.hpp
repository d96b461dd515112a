// Products of operands read as they are, F32, F16 and BF16 weights or an f32 panel, over any rows.
//
//   out[r][16 g + lane] = sum over k of a[r][k] b[k][g][lane]
//
// b is a packed pair of column groups (packed.hpp): f32 or f16 [k][2][16] with f32 activations, or
// bf16 [k/2][2][16][2] with bf16 ones (vdpbf16ps, which takes both k of a step). Every output has
// one accumulator that takes the steps in order, one instruction each, so a row's bits depend on
// nothing but its activations.
//
// Many rows: tiles of 12 rows x 32 columns. A step is 24 multiply-adds, two loads of weights and 12
// broadcasts: 14 loads of the 24 that two ports take meanwhile, and 128 bytes of weights in 12
// cycles of Zen 5 (24 of Zen 4), which the L2 cache gives with more than half to spare, so that a
// pair of any k needs no blocking. 24 accumulators hide any latency. Bound: the multiply-add ports.
// Few rows: one tile, the weights' lines asked for `prefetch_bytes` ahead. Bound: read bandwidth; a
// row alone has two chains of at most six cycles a step of 64 (f16) or 128 bytes.
#pragma once

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/contract.hpp"
#include "kernels/packed.hpp"

namespace ridge::avx512 {

// A step of k as the loop sees it: `lanes` bytes of weights a group, `act` bytes of a row.
template <class B>
struct F32Step {
    static constexpr size_t lanes = group_columns * sizeof(B);
    static constexpr size_t act = 4;
    using Operand = __m512;
    static inline __m512 weights(const uint8_t* at) {
        if constexpr (sizeof(B) == 4)
            return _mm512_loadu_ps(at);
        else
            return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)));
    }
    static inline __m512 broadcast(const uint8_t* at) {
        float x;
        __builtin_memcpy(&x, at, sizeof x);
        return _mm512_set1_ps(x);
    }
    static inline __m512 add(__m512 sum, __m512 x, __m512 w) { return _mm512_fmadd_ps(x, w, sum); }
};
struct Bf16Step {
    static constexpr size_t lanes = 64;
    static constexpr size_t act = 4;
    using Operand = __m512i;
    static inline __m512i weights(const uint8_t* at) { return _mm512_loadu_si512(at); }
    static inline __m512i broadcast(const uint8_t* at) {
        int32_t pair;
        __builtin_memcpy(&pair, at, sizeof pair);
        return _mm512_set1_epi32(pair);
    }
    static inline __m512 add(__m512 sum, __m512i x, __m512i w) {
        return _mm512_dpbf16_ps(sum, (__m512bh)x, (__m512bh)w);
    }
};

// Lines to ask for while a tile is computed: `per_step` of them each step, in memory's order.
struct Ahead {
    const uint8_t* next;
    size_t per_step;  // 0, 1 or 2
};

// R rows over the first NG groups of a pair. Rows are reached from pointers to every third, two
// strides away at most, so that a step's addresses stay in registers.
template <class Step, int R, int NG>
__attribute__((noinline)) static void plain_tile(const uint8_t* a, size_t stride, const uint8_t* b,
                                                 size_t steps, Ahead ahead, float* out,
                                                 size_t out_stride) {
    __m512 acc[R][NG];
#pragma GCC unroll 12
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
        for (int g = 0; g < NG; ++g) acc[r][g] = _mm512_setzero_ps();
    constexpr int bases = (R + 2) / 3;
    const uint8_t* base[bases];
#pragma GCC unroll 4
    for (int i = 0; i < bases; ++i) base[i] = a + static_cast<size_t>(3 * i) * stride;
#pragma GCC unroll 2
    for (size_t s = 0; s < steps; ++s, b += 2 * Step::lanes) {
        if (ahead.per_step != 0) {
            __builtin_prefetch(ahead.next);
            if (ahead.per_step == 2) __builtin_prefetch(ahead.next + 64);
            ahead.next += 64 * ahead.per_step;
        }
        typename Step::Operand w[NG];
#pragma GCC unroll 2
        for (int g = 0; g < NG; ++g) w[g] = Step::weights(b + static_cast<size_t>(g) * Step::lanes);
#pragma GCC unroll 12
        for (int r = 0; r < R; ++r) {
            const auto x =
                Step::broadcast(base[r / 3] + static_cast<size_t>(r % 3) * stride + s * Step::act);
#pragma GCC unroll 2
            for (int g = 0; g < NG; ++g) {
                acc[r][g] = Step::add(acc[r][g], x, w[g]);
                // A sum stays in its register, and the broadcasts of later rows behind it.
                __asm__("" : "+v"(acc[r][g]));
            }
        }
    }
#pragma GCC unroll 12
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
        for (int g = 0; g < NG; ++g)
            _mm512_storeu_ps(out + static_cast<size_t>(r) * out_stride + 16 * g, acc[r][g]);
}

template <class Step, int NG, int R>
static inline void plain_rows(const ProductArgs& p, size_t row, size_t rows, const uint8_t* b,
                              size_t steps, Ahead ahead, float* out) {
    if constexpr (R > 0) {
        if (rows == R)
            plain_tile<Step, R, NG>(p.act + row * p.act_stride, p.act_stride, b, steps, ahead,
                                    out + row * p.out_stride, p.out_stride);
        else
            plain_rows<Step, NG, R - 1>(p, row, rows, b, steps, ahead, out);
    }
}

// All rows over the first NG groups of the pair at b, in tiles of nearly one size. A tile asks for
// the next one's rows; the last one for weights `distance` bytes on, or, of several, for the next
// pair's.
template <class Step, int NG>
static inline void plain_pair(const ProductArgs& p, const uint8_t* b, size_t steps, size_t distance,
                              float* out) {
    constexpr size_t most = 12;
    constexpr size_t lines = 2 * Step::lanes / 64;
    size_t tiles = (p.rows + most - 1) / most;
    if (tiles > 1 && distance != 0) distance = steps * 2 * Step::lanes;
    for (size_t row = 0; tiles > 0; --tiles) {
        const size_t rows = (p.rows - row + tiles - 1) / tiles;
        const Ahead ahead = tiles > 1 ? Ahead{p.act + (row + rows) * p.act_stride, 1}
                                      : Ahead{b + distance, distance == 0 ? 0 : lines};
        plain_rows<Step, NG, most>(p, row, rows, b, steps, ahead, out);
        row += rows;
    }
}

// Weights read straight from their packed pairs.
template <class Step>
static inline void product_plain(const ProductArgs& p, size_t steps) {
    const uint8_t* pair = p.weights;
    float* out = p.out;
    for (size_t i = 0; i < p.groups / 2; ++i, pair += p.pair_bytes, out += pair_columns)
        plain_pair<Step, 2>(p, pair, steps, p.prefetch_bytes, out);
    if (p.groups % 2 != 0) plain_pair<Step, 1>(p, pair, steps, p.prefetch_bytes, out);
}

}  // namespace ridge::avx512
