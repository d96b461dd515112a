// Roof loops without vector instructions of ridge's own, and the choice among the sets.
#include "kernels/roof/roof.hpp"

#include "base/cpu.hpp"

namespace ridge {
namespace {

constexpr unsigned chains = 8;

// Hides a value from the optimizer, which would otherwise fold the loop into a product.
template <typename T>
void opaque(T& value) {
    __asm__ volatile("" : "+r"(value));
}
void opaque(float& value) {
#if defined(__x86_64__)
    __asm__ volatile("" : "+x"(value));
#elif defined(__riscv) || defined(__aarch64__)
    __asm__ volatile("" : "+m"(value));
#endif
}

uint32_t int8_loop(uint32_t rounds) {
    uint32_t sum[chains] = {};
    uint32_t a = 3, b = static_cast<uint32_t>(-2);
    for (uint32_t r = 0; r < rounds; ++r) {
        for (unsigned c = 0; c < chains; ++c) {
            opaque(a);
            sum[c] += a * b;
        }
    }
    uint32_t total = 0;
    for (const uint32_t s : sum) total += s;
    return total;
}

float f32_loop(uint32_t rounds) {
    float sum[chains] = {};
    float a = 0.5f, b = 0.25f;
    for (uint32_t r = 0; r < rounds; ++r) {
        for (unsigned c = 0; c < chains; ++c) {
            opaque(a);
            sum[c] += a * b;
        }
    }
    float total = 0;
    for (const float s : sum) total += s;
    return total;
}

template <unsigned streams>
uint64_t read_loop(const uint8_t* p, size_t bytes, size_t stride, size_t prefetch) {
    uint64_t x[4] = {};
    for (size_t i = 0; i < bytes; i += 256) {
        for (unsigned s = 0; s < streams; ++s) {
            const uint8_t* q = p + s * stride + i;
            if (prefetch != 0) {
                for (unsigned line = 0; line < 256; line += 64)
                    __builtin_prefetch(q + prefetch + line);
            }
            for (unsigned at = 0; at < 256; at += 32) {
                for (unsigned w = 0; w < 4; ++w) {
                    uint64_t word;
                    __builtin_memcpy(&word, q + at + 8 * w, 8);
                    x[w] ^= word;
                }
            }
        }
    }
    return x[0] ^ x[1] ^ x[2] ^ x[3];
}

uint64_t read(const uint8_t* p, size_t bytes, size_t stride, unsigned streams, size_t prefetch) {
    switch (streams) {
        case 1:
            return read_loop<1>(p, bytes, stride, prefetch);
        case 2:
            return read_loop<2>(p, bytes, stride, prefetch);
        case 4:
            return read_loop<4>(p, bytes, stride, prefetch);
        case 8:
            return read_loop<8>(p, bytes, stride, prefetch);
        default:
            return 0;
    }
}

}  // namespace

const RoofKernels scalar_roof = {
    "scalar", chains, 0, chains, int8_loop, nullptr, f32_loop, read,
};

const RoofKernels& best_roof_kernels() {
#if defined(__x86_64__)
    if (cpu().has_avx512_set()) return avx512::roof;
    if (cpu().has_avx2_set()) return avx2::roof;
#endif
    return scalar_roof;
}

}  // namespace ridge
