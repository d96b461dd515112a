// Roof loops of AVX-512 with VNNI and BF16 (roof.hpp).
//
// vpdpbusd, vdpbf16ps and vfmadd231ps on zmm: 64, 32 and 16 multiply-adds an instruction, at most
// two instructions a cycle (Zen 5; one on Zen 4), latency at most six. Sixteen accumulators cover
// 2 x 6, and leave room for the operands among 32 registers. Products of 0.5 and 0.25 are exact in
// bf16 and their sums in f32 (below 2^24 units of 0.125), so nothing overflows or rounds.
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/roof/roof.hpp"

namespace ridge::avx512 {
namespace {

constexpr unsigned chains = 16;

// Accumulators are named, not an array, and pinned by an empty asm: GCC 12 otherwise keeps them in
// memory or copies each one twice a round.
#define RIDGE_EACH(f) \
    f(0) f(1) f(2) f(3) f(4) f(5) f(6) f(7) f(8) f(9) f(10) f(11) f(12) f(13) f(14) f(15)
#define RIDGE_KEEP(vector) __asm__("" : "+v"(vector))

// Sums of lanes through memory: GCC 12 warns of its own _mm512_reduce_add.
uint32_t total(__m512i v) {
    alignas(64) uint32_t lanes[16];
    _mm512_store_si512(lanes, v);
    uint32_t sum = 0;
    for (const uint32_t lane : lanes) sum += lane;
    return sum;
}

float total(__m512 v) {
    alignas(64) float lanes[16];
    _mm512_store_ps(lanes, v);
    float sum = 0;
    for (const float lane : lanes) sum += lane;
    return sum;
}

uint32_t int8_loop(uint32_t rounds) {
    const __m512i a = _mm512_set1_epi8(3);
    const __m512i b = _mm512_set1_epi8(-2);
    const __m512i zero = _mm512_setzero_si512();
#define RIDGE_INIT(c) __m512i sum##c = zero;
    RIDGE_EACH(RIDGE_INIT)
    for (uint32_t r = 0; r < rounds; ++r) {
#define RIDGE_STEP(c)                           \
    sum##c = _mm512_dpbusd_epi32(sum##c, a, b); \
    RIDGE_KEEP(sum##c);
        RIDGE_EACH(RIDGE_STEP)
#undef RIDGE_STEP
    }
    __m512i all = zero;
#define RIDGE_ADD(c) all = _mm512_add_epi32(all, sum##c);
    RIDGE_EACH(RIDGE_ADD)
#undef RIDGE_ADD
#undef RIDGE_INIT
    return total(all);
}

#define RIDGE_INIT(c) __m512 sum##c = zero;
#define RIDGE_ADD(c) all = _mm512_add_ps(all, sum##c);

float bf16_loop(uint32_t rounds) {
    // 0.5 and 0.25 as bf16
    const __m512bh a = reinterpret_cast<__m512bh>(_mm512_set1_epi16(0x3f00));
    const __m512bh b = reinterpret_cast<__m512bh>(_mm512_set1_epi16(0x3e80));
    const __m512 zero = _mm512_setzero_ps();
    RIDGE_EACH(RIDGE_INIT)
    for (uint32_t r = 0; r < rounds; ++r) {
#define RIDGE_STEP(c)                        \
    sum##c = _mm512_dpbf16_ps(sum##c, a, b); \
    RIDGE_KEEP(sum##c);
        RIDGE_EACH(RIDGE_STEP)
#undef RIDGE_STEP
    }
    __m512 all = zero;
    RIDGE_EACH(RIDGE_ADD)
    return total(all);
}

float f32_loop(uint32_t rounds) {
    const __m512 a = _mm512_set1_ps(0.5f);
    const __m512 b = _mm512_set1_ps(0.25f);
    const __m512 zero = _mm512_setzero_ps();
    RIDGE_EACH(RIDGE_INIT)
    for (uint32_t r = 0; r < rounds; ++r) {
#define RIDGE_STEP(c)                       \
    sum##c = _mm512_fmadd_ps(a, b, sum##c); \
    RIDGE_KEEP(sum##c);
        RIDGE_EACH(RIDGE_STEP)
#undef RIDGE_STEP
    }
    __m512 all = zero;
    RIDGE_EACH(RIDGE_ADD)
    return total(all);
}

template <unsigned streams, bool ahead>
uint64_t read_loop(const uint8_t* p, size_t bytes, size_t stride, size_t prefetch) {
    __m512i x[4];
    for (unsigned w = 0; w < 4; ++w) x[w] = _mm512_setzero_si512();
    for (size_t i = 0; i < bytes; i += 256) {
        for (unsigned s = 0; s < streams; ++s) {
            const uint8_t* q = p + s * stride + i;
            for (unsigned w = 0; w < 4; ++w) {
                if (ahead)
                    _mm_prefetch(reinterpret_cast<const char*>(q + prefetch + 64 * w), _MM_HINT_T0);
                x[w] = _mm512_xor_si512(x[w], _mm512_load_si512(q + 64 * w));
            }
        }
    }
    x[0] = _mm512_xor_si512(_mm512_xor_si512(x[0], x[1]), _mm512_xor_si512(x[2], x[3]));
    alignas(64) uint64_t words[8];
    _mm512_store_si512(words, x[0]);
    uint64_t all = 0;
    for (const uint64_t word : words) all ^= word;
    return all;
}

template <unsigned streams>
uint64_t read_streams(const uint8_t* p, size_t bytes, size_t stride, size_t prefetch) {
    return prefetch != 0 ? read_loop<streams, true>(p, bytes, stride, prefetch)
                         : read_loop<streams, false>(p, bytes, stride, 0);
}

uint64_t read(const uint8_t* p, size_t bytes, size_t stride, unsigned streams, size_t prefetch) {
    switch (streams) {
        case 1:
            return read_streams<1>(p, bytes, stride, prefetch);
        case 2:
            return read_streams<2>(p, bytes, stride, prefetch);
        case 4:
            return read_streams<4>(p, bytes, stride, prefetch);
        case 8:
            return read_streams<8>(p, bytes, stride, prefetch);
        default:
            return 0;
    }
}

}  // namespace

const RoofKernels roof = {
    "avx512", chains * 64, chains * 32, chains * 16, int8_loop, bf16_loop, f32_loop, read,
};

}  // namespace ridge::avx512
