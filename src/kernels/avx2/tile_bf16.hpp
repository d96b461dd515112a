// Register tile of bf16 products by f32 FMA. Freestanding; static: every translation unit its own.
//
//   out[r][16 g + lane] = sum over s of a[r][2s] b[g][s][lane][0] + a[r][2s+1] b[g][s][lane][1]
//
// a: R rows of bf16 pairs, a_stride bytes apart. b: NG groups group_stride bytes apart, each
// `steps` vectors of 16 lanes x 2 bf16 (B = uint16_t) or signed bytes (B = int8_t), step_stride
// bytes apart. out: f32, out_stride floats a row, 16 NG of each row are written. No alignment is
// required.
//
// A bf16 becomes an f32 by moving its bits up: the even element of a pair by a shift, the odd one
// by a mask. Every output has an accumulator of its own that takes the even, then the odd product
// of each pair in order, one FMA each; a row's bits depend on neither R nor NG. A group is two
// vectors, so R x NG = 4 fills eight of the sixteen registers. Bound: the FMA ports; shifts and
// masks go to others.
#pragma once

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

namespace ridge::avx2 {

static inline __m256 even_of(__m256i pairs) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(pairs, 16));
}
static inline __m256 odd_of(__m256i pairs) {
    return _mm256_castsi256_ps(_mm256_and_si256(pairs, _mm256_set1_epi32(-65536)));
}
static inline __m256i load_pair(const uint8_t* at) {
    int32_t pair;
    __builtin_memcpy(&pair, at, sizeof pair);
    return _mm256_set1_epi32(pair);
}

// Even and odd elements of eight pairs as f32.
struct Pairs {
    __m256 even, odd;
};
template <class B>
static inline Pairs load_pairs(const uint8_t* at) {
    if constexpr (sizeof(B) == 2) {
        const __m256i w = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
        return {even_of(w), odd_of(w)};
    } else {
        const __m256i w =
            _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
        const __m256i even = _mm256_srai_epi32(_mm256_slli_epi32(w, 16), 16);
        return {_mm256_cvtepi32_ps(even), _mm256_cvtepi32_ps(_mm256_srai_epi32(w, 16))};
    }
}

template <int R, int NG, class B = uint16_t>
static inline void tile_bf16(const void* a, size_t a_stride, const uint8_t* b, size_t group_stride,
                             size_t step_stride, size_t steps, float* out, size_t out_stride) {
    static_assert(R >= 1 && NG >= 1 && R * NG <= 4);
    __m256 acc[R][2 * NG];
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
        for (int g = 0; g < 2 * NG; ++g) acc[r][g] = _mm256_setzero_ps();
    const auto* row = static_cast<const uint8_t*>(a);
    for (size_t s = 0; s < steps; ++s, row += 4, b += step_stride) {
        Pairs w[2 * NG];
#pragma GCC unroll 8
        for (int g = 0; g < 2 * NG; ++g)
            w[g] = load_pairs<B>(b + static_cast<size_t>(g / 2) * group_stride +
                                 static_cast<size_t>(g % 2) * 16 * sizeof(B));
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r) {
            const __m256i x = load_pair(row + static_cast<size_t>(r) * a_stride);
#pragma GCC unroll 8
            for (int g = 0; g < 2 * NG; ++g) {
                acc[r][g] = _mm256_fmadd_ps(even_of(x), w[g].even, acc[r][g]);
                acc[r][g] = _mm256_fmadd_ps(odd_of(x), w[g].odd, acc[r][g]);
            }
        }
    }
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
        for (int g = 0; g < 2 * NG; ++g)
            _mm256_storeu_ps(out + static_cast<size_t>(r) * out_stride + 8 * g, acc[r][g]);
}

}  // namespace ridge::avx2
