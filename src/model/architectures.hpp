// Architectures: one builder a file, and the hyper-parameters they share.
#pragma once

#include "model/builder.hpp"

namespace ridge {

struct Dimensions {
    uint32_t layers, hidden, ffn, heads, kv_heads, head_dim, vocab, context;
    float epsilon;
};

// <arch>.block_count, embedding_length, ... with the checks every decoder needs.
Result<Dimensions> read_dimensions(const GgufFile& file, const ProgramBuilder& b);

// An error when the file asks for RoPE scaling that its architecture does not implement here.
Status refuse_rope_scaling(const GgufFile& file, const std::string& architecture);

Result<ModelProgram> build_llama(const GgufFile& file);
Result<ModelProgram> build_gemma3(const GgufFile& file);

}  // namespace ridge
