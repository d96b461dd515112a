// Register tile of bf16 products by vdpbf16ps. Freestanding; static: every translation unit its
// own.
//
//   out[r][16 g + lane] = sum over s of a[r][2s] b[g][s][lane][0] + a[r][2s+1] b[g][s][lane][1]
//
// a: R rows of bf16 pairs, a_stride bytes apart. b: NG groups group_stride bytes apart, each
// `steps` vectors of 16 lanes x 2 bf16, step_stride bytes apart. out: f32, out_stride floats a row,
// 16 NG of each row are written. No alignment is required.
//
// Weights: groups 64 bytes apart, step_stride 128. Scores: lanes are keys, step_stride 64.
// Values: lanes are dimensions, groups 64 bytes apart, step_stride 4 x padded head dimension.
//
// read_ahead: every load is followed by a prefetch of what lies `ahead` bytes behind it, up to
// `limit`.
//
// Every output has an accumulator of its own that takes the pairs in order, so a row's bits depend
// on neither R nor NG. R x NG accumulators (at most 24) hide the instruction's latency; a step
// loads NG vectors and R broadcasts for R x NG products. Bound: the dot-product ports. vdpbf16ps
// rounds to nearest even and takes subnormals as zero; |a|, |b| up to 3e38 are bf16's own range, so
// only a sum beyond f32's can overflow.
#pragma once

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

namespace ridge::avx512 {

static inline __m512i load_pair(const uint8_t* at) {
    int32_t pair;
    __builtin_memcpy(&pair, at, sizeof pair);
    return _mm512_set1_epi32(pair);
}

// Signed bytes have at most seven significant bits and are exact in bf16.
static inline __m512i bf16_of_bytes(const uint8_t* at) {
    const auto* bytes = reinterpret_cast<const __m128i*>(at);
    const __m512 low = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(bytes)));
    const __m512 high = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(bytes + 1)));
    return (__m512i)_mm512_cvtne2ps_pbh(high, low);
}

template <class B>
static inline __m512i load_pairs(const uint8_t* at) {
    if constexpr (sizeof(B) == 2)
        return _mm512_loadu_si512(at);
    else
        return bf16_of_bytes(at);
}

template <int R, int NG, class B = uint16_t, bool read_ahead = false>
static inline void tile_bf16(const void* a, size_t a_stride, const uint8_t* b, size_t group_stride,
                             size_t step_stride, size_t steps, float* out, size_t out_stride,
                             size_t ahead = 0, const uint8_t* limit = nullptr) {
    static_assert(R >= 1 && NG >= 1 && R * NG <= 24);
    __m512 acc[R][NG];
#pragma GCC unroll 24
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
        for (int g = 0; g < NG; ++g) acc[r][g] = _mm512_setzero_ps();
    const auto* pairs = static_cast<const uint8_t*>(a);
    for (size_t s = 0; s < steps; ++s, pairs += 4, b += step_stride) {
        __m512i w[NG];
#pragma GCC unroll 8
        for (int g = 0; g < NG; ++g)
            w[g] = load_pairs<B>(b + static_cast<size_t>(g) * group_stride);
        if constexpr (read_ahead) {
            const uint8_t* next = b + ahead < limit ? b + ahead : b;
#pragma GCC unroll 8
            for (int g = 0; g < NG; ++g)
                _mm_prefetch(
                    reinterpret_cast<const char*>(next) + static_cast<size_t>(g) * group_stride,
                    _MM_HINT_T0);
        }
#pragma GCC unroll 24
        for (int r = 0; r < R; ++r) {
            const __m512i x = load_pair(pairs + static_cast<size_t>(r) * a_stride);
#pragma GCC unroll 8
            for (int g = 0; g < NG; ++g)
                acc[r][g] = _mm512_dpbf16_ps(acc[r][g], (__m512bh)x, (__m512bh)w[g]);
        }
    }
#pragma GCC unroll 24
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
        for (int g = 0; g < NG; ++g)
            _mm512_storeu_ps(out + static_cast<size_t>(r) * out_stride + 16 * g, acc[r][g]);
}

}  // namespace ridge::avx512
