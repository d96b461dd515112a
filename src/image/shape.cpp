#include "image/shape.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ridge::image {

ModelShape read_shape(const GgufFile& file) {
    ModelShape s;
    s.architecture = file.get_string("general.architecture").value_or("");
    const auto number = [&](const char* key) {
        const uint64_t value = file.get_uint(s.architecture + "." + key).value_or(0);
        return static_cast<uint32_t>(std::min<uint64_t>(value, UINT32_MAX));
    };
    s.layers = number("block_count");
    s.hidden = number("embedding_length");
    s.ffn = number("feed_forward_length");
    s.heads = number("attention.head_count");
    s.kv_heads = number("attention.head_count_kv");
    if (s.kv_heads == 0) s.kv_heads = s.heads;
    s.head_dim = number("attention.key_length");
    if (s.head_dim == 0 && s.heads != 0) s.head_dim = s.hidden / s.heads;
    for (const TensorInfo& t : file.tensors()) {
        (t.rows() > 1 ? s.matrix_weights : s.vector_weights) += t.elements();
        if (t.name == "token_embd.weight")
            s.vocab = static_cast<uint32_t>(std::min<uint64_t>(t.rows(), UINT32_MAX));
    }
    return s;
}

std::string byte_text(uint64_t bytes) {
    const auto value = static_cast<double>(bytes);
    if (bytes >= 1'000'000'000) return fmt::format("{:.1f} GB", value / 1e9);
    if (bytes >= 1'000'000) return fmt::format("{:.1f} MB", value / 1e6);
    if (bytes >= 10'000) return fmt::format("{:.1f} KB", value / 1e3);
    return fmt::format("{} B", bytes);
}

}  // namespace ridge::image
