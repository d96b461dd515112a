// Activation operands and read-ahead, shared by the loops of the int8 product.
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

// Asks for the codes `distance` bytes behind block b's; what lies behind a group is the next one.
template <DType T>
static inline void prefetch_block(const Unpacker<T>& u, size_t b, size_t distance) {
    if (distance == 0) return;
    const uint8_t* ahead = u.low + b * Unpacker<T>::low_block + distance;
    for (size_t line = 0; line < Unpacker<T>::low_block; line += 64)
        _mm_prefetch(reinterpret_cast<const char*>(ahead + line), _MM_HINT_T0);
}

}  // namespace ridge::avx512
