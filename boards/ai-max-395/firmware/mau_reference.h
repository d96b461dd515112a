// What the matrix unit computes, as a function: for the host build, and for the chip with
// RIDGE_FW_MAU=0 (products by the CPU).
#pragma once

#include "boards/ai-max-395/firmware/port.h"

namespace ridge::fw {

static inline int32_t operand(int16_t v) {
    return v < MAU_OPERAND_MIN ? MAU_OPERAND_MIN : v > MAU_OPERAND_MAX ? MAU_OPERAND_MAX : v;
}

static inline void mau_reference(const Launch& l) {
    const uint32_t m = l.m_n & 0xffffu, n = l.m_n >> 16;
    const bool transposed = (l.ctrl & MAU_CTRL_TRANSPOSE_B) != 0;
    const uint32_t row_step = transposed ? l.k_stride : 2u,
                   depth_step = transposed ? 2u : l.k_stride;
    for (uint32_t i = 0; i < m; ++i) {
        const int16_t* const q = at<int16_t>(l.q + i * l.q_stride);
        int32_t* const o = at<int32_t>(l.o + i * l.o_stride);
        for (uint32_t j = 0; j < n; ++j) {
            uint32_t k = l.k + j * row_step;
            uint32_t sum = 0;
            for (uint32_t d = 0; d < l.depth; ++d, k += depth_step)
                sum += static_cast<uint32_t>(operand(q[d]) * operand(*at<int16_t>(k)));
            if (l.ctrl & MAU_CTRL_ACCUMULATE) sum += static_cast<uint32_t>(o[j]);
            int64_t v = static_cast<int32_t>(sum);
            if (l.shift != MAU_NO_SHIFT && l.shift != 0)
                v = (v + (int64_t{1} << (l.shift - 1))) >> l.shift;
            o[j] = static_cast<int32_t>(v);
        }
    }
}

}  // namespace ridge::fw
