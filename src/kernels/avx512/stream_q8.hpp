// The int8 product over few rows: packed bytes are read once, unpacked in registers and used for
// every row, two column groups at a time. See product_q8.hpp for the arithmetic.
//
// Measured on Zen 5, one thread, K = 1024, from memory: one group 17 (Q4_0) to 35 GB/s (Q8_0), two
// 33 to 35, four 17 to 29; a plain linear scan has 40. Bound: read bandwidth; about 28 instructions
// a 288-byte Q4_0 block.
#pragma once

#include "kernels/avx512/operand.hpp"
#include "kernels/contract.hpp"

namespace ridge::avx512 {

// One block of one group for one row, codes in registers.
template <DType T>
static inline __m512 block_step(const uint8_t* a, const Q8Offsets& at, size_t b, const __m512i v[8],
                                const __m512 s[2], const __m512 m[2], __m512 f) {
    using U = Unpacker<T>;
    const __m512 as = broadcast_f32(a + at.scale + 4 * b);
    if constexpr (U::wide16) {
        for (int h = 0; h < 2; ++h) {
            const size_t h16 = 2 * b + static_cast<size_t>(h);
            __m512i acc =
                U::has_min ? _mm512_setzero_si512()
                           : _mm512_srai_epi32(broadcast4(a + at.bias16 + 4 * h16), U::bias_shift);
            for (int j = 4 * h; j < 4 * h + 4; ++j)
                acc = _mm512_dpbusd_epi32(acc, v[j],
                                          broadcast4(a + 32 * b + 4 * static_cast<size_t>(j)));
            f = _mm512_fmadd_ps(_mm512_cvtepi32_ps(acc), _mm512_mul_ps(s[h], as), f);
            if constexpr (U::has_min)
                f = _mm512_fmadd_ps(m[h], broadcast_f32(a + at.fsum16 + 4 * h16), f);
        }
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

// R rows over G groups straight from the packed planes.
template <DType T, int R, int G>
static inline void stream(const ProductArgs& p, size_t group, size_t row) {
    using U = Unpacker<T>;
    const Q8Offsets at = q8_offsets(p.k);
    const size_t nb = p.k / 32;
    U u[G];
    for (int g = 0; g < G; ++g)
        u[g] = U::at(p.weights + (group + static_cast<size_t>(g)) * p.group_bytes, p.k);
    const uint8_t* act = p.act + row * p.act_stride;
    __m512 f[R][G];
    for (int r = 0; r < R; ++r)
        for (int g = 0; g < G; ++g) f[r][g] = _mm512_setzero_ps();
    for (size_t b = 0; b < nb; ++b) {
        for (int g = 0; g < G; ++g) {
            prefetch_block<T>(u[g], b, p.prefetch_bytes);
            __m512i v[8];
            __m512 s[2], m[2];
            u[g].quads(b, v);
            u[g].scales(b, s, m);
            for (int r = 0; r < R; ++r)
                f[r][g] = block_step<T>(act + static_cast<size_t>(r) * p.act_stride, at, b, v, s, m,
                                        f[r][g]);
        }
    }
    for (int r = 0; r < R; ++r)
        for (int g = 0; g < G; ++g)
            _mm512_storeu_ps(p.out + (row + static_cast<size_t>(r)) * p.out_stride +
                                 (group + static_cast<size_t>(g)) * 16,
                             f[r][g]);
}

template <DType T, int R>
static inline void stream_groups(const ProductArgs& p) {
    size_t g = 0;
    for (; g + 2 <= p.groups; g += 2) stream<T, R, 2>(p, g, 0);
    for (; g < p.groups; ++g) stream<T, R, 1>(p, g, 0);
}

}  // namespace ridge::avx512
