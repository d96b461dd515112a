// The int8 product over many rows: two column groups are unpacked once into scratch (L1/L2) and
// used for all rows, in tiles of 6 rows x 32 columns: 12 integer and 12 float accumulators, no
// spills. See product_q8.hpp for the arithmetic.
//
// Bound: the two vpdpbusd ports; a 32-block of the tile is 96 vpdpbusd, 12 each of convert,
// multiply and FMA (the last two share ports with vpdpbusd): 96 / 120 = 80 % of the int8 roof, 73 %
// with minima (12 more FMA) or with scales per 16 k.
#pragma once

#include "kernels/avx512/operand.hpp"
#include "kernels/contract.hpp"

namespace ridge::avx512 {

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
        const U u = U::at(p.weights + group / 2 * p.pair_bytes, gi, p.k);
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

}  // namespace ridge::avx512
