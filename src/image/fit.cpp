#include "image/fit.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ridge::image {
namespace {

uint32_t round_up(uint32_t value, uint32_t unit) {
    return (value + unit - 1) / unit * unit;
}

// Units of rows of `depth`, of a group of `rows`.
uint32_t row_units(uint32_t rows, uint32_t depth) {
    const uint32_t each = image_unit_rows(depth);
    return (rows + each - 1) / each;
}

}  // namespace

ImageHeader plan_image(const ModelShape& s) {
    ImageHeader h{};
    h.magic = IMAGE_MAGIC;
    h.version = IMAGE_VERSION;
    h.header_bytes = sizeof(ImageHeader);
    h.dim = s.hidden;
    h.layers = s.layers;
    h.heads = s.heads;
    h.kv_heads = s.kv_heads;
    h.head_dim = s.head_dim;
    h.hidden = round_up(s.ffn, 8);
    h.vocab_used = s.vocab;
    h.vocab = round_up(s.vocab, 4);
    const uint32_t q = s.heads * s.head_dim, kv = s.kv_heads * s.head_dim;
    h.chunk_rows = image_chunk_rows(h.dim, q, kv);
    h.rope_positions = rope_positions;
    const uint32_t tiles = (h.hidden + IMAGE_HIDDEN_TILE - 1) / IMAGE_HIDDEN_TILE;
    const uint32_t ffn_units = tiles * (image_tile_units(h.dim) + 1);
    h.steps = 1 + 6 * h.layers + 2;
    h.units = h.layers * (row_units(2 * kv, h.dim) + row_units(q, h.dim) + row_units(h.dim, q) +
                          ffn_units) +
              row_units(h.vocab, h.dim);
    h.constants_a = image_constants_a(&h);
    h.constants_b = image_constants_b(&h);
    h.head_b = image_round16(4 * h.vocab);
    h.steps_offset = sizeof(ImageHeader);
    h.units_offset = h.steps_offset + h.steps * static_cast<uint32_t>(sizeof(ImageStep));
    h.embedding_offset =
        image_round16(h.units_offset + h.units * static_cast<uint32_t>(sizeof(ImageUnit)));
    h.rope_offset = image_round16(h.embedding_offset + h.vocab * h.dim * 2);
    h.constants_offset = image_round16(h.rope_offset + h.rope_positions * h.head_dim * 2);
    h.weights_offset =
        h.constants_offset + h.layers * (h.constants_a + h.constants_b) + h.constants_a + h.head_b;
    h.weights_bytes = 2 * (h.layers * (h.dim * (q + 2 * kv) + h.dim * q + 3 * h.dim * h.hidden) +
                           h.vocab * h.dim);
    h.image_bytes = h.weights_offset + image_round16(h.weights_bytes);
    return h;
}

std::vector<std::string> misfits(const ModelShape& s, bool head_stored) {
    std::vector<std::string> why;
    const auto add = [&](std::string reason) { why.push_back(std::move(reason)); };
    const uint64_t kv = s.kv_width(), q = uint64_t{s.heads} * s.head_dim;
    // The embedding is stored as rows to gather and once more as the head's units.
    const uint64_t weights =
        s.matrix_weights + (head_stored ? 0 : static_cast<uint64_t>(s.vocab) * s.hidden);
    const uint64_t flash =
        2 * weights + 2 * uint64_t{rope_positions} * s.head_dim + 4 * s.vector_weights;
    if (flash > SOC_FLASH_BYTES)
        add(fmt::format("it needs {} of flash of {} ({} MiB)", byte_text(flash),
                        byte_text(SOC_FLASH_BYTES), SOC_FLASH_BYTES >> 20));
    if (s.layers * kv > SOC_KV_SLOT / 4)
        add(fmt::format("{} layers x KV width {} = {} of {} ({} of {} B a token)", s.layers, kv,
                        s.layers * kv, SOC_KV_SLOT / 4, byte_text(4 * s.layers * kv), SOC_KV_SLOT));
    if (s.hidden > IMAGE_MAX_DIM) add(fmt::format("hidden size {} of {}", s.hidden, IMAGE_MAX_DIM));
    if (q > IMAGE_MAX_DIM)
        add(fmt::format("{} heads of {} = {} of {}", s.heads, s.head_dim, q, IMAGE_MAX_DIM));
    if (s.ffn > IMAGE_MAX_HIDDEN) add(fmt::format("FFN width {} of {}", s.ffn, IMAGE_MAX_HIDDEN));
    if (s.vocab > IMAGE_MAX_VOCAB)
        add(fmt::format("vocabulary {} of {}", s.vocab, IMAGE_MAX_VOCAB));
    if (s.hidden % 8 != 0) add(fmt::format("hidden size {} is no multiple of 8", s.hidden));
    if (s.head_dim % 8 != 0 || s.head_dim > 64 || s.head_dim == 0)
        add(fmt::format("head size {} is not one of 8, 16, 24 to 64", s.head_dim));
    if (s.kv_heads > 16) add(fmt::format("{} KV heads of 16", s.kv_heads));
    if (!why.empty() || s.hidden == 0 || s.layers == 0 || s.ffn == 0 || s.heads == 0) {
        if (why.empty()) add("its header gives no layers, hidden size, FFN width or heads");
        return why;
    }
    const ImageHeader h = plan_image(s);
    if (h.chunk_rows == 0) add("the memory map has no room for a chunk of 8 rows");
    const uint32_t constants = h.constants_a + std::max(h.constants_b, h.head_b);
    if (constants > 8192) add(fmt::format("a layer's constants take {} of 8192 B", constants));
    if (h.image_bytes > SOC_FLASH_BYTES)
        add(fmt::format("it needs {} of flash of {}", byte_text(h.image_bytes),
                        byte_text(SOC_FLASH_BYTES)));
    return why;
}

}  // namespace ridge::image
