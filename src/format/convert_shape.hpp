// What a model folder's config.json says, as GGUF keys, and how its tensors are called and stored
// there. Internal to convert*.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "format/gguf_writer.hpp"
#include "format/hf_folder.hpp"

namespace ridge::convert {

struct ModelShape {
    std::string arch;  // of GGUF: llama, qwen2, qwen3, gemma2, gemma3, phi3
    uint64_t layers = 0, hidden = 0, heads = 0, kv_heads = 0, head_dim = 0;
    bool tied = false;
    bool gemma() const { return arch.starts_with("gemma"); }
};

// "llama, qwen2, ...": what the folder's architecture must be.
std::string convertible_architectures();

// Sets the model's keys (all but the tokenizer's). Errors: unsupported (architecture, or a feature
// of it that ridge does not run), bad_file (missing or absurd numbers).
Result<ModelShape> set_parameters(const HfFolder& folder, GgufWriter& out);

// RoPE scaling: keys, and the factor tensors that go with some kinds, which must live until the
// file is written.
struct RopeFactors {
    std::vector<float> freqs, shorts, longs;
};
Status set_rope(const HfFolder& folder, const ModelShape& shape, GgufWriter& out,
                RopeFactors& factors);

struct TensorTarget {
    std::string name;              // in the GGUF file; empty: the tensor is left out
    uint64_t interleave_head = 0;  // rows of heads of this size go from halves to pairs
    float add = 0.0f;              // to each value
};
// Where a tensor goes; nothing for one that the architecture does not have.
std::optional<TensorTarget> target_of(std::string_view name, const ModelShape& shape);

}  // namespace ridge::convert
