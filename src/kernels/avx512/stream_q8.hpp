// The int8 product over one row: packed bytes are read once, a pair after the other in one linear
// stream, and unpacked in registers. See product_q8.hpp for the arithmetic.
//
// Bound: read bandwidth; about 28 instructions for 288 bytes of Q4_0.
#pragma once

#include "kernels/avx512/operand.hpp"
#include "kernels/contract.hpp"
#include "kernels/read_ahead.hpp"

namespace ridge::avx512 {

// One block of one group for one row, codes in registers.
template <DType T>
static inline __m512 block_step(const uint8_t* a, const Q8Offsets& at, size_t b, const __m512i v[8],
                                const __m512 s[2], const __m512 m[2], __m512 f) {
    using U = Unpacker<T>;
    const __m512 as = broadcast_f32(a + at.scale + 4 * b);
    if constexpr (U::wide16) {
        __m512 t[2];
        for (size_t h = 0; h < 2; ++h) {
            __m512i acc =
                U::has_min
                    ? _mm512_setzero_si512()
                    : _mm512_srai_epi32(broadcast4(a + at.bias16 + 4 * (2 * b + h)), U::bias_shift);
            for (size_t j = 4 * h; j < 4 * h + 4; ++j)
                acc = _mm512_dpbusd_epi32(acc, v[j], broadcast4(a + 32 * b + 4 * j));
            t[h] = _mm512_cvtepi32_ps(acc);
        }
        if constexpr (U::has_min)
            f = add_minima(f, minima_pairs(m), broadcast4(a + at.fsum16 + 4 * b));
        f = _mm512_fmadd_ps(_mm512_fmadd_ps(t[1], s[1], _mm512_mul_ps(t[0], s[0])), as, f);
    } else {
        __m512i acc = U::has_min
                          ? _mm512_setzero_si512()
                          : _mm512_srai_epi32(broadcast4(a + at.bias + 4 * b), U::bias_shift);
        for (int j = 0; j < 8; ++j)
            acc =
                _mm512_dpbusd_epi32(acc, v[j], broadcast4(a + 32 * b + 4 * static_cast<size_t>(j)));
        f = _mm512_fmadd_ps(_mm512_cvtepi32_ps(acc), _mm512_mul_ps(s[0], as), f);
        if constexpr (U::has_min) f = _mm512_fmadd_ps(m[0], broadcast_f32(a + at.fsum + 4 * b), f);
    }
    return f;
}

// The first G groups of a pair, straight from the packed bytes.
template <DType T, int G>
static inline void stream(const ProductArgs& p, size_t pair) {
    using U = Unpacker<T>;
    const Q8Offsets at = q8_offsets(p.k);
    const size_t nb = p.k / 32;
    const uint8_t* unit = p.weights + pair * p.pair_bytes;
    __m512 f[G];
#pragma GCC unroll 2
    for (int g = 0; g < G; ++g) f[g] = _mm512_setzero_ps();
    for (size_t b0 = 0; b0 < nb; b0 += U::layout.blocks, unit += U::layout.bytes) {
        const size_t left = nb - b0;
        for (size_t i = 0; i < U::layout.blocks && i < left; ++i) {
            read_ahead<T>(unit, i, p.prefetch_bytes);
#pragma GCC unroll 2
            for (size_t g = 0; g < G; ++g) {
                const U u = U::at(unit, g);
                __m512i v[8];
                __m512 s[2], m[2];
                u.quads(i, v);
                u.scales(i, s, m);
                f[g] = block_step<T>(p.act, at, b0 + i, v, s, m, f[g]);
            }
        }
    }
#pragma GCC unroll 2
    for (size_t g = 0; g < G; ++g)
        _mm512_storeu_ps(p.out + pair * pair_columns + g * group_columns, f[g]);
}

template <DType T>
static inline void stream_groups(const ProductArgs& p) {
    for (size_t pair = 0; pair < p.groups / 2; ++pair) stream<T, 2>(p, pair);
    if (p.groups % 2 != 0) stream<T, 1>(p, p.groups / 2);
}

}  // namespace ridge::avx512
