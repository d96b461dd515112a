// Heads prepared for attention by a set's row kernels, one after the other, shared by sets as
// static code. Freestanding.
//
// Norm, rotation and scale are done in place on a copy: rms_norm, rope, scale, to_bf16, in this
// order, so that the arithmetic is that of the row kernels.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "kernels/contract.hpp"

namespace ridge {

static inline void heads_by_rows(const RowKernels& row, const HeadArgs& a) {
    const size_t padded = kv_padded(a.head_dim);
    for (size_t i = 0; i < static_cast<size_t>(a.rows) * a.heads; ++i) {
        const float* x = a.x + i / a.heads * a.x_stride + i % a.heads * a.head_dim;
        float* y = a.bf16 ? a.scratch : static_cast<float*>(a.out) + i * padded;
        if (a.norm != nullptr)
            row.rms_norm(x, a.norm, a.head_dim, a.epsilon, y);
        else
            __builtin_memcpy(y, x, a.head_dim * sizeof(float));
        for (size_t d = a.head_dim; d < padded; ++d) y[d] = 0.0f;
        if (a.n_rot != 0) row.rope(y, a.cos_sin + i / a.heads * a.n_rot, a.n_rot);
        row.scale(y, a.scale, a.head_dim);
        if (a.bf16) row.to_bf16(y, padded, static_cast<uint16_t*>(a.out) + i * padded);
    }
}

}  // namespace ridge
