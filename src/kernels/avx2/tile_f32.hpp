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
// row's bits depend on neither R nor NG. A group is two vectors: R x NG = 4 fills eight of the
// sixteen registers. Bound: the FMA ports.
#pragma once

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

namespace ridge::avx2 {

template <class B>
static inline __m256 load_lanes(const uint8_t* at) {
    if constexpr (sizeof(B) == 4)
        return _mm256_loadu_ps(reinterpret_cast<const float*>(at));
    else
        return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
}

template <int R, int NG, class B = float>
static inline void tile_f32(const void* a, size_t a_stride, const uint8_t* b, size_t group_stride,
                            size_t step_stride, size_t steps, float* out, size_t out_stride) {
    static_assert(R >= 1 && NG >= 1 && R * NG <= 6);
    __m256 acc[R][2 * NG];
#pragma GCC unroll 6
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 12
        for (int g = 0; g < 2 * NG; ++g) acc[r][g] = _mm256_setzero_ps();
    const auto* row = static_cast<const uint8_t*>(a);
    for (size_t s = 0; s < steps; ++s, row += 4, b += step_stride) {
        __m256 w[2 * NG];
#pragma GCC unroll 12
        for (int g = 0; g < 2 * NG; ++g)
            w[g] = load_lanes<B>(b + static_cast<size_t>(g / 2) * group_stride +
                                 static_cast<size_t>(g % 2) * 8 * sizeof(B));
#pragma GCC unroll 6
        for (int r = 0; r < R; ++r) {
            float x;
            __builtin_memcpy(&x, row + static_cast<size_t>(r) * a_stride, sizeof x);
#pragma GCC unroll 12
            for (int g = 0; g < 2 * NG; ++g)
                acc[r][g] = _mm256_fmadd_ps(_mm256_set1_ps(x), w[g], acc[r][g]);
        }
    }
#pragma GCC unroll 6
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 12
        for (int g = 0; g < 2 * NG; ++g)
            _mm256_storeu_ps(out + static_cast<size_t>(r) * out_stride + 8 * g, acc[r][g]);
}

}  // namespace ridge::avx2
