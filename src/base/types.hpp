// Tensor element types of GGUF files and their block geometry. Freestanding.
//
// Type numbers and block sizes are those of the GGUF specification (ggml type enumeration).
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace ridge {

enum class DType : uint8_t {
    f32,
    f16,
    bf16,
    q4_0,
    q4_1,
    q5_0,
    q5_1,
    q8_0,
    q2_k,
    q3_k,
    q4_k,
    q5_k,
    q6_k,
    iq4_nl,
    iq4_xs,
    mxfp4,
    count_
};

struct DTypeInfo {
    const char* name;      // as GGUF tools print it: "Q4_K"
    uint32_t ggml_type;    // number in the file
    uint32_t block;        // weights a block
    uint32_t block_bytes;  // bytes a block
};

inline constexpr DTypeInfo dtype_table[] = {
    {"F32", 0, 1, 4},       {"F16", 1, 1, 2},       {"BF16", 30, 1, 2},
    {"Q4_0", 2, 32, 18},    {"Q4_1", 3, 32, 20},    {"Q5_0", 6, 32, 22},
    {"Q5_1", 7, 32, 24},    {"Q8_0", 8, 32, 34},    {"Q2_K", 10, 256, 84},
    {"Q3_K", 11, 256, 110}, {"Q4_K", 12, 256, 144}, {"Q5_K", 13, 256, 176},
    {"Q6_K", 14, 256, 210}, {"IQ4_NL", 20, 32, 18}, {"IQ4_XS", 23, 256, 136},
    {"MXFP4", 39, 32, 17},
};
static_assert(sizeof(dtype_table) / sizeof(dtype_table[0]) == static_cast<size_t>(DType::count_));

static constexpr const DTypeInfo& info(DType t) {
    return dtype_table[static_cast<size_t>(t)];
}
static constexpr const char* name(DType t) {
    return info(t).name;
}

// Bytes of a row of `k` weights; `k` must be a multiple of the type's block.
static constexpr size_t row_bytes(DType t, size_t k) {
    return k / info(t).block * info(t).block_bytes;
}

}  // namespace ridge
