// The int8 product: out[r][c] = sum over k of a[r][k] * W[c][k], quantized weights, q8 activations.
//
// Mathematics, for each output and each block of 32 k in order:
//     i = sum of code * a - zero * sum of a          exact int32: |i| <= 32 * 128 * 127 < 2^20
//     f = fma(float(i), ws * as, f);  f = fma(min, as * sum of a, f) where the type has minima
// (per 16 k where a scale covers 16). Lanes are output columns, eight a register, so neither rows
// nor columns of company enter a result, and both loops below give the same bits.
//
// Integer part: vpmaddubsw (u8 codes x s8 activations, broadcast four at a time) gives 16-bit sums
// of two products; as many quads as the codes allow (Unpacker::depth) are added in 16 bits before
// one vpmaddwd with ones widens them. product_unpack.hpp argues why nothing saturates.
//
// Stream (up to few_rows rows): packed bytes are read once, pair after pair in one linear stream;
// half a group is unpacked in eight registers, about 7 vector instructions for 32 bytes of 4-bit
// codes, and used for every row. Bound: read bandwidth; of more rows the vector pipes and loads: a
// row's half block of 4-bit codes is 19 vector instructions and 11 loads, 10 of them broadcasts.
// Panel (more rows): a group is unpacked once into scratch (L1/L2) and used for all rows, in tiles
// of 3 rows x 16 columns: six 16-bit and six float accumulators, two weights, one activation in 16
// registers; meanwhile the next pair's lines are asked for. Bound: the four vector pipes; a quad of
// the tile is 6 vpmaddubsw and 6 vpaddw, a block 8 such and 30 instructions for widening, zero
// point, scales and FMA: 96 / 126 for 4-bit codes. The loop "vpmaddubsw, vpmaddwd, vpaddd" that
// counts as this set's roof is bound by the two ports of multiplies, two of which it does for 32
// multiply-adds; summing in 16 bits does 9 for 8 x 32, which is how 4-bit codes pass that roof.
#pragma once

#include "kernels/avx2/product_unpack.hpp"
#include "kernels/contract.hpp"
#include "kernels/read_ahead.hpp"

namespace ridge::avx2 {

// Most rows that are streamed, and how far ahead those loops ask for lines: so many times what the
// caller says, because they hold four times fewer loads in flight than loops of 512-bit registers.
static constexpr size_t few_rows = 8;
static constexpr size_t ahead_factor = 3;

static inline __m256i broadcast4(const uint8_t* p) {
    int32_t x;
    __builtin_memcpy(&x, p, 4);
    return _mm256_set1_epi32(x);
}
static inline __m256 broadcast_f32(const uint8_t* p) {
    float x;
    __builtin_memcpy(&x, p, 4);
    return _mm256_set1_ps(x);
}

// Keeps the compiler from regrouping a chain of integer sums, which would hold every term of it in
// registers (and so in memory) at once.
static inline void keep_order(__m256i& sum) {
    __asm__("" : "+x"(sum));
}

// One block of 32 k of rows `stride` bytes apart, as the loops see it: a base and constant offsets
// for each field.
template <DType T>
struct ActBlock {
    const uint8_t* values;
    const uint8_t* scale;
    const uint8_t* bias;  // of the scale blocks: one, or two of 16 k
    const uint8_t* fsum;
    size_t stride;

    static inline ActBlock at(const uint8_t* row, size_t stride, size_t k, size_t b) {
        constexpr bool wide16 = Unpacker<T>::wide16;
        const Q8Offsets o = q8_offsets(k);
        return {row + 32 * b, row + o.scale + 4 * b,
                row + (wide16 ? o.bias16 + 8 * b : o.bias + 4 * b),
                row + (wide16 ? o.fsum16 : o.fsum) + 4 * b, stride};
    }
    inline ActBlock from(size_t bytes) const {
        return {values + bytes, scale + bytes, bias + bytes, fsum + bytes, stride};
    }
};

// i for R rows x C vectors of 8 columns over the quads of the block, or of its half `part` where a
// scale covers 16 k. `weights(j, c)` is quad j of vector c, counted from the half's first.
template <DType T, int R, int C, class Weights>
static inline void integer_sums(const Weights& weights, const ActBlock<T>& act, size_t part,
                                __m256i acc[R][C]) {
    using U = Unpacker<T>;
    constexpr size_t quads = U::wide16 ? 4 : 8;
    const __m256i ones = _mm256_set1_epi16(1);
#pragma GCC unroll 8
    for (size_t j0 = 0; j0 < quads; j0 += U::depth) {
        __m256i sum[R][C];
#pragma GCC unroll 8
        for (size_t j = j0; j < j0 + U::depth; ++j) {
            __m256i w[C];
            for (int c = 0; c < C; ++c) w[c] = weights(j, c);
            for (int r = 0; r < R; ++r) {
                const __m256i a = broadcast4(act.values + static_cast<size_t>(r) * act.stride +
                                             4 * (quads * part + j));
                for (int c = 0; c < C; ++c) {
                    const __m256i pairs =
                        U::is_signed
                            ? _mm256_maddubs_epi16(_mm256_abs_epi8(w[c]), _mm256_sign_epi8(a, w[c]))
                            : _mm256_maddubs_epi16(w[c], a);
                    sum[r][c] = j == j0 ? pairs : _mm256_add_epi16(sum[r][c], pairs);
                    keep_order(sum[r][c]);
                }
            }
        }
        for (int r = 0; r < R; ++r)
            for (int c = 0; c < C; ++c) {
                const __m256i wide = _mm256_madd_epi16(sum[r][c], ones);
                acc[r][c] = j0 == 0 ? wide : _mm256_add_epi32(acc[r][c], wide);
                keep_order(acc[r][c]);
            }
    }
    if constexpr (!U::has_min && !U::is_signed) {
        for (int r = 0; r < R; ++r) {
            const __m256i bias = _mm256_srai_epi32(
                broadcast4(act.bias + static_cast<size_t>(r) * act.stride + 4 * part),
                U::bias_shift);
            for (int c = 0; c < C; ++c) acc[r][c] = _mm256_add_epi32(acc[r][c], bias);
        }
    }
}

// A bf16 at `p` in all lanes; a vector rounded to bf16, to nearest even.
static inline __m256 broadcast_bf16(const uint8_t* p) {
    uint16_t h;
    __builtin_memcpy(&h, p, 2);
    return _mm256_castsi256_ps(_mm256_set1_epi32(static_cast<int32_t>(h) << 16));
}
static inline __m256 rounded_bf16(__m256 x) {
    const __m256i bits = _mm256_castps_si256(x);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i up = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
    return _mm256_castsi256_ps(_mm256_and_si256(up, _mm256_set1_epi32(-65536)));
}

// f += i * ws * as, then f += min * fsum, for a scale block. Where a scale covers 16 k, the first
// of a block's two sums waits in `t`, scaled, for the second: f += (i0 * ws0 + i1 * ws1) * as;
// minima of such types come first, in bf16, the second before the first: `m` are those of both
// parts.
template <DType T, int R, int C>
static inline void fold(const __m256i acc[R][C], const __m256 s[C], const __m256 m[2][C],
                        const ActBlock<T>& act, size_t part, __m256 t[R][C], __m256 f[R][C]) {
    using U = Unpacker<T>;
    for (int r = 0; r < R; ++r) {
        const size_t at = static_cast<size_t>(r) * act.stride;
        const __m256 as = broadcast_f32(act.scale + at);
        if constexpr (U::wide16 && U::has_min) {
            if (part == 0)
                for (size_t h = 2; h-- > 0;) {
                    const __m256 fsum = broadcast_bf16(act.fsum + at + 2 * h);
                    for (int c = 0; c < C; ++c)
                        f[r][c] = _mm256_fmadd_ps(rounded_bf16(m[h][c]), fsum, f[r][c]);
                }
        }
        for (int c = 0; c < C; ++c) {
            const __m256 sum = _mm256_cvtepi32_ps(acc[r][c]);
            if (U::wide16 && part == 0) {
                t[r][c] = _mm256_mul_ps(sum, s[c]);
            } else if (U::wide16) {
                f[r][c] = _mm256_fmadd_ps(_mm256_fmadd_ps(sum, s[c], t[r][c]), as, f[r][c]);
            } else {
                f[r][c] = _mm256_fmadd_ps(sum, _mm256_mul_ps(s[c], as), f[r][c]);
            }
        }
        if constexpr (!U::wide16 && U::has_min) {
            const __m256 fsum = broadcast_f32(act.fsum + at);
            for (int c = 0; c < C; ++c) f[r][c] = _mm256_fmadd_ps(m[0][c], fsum, f[r][c]);
        }
    }
}

// One row over the first G groups of a pair straight from the packed bytes, half a group at a time.
template <DType T, int G>
static inline void stream_one(const ProductArgs& p, size_t pair) {
    using U = Unpacker<T>;
    constexpr size_t parts = U::wide16 ? 2 : 1;
    const uint8_t* unit = p.weights + pair * p.pair_bytes;
    __m256 f[G][2][1][1];
    for (int g = 0; g < G; ++g) f[g][0][0][0] = f[g][1][0][0] = _mm256_setzero_ps();
    const size_t nb = p.k / 32;
    for (size_t b0 = 0; b0 < nb; b0 += U::layout.blocks, unit += U::layout.bytes) {
        const size_t left = nb - b0;
        for (size_t i = 0; i < U::layout.blocks && i < left; ++i) {
            read_ahead<T>(unit, i, ahead_factor * p.prefetch_bytes);
            const auto act = ActBlock<T>::at(p.act, p.act_stride, p.k, b0 + i);
            for (size_t g = 0; g < G; ++g) {
                const U u = U::at(unit, g);
                for (size_t half = 0; half < 2; ++half) {
                    __m256i v[8];
                    __m256 s[2], m[2][1];
                    u.quads(i, half, v);
                    u.scales(i, half, s, m[0]);
                    __m256 t[1][1] = {};
                    for (size_t part = 0; part < parts; ++part) {
                        __m256i acc[1][1];
                        integer_sums<T, 1, 1>([&](size_t j, int) { return v[4 * part + j]; }, act,
                                              part, acc);
                        fold<T, 1, 1>(acc, s + part, m, act, part, t, f[g][half]);
                    }
                }
            }
        }
    }
    for (int g = 0; g < G; ++g)
        for (int half = 0; half < 2; ++half)
            _mm256_storeu_ps(p.out + pair * pair_columns + 16 * static_cast<size_t>(g) + 8 * half,
                             f[g][half][0][0]);
}

// Two to few_rows rows over the first G groups of a pair: half a block is unpacked into eight
// registers and used for all rows; their sums are in memory, where one load and one store a half
// block hide behind twenty operations.
template <DType T, int G>
__attribute__((noinline)) static void stream_rows(const ProductArgs& p, size_t pair) {
    using U = Unpacker<T>;
    constexpr size_t parts = U::wide16 ? 2 : 1;
    const uint8_t* unit = p.weights + pair * p.pair_bytes;
    alignas(32) float sums[G][2][few_rows][8] = {};
    const size_t nb = p.k / 32;
    for (size_t b0 = 0; b0 < nb; b0 += U::layout.blocks, unit += U::layout.bytes) {
        const size_t left = nb - b0;
        for (size_t i = 0; i < U::layout.blocks && i < left; ++i) {
            read_ahead<T>(unit, i, ahead_factor * p.prefetch_bytes);
            const auto act = ActBlock<T>::at(p.act, p.act_stride, p.k, b0 + i);
            for (size_t g = 0; g < G; ++g) {
                const U u = U::at(unit, g);
                for (size_t half = 0; half < 2; ++half) {
                    __m256i v[8];
                    __m256 s[2], m[2][1];
                    u.quads(i, half, v);
                    u.scales(i, half, s, m[0]);
#pragma GCC unroll 8
                    for (int j = 0; j < 8; ++j) keep_order(v[j]);  // in registers, once
                    float* sum = sums[g][half][0];
                    for (size_t r = 0, at = 0; r < p.rows; ++r, at += p.act_stride, sum += 8) {
                        const auto row = act.from(at);
                        __m256 t[1][1] = {}, f[1][1] = {{_mm256_load_ps(sum)}};
#pragma GCC unroll 2
                        for (size_t part = 0; part < parts; ++part) {
                            __m256i acc[1][1];
                            integer_sums<T, 1, 1>([&](size_t j, int) { return v[4 * part + j]; },
                                                  row, part, acc);
                            fold<T, 1, 1>(acc, s + part, m, row, part, t, f);
                        }
                        _mm256_store_ps(sum, f[0][0]);
                    }
                }
            }
        }
    }
    for (size_t r = 0; r < p.rows; ++r)
        for (size_t g = 0; g < G; ++g)
            for (size_t half = 0; half < 2; ++half)
                _mm256_storeu_ps(p.out + r * p.out_stride + pair * pair_columns + 16 * g + 8 * half,
                                 _mm256_load_ps(sums[g][half][r]));
}

template <DType T>
static inline void stream_groups(const ProductArgs& p) {
    const bool one = p.rows == 1;
    for (size_t pair = 0; pair < p.groups / 2; ++pair)
        one ? stream_one<T, 2>(p, pair) : stream_rows<T, 2>(p, pair);
    if (p.groups % 2 != 0)
        one ? stream_one<T, 1>(p, p.groups / 2) : stream_rows<T, 1>(p, p.groups / 2);
}

// One group in scratch: codes [block][8 quads][64], then f32 scales and minima [scale block][16].
struct Panel {
    uint8_t* codes;
    float* scales;
    float* mins;
};

template <DType T>
static inline Panel panel_at(uint8_t* scratch, size_t k) {
    constexpr size_t parts = Unpacker<T>::wide16 ? 2 : 1;
    auto* scales = reinterpret_cast<float*>(scratch + k * 16);
    return {scratch, scales, scales + k / 32 * parts * 16};
}

template <DType T>
static inline void unpack_panel(const Panel& panel, const ProductArgs& p, size_t group) {
    using U = Unpacker<T>;
    constexpr size_t parts = U::wide16 ? 2 : 1;
    const U u = U::at(p.weights + group / 2 * p.pair_bytes, group % 2);
    for (size_t b = 0; b < p.k / 32; ++b)
        for (size_t half = 0; half < 2; ++half) {
            __m256i v[8];
            __m256 s[2], m[2];
            u.quads(b, half, v);
            u.scales(b, half, s, m);
            for (size_t j = 0; j < 8; ++j)
                _mm256_store_si256(
                    reinterpret_cast<__m256i*>(panel.codes + (b * 8 + j) * 64 + 32 * half), v[j]);
            for (size_t part = 0; part < parts; ++part) {
                const size_t at = (b * parts + part) * 16 + 8 * half;
                _mm256_store_ps(panel.scales + at, s[part]);
                if constexpr (U::has_min) _mm256_store_ps(panel.mins + at, m[part]);
            }
        }
}

// Lines of packed weights to ask for while a panel is used: `per_block` at each block of a tile.
struct Ahead {
    const uint8_t* next;
    size_t per_block;
};

// R rows x 16 columns over a panel.
template <DType T, int R>
__attribute__((noinline)) static void panel_tile(const Panel& panel, const uint8_t* rows,
                                                 const ProductArgs& p, Ahead ahead, float* out) {
    using U = Unpacker<T>;
    constexpr size_t parts = U::wide16 ? 2 : 1;
    __m256 f[R][2], t[R][2] = {};
    for (int r = 0; r < R; ++r) f[r][0] = f[r][1] = _mm256_setzero_ps();
    const uint8_t* codes = panel.codes;
    for (size_t b = 0; b < p.k / 32; ++b) {
        for (size_t line = 0; line < ahead.per_block; ++line, ahead.next += 64)
            __builtin_prefetch(ahead.next);
        const auto act = ActBlock<T>::at(rows, p.act_stride, p.k, b);
#pragma GCC unroll 2
        for (size_t part = 0; part < parts; ++part, codes += 512 / parts) {
            const size_t n = b * parts + part;
            __m256i acc[R][2];
            integer_sums<T, R, 2>(
                [&](size_t j, int c) {
                    return U::load(codes + 64 * j + 32 * static_cast<size_t>(c));
                },
                act, part, acc);
            __m256 s[2], m[2][2];
#pragma GCC unroll 2
            for (size_t c = 0; c < 2; ++c) {
                s[c] = _mm256_load_ps(panel.scales + n * 16 + 8 * c);
#pragma GCC unroll 2
                for (size_t h = 0; h < parts; ++h)
                    if constexpr (U::has_min)
                        m[h][c] = _mm256_load_ps(panel.mins + (b * parts + h) * 16 + 8 * c);
            }
            fold<T, R, 2>(acc, s, m, act, part, t, f);
        }
    }
    for (int r = 0; r < R; ++r) {
        _mm256_storeu_ps(out + static_cast<size_t>(r) * p.out_stride, f[r][0]);
        _mm256_storeu_ps(out + static_cast<size_t>(r) * p.out_stride + 8, f[r][1]);
    }
}

// All rows over a group. The last tiles ask for half of the next pair, as many lines at a block as
// it takes.
template <DType T>
static inline void panel_rows(const ProductArgs& p, size_t group) {
    const Panel panel = panel_at<T>(p.scratch, p.k);
    unpack_panel<T>(panel, p, group);
    const size_t nb = p.k / 32;
    size_t tiles = (p.rows + 2) / 3;
    size_t lines = p.prefetch_bytes == 0 ? 0 : p.pair_bytes / 128;
    const size_t per_block = (lines + tiles * nb - 1) / (tiles * nb);
    const uint8_t* next = p.weights + (group / 2 + 1) * p.pair_bytes + group % 2 * (64 * lines);
    for (size_t row = 0; tiles > 0; --tiles) {
        Ahead ahead{next, 0};
        const size_t most = per_block * nb;
        if ((tiles - 1) * most < lines) {
            ahead.per_block = per_block;
            next += 64 * most;
            lines -= lines < most ? lines : most;
        }
        const size_t rows = (p.rows - row + tiles - 1) / tiles;
        const uint8_t* act = p.act + row * p.act_stride;
        float* out = p.out + row * p.out_stride + group * 16;
        if (rows == 3)
            panel_tile<T, 3>(panel, act, p, ahead, out);
        else
            panel_tile<T, 2>(panel, act, p, ahead, out);
        row += rows;
    }
}

template <DType T>
static inline void product_q8(const ProductArgs& p) {
    if (p.rows <= few_rows) return stream_groups<T>(p);
    for (size_t g = 0; g < p.groups; ++g) panel_rows<T>(p, g);
}

}  // namespace ridge::avx2
