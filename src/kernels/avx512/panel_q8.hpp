// The int8 product over many rows: two column groups are unpacked into scratch and used for all
// rows, in tiles of 6 rows x 32 columns (scales per 16 k: 5 x 32, 4 x 32 with minima). See
// product_q8.hpp for the arithmetic.
//
// Bound: the two vpdpbusd ports. A 32-block of the 6 x 2 tile is 96 vpdpbusd and 12 each of
// convert, multiply and FMA; the last two share ports with vpdpbusd: 96 / 120 = 80 % of the int8
// roof, 73 % with minima (12 more FMA). Scales per 16 k: two converts, a multiply and two FMA, 73
// %; with minima (bf16, one vdpbf16ps a block) 67 %. 12 accumulators of either kind, or 10 or 8 of
// three kinds, leave the registers for two weights and the broadcasts: nothing is spilled.
//
// Few rows: a chunk of a few blocks of k is unpacked, used by all rows, and the sums wait in `out`,
// so that the weights come from memory at an even rate; many rows: all of k at once.
#pragma once

#include "kernels/avx512/operand.hpp"
#include "kernels/contract.hpp"

namespace ridge::avx512 {

// Rows from which the whole of k is unpacked at once, and the blocks of a chunk below.
static constexpr size_t whole_rows = 64;
static constexpr size_t chunk_blocks = 8;

// Blocks b0 .. b0 + n of a panel in scratch: codes [block][8 quads][G][64], then f32 scales
// [block][halves][G][16], and minima [block][G][16]: f32, or bf16 pairs. Codes of types without
// minima have zero point 128.
template <int G>
struct Panel {
    uint8_t* codes;
    float* scales;
    float* mins;
    size_t b0, n;
};

template <DType T, int G>
static inline Panel<G> unpack_panel(const ProductArgs& p, size_t group, size_t b0, size_t n) {
    using U = Unpacker<T>;
    constexpr size_t halves = U::wide16 ? 2 : 1;
    Panel<G> out{p.scratch, reinterpret_cast<float*>(p.scratch + n * 512 * G), nullptr, b0, n};
    out.mins = out.scales + n * halves * G * 16;
    constexpr int shift = U::has_min || U::spec.zero == 128 ? 0 : 128 - U::spec.zero;
    const __m512i lift = _mm512_set1_epi8(static_cast<char>(shift));
    for (size_t b = 0; b < n; ++b)
#pragma GCC unroll 2
        for (size_t g = 0; g < G; ++g) {
            const U u = U::at(p.weights + group / 2 * p.pair_bytes, g);
            __m512i v[8];
            __m512 s[2], m[2];
            u.quads(b0 + b, v);
            u.scales(b0 + b, s, m);
#pragma GCC unroll 8
            for (size_t j = 0; j < 8; ++j) {
                if constexpr (shift != 0) v[j] = _mm512_add_epi8(v[j], lift);
                _mm512_store_si512(out.codes + ((b * 8 + j) * G + g) * 64, v[j]);
            }
            for (size_t h = 0; h < halves; ++h) {
                _mm512_store_ps(out.scales + ((b * halves + h) * G + g) * 16, s[h]);
                if constexpr (U::has_min && !U::wide16)
                    _mm512_store_ps(out.mins + (b * G + g) * 16, m[h]);
            }
            if constexpr (U::has_min && U::wide16)
                _mm512_store_ps(out.mins + (b * G + g) * 16, minima_pairs(m));
        }
    return out;
}

// The compiler must not move work between quads: registers would run out.
#define RIDGE_PIN(vector) __asm__("" : "+v"(vector))

template <int R, int G>
__attribute__((always_inline)) static inline void tile_quad(const uint8_t* codes, const uint8_t* a,
                                                            size_t stride, __m512i (&acc)[R][G]) {
    __m512i w[G];
    for (int g = 0; g < G; ++g) w[g] = _mm512_load_si512(codes + g * 64);
    for (int r = 0; r < R; ++r) {
        const __m512i x = broadcast4(a + static_cast<size_t>(r) * stride);
        for (int g = 0; g < G; ++g) acc[r][g] = _mm512_dpbusd_epi32(acc[r][g], w[g], x);
    }
    for (int r = 0; r < R; ++r)
        for (int g = 0; g < G; ++g) RIDGE_PIN(acc[r][g]);
}

template <bool Min, int R, int G>
__attribute__((always_inline)) static inline void tile_start(const uint8_t* bias, size_t stride,
                                                             __m512i (&acc)[R][G]) {
    for (int r = 0; r < R; ++r) {
        const __m512i start =
            Min ? _mm512_setzero_si512() : broadcast4(bias + static_cast<size_t>(r) * stride);
        for (int g = 0; g < G; ++g) acc[r][g] = start;
    }
}

template <int R, int G>
__attribute__((always_inline)) static inline void tile_minima(const float* m, const uint8_t* fsum,
                                                              size_t stride, __m512 (&f)[R][G]) {
    for (int r = 0; r < R; ++r) {
        const __m512 fs = broadcast_f32(fsum + static_cast<size_t>(r) * stride);
        for (int g = 0; g < G; ++g)
            f[r][g] = _mm512_fmadd_ps(_mm512_load_ps(m + 16 * g), fs, f[r][g]);
    }
}

// Lines of packed weights to ask for while a panel is used: `per_block` at each block of a tile.
struct ReadAhead {
    const uint8_t* next;
    size_t per_block;
};

// R rows x G groups over a panel. Wide16 and Min select the variant; see block_step for the order.
// Sums go on from `out` where the panel is not the first of its k.
template <bool Wide16, bool Min, int R, int G>
__attribute__((noinline)) static void panel_tile(const Panel<G>& panel, const uint8_t* act,
                                                 size_t stride, size_t k, float* out,
                                                 size_t out_stride, ReadAhead ahead) {
    const Q8Offsets at = q8_offsets(k);
    __m512 f[R][G];
    for (int r = 0; r < R; ++r)
        for (int g = 0; g < G; ++g)
            f[r][g] = panel.b0 == 0 ? _mm512_setzero_ps()
                                    : _mm512_loadu_ps(out + static_cast<size_t>(r) * out_stride +
                                                      static_cast<size_t>(g) * 16);
    const uint8_t* codes = panel.codes;
    const float* s = panel.scales;
    const float* m = panel.mins;
    for (size_t b = panel.b0; b < panel.b0 + panel.n; ++b) {
        for (size_t line = 0; line < ahead.per_block; ++line, ahead.next += 64)
            __builtin_prefetch(ahead.next);
        const uint8_t* a = act + 32 * b;
        const uint8_t* scale = act + at.scale + 4 * b;
        __m512i acc[R][G];
        if constexpr (Wide16) {
            __m512 t[R][G];
            tile_start<Min>(act + at.bias16 + 8 * b, stride, acc);
#pragma GCC unroll 4
            for (int j = 0; j < 4; ++j) tile_quad(codes + j * G * 64, a + 4 * j, stride, acc);
            for (int r = 0; r < R; ++r)
                for (int g = 0; g < G; ++g)
                    t[r][g] =
                        _mm512_mul_ps(_mm512_cvtepi32_ps(acc[r][g]), _mm512_load_ps(s + 16 * g));
            if constexpr (Min)
                for (int r = 0; r < R; ++r) {
                    const __m512i fs =
                        broadcast4(act + at.fsum16 + 4 * b + static_cast<size_t>(r) * stride);
                    for (int g = 0; g < G; ++g)
                        f[r][g] = add_minima(f[r][g], _mm512_load_ps(m + 16 * g), fs);
                }
            tile_start<Min>(act + at.bias16 + 8 * b + 4, stride, acc);
#pragma GCC unroll 4
            for (int j = 4; j < 8; ++j) tile_quad(codes + j * G * 64, a + 4 * j, stride, acc);
            for (int r = 0; r < R; ++r) {
                const __m512 as = broadcast_f32(scale + static_cast<size_t>(r) * stride);
                for (int g = 0; g < G; ++g) {
                    t[r][g] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(acc[r][g]),
                                              _mm512_load_ps(s + 16 * (G + g)), t[r][g]);
                    f[r][g] = _mm512_fmadd_ps(t[r][g], as, f[r][g]);
                }
            }
        } else {
            tile_start<Min>(act + at.bias + 4 * b, stride, acc);
#pragma GCC unroll 8
            for (int j = 0; j < 8; ++j) tile_quad(codes + j * G * 64, a + 4 * j, stride, acc);
            for (int r = 0; r < R; ++r) {
                const __m512 as = broadcast_f32(scale + static_cast<size_t>(r) * stride);
                for (int g = 0; g < G; ++g)
                    f[r][g] =
                        _mm512_fmadd_ps(_mm512_cvtepi32_ps(acc[r][g]),
                                        _mm512_mul_ps(_mm512_load_ps(s + 16 * g), as), f[r][g]);
            }
            if constexpr (Min) tile_minima(m, act + at.fsum + 4 * b, stride, f);
        }
        codes += 8 * G * 64;
        s += (Wide16 ? 2 : 1) * G * 16;
        m += G * 16;
    }
    for (int r = 0; r < R; ++r)
        for (int g = 0; g < G; ++g)
            _mm512_storeu_ps(
                out + static_cast<size_t>(r) * out_stride + static_cast<size_t>(g) * 16, f[r][g]);
}
#undef RIDGE_PIN

// All rows over one panel, in tiles of nearly one size. One copy a variant serves every type.
template <bool Wide16, bool Min, int G>
__attribute__((noinline)) static void panel_rows(const Panel<G>& panel, const ProductArgs& p,
                                                 float* out, const uint8_t* ahead, size_t lines) {
    constexpr size_t most = Wide16 ? Min ? 4 : 5 : 6;
    size_t tiles = (p.rows + most - 1) / most;
    // The lines are spread over the last tiles, as many at a block as it takes.
    const size_t per_block = (lines + tiles * panel.n - 1) / (tiles * panel.n);
    for (size_t row = 0; tiles > 0; --tiles) {
        ReadAhead read{ahead, 0};
        if (lines > 0 && (tiles - 1) * panel.n * per_block < lines) {
            read.per_block = per_block;
            ahead += 64 * per_block * panel.n;
            lines -= lines < per_block * panel.n ? lines : per_block * panel.n;
        }
        const size_t rows = (p.rows - row + tiles - 1) / tiles;
        const uint8_t* act = p.act + row * p.act_stride;
        float* o = out + row * p.out_stride;
        switch (rows) {
            case 1:
                panel_tile<Wide16, Min, 1, G>(panel, act, p.act_stride, p.k, o, p.out_stride, read);
                break;
            case 2:
                panel_tile<Wide16, Min, 2, G>(panel, act, p.act_stride, p.k, o, p.out_stride, read);
                break;
            case 3:
                panel_tile<Wide16, Min, 3, G>(panel, act, p.act_stride, p.k, o, p.out_stride, read);
                break;
            case 4:
                panel_tile<Wide16, Min, 4, G>(panel, act, p.act_stride, p.k, o, p.out_stride, read);
                break;
            case 5:
                if constexpr (most >= 5)
                    panel_tile<Wide16, Min, 5, G>(panel, act, p.act_stride, p.k, o, p.out_stride,
                                                  read);
                break;
            default:
                if constexpr (most >= 6)
                    panel_tile<Wide16, Min, 6, G>(panel, act, p.act_stride, p.k, o, p.out_stride,
                                                  read);
                break;
        }
        row += rows;
    }
}

// All rows over G groups.
template <DType T, int G>
static inline void panel_groups(const ProductArgs& p, size_t group) {
    using U = Unpacker<T>;
    const size_t nb = p.k / 32;
    const size_t chunk = p.rows >= whole_rows ? nb : chunk_blocks;
    const uint8_t* packed = p.weights + group / 2 * p.pair_bytes;
    for (size_t b0 = 0; b0 < nb; b0 += chunk) {
        const size_t n = nb - b0 < chunk ? nb - b0 : chunk;
        // What is unpacked next, or where chunks are short, after that: a memory latency ahead.
        const size_t bytes = p.prefetch_bytes == 0 ? 0 : n / U::layout.blocks * U::layout.bytes;
        packed += bytes;
        panel_rows<U::wide16, U::has_min, G>(
            unpack_panel<T, G>(p, group, b0, n), p, p.out + group * 16,
            packed + (p.rows < whole_rows ? bytes : 0), bytes / 64);
    }
}

}  // namespace ridge::avx512
