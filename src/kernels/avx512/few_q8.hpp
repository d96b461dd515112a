// The int8 product over two to six rows: each block of packed bytes is unpacked once in registers
// and used for every row, a pair of column groups after the other in one linear stream. See
// product_q8.hpp for the arithmetic.
//
// Bound: read bandwidth, or the vpdpbusd ports: a block of one group and R rows is 8 R vpdpbusd, R
// each of convert, multiply and FMA, and 16 to 40 operations of unpacking, half of which share
// ports with vpdpbusd. Activations come as broadcast operands, which cost nothing on a port; two
// loads a cycle feed two vpdpbusd. The sums of both groups, a block's codes and one accumulator a
// row (two where a scale covers 16 k, or where fewer rows give too few independent chains) fill the
// registers: six rows, five with scales per 16 k. Q5_1 and Q5_K stop at five as well: with minima
// and high bits besides, GCC 12 moves pointers through the stack and the sixth row runs at a
// quarter of the bound.
#pragma once

#include "kernels/avx512/operand.hpp"
#include "kernels/contract.hpp"
#include "kernels/read_ahead.hpp"

namespace ridge::avx512 {

template <DType T>
static constexpr size_t few_rows =
    Unpacker<T>::wide16 || (Unpacker<T>::has_min && Unpacker<T>::spec.high_bits != 0) ? 5 : 6;

// Values of vectors stay where they are: the compiler must not move loads of one group's block to
// the other's (it would keep the broadcasts in memory) or blocks into each other.
#define RIDGE_PIN(vector) __asm__("" : "+v"(vector))

// acc += codes * the four activations at `a`, broadcast by the instruction itself.
static inline void dot_broadcast(__m512i& acc, __m512i codes, const uint8_t* a) {
    __asm__("vpdpbusd %2%{1to16%}, %1, %0"
            : "+v"(acc)
            : "v"(codes), "m"(*reinterpret_cast<const int32_t*>(a)));
}

// R rows over the first G groups of a pair.
template <DType T, int R, int G>
__attribute__((noinline)) static void few(const ProductArgs& p, size_t pair) {
    using U = Unpacker<T>;
    constexpr int chains = U::wide16 || R <= 4 ? 2 : 1;
    const Q8Offsets at = q8_offsets(p.k);
    const size_t nb = p.k / 32;
    const size_t stride = p.act_stride;
    const uint8_t* unit = p.weights + pair * p.pair_bytes;
    const uint8_t* a = p.act;
    const uint8_t* scale = p.act + at.scale;
    const uint8_t* bias = p.act + (U::wide16 ? at.bias16 : at.bias);
    const uint8_t* fsum = p.act + (U::wide16 ? at.fsum16 : at.fsum);
    __m512 f[G][R];
#pragma GCC unroll 2
    for (int g = 0; g < G; ++g)
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r) f[g][r] = _mm512_setzero_ps();
    for (size_t b0 = 0; b0 < nb; b0 += U::layout.blocks, unit += U::layout.bytes) {
        for (size_t i = 0; i < U::layout.blocks && i < nb - b0; ++i) {
            read_ahead<T>(unit, i, p.prefetch_bytes);
#pragma GCC unroll 2
            for (size_t g = 0; g < G; ++g) {
                const U u = U::at(unit, g);
                __m512i v[8];
                __m512 s[2], m[2];
                u.quads(i, v);
                u.scales(i, s, m);
                [[maybe_unused]] const __m512 minima =
                    U::wide16 && U::has_min ? minima_pairs(m) : _mm512_setzero_ps();
#pragma GCC unroll 8
                for (int j = 0; j < 8; ++j) RIDGE_PIN(v[j]);
                __m512i acc[R][chains];
#pragma GCC unroll 8
                for (size_t r = 0; r < R; ++r)
#pragma GCC unroll 2
                    for (size_t h = 0; h < chains; ++h)
                        acc[r][h] = U::has_min || (h > 0 && !U::wide16)
                                        ? _mm512_setzero_si512()
                                        : _mm512_srai_epi32(broadcast4(bias + r * stride + 4 * h),
                                                            U::bias_shift);
#pragma GCC unroll 8
                for (size_t j = 0; j < 8; ++j)
#pragma GCC unroll 8
                    for (size_t r = 0; r < R; ++r)
                        dot_broadcast(acc[r][U::wide16 ? j / 4 : j % chains], v[j],
                                      a + r * stride + 4 * j);
#pragma GCC unroll 8
                for (size_t r = 0; r < R; ++r) {
                    const __m512 as = broadcast_f32(scale + r * stride);
                    if constexpr (U::wide16) {
                        const __m512 t = _mm512_mul_ps(_mm512_cvtepi32_ps(acc[r][0]), s[0]);
                        if constexpr (U::has_min)
                            f[g][r] = add_minima(f[g][r], minima, broadcast4(fsum + r * stride));
                        f[g][r] = _mm512_fmadd_ps(
                            _mm512_fmadd_ps(_mm512_cvtepi32_ps(acc[r][chains - 1]), s[1], t), as,
                            f[g][r]);
                    } else {
                        if constexpr (chains == 2)
                            acc[r][0] = _mm512_add_epi32(acc[r][0], acc[r][chains - 1]);
                        f[g][r] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(acc[r][0]),
                                                  _mm512_mul_ps(s[0], as), f[g][r]);
                        if constexpr (U::has_min)
                            f[g][r] =
                                _mm512_fmadd_ps(m[0], broadcast_f32(fsum + r * stride), f[g][r]);
                    }
                    RIDGE_PIN(f[g][r]);
                }
            }
            a += 32;
            scale += 4;
            bias += U::wide16 ? 8 : 4;
            fsum += 4;
        }
    }
#pragma GCC unroll 8
    for (size_t r = 0; r < R; ++r)
#pragma GCC unroll 2
        for (size_t g = 0; g < G; ++g)
            _mm512_storeu_ps(p.out + r * p.out_stride + pair * pair_columns + g * group_columns,
                             f[g][r]);
}
#undef RIDGE_PIN

template <DType T, int R>
static inline void few_groups(const ProductArgs& p) {
    for (size_t pair = 0; pair < p.groups / 2; ++pair) few<T, R, 2>(p, pair);
    if (p.groups % 2 != 0) few<T, R, 1>(p, p.groups / 2);
}

}  // namespace ridge::avx512
