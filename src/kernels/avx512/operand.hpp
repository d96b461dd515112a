// Activation operands and read-ahead, shared by the loops of the int8 product.
#pragma once

#include "kernels/avx512/unpack.hpp"
#include "kernels/contract.hpp"
#include "kernels/read_ahead.hpp"

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

template <DType T>
static inline void prefetch_block(const Unpacker<T>& u, size_t b, size_t distance) {
    read_ahead<T>(u.pair, b, distance);
}

}  // namespace ridge::avx512
