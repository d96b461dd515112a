// What the matrix unit computes, by the CPU: the second rung of the ladder (RIDGE_FW_MAU=0). The
// same integers as mau_reference() while operands are within 12 bits, which the firmware's always
// are; register tiles of 4 rows x 2 columns, so that a multiply-add costs a multiplication of 3
// cycles, an addition, and little else.
#pragma once

#include "boards/ai-max-395/firmware/port.h"

namespace ridge::fw {

inline constexpr int stage_scalar = 10;  // marked with RIDGE_FW_MARKS

// Sums of R rows x 2 columns over the whole depth, row by row. Elements of a row of `q` are
// neighbours, those of a column of `k` are `step` apart. Not inlined and without arrays: the loops
// need all registers. A step loads everything first, as each change of bank costs two cycles.
template <uint32_t R>
static void scalar_tile(uint32_t* sums, const int16_t* q, uint32_t q_stride, const int16_t* k,
                        uint32_t k_stride, uint32_t step, uint32_t depth);

template <>
__attribute__((noinline)) void scalar_tile<4>(uint32_t* sums, const int16_t* q0, uint32_t q_stride,
                                              const int16_t* k0, uint32_t k_stride, uint32_t step,
                                              uint32_t depth) {
    const int16_t* const q1 = q0 + q_stride;
    const int16_t* const q2 = q1 + q_stride;
    const int16_t* const q3 = q2 + q_stride;
    const int16_t* const k1 = k0 + k_stride;
    int32_t s00 = 0, s01 = 0, s10 = 0, s11 = 0, s20 = 0, s21 = 0, s30 = 0, s31 = 0;
    uint32_t at = 0;
#pragma GCC unroll 1
    for (uint32_t d = 0; d < depth; ++d, at += step) {
        const int32_t a0 = q0[d], a1 = q1[d], a2 = q2[d], a3 = q3[d];
        const int32_t b0 = k0[at], b1 = k1[at];
        s00 += a0 * b0, s01 += a0 * b1, s10 += a1 * b0, s11 += a1 * b1;
        s20 += a2 * b0, s21 += a2 * b1, s30 += a3 * b0, s31 += a3 * b1;
    }
    const int32_t all[8] = {s00, s01, s10, s11, s20, s21, s30, s31};
    for (uint32_t i = 0; i < 8; ++i) sums[i] = static_cast<uint32_t>(all[i]);
}

template <>
__attribute__((noinline)) void scalar_tile<1>(uint32_t* sums, const int16_t* q, uint32_t,
                                              const int16_t* k0, uint32_t k_stride, uint32_t step,
                                              uint32_t depth) {
    const int16_t* const k1 = k0 + k_stride;
    int32_t s0 = 0, s1 = 0;
    uint32_t at = 0;
#pragma GCC unroll 1
    for (uint32_t d = 0; d < depth; ++d, at += step) {
        const int32_t a = q[d];
        s0 += a * k0[at], s1 += a * k1[at];
    }
    sums[0] = static_cast<uint32_t>(s0);
    sums[1] = static_cast<uint32_t>(s1);
}

// R rows from row r on, all columns.
template <uint32_t R>
__attribute__((noinline)) static void scalar_rows(const Launch& l, uint32_t r) {
    const bool transposed = (l.ctrl & MAU_CTRL_TRANSPOSE_B) != 0;
    const uint32_t n = l.m_n >> 16, k_stride = transposed ? l.k_stride / 2 : 1,
                   step = transposed ? 1 : l.k_stride / 2;
    const int16_t* const q = at<int16_t>(l.q + r * l.q_stride);
    const int16_t* const k = at<int16_t>(l.k);
    for (uint32_t c = 0; c < n; c += 2) {  // where n is odd the last column is multiplied twice
        const uint32_t first = c + 2 <= n ? c : n - 1, columns = n - first < 2 ? 1 : 2;
        uint32_t sums[2 * R];
        scalar_tile<R>(sums, q, l.q_stride / 2, k + first * k_stride, columns == 2 ? k_stride : 0,
                       step, l.depth);
        for (uint32_t i = 0; i < 2 * R; ++i) {
            if (i % 2 == 1 && columns == 1) continue;
            int32_t* const o = at<int32_t>(l.o + (r + i / 2) * l.o_stride) + first + i % 2;
            if (l.ctrl & MAU_CTRL_ACCUMULATE) sums[i] += static_cast<uint32_t>(*o);
            const auto v = static_cast<int32_t>(sums[i]);
            *o = l.shift == MAU_NO_SHIFT || l.shift == 0
                     ? v
                     : static_cast<int32_t>((v + (int64_t{1} << (l.shift - 1))) >> l.shift);
        }
    }
}

__attribute__((noinline)) static void scalar_product(const Launch& l) {
    if (RIDGE_FW_MARKS) FW_STAGE_BEGIN(stage_scalar);
    const uint32_t m = l.m_n & 0xffffu;
    uint32_t r = 0;
    for (; r + 4 <= m; r += 4) scalar_rows<4>(l, r);
    for (; r < m; ++r) scalar_rows<1>(l, r);
    if (RIDGE_FW_MARKS) FW_STAGE_END();
}

}  // namespace ridge::fw
