// Attention over one span (contract.hpp) on AVX-512: two products over register tiles with a
// softmax between them, for up to eight queries at a time.
//
//   s[r][key] = q[r] . K[key]            lanes are 16 keys,       steps are dimensions (pairs)
//   s = cap tanh(s / cap)                where a model caps its scores
//   p = exp(s - max s), l = sum p        one query at a time, in L1
//   o[r][d]   = sum over keys p[r] V     lanes are 16 dimensions, steps are keys (pairs)
//
// bf16 pages: vdpbf16ps (tile_bf16.hpp), q and p rounded to bf16; l sums the rounded p, so that the
// weights that V meets add up to one. int8 pages: the bytes are exact in bf16 and are converted
// once a span; a score takes its key's scale after the dot product, p its value's scale before
// rounding, and l sums the unscaled p. f32 and f16 pages: FMA in f32 (tile_f32.hpp).
//
// A query's bits do not depend on its company. Every score and output has its own accumulator,
// folded in the order of dimensions and keys. Groups of 16 keys that no query of the tile sees are
// skipped; in those that only others see, p is exactly 0 and adding 0 x V changes nothing (cached
// values are finite: attend_write.hpp). l has lanes by key index and a fixed tree.
//
// Scores reach q.k of a few 1e4 at most in real models; exp sees differences <= 0 only, so p <= 1
// and l <= 256. Bound: for many queries the dot-product ports (the softmax costs about 16
// operations for 16 scores against head_dim dot products); for few, memory: a tile asks for the
// lines of the next while it reads its own.
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/avx512/attend_heads.hpp"
#include "kernels/avx512/attend_write_group.hpp"
#include "kernels/avx512/rows_math.hpp"
#include "kernels/avx512/set.hpp"
#include "kernels/avx512/tile_bf16.hpp"
#include "kernels/avx512/tile_f32.hpp"

namespace ridge::avx512 {
namespace {

constexpr float minus_infinity = -__builtin_inff();
constexpr uint32_t tile_rows = 8;
// Up to so many queries a span costs no more than its bytes: pages are read ahead.
constexpr int stream_rows = 4;

struct ReadAhead {
    size_t distance;       // bytes
    const uint8_t* limit;  // nothing from here on is asked for
};

// What the two products need to know of a page type: elements of the operands, and the tile.
template <class B>
struct Bf16Pages {
    static constexpr size_t pack = 2;
    static constexpr size_t element = sizeof(B);
    static constexpr bool scaled = sizeof(B) == 1;
    template <int R, int NG>
    static void tile(const void* a, size_t a_stride, const uint8_t* b, size_t group, size_t step,
                     size_t steps, float* out, size_t out_stride, ReadAhead next) {
        tile_bf16<R, NG, B, (R <= stream_rows)>(a, a_stride, b, group, step, steps, out, out_stride,
                                                next.distance, next.limit);
    }
};
// Bytes converted to bf16 beforehand: for many queries, which would convert them once a tile.
struct ConvertedPages : Bf16Pages<uint16_t> {
    static constexpr bool scaled = true;
};
template <class B>
struct FloatPages {
    static constexpr size_t pack = 1;
    static constexpr size_t element = sizeof(B);
    static constexpr bool scaled = false;
    template <int R, int NG>
    static void tile(const void* a, size_t a_stride, const uint8_t* b, size_t group, size_t step,
                     size_t steps, float* out, size_t out_stride, ReadAhead) {
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
                 size_t steps, size_t groups, float* out, size_t out_stride, ReadAhead next) {
    for (; groups >= NG; groups -= NG, b += NG * group, out += 16 * NG)
        T::template tile<R, NG>(a, a_stride, b, group, step, steps, out, out_stride, next);
    if constexpr (NG > 1) {
        if (groups > 0)
            tile_groups<T, R, NG / 2>(a, a_stride, b, group, step, steps, groups, out, out_stride,
                                      next);
    }
}

// Lanes of key group g that lie in [lo, hi), lo < 16 (g + 1), hi > 16 g.
__mmask16 visible(size_t g, uint32_t lo, uint32_t hi) {
    const size_t start = 16 * g;
    const uint32_t below = lo > start ? static_cast<uint32_t>(lo - start) : 0;
    const auto up_to = tail_mask(hi - start);
    return static_cast<__mmask16>(up_to & (0xffffu << below));
}

// e^x for x <= 0 where the result is rounded to bf16: 2^y, y = x log2 e, as 2^floor(y) times
//
//   2^r = 1 + r (c0 + c1 r + c2 r^2 + c3 r^3 + c4 r^4),  r = y - floor(y)    (minimax, 1.4e-7)
//
// The rounding of y adds 4e-8 |x| to the relative error. e^0 is 1, e^-inf is 0.
__m512 exp_for_bf16(__m512 x) {
    const __m512 y = _mm512_mul_ps(x, _mm512_set1_ps(1.44269504f));
    const __m512 r = _mm512_reduce_ps(y, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
    __m512 p = _mm512_set1_ps(1.867133891e-3f);
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(9.017022327e-3f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(5.579992011e-2f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(2.401644439e-1f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(6.931512952e-1f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f));
    return _mm512_scalef_ps(p, y);
}

// Key groups [first, last) that a query sees; g1 where it sees none.
struct Groups {
    size_t first, last;
};
Groups seen(const AttendArgs& a, uint32_t i, size_t g1) {
    if (a.lo[i] >= a.hi[i]) return {g1, g1};
    return {a.lo[i] / 16u, (a.hi[i] + 15u) / 16u};
}

// Invisible scores of query i to -inf, key scales and soft-cap applied; their maximum.
template <class T, bool capped>
float mask_scores(const AttendArgs& a, const Operands& x, uint32_t i, float* s, Groups seen) {
    __m512 top = _mm512_set1_ps(minus_infinity);
    for (size_t g = seen.first; g < seen.last; ++g) {
        __m512 v = _mm512_loadu_ps(s + 16 * g);
        if constexpr (T::scaled) v = _mm512_mul_ps(v, _mm512_loadu_ps(x.k_scale + 16 * g));
        if constexpr (capped)
            v = _mm512_mul_ps(tanh_f32(_mm512_div_ps(v, _mm512_set1_ps(a.softcap))),
                              _mm512_set1_ps(a.softcap));
        const bool border = g == seen.first || g + 1 == seen.last;
        if (border)
            v = _mm512_mask_mov_ps(_mm512_set1_ps(minus_infinity), visible(g, a.lo[i], a.hi[i]), v);
        if (T::scaled || capped || border) _mm512_storeu_ps(s + 16 * g, v);
        top = _mm512_max_ps(top, v);
    }
    return lane_max(top);
}

// Not inlined: models without a cap pay one comparison a row.
template <class T>
[[gnu::noinline]] float mask_capped(const AttendArgs& a, const Operands& x, uint32_t i, float* s,
                                    Groups seen) {
    return mask_scores<T, true>(a, x, i, s, seen);
}

// Masked scores to probabilities; groups [g0, g1) of p are written. Returns their sum.
template <class T>
float softmax(const Operands& x, float top, float* s, uint16_t* p, size_t g0, size_t g1,
              Groups seen) {
    const __m512 m = _mm512_set1_ps(top);
    if constexpr (T::pack == 1) {
        for (size_t g = g0; g < seen.first; ++g) _mm512_storeu_ps(s + 16 * g, _mm512_setzero_ps());
        for (size_t g = seen.last; g < g1; ++g) _mm512_storeu_ps(s + 16 * g, _mm512_setzero_ps());
        __m512 sum = _mm512_setzero_ps();
        for (size_t g = seen.first; g < seen.last; ++g) {
            const __m512 e = exp_neg(_mm512_sub_ps(_mm512_loadu_ps(s + 16 * g), m));
            sum = _mm512_add_ps(sum, e);
            _mm512_storeu_ps(s + 16 * g, e);
        }
        return lane_sum(sum);
    } else {
        const auto at = [p](size_t g) { return reinterpret_cast<__m256i*>(p + 16 * g); };
        for (size_t g = g0; g < seen.first; ++g) _mm256_storeu_si256(at(g), __m256i{});
        for (size_t g = seen.last; g < g1; ++g) _mm256_storeu_si256(at(g), __m256i{});
        __m512 sum = _mm512_setzero_ps();
        __m256 rounded_sum = _mm256_setzero_ps();
        for (size_t g = seen.first; g < seen.last; ++g) {
            __m512 e = exp_for_bf16(_mm512_sub_ps(_mm512_loadu_ps(s + 16 * g), m));
            if constexpr (T::scaled) {
                sum = _mm512_add_ps(sum, e);
                e = _mm512_mul_ps(e, _mm512_loadu_ps(x.v_scale + 16 * g));
            }
            const __m256bh rounded = _mm512_cvtneps_pbh(e);
            if constexpr (!T::scaled)
                rounded_sum =
                    _mm256_dpbf16_ps(rounded_sum, rounded, (__m256bh)_mm256_set1_epi16(0x3f80));
            _mm256_storeu_si256(at(g), (__m256i)rounded);
        }
        return lane_sum(T::scaled ? sum : _mm512_zextps256_ps512(rounded_sum));
    }
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
    // four to sixteen accumulators, so that the dot products' latency stays hidden for few rows
    // too; a row of values is read in one stretch, and keys fill no more than half of L1 with those
    // of the next tile
    constexpr int k_wide = R >= 5 ? 2 : 4;
    constexpr int v_wide = R >= 5 ? 2 : R >= 3 ? 4 : 8;
    const size_t k_group = 16 * kv_k_rows(a.type, a.head_dim) * T::element;
    const size_t padded = kv_padded(a.head_dim);
    const size_t v_step = padded * T::pack * T::element;
    const uint8_t* v_end = x.v + g1 * (16 / T::pack) * v_step;
    // Keys are followed by values, the values of a full span by the page of the next kv head.
    const bool full = g0 == 0 && g1 == kv_span / 16;
    const ReadAhead k_next = {k_wide * k_group, full ? v_end : x.k + g1 * k_group};
    const ReadAhead v_next = {k_next.distance, full ? v_end + k_next.distance : v_end};
    tile_groups<T, R, k_wide>(x.q + first * x.q_stride, x.q_stride, x.k + g0 * k_group, k_group,
                              16 * T::pack * T::element, (a.head_dim + T::pack - 1) / T::pack,
                              g1 - g0, x.scores + 16 * g0, kv_span, k_next);
    // row after row would wait for the maxima's lanes
    Groups groups[R];
    for (uint32_t r = 0; r < R; ++r) {
        groups[r] = seen(a, first + r, g1);
        float* s = x.scores + r * kv_span;
        a.m[first + r] = a.softcap == 0.0f ? mask_scores<T, false>(a, x, first + r, s, groups[r])
                                           : mask_capped<T>(a, x, first + r, s, groups[r]);
    }
    for (uint32_t r = 0; r < R; ++r)
        a.l[first + r] = softmax<T>(x, a.m[first + r], x.scores + r * kv_span, x.p + r * kv_span,
                                    g0, g1, groups[r]);
    const void* p = T::pack == 2 ? static_cast<const void*>(x.p + 16 * g0) : x.scores + 16 * g0;
    tile_groups<T, R, v_wide>(p, kv_span * (T::pack == 2 ? sizeof(uint16_t) : sizeof(float)),
                              x.v + g0 * (16 / T::pack) * v_step, 16 * T::pack * T::element, v_step,
                              (g1 - g0) * (16 / T::pack), padded / 16, a.o + first * a.o_stride,
                              a.o_stride, v_next);
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
        case 4:
            return attend_rows<T, 4>(a, x, i);
        case 5:
            return attend_rows<T, 5>(a, x, i);
        case 6:
            return attend_rows<T, 6>(a, x, i);
        case 7:
            return attend_rows<T, 7>(a, x, i);
        default:
            return;
    }
}

// n is a multiple of 32.
void bytes_to_bf16(const uint8_t* in, size_t n, uint8_t* out) {
    for (size_t i = 0; i < n; i += 32) _mm512_storeu_si512(out + 2 * i, bf16_of_bytes(in + i));
}

// K and V of the key groups that any query sees, from bytes to bf16 pages in scratch.
void convert_int8(const AttendArgs& a, uint8_t* scratch, Operands& x) {
    uint32_t lo = kv_span;
    uint32_t hi = 0;
    for (uint32_t i = 0; i < a.n_q; ++i) {
        if (a.lo[i] >= a.hi[i]) continue;
        lo = a.lo[i] < lo ? a.lo[i] : lo;
        hi = a.hi[i] > hi ? a.hi[i] : hi;
    }
    const size_t k_group = 16 * kv_k_rows(a.type, a.head_dim);
    const size_t v_group = 16 * kv_padded(a.head_dim);
    uint8_t* v_out = scratch + 2 * kv_span * kv_k_rows(a.type, a.head_dim);
    const uint8_t* v_in = a.page + kv_v_offset(a.type, a.head_dim);
    if (lo < hi) {
        const size_t g0 = lo / 16;
        const size_t groups = (hi + 15) / 16 - g0;
        bytes_to_bf16(a.page + g0 * k_group, groups * k_group, scratch + 2 * g0 * k_group);
        bytes_to_bf16(v_in + g0 * v_group, groups * v_group, v_out + 2 * g0 * v_group);
    }
    x.k = scratch;
    x.v = v_out;
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
    if (a.type == KvType::bf16) return attend_all<Bf16Pages<uint16_t>>(a, x);
    x.k_scale = reinterpret_cast<const float*>(a.page + kv_scale_offset(a.type, a.head_dim));
    x.v_scale = x.k_scale + kv_span;
    if (a.n_q <= tile_rows) return attend_all<Bf16Pages<int8_t>>(a, x);
    convert_int8(a, free, x);
    attend_all<ConvertedPages>(a, x);
}

void merge(float* m, float* l, float* o, float m2, float l2, const float* o2, size_t n) {
    if (m2 == minus_infinity) return;
    const bool first = *m == minus_infinity;
    const float top = m2 > *m ? m2 : *m;
    const __m512 keep = exp_neg(_mm512_set1_ps(*m - top));
    const __m512 take = exp_neg(_mm512_set1_ps(m2 - top));
    for (size_t i = 0; i < n; i += 16) {
        const __mmask16 mask = tail_mask(n - i);
        const __m512 later = _mm512_maskz_loadu_ps(mask, o2 + i);
        const __m512 both =
            _mm512_fmadd_ps(later, take, _mm512_mul_ps(_mm512_maskz_loadu_ps(mask, o + i), keep));
        _mm512_mask_storeu_ps(o + i, mask, first ? later : both);
    }
    *l = first ? l2 : *l * _mm512_cvtss_f32(keep) + l2 * _mm512_cvtss_f32(take);
    *m = top;
}

void finish(float l, const float* o, float* out, size_t n) {
    const __m512 inverse = _mm512_set1_ps(l == 0.0f ? 0.0f : 1.0f / l);
    const auto live = static_cast<__mmask16>(l == 0.0f ? 0 : 0xffff);
    for (size_t i = 0; i < n; i += 16) {
        const __mmask16 mask = tail_mask(n - i);
        const __m512 v = _mm512_maskz_loadu_ps(mask, o + i);
        _mm512_mask_storeu_ps(out + i, mask, _mm512_maskz_mul_ps(live, v, inverse));
    }
}

}  // namespace

const AttendKernels attend_kernels = {"avx512", heads, span, merge, finish, kv_write, write_group};

}  // namespace ridge::avx512
