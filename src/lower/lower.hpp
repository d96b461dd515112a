// Lowering: a logical program for this machine. Fuses steps, picks layouts and kernels, plans
// memory.
#pragma once

#include <vector>

#include "base/status.hpp"
#include "format/gguf.hpp"
#include "kernels/registry.hpp"
#include "lower/lowered.hpp"

namespace ridge {

struct LowerOptions {
    uint32_t max_rows = 512;       // rows (tokens) of one pass
    uint32_t max_logits = 64;      // rows of one pass whose logits may be asked for
    bool f32_activations = false;  // oracle mode: no quantization or rounding of activations
    KvType kv = KvType::bf16;
    bool keep_hidden = false;  // the last residual stays readable behind a pass: embeddings
};

// Owns what a Lowered points to.
struct LoweredModel {
    std::vector<LoweredStep> steps;
    std::vector<BufferPlan> buffers;
    Lowered lowered{};

    LoweredModel() = default;
    LoweredModel(LoweredModel&&) = default;
    LoweredModel& operator=(LoweredModel&&) = default;
};

// Weights stay unbound (packed, norm, ... null): the weight store binds them. Errors: a product
// without a kernel, a row length that a kernel cannot take.
Result<LoweredModel> lower(const Program& program, const GgufFile& file,
                           const KernelChoice& kernels, const LowerOptions& options);

}  // namespace ridge
