// Fusion: a program's steps to the five lowered kinds, without memory.
#pragma once

#include <vector>

#include "base/status.hpp"
#include "format/gguf.hpp"
#include "kernels/registry.hpp"
#include "lower/lowered.hpp"

namespace ridge {

struct FusedBuffer {
    const char* name;
    size_t row_bytes;
    bool head;  // rows are the tokens whose logits are asked for
};

struct FusedProgram {
    std::vector<LoweredStep> steps;
    std::vector<FusedBuffer> buffers;
    BufferId logits = no_id;
};

// Columns of a GLU tile: gate and up, four column groups each at most; floats a row.
inline constexpr uint32_t glu_tile_floats = 2 * 4 * 16;

// Besides the kernel's own scratch an attention task keeps queries, keys and partial results.
constexpr size_t attend_task_bytes(size_t head_dim) {
    const size_t padded = (head_dim + 15) / 16 * 16;
    return attend_max_queries * (3 * padded * 4 + 32) + 4 * padded * 4 + 1024;
}

// Errors: steps that do not match a decoder's shape, products without a kernel.
Result<FusedProgram> fuse(const Program& program, const GgufFile& file, const KernelChoice& kernels,
                          bool f32_activations);

}  // namespace ridge
