// Register tile of f32 products by FMA over f32 or f16 operands. Freestanding; static: every
// translation unit its own.
//
//   out[r][16 g + lane] = sum over s of a[r][s] b[g][s][lane]
//
// a: R rows of f32, a_stride bytes apart. b: NG groups group_stride bytes apart, each `steps`
// vectors of 16 lanes (B = float, or uint16_t for f16), step_stride bytes apart. out: f32,
// out_stride floats a row, 16 NG of each row are written. No alignment is required.
//
// Every output has an accumulator of its own that takes the steps in order, one FMA each, so a
// row's bits depend on neither R nor NG. Bound: the FMA ports; f16 costs one conversion a vector,
// shared by R rows.
#pragma once

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

namespace ridge::avx512 {

template <class B>
static inline __m512 load_lanes(const uint8_t* at) {
    if constexpr (sizeof(B) == 4)
        return _mm512_loadu_ps(at);
    else
        return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)));
}

template <int R, int NG, class B = float>
static inline void tile_f32(const void* a, size_t a_stride, const uint8_t* b, size_t group_stride,
                            size_t step_stride, size_t steps, float* out, size_t out_stride) {
    static_assert(R >= 1 && NG >= 1 && R * NG <= 24);
    __m512 acc[R][NG];
#pragma GCC unroll 24
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
        for (int g = 0; g < NG; ++g) acc[r][g] = _mm512_setzero_ps();
    const auto* row = static_cast<const uint8_t*>(a);
    for (size_t s = 0; s < steps; ++s, row += 4, b += step_stride) {
        __m512 w[NG];
#pragma GCC unroll 8
        for (int g = 0; g < NG; ++g)
            w[g] = load_lanes<B>(b + static_cast<size_t>(g) * group_stride);
#pragma GCC unroll 24
        for (int r = 0; r < R; ++r) {
            float x;
            __builtin_memcpy(&x, row + static_cast<size_t>(r) * a_stride, sizeof x);
#pragma GCC unroll 8
            for (int g = 0; g < NG; ++g)
                acc[r][g] = _mm512_fmadd_ps(_mm512_set1_ps(x), w[g], acc[r][g]);
        }
    }
#pragma GCC unroll 24
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
        for (int g = 0; g < NG; ++g)
            _mm512_storeu_ps(out + static_cast<size_t>(r) * out_stride + 16 * g, acc[r][g]);
}

}  // namespace ridge::avx512
