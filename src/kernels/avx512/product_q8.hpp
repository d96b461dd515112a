// The int8 product: out[r][c] = sum over k of a[r][k] * W[c][k], quantized weights, q8 activations.
//
// Mathematics, for each output and each block of 32 k in order:
//     i = sum of code * a - zero * sum of a          exact int32: |i| <= 32 * 255 * 127 < 2^21
//     f = fma(float(i), ws * as, f);  f = fma(min, as * sum of a, f) where the type has minima
// (per 16 k where a scale covers 16). Lanes are 16 output columns, so neither rows nor columns of
// company enter a result, and both loops below give the same bits.
//
// vpdpbusd takes unsigned codes from a register and four activations broadcast from memory. The
// zero point is the accumulator's start value, prepared with the activations (act_row.hpp).
//
// Stream (up to stream_rows rows): packed bytes are read once, unpacked in registers and used for
// every row, two column groups at a time. Measured on Zen 5, one thread, K = 1024, from memory: one
// group 17 (Q4_0) to 35 GB/s (Q8_0), two 33 to 35, four 17 to 29; a plain linear scan has 40.
// Bound: read bandwidth; about 28 instructions a 288-byte Q4_0 block. Panel (more rows): two groups
// are unpacked once into scratch (L1/L2) and used for all rows, in tiles of 6 rows x 32 columns: 12
// integer and 12 float accumulators, no spills. Bound: the two vpdpbusd ports; a 32-block of the
// tile is 96 vpdpbusd, 12 each of convert, multiply and FMA (the last two share ports with
// vpdpbusd): 96 / 120 = 80 % of the int8 roof, 73 % with minima (12 more FMA) or with scales per 16
// k.
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

// Asks for the codes `distance` bytes behind block b's; what lies behind a group is the next one.
template <DType T>
static inline void prefetch_block(const Unpacker<T>& u, size_t b, size_t distance) {
    if (distance == 0) return;
    const uint8_t* ahead = u.low + b * Unpacker<T>::low_block + distance;
    for (size_t line = 0; line < Unpacker<T>::low_block; line += 64)
        _mm_prefetch(reinterpret_cast<const char*>(ahead + line), _MM_HINT_T0);
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

// A panel in scratch: codes [block][8 quads][G][64], then f32 scales [block][halves][G][16] and
// minima likewise. Codes of types without minima are moved to zero point 128.
template <int G>
struct Panel {
    uint8_t* codes;
    float* scales;
    float* mins;
};

template <DType T, int G>
static inline Panel<G> unpack_panel(const ProductArgs& p, size_t group) {
    using U = Unpacker<T>;
    constexpr size_t halves = U::wide16 ? 2 : 1;
    const size_t nb = p.k / 32;
    Panel<G> out{p.scratch, reinterpret_cast<float*>(p.scratch + nb * 512 * G), nullptr};
    out.mins = out.scales + nb * halves * G * 16;
    constexpr int shift = U::has_min || U::spec.zero == 128 ? 0 : 128 - U::spec.zero;
    const __m512i lift = _mm512_set1_epi8(static_cast<char>(shift));
    for (int g = 0; g < G; ++g) {
        const size_t gi = static_cast<size_t>(g);
        const U u = U::at(p.weights + (group + gi) * p.group_bytes, p.k);
        for (size_t b = 0; b < nb; ++b) {
            __m512i v[8];
            __m512 s[2], m[2];
            prefetch_block<T>(u, b, p.prefetch_bytes);
            u.quads(b, v);
            u.scales(b, s, m);
            for (size_t j = 0; j < 8; ++j) {
                if constexpr (shift != 0) v[j] = _mm512_add_epi8(v[j], lift);
                _mm512_store_si512(out.codes + ((b * 8 + j) * G + gi) * 64, v[j]);
            }
            for (size_t h = 0; h < halves; ++h) {
                _mm512_store_ps(out.scales + ((b * halves + h) * G + gi) * 16, s[h]);
                if constexpr (U::has_min)
                    _mm512_store_ps(out.mins + ((b * halves + h) * G + gi) * 16, m[h]);
            }
        }
    }
    return out;
}

// R rows x G groups over a panel. Wide16 and Min select the variant; see block_step for the order.
template <bool Wide16, bool Min, int R, int G>
static inline void panel_tile(const Panel<G>& panel, const uint8_t* act, size_t act_stride,
                              size_t k, float* out, size_t out_stride) {
    constexpr size_t halves = Wide16 ? 2 : 1;
    constexpr size_t quads = 8 / halves;
    const Q8Offsets at = q8_offsets(k);
    const size_t n = k / 32 * halves;  // scale blocks
    const size_t bias_at = Wide16 ? at.bias16 : at.bias;
    const size_t fsum_at = Wide16 ? at.fsum16 : at.fsum;
    __m512 f[R][G];
    for (int r = 0; r < R; ++r)
        for (int g = 0; g < G; ++g) f[r][g] = _mm512_setzero_ps();
    const uint8_t* codes = panel.codes;
    for (size_t b = 0; b < n; ++b) {
        __m512i acc[R][G];
        for (int r = 0; r < R; ++r) {
            const __m512i start =
                Min ? _mm512_setzero_si512()
                    : broadcast4(act + static_cast<size_t>(r) * act_stride + bias_at + 4 * b);
            for (int g = 0; g < G; ++g) acc[r][g] = start;
        }
        const uint8_t* a = act + b * (4 * quads);
#pragma GCC unroll 8
        for (size_t j = 0; j < quads; ++j) {
            __m512i w[G];
            for (size_t g = 0; g < G; ++g) w[g] = _mm512_load_si512(codes + (j * G + g) * 64);
            for (int r = 0; r < R; ++r) {
                const __m512i x = broadcast4(a + static_cast<size_t>(r) * act_stride + 4 * j);
                for (int g = 0; g < G; ++g) acc[r][g] = _mm512_dpbusd_epi32(acc[r][g], w[g], x);
            }
        }
        codes += quads * G * 64;
        __m512 s[G];
        for (size_t g = 0; g < G; ++g) s[g] = _mm512_load_ps(panel.scales + (b * G + g) * 16);
        for (int r = 0; r < R; ++r) {
            const __m512 as = broadcast_f32(act + static_cast<size_t>(r) * act_stride + at.scale +
                                            4 * (b / halves));
            for (int g = 0; g < G; ++g)
                f[r][g] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(acc[r][g]), _mm512_mul_ps(s[g], as),
                                          f[r][g]);
        }
        if constexpr (Min) {
            for (size_t g = 0; g < G; ++g) s[g] = _mm512_load_ps(panel.mins + (b * G + g) * 16);
            for (int r = 0; r < R; ++r) {
                const __m512 fs =
                    broadcast_f32(act + static_cast<size_t>(r) * act_stride + fsum_at + 4 * b);
                for (int g = 0; g < G; ++g) f[r][g] = _mm512_fmadd_ps(s[g], fs, f[r][g]);
            }
        }
    }
    for (int r = 0; r < R; ++r)
        for (int g = 0; g < G; ++g)
            _mm512_storeu_ps(
                out + static_cast<size_t>(r) * out_stride + static_cast<size_t>(g) * 16, f[r][g]);
}

// All rows over one panel. Not inlined: one copy a variant serves every type.
template <bool Wide16, bool Min, int G>
__attribute__((noinline)) static void panel_rows(const Panel<G>& panel, const ProductArgs& p,
                                                 float* out) {
    size_t row = 0;
    for (; row + 6 <= p.rows; row += 6)
        panel_tile<Wide16, Min, 6, G>(panel, p.act + row * p.act_stride, p.act_stride, p.k,
                                      out + row * p.out_stride, p.out_stride);
    const uint8_t* act = p.act + row * p.act_stride;
    float* o = out + row * p.out_stride;
    switch (p.rows - row) {
        case 5:
            panel_tile<Wide16, Min, 5, G>(panel, act, p.act_stride, p.k, o, p.out_stride);
            break;
        case 4:
            panel_tile<Wide16, Min, 4, G>(panel, act, p.act_stride, p.k, o, p.out_stride);
            break;
        case 3:
            panel_tile<Wide16, Min, 3, G>(panel, act, p.act_stride, p.k, o, p.out_stride);
            break;
        case 2:
            panel_tile<Wide16, Min, 2, G>(panel, act, p.act_stride, p.k, o, p.out_stride);
            break;
        case 1:
            panel_tile<Wide16, Min, 1, G>(panel, act, p.act_stride, p.k, o, p.out_stride);
            break;
        default:
            break;
    }
}

template <DType T, int R>
static inline void stream_groups(const ProductArgs& p) {
    size_t g = 0;
    for (; g + 2 <= p.groups; g += 2) stream<T, R, 2>(p, g, 0);
    for (; g < p.groups; ++g) stream<T, R, 1>(p, g, 0);
}

template <DType T>
static inline void product_q8(const ProductArgs& p) {
    using U = Unpacker<T>;
    switch (p.rows) {
        case 1:
            return stream_groups<T, 1>(p);
        case 2:
            return stream_groups<T, 2>(p);
        case 3:
            return stream_groups<T, 3>(p);
        case 4:
            return stream_groups<T, 4>(p);
        case 5:
            return stream_groups<T, 5>(p);
        // Six rows of two groups do not fit the registers.
        default:
            break;
    }
    size_t g = 0;
    for (; g + 2 <= p.groups; g += 2)
        panel_rows<U::wide16, U::has_min, 2>(unpack_panel<T, 2>(p, g), p, p.out + g * 16);
    if (g < p.groups)
        panel_rows<U::wide16, U::has_min, 1>(unpack_panel<T, 1>(p, g), p, p.out + g * 16);
}

}  // namespace ridge::avx512
