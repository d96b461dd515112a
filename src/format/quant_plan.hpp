// Which type each tensor of a model gets when the whole is quantized to one target, by the rules of
// llama.cpp's llama-quantize (src/llama-quant.cpp at d32676d7), so that a file made here has the
// types, and so the size, that its users expect.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.hpp"
#include "format/gguf.hpp"

namespace ridge {

enum class QuantTarget {
    f32,
    f16,
    bf16,
    q4_0,
    q4_1,
    q5_0,
    q5_1,
    q8_0,
    q4_k_s,
    q4_k_m,
    q5_k_s,
    q5_k_m,
    q6_k,
    iq4_nl
};

struct QuantTargetInfo {
    const char* name;
    QuantTarget target;
    DType type;          // of most matrices
    uint32_t file_type;  // general.file_type
};

// By name in any case; "Q4_K" and "Q5_K" are the mixes Q4_K_M and Q5_K_M, as they are there.
std::optional<QuantTargetInfo> find_quant_target(std::string_view name);
// "F32, F16, ..."
std::string quant_targets();

struct PlannedTensor {
    const TensorInfo* from;
    DType type;
    DType wanted;  // by the rules; another than `type` where its block does not divide the rows
};

// The tensors of `file`, in its order, and their types. `pure` gives every matrix the target's main
// type (where rows allow). A tensor that stays as it is has from->type.
std::vector<PlannedTensor> plan_quantization(const GgufFile& file, const QuantTargetInfo& target,
                                             bool importance, bool pure);

}  // namespace ridge
