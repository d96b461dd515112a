// Roof loops of AVX2 with FMA (roof.hpp).
//
// int8: vpmaddubsw, vpmaddwd by ones, vpaddd: 32 multiply-adds in three instructions; the sums of
// the first stay far from saturation (3 * -2 * 2). Bound: the two multiplies, of which two a cycle
// start: 32 multiply-adds a cycle, a quarter of two vpdpbusd of 512 bits. (Measured on Zen 5: 0.249
// of them.) Products of small codes sum in 16 bits before they widen, do fewer multiplies and may
// pass this roof (product_q8.hpp).
// f32: vfmadd231ps, two a cycle with latency at most five. Ten accumulators cover that. bf16 has
// no instruction here.
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/roof/roof.hpp"

namespace ridge::avx2 {
namespace {

constexpr unsigned chains = 10;

// Accumulators are named, not an array, and pinned by an empty asm: GCC 12 otherwise keeps them in
// memory. The same asm on an operand hides that a product of it does not change in the loop.
#define RIDGE_EACH(f) f(0) f(1) f(2) f(3) f(4) f(5) f(6) f(7) f(8) f(9)
#define RIDGE_KEEP(vector) __asm__("" : "+x"(vector))

uint32_t int8_loop(uint32_t rounds) {
    __m256i a = _mm256_set1_epi8(3);
    const __m256i b = _mm256_set1_epi8(-2);
    const __m256i ones = _mm256_set1_epi16(1);
    const __m256i zero = _mm256_setzero_si256();
#define RIDGE_INIT(c) __m256i sum##c = zero;
    RIDGE_EACH(RIDGE_INIT)
#undef RIDGE_INIT
    for (uint32_t r = 0; r < rounds; ++r) {
#define RIDGE_STEP(c)                                                                       \
    RIDGE_KEEP(a);                                                                          \
    sum##c = _mm256_add_epi32(sum##c, _mm256_madd_epi16(_mm256_maddubs_epi16(a, b), ones)); \
    RIDGE_KEEP(sum##c);
        RIDGE_EACH(RIDGE_STEP)
#undef RIDGE_STEP
    }
    __m256i all = zero;
#define RIDGE_ADD(c) all = _mm256_add_epi32(all, sum##c);
    RIDGE_EACH(RIDGE_ADD)
#undef RIDGE_ADD
    alignas(32) uint32_t lanes[8];
    _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), all);
    uint32_t total = 0;
    for (const uint32_t lane : lanes) total += lane;
    return total;
}

float f32_loop(uint32_t rounds) {
    const __m256 a = _mm256_set1_ps(0.5f);
    const __m256 b = _mm256_set1_ps(0.25f);
    const __m256 zero = _mm256_setzero_ps();
#define RIDGE_INIT(c) __m256 sum##c = zero;
    RIDGE_EACH(RIDGE_INIT)
#undef RIDGE_INIT
    for (uint32_t r = 0; r < rounds; ++r) {
#define RIDGE_STEP(c)                       \
    sum##c = _mm256_fmadd_ps(a, b, sum##c); \
    RIDGE_KEEP(sum##c);
        RIDGE_EACH(RIDGE_STEP)
#undef RIDGE_STEP
    }
    __m256 all = zero;
#define RIDGE_ADD(c) all = _mm256_add_ps(all, sum##c);
    RIDGE_EACH(RIDGE_ADD)
#undef RIDGE_ADD
    alignas(32) float lanes[8];
    _mm256_store_ps(lanes, all);
    float total = 0;
    for (const float lane : lanes) total += lane;
    return total;
}

template <unsigned streams, bool ahead>
uint64_t read_loop(const uint8_t* p, size_t bytes, size_t stride, size_t prefetch) {
    __m256i x[4];
    for (unsigned w = 0; w < 4; ++w) x[w] = _mm256_setzero_si256();
    for (size_t i = 0; i < bytes; i += 256) {
        for (unsigned s = 0; s < streams; ++s) {
            const uint8_t* q = p + s * stride + i;
            for (unsigned w = 0; w < 8; ++w) {
                if (ahead && w % 2 == 0)
                    _mm_prefetch(reinterpret_cast<const char*>(q + prefetch + 32 * w), _MM_HINT_T0);
                const __m256i* line = reinterpret_cast<const __m256i*>(q + 32 * w);
                x[w % 4] = _mm256_xor_si256(x[w % 4], _mm256_load_si256(line));
            }
        }
    }
    x[0] = _mm256_xor_si256(_mm256_xor_si256(x[0], x[1]), _mm256_xor_si256(x[2], x[3]));
    alignas(32) uint64_t words[4];
    _mm256_store_si256(reinterpret_cast<__m256i*>(words), x[0]);
    return words[0] ^ words[1] ^ words[2] ^ words[3];
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
    "avx2", chains * 32, 0, chains * 8, int8_loop, nullptr, f32_loop, read,
};

}  // namespace ridge::avx2
