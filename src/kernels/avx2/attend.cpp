// Attention over one span (contract.hpp) on AVX2: two products over register tiles with a softmax
// between them, for up to four queries at a time. The shape of the computation, its order and why
// nothing overflows are those of avx512/attend.cpp; what differs is the arithmetic of a tile.
//
// bf16 pages: elements are widened to f32 and multiplied by FMA, two products a pair in order
// (tile_bf16.hpp); q and p are rounded to bf16 all the same, so that both sets answer alike. l sums
// the rounded p. int8 pages: bytes are exact in f32 and are converted in the tile;
// scales as in avx512. f32 and f16 pages: FMA in f32 (tile_f32.hpp).
//
// A query's bits do not depend on its company: every score and output has its own accumulator,
// folded in the order of dimensions and keys; in groups of 16 keys that only other queries see, p
// is exactly 0. l has 16 lanes by key index and a fixed tree. Bound: the FMA ports.
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/attend_heads.hpp"
#include "kernels/attend_write.hpp"
#include "kernels/avx2/rows_math.hpp"
#include "kernels/avx2/set.hpp"
#include "kernels/avx2/tile_bf16.hpp"
#include "kernels/avx2/tile_f32.hpp"

namespace ridge::avx2 {
namespace {

constexpr float minus_infinity = -__builtin_inff();
constexpr uint32_t tile_rows = 4;

// What the two products need to know of a page type: elements of the operands, and the tile.
struct Bf16Pages {
    static constexpr size_t pack = 2;
    static constexpr size_t element = 2;
    static constexpr bool scaled = false;
    template <int R, int NG>
    static void tile(const void* a, size_t a_stride, const uint8_t* b, size_t group, size_t step,
                     size_t steps, float* out, size_t out_stride) {
        tile_bf16<R, NG>(a, a_stride, b, group, step, steps, out, out_stride);
    }
};
struct Int8Pages {
    static constexpr size_t pack = 2;
    static constexpr bool scaled = true;
    static constexpr size_t element = 1;
    template <int R, int NG>
    static void tile(const void* a, size_t a_stride, const uint8_t* b, size_t group, size_t step,
                     size_t steps, float* out, size_t out_stride) {
        tile_bf16<R, NG, int8_t>(a, a_stride, b, group, step, steps, out, out_stride);
    }
};
template <class B>
struct FloatPages {
    static constexpr size_t pack = 1;
    static constexpr size_t element = sizeof(B);
    static constexpr bool scaled = false;
    template <int R, int NG>
    static void tile(const void* a, size_t a_stride, const uint8_t* b, size_t group, size_t step,
                     size_t steps, float* out, size_t out_stride) {
        tile_f32<R, NG, B>(a, a_stride, b, group, step, steps, out, out_stride);
    }
};

// The span as the tiles read it.
struct Operands {
    const uint8_t* q;  // bf16 or f32
    size_t q_stride;   // bytes
    const uint8_t* k;
    const uint8_t* v;
    const float* k_scale;  // int8 pages only
    const float* v_scale;
    float* scores;  // [tile_rows][kv_span]
    uint16_t* p;    // [tile_rows][kv_span]
};

// `groups` groups by tiles of NG, then of NG / 2 and so on.
template <class T, int R, int NG>
void tile_groups(const void* a, size_t a_stride, const uint8_t* b, size_t group, size_t step,
                 size_t steps, size_t groups, float* out, size_t out_stride) {
    for (; groups >= NG; groups -= NG, b += NG * group, out += 16 * NG)
        T::template tile<R, NG>(a, a_stride, b, group, step, steps, out, out_stride);
    if constexpr (NG > 1) {
        if (groups > 0)
            tile_groups<T, R, NG / 2>(a, a_stride, b, group, step, steps, groups, out, out_stride);
    }
}

// Lanes of the eight keys from `start` that lie in [lo, hi).
__m256i visible(uint32_t start, uint32_t lo, uint32_t hi) {
    const __m256i key = _mm256_add_epi32(_mm256_set1_epi32(static_cast<int32_t>(start)),
                                         _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0));
    const __m256i below_hi = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int32_t>(hi)), key);
    const __m256i below_lo = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int32_t>(lo)), key);
    return _mm256_andnot_si256(below_lo, below_hi);
}

// f32 of eight bf16 in the low halves of 32-bit lanes.
__m256 widened(__m256i lanes) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(lanes, 16));
}

// Invisible scores of query i to -inf, key scales and soft-cap applied; their maximum.
template <class T, bool capped>
float mask_scores(const AttendArgs& a, const Operands& x, uint32_t i, float* s) {
    const uint32_t lo = a.lo[i];
    const uint32_t hi = a.hi[i];
    if (lo >= hi) return minus_infinity;
    const __m256 lowest = _mm256_set1_ps(minus_infinity);
    __m256 top = lowest;
    for (size_t key = lo / 16 * 16; key < (hi + 15u) / 16 * 16; key += 8) {
        __m256 v = _mm256_loadu_ps(s + key);
        if constexpr (T::scaled) v = _mm256_mul_ps(v, _mm256_loadu_ps(x.k_scale + key));
        if constexpr (capped) {
            const __m256 cap = _mm256_set1_ps(a.softcap);
            v = _mm256_mul_ps(tanh_f32(_mm256_div_ps(v, cap)), cap);
        }
        const __m256i mask = visible(static_cast<uint32_t>(key), lo, hi);
        v = _mm256_blendv_ps(lowest, v, _mm256_castsi256_ps(mask));
        _mm256_storeu_ps(s + key, v);
        top = _mm256_max_ps(top, v);
    }
    return lane_max(top);
}

// Scores of query i to probabilities; groups [g0, g1) of p are written. Sets m and l.
template <class T>
void softmax(const AttendArgs& a, const Operands& x, uint32_t i, float* s, uint16_t* p, size_t g0,
             size_t g1) {
    const uint32_t lo = a.lo[i];
    const uint32_t hi = a.hi[i];
    const size_t first = lo < hi ? lo / 16 : g1;
    const size_t last = lo < hi ? (hi + 15) / 16 : g1;
    a.m[i] =
        a.softcap == 0.0f ? mask_scores<T, false>(a, x, i, s) : mask_scores<T, true>(a, x, i, s);
    const __m256 m = _mm256_set1_ps(a.m[i]);
    __m256 sum[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
    for (size_t g = g0; g < g1; ++g) {
        __m256 e[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
        for (size_t h = 0; h < 2; ++h) {
            const size_t key = 16 * g + 8 * h;
            if (g >= first && g < last) e[h] = exp_neg(_mm256_sub_ps(_mm256_loadu_ps(s + key), m));
            if constexpr (T::pack == 1) _mm256_storeu_ps(s + key, e[h]);
            if constexpr (T::pack == 1 || T::scaled) sum[h] = _mm256_add_ps(sum[h], e[h]);
            if constexpr (T::scaled) e[h] = _mm256_mul_ps(e[h], _mm256_loadu_ps(x.v_scale + key));
        }
        if constexpr (T::pack == 2) {
            const __m256i low = bf16_lanes(e[0]);
            const __m256i high = bf16_lanes(e[1]);
            if constexpr (!T::scaled) {
                sum[0] = _mm256_add_ps(sum[0], widened(low));
                sum[1] = _mm256_add_ps(sum[1], widened(high));
            }
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(p + 16 * g), packed(low, high));
        }
    }
    a.l[i] = lane_sum(sum[0], sum[1]);
}

template <class T, int R>
void attend_rows(const AttendArgs& a, const Operands& x, uint32_t first) {
    uint32_t lo = kv_span;
    uint32_t hi = 0;
    for (uint32_t i = first; i < first + R; ++i) {
        if (a.lo[i] >= a.hi[i]) continue;
        lo = a.lo[i] < lo ? a.lo[i] : lo;
        hi = a.hi[i] > hi ? a.hi[i] : hi;
    }
    const size_t g0 = lo / 16;
    const size_t g1 = lo < hi ? (hi + 15) / 16 : g0;
    constexpr int wide = R >= 3 ? 1 : R == 2 ? 2 : 4;
    const size_t k_group = 16 * kv_k_rows(a.type, a.head_dim) * T::element;
    tile_groups<T, R, wide>(x.q + first * x.q_stride, x.q_stride, x.k + g0 * k_group, k_group,
                            16 * T::pack * T::element, (a.head_dim + T::pack - 1) / T::pack,
                            g1 - g0, x.scores + 16 * g0, kv_span);
    for (uint32_t r = 0; r < R; ++r)
        softmax<T>(a, x, first + r, x.scores + r * kv_span, x.p + r * kv_span, g0, g1);
    const size_t padded = kv_padded(a.head_dim);
    const size_t v_step = padded * T::pack * T::element;
    const void* p = T::pack == 2 ? static_cast<const void*>(x.p + 16 * g0) : x.scores + 16 * g0;
    tile_groups<T, R, wide>(p, kv_span * (T::pack == 2 ? sizeof(uint16_t) : sizeof(float)),
                            x.v + g0 * (16 / T::pack) * v_step, 16 * T::pack * T::element, v_step,
                            (g1 - g0) * (16 / T::pack), padded / 16, a.o + first * a.o_stride,
                            a.o_stride);
}

template <class T>
void attend_all(const AttendArgs& a, const Operands& x) {
    uint32_t i = 0;
    for (; i + tile_rows <= a.n_q; i += tile_rows) attend_rows<T, tile_rows>(a, x, i);
    switch (a.n_q - i) {
        case 1:
            return attend_rows<T, 1>(a, x, i);
        case 2:
            return attend_rows<T, 2>(a, x, i);
        case 3:
            return attend_rows<T, 3>(a, x, i);
        default:
            return;
    }
}

void span(const AttendArgs& a) {
    Operands x{};
    x.q = static_cast<const uint8_t*>(a.q);
    x.q_stride = kv_padded(a.head_dim) * (kv_paired(a.type) ? sizeof(uint16_t) : sizeof(float));
    x.k = a.page;
    x.v = a.page + kv_v_offset(a.type, a.head_dim);
    uint8_t* free = a.scratch;
    x.scores = reinterpret_cast<float*>(free);
    free += tile_rows * kv_span * sizeof(float);
    x.p = reinterpret_cast<uint16_t*>(free);
    free += tile_rows * kv_span * sizeof(uint16_t);
    if (a.type == KvType::f32) return attend_all<FloatPages<float>>(a, x);
    if (a.type == KvType::f16) return attend_all<FloatPages<uint16_t>>(a, x);
    if (a.type == KvType::bf16) return attend_all<Bf16Pages>(a, x);
    x.k_scale = reinterpret_cast<const float*>(a.page + kv_scale_offset(a.type, a.head_dim));
    x.v_scale = x.k_scale + kv_span;
    attend_all<Int8Pages>(a, x);
}

void merge(float* m, float* l, float* o, float m2, float l2, const float* o2, size_t n) {
    if (m2 == minus_infinity) return;
    const bool first = *m == minus_infinity;
    const float top = m2 > *m ? m2 : *m;
    const __m256 keep = exp_neg(_mm256_set1_ps(*m - top));
    const __m256 take = exp_neg(_mm256_set1_ps(m2 - top));
    for (size_t i = 0; i < n; i += 8) {
        const __m256 later = load(o2 + i, n - i);
        const __m256 both = _mm256_fmadd_ps(later, take, _mm256_mul_ps(load(o + i, n - i), keep));
        store(o + i, n - i, first ? later : both);
    }
    *l = first ? l2 : *l * _mm256_cvtss_f32(keep) + l2 * _mm256_cvtss_f32(take);
    *m = top;
}

void finish(float l, const float* o, float* out, size_t n) {
    const __m256 inverse = _mm256_set1_ps(l == 0.0f ? 0.0f : 1.0f / l);
    const __m256 live = _mm256_castsi256_ps(_mm256_set1_epi32(l == 0.0f ? 0 : -1));
    for (size_t i = 0; i < n; i += 8)
        store(out + i, n - i, _mm256_and_ps(live, _mm256_mul_ps(load(o + i, n - i), inverse)));
}

void heads(const HeadArgs& a) {
    heads_by_rows(row_kernels, a);
}

}  // namespace

const AttendKernels attend_kernels = {"avx2", heads, span, merge, finish, kv_write, kv_write_group};

}  // namespace ridge::avx2
