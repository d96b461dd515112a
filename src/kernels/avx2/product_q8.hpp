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
// Stream (up to stream_rows rows): packed bytes are read once. One row runs pair after pair, one
// linear stream, and unpacks half a group in registers: about 7 vector instructions for 32 bytes of
// 4-bit codes. Two to four rows unpack a block of one group into a buffer of 512 bytes, the pair's
// second group from the cache. Bound: read bandwidth.
// Panel (more rows): a group is unpacked once into scratch (L1/L2) and used for all rows, in tiles
// of 3 rows x 16 columns: six 16-bit and six float accumulators, two weights, one activation in 16
// registers. Bound: the four vector pipes; a quad of the tile is 6 vpmaddubsw and 6 vpaddw, a block
// 8 such and 30 instructions for widening, zero point, scales and FMA: 96 / 126 for 4-bit codes.
// The loop "vpmaddubsw, vpmaddwd, vpaddd" that counts as this set's roof does less a cycle.
#pragma once

#include "kernels/avx2/product_unpack.hpp"
#include "kernels/contract.hpp"
#include "kernels/read_ahead.hpp"

namespace ridge::avx2 {

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

// Rows of activations as the loops see them.
struct ActRows {
    const uint8_t* row;
    size_t stride;
    Q8Offsets at;

    inline const uint8_t* operator()(int r) const { return row + static_cast<size_t>(r) * stride; }
};

// i for R rows x C vectors of 8 columns over the `quads` quads of scale block `n` (counted in 16 k
// where Wide16). `weights(j, c)` is quad j of vector c.
template <DType T, int R, int C, class Weights>
static inline void integer_sums(const Weights& weights, const ActRows& act, size_t n,
                                __m256i acc[R][C]) {
    using U = Unpacker<T>;
    constexpr size_t quads = U::wide16 ? 4 : 8;
    const __m256i ones = _mm256_set1_epi16(1);
    const size_t k0 = n * 4 * quads;
#pragma GCC unroll 8
    for (size_t j0 = 0; j0 < quads; j0 += U::depth) {
        __m256i sum[R][C];
#pragma GCC unroll 8
        for (size_t j = j0; j < j0 + U::depth; ++j) {
            __m256i w[C];
            for (int c = 0; c < C; ++c) w[c] = weights(j, c);
            for (int r = 0; r < R; ++r) {
                const __m256i a = broadcast4(act(r) + k0 + 4 * j);
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
        const size_t bias_at = U::wide16 ? act.at.bias16 : act.at.bias;
        for (int r = 0; r < R; ++r) {
            const __m256i bias =
                _mm256_srai_epi32(broadcast4(act(r) + bias_at + 4 * n), U::bias_shift);
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

// f += i * ws * as, then f += min * fsum, for scale block n. Where a scale covers 16 k, the first
// of a block's two sums waits in `t`, scaled, for the second: f += (i0 * ws0 + i1 * ws1) * as;
// minima of such types come first, in bf16, the second before the first: `m` are those of both
// parts.
template <DType T, int R, int C>
static inline void fold(const __m256i acc[R][C], const __m256 s[C], const __m256 m[2][C],
                        const ActRows& act, size_t b, size_t part, __m256 t[R][C], __m256 f[R][C]) {
    using U = Unpacker<T>;
    for (int r = 0; r < R; ++r) {
        const __m256 as = broadcast_f32(act(r) + act.at.scale + 4 * b);
        if constexpr (U::wide16 && U::has_min) {
            if (part == 0)
                for (size_t h = 2; h-- > 0;) {
                    const __m256 fsum = broadcast_bf16(act(r) + act.at.fsum16 + 4 * b + 2 * h);
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
            const __m256 fsum = broadcast_f32(act(r) + act.at.fsum + 4 * b);
            for (int c = 0; c < C; ++c) f[r][c] = _mm256_fmadd_ps(m[0][c], fsum, f[r][c]);
        }
    }
}

// One row over the first G groups of a pair straight from the packed bytes, half a group at a time.
template <DType T, int G>
static inline void stream_one(const ProductArgs& p, size_t pair) {
    using U = Unpacker<T>;
    constexpr size_t parts = U::wide16 ? 2 : 1;
    const ActRows act{p.act, p.act_stride, q8_offsets(p.k)};
    const uint8_t* unit = p.weights + pair * p.pair_bytes;
    __m256 f[G][2][1][1];
    for (int g = 0; g < G; ++g) f[g][0][0][0] = f[g][1][0][0] = _mm256_setzero_ps();
    const size_t nb = p.k / 32;
    for (size_t b0 = 0; b0 < nb; b0 += U::layout.blocks, unit += U::layout.bytes) {
        const size_t left = nb - b0;
        for (size_t i = 0; i < U::layout.blocks && i < left; ++i) {
            read_ahead<T>(unit, i, p.prefetch_bytes);
            for (size_t g = 0; g < G; ++g) {
                const U u = U::at(unit, g);
                for (size_t half = 0; half < 2; ++half) {
                    __m256i v[8];
                    __m256 s[2], m[2][1];
                    u.quads(i, half, v);
                    u.scales(i, half, s, m[0]);
                    __m256 t[1][1] = {};
                    for (size_t part = 0; part < parts; ++part) {
                        const size_t n = (b0 + i) * parts + part;
                        __m256i acc[1][1];
                        integer_sums<T, 1, 1>([&](size_t j, int) { return v[4 * part + j]; }, act,
                                              n, acc);
                        fold<T, 1, 1>(acc, s + part, m, act, b0 + i, part, t, f[g][half]);
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

// R rows over one group: a block is unpacked into a buffer of its own, from which both halves are
// used for all rows.
template <DType T, int R>
static inline void stream_rows(const ProductArgs& p, size_t group) {
    using U = Unpacker<T>;
    constexpr size_t parts = U::wide16 ? 2 : 1;
    const ActRows act{p.act, p.act_stride, q8_offsets(p.k)};
    const U u = U::at(p.weights + group / 2 * p.pair_bytes, group % 2);
    alignas(64) uint8_t codes[512];
    __m256 f[R][2];
    for (int r = 0; r < R; ++r) f[r][0] = f[r][1] = _mm256_setzero_ps();
    for (size_t b = 0; b < p.k / 32; ++b) {
        if (group % 2 == 0) read_ahead<T>(u.pair, b, p.prefetch_bytes);
        __m256 s[2][2], m[2][2];
        for (size_t half = 0; half < 2; ++half) {
            __m256i v[8];
            __m256 hs[2], hm[2];
            u.quads(b, half, v);
            u.scales(b, half, hs, hm);
            for (size_t j = 0; j < 8; ++j)
                _mm256_store_si256(reinterpret_cast<__m256i*>(codes + 64 * j + 32 * half), v[j]);
            for (size_t part = 0; part < parts; ++part) {
                s[part][half] = hs[part];
                if constexpr (U::has_min) m[part][half] = hm[part];
            }
        }
        __m256 t[R][2] = {};
        __asm__("" ::: "memory");  // the buffer stays one: 16 vectors of codes fit no registers
        for (size_t part = 0; part < parts; ++part) {
            __m256i acc[R][2];
            integer_sums<T, R, 2>(
                [&](size_t j, int c) {
                    return U::load(codes + 256 * part + 64 * j + 32 * static_cast<size_t>(c));
                },
                act, b * parts + part, acc);
            fold<T, R, 2>(acc, s[part], m, act, b, part, t, f);
        }
    }
    for (int r = 0; r < R; ++r) {
        float* out = p.out + static_cast<size_t>(r) * p.out_stride + group * 16;
        _mm256_storeu_ps(out, f[r][0]);
        _mm256_storeu_ps(out + 8, f[r][1]);
    }
}

template <DType T, int R>
static inline void stream_groups(const ProductArgs& p) {
    if constexpr (R == 1) {
        for (size_t pair = 0; pair < p.groups / 2; ++pair) stream_one<T, 2>(p, pair);
        if (p.groups % 2 != 0) stream_one<T, 1>(p, p.groups / 2);
    } else {
        for (size_t g = 0; g < p.groups; ++g) stream_rows<T, R>(p, g);
    }
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

// R rows x 16 columns over a panel.
template <DType T, int R>
__attribute__((noinline)) static void panel_tile(const Panel& panel, const uint8_t* rows,
                                                 const ProductArgs& p, float* out) {
    using U = Unpacker<T>;
    constexpr size_t parts = U::wide16 ? 2 : 1;
    const ActRows act{rows, p.act_stride, q8_offsets(p.k)};
    __m256 f[R][2], t[R][2] = {};
    for (int r = 0; r < R; ++r) f[r][0] = f[r][1] = _mm256_setzero_ps();
    const uint8_t* codes = panel.codes;
    for (size_t b = 0; b < p.k / 32; ++b)
#pragma GCC unroll 2
        for (size_t part = 0; part < parts; ++part, codes += 512 / parts) {
            const size_t n = b * parts + part;
            __m256i acc[R][2];
            integer_sums<T, R, 2>(
                [&](size_t j, int c) {
                    return U::load(codes + 64 * j + 32 * static_cast<size_t>(c));
                },
                act, n, acc);
            __m256 s[2], m[2][2];
            for (size_t c = 0; c < 2; ++c) {
                s[c] = _mm256_load_ps(panel.scales + n * 16 + 8 * c);
                for (size_t h = 0; h < parts; ++h)
                    if constexpr (U::has_min)
                        m[h][c] = _mm256_load_ps(panel.mins + (b * parts + h) * 16 + 8 * c);
            }
            fold<T, R, 2>(acc, s, m, act, b, part, t, f);
        }
    for (int r = 0; r < R; ++r) {
        _mm256_storeu_ps(out + static_cast<size_t>(r) * p.out_stride, f[r][0]);
        _mm256_storeu_ps(out + static_cast<size_t>(r) * p.out_stride + 8, f[r][1]);
    }
}

template <DType T>
static inline void panel_rows(const ProductArgs& p, size_t group) {
    const Panel panel = panel_at<T>(p.scratch, p.k);
    unpack_panel<T>(panel, p, group);
    float* out = p.out + group * 16;
    size_t row = 0;
    for (; row + 3 <= p.rows && row + 4 != p.rows; row += 3)
        panel_tile<T, 3>(panel, p.act + row * p.act_stride, p, out + row * p.out_stride);
    if (row + 4 == p.rows)  // spills a little, and still beats 3 + 1 and 2 + 2
        panel_tile<T, 4>(panel, p.act + row * p.act_stride, p, out + row * p.out_stride);
    else if (row + 2 == p.rows)
        panel_tile<T, 2>(panel, p.act + row * p.act_stride, p, out + row * p.out_stride);
}

template <DType T>
static inline void product_q8(const ProductArgs& p) {
    switch (p.rows) {
        case 1:
            return stream_groups<T, 1>(p);
        case 2:
            return stream_groups<T, 2>(p);
        case 3:
            return stream_groups<T, 3>(p);
        case 4:
            return stream_groups<T, 4>(p);
        default:
            for (size_t g = 0; g < p.groups; ++g) panel_rows<T>(p, g);
    }
}

}  // namespace ridge::avx2
