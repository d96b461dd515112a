// What a GGUF's header says of a model's size, whatever its architecture: enough to say by how much
// it is too large for a board, without reading a weight.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "format/gguf.hpp"

namespace ridge::image {

struct ModelShape {
    std::string architecture;
    // 0: the header does not say
    uint32_t layers = 0, hidden = 0, ffn = 0, heads = 0, kv_heads = 0, head_dim = 0, vocab = 0;
    uint64_t matrix_weights = 0;  // elements of all tensors with more than one row
    uint64_t vector_weights = 0;  // of the others
    uint64_t kv_width() const { return static_cast<uint64_t>(kv_heads) * head_dim; }
};

ModelShape read_shape(const GgufFile& file);

// "7.6 GB", "512.0 KB", "12 B": powers of 1000, as flash is sold and the report counts.
std::string byte_text(uint64_t bytes);

}  // namespace ridge::image
