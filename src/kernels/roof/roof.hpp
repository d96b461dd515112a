// Loops that reach the machine's roofs: the highest rate of multiply-adds of each kind that a set
// of instructions offers, and reads of memory in several linear streams. Freestanding.
//
// What ridge divides by when it prints a percentage of the roof. The arithmetic loops work on
// registers alone, with more independent accumulators than latency x ports needs. They return what
// they computed, in a form that tells how many multiply-adds were really done (tests check it).
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace ridge {

struct RoofKernels {
    const char* set;  // "avx512", "avx2", "scalar"

    // Multiply-adds one round does, all lanes and accumulators; one counts as two operations.
    uint32_t int8_macs;
    uint32_t bf16_macs;  // 0 where bf16 has no instruction: then f32 is its roof
    uint32_t f32_macs;

    // `rounds` rounds of u8 a (3) times s8 b (-2), summed over everything: the result is
    // -6 * int8_macs * rounds modulo 2^32.
    uint32_t (*int8)(uint32_t rounds);
    // Likewise 0.5 * 0.25 per multiply-add: 0.125 * macs * rounds, exact for rounds <= 2^16.
    float (*bf16)(uint32_t rounds);
    float (*f32)(uint32_t rounds);

    // Reads `bytes` bytes (a multiple of 256) of each of `streams` (1, 2, 4, 8) parts that begin
    // at p, p + stride, ...; p and stride are multiples of 64. 256 bytes of each part in turn; with
    // prefetch != 0 every line is asked for that many bytes ahead (past the end too, which is
    // harmless). Returns the exclusive or of all 64-bit words, 0 for any other number of streams.
    uint64_t (*read)(const uint8_t* p, size_t bytes, size_t stride, unsigned streams,
                     size_t prefetch);
};

extern const RoofKernels scalar_roof;
#if defined(__x86_64__)
namespace avx2 {
extern const RoofKernels roof;  // needs AVX2, FMA
}
namespace avx512 {
extern const RoofKernels roof;  // needs AVX-512 F, BW, VNNI, BF16
}
#endif

// The set with the highest peaks among those this machine runs.
const RoofKernels& best_roof_kernels();

}  // namespace ridge
