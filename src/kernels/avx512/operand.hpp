// Activation and minima operands, shared by the loops of the int8 product.
#pragma once

#include "kernels/avx512/unpack.hpp"
#include "kernels/contract.hpp"

namespace ridge::avx512 {

static inline __m512i broadcast4(const uint8_t* p) {
    int32_t x;
    __builtin_memcpy(&x, p, 4);
    return _mm512_set1_epi32(x);
}
static inline __m512 broadcast_f32(const uint8_t* p) {
    float x;
    __builtin_memcpy(&x, p, 4);
    return _mm512_set1_ps(x);
}

// Minima of a block's two halves rounded to bf16, a pair a lane: one operand of vdpbf16ps, which
// adds the odd product first, then the even one, each as an FMA (checked on Zen 5; Intel's manual
// has the same order).
static inline __m512 minima_pairs(const __m512 m[2]) {
    const __m512i order =
        _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                         21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    return _mm512_castsi512_ps(
        _mm512_permutexvar_epi16(order, (__m512i)_mm512_cvtne2ps_pbh(m[1], m[0])));
}
static inline __m512 add_minima(__m512 f, __m512 pairs, __m512i fsum_pair) {
    return _mm512_dpbf16_ps(f, (__m512bh)pairs, (__m512bh)fsum_pair);
}

}  // namespace ridge::avx512
