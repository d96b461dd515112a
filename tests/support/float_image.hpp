// The flash image of the AI Max 395's float baseline: a GGUF's f32 tensors as they are, a table for
// RoPE, and the ids of a prompt. Shared by tools/board_baseline.cpp and the baseline's test.
#pragma once

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "boards/ai-max-395/baseline/float_image.h"
#include "boards/ai-max-395/soc.h"
#include "format/gguf.hpp"

namespace ridge::baseline {

class Packer {
  public:
    explicit Packer(const GgufFile& file) : file_(file), bytes_(sizeof(FloatImage)) {}

    Result<uint32_t> tensor(const std::string& name) {
        const TensorInfo* const t = file_.find(name);
        if (!t || t->type != DType::f32)
            return fail(ErrorCode::unsupported, "there is no f32 tensor " + name);
        return append(t->data, t->bytes);
    }
    uint32_t append(const void* data, size_t bytes) {
        const size_t place = bytes_.size();
        bytes_.resize((place + bytes + 15) / 16 * 16);
        std::memcpy(&bytes_[place], data, bytes);
        return static_cast<uint32_t>(place);
    }
    std::vector<uint8_t> finish(const FloatImage& header) {
        std::memcpy(bytes_.data(), &header, sizeof header);
        return std::move(bytes_);
    }

  private:
    const GgufFile& file_;
    std::vector<uint8_t> bytes_;
};

inline uint32_t rope_table(Packer& pack, const FloatImage& image, double theta) {
    std::vector<float> table;
    for (uint32_t position = 0; position < FLOAT_IMAGE_MAX_TOKENS; ++position)
        for (uint32_t i = 0; i < image.head_dim; i += 2) {
            const double angle = position * std::pow(theta, -double{1} * i / image.head_dim);
            table.push_back(static_cast<float>(std::cos(angle)));
            table.push_back(static_cast<float>(std::sin(angle)));
        }
    return pack.append(table.data(), 4 * table.size());
}

inline Status check(const FloatImage& m, const std::vector<int32_t>& ids) {
    const auto no = [](const std::string& what) {
        return fail(ErrorCode::unsupported, "the float baseline does not run this: " + what);
    };
    if (m.layers == 0 || m.layers > FLOAT_IMAGE_MAX_LAYERS) return no("1 to 16 layers");
    if (m.heads == 0 || m.kv_heads == 0 || m.head_dim == 0 || m.head_dim % 4 || m.head_dim > 16 ||
        m.heads * m.head_dim != m.dim || m.dim > 128)
        return no("dim is heads times head size, at most 128, heads of at most 16");
    if (m.layers * m.kv_heads * m.head_dim > 256) return no("layers times KV width above 256");
    if (m.vocab > 512 || m.vocab % 4 || m.hidden % 4 || (m.kv_heads * m.head_dim) % 4)
        return no("widths are multiples of 4, the vocabulary has at most 512 tokens");
    if (ids.empty() || ids.size() > FLOAT_IMAGE_MAX_TOKENS) return no("1 to 64 ids");
    for (const int32_t id : ids)
        if (id < 0 || static_cast<uint32_t>(id) >= m.vocab)
            return no("id " + std::to_string(id) + " is outside the vocabulary");
    return {};
}

// `ids`: the prompt, 1 to 64 tokens. Errors: unsupported, with what does not fit.
inline Result<std::vector<uint8_t>> make_image(const GgufFile& file,
                                               const std::vector<int32_t>& ids) {
    const auto count = [&](const std::string& key) {
        return static_cast<uint32_t>(file.get_uint("llama." + key).value_or(0));
    };
    FloatImage m{};
    m.magic = FLOAT_IMAGE_MAGIC;
    m.version = FLOAT_IMAGE_VERSION;
    m.layers = count("block_count");
    m.dim = count("embedding_length");
    m.hidden = count("feed_forward_length");
    m.heads = count("attention.head_count");
    m.kv_heads = count("attention.head_count_kv");
    m.head_dim = m.heads ? m.dim / m.heads : 0;
    const TensorInfo* const table = file.find("token_embd.weight");
    m.vocab = table ? static_cast<uint32_t>(table->dims[1]) : 0;
    m.epsilon =
        static_cast<float>(file.get_float("llama.attention.layer_norm_rms_epsilon").value_or(1e-5));
    RIDGE_TRY(check(m, ids));
    if (file.find("blk.0.attn_q.bias"))
        return fail(ErrorCode::unsupported, "the float baseline has no biases");
    m.tokens = static_cast<uint32_t>(ids.size());
    for (size_t i = 0; i < ids.size(); ++i) m.ids[i] = ids[i];

    Packer pack(file);
    m.rope = rope_table(pack, m, file.get_float("llama.rope.freq_base").value_or(10000));
    RIDGE_ASSIGN(m.embedding, pack.tensor("token_embd.weight"));
    RIDGE_ASSIGN(m.final_norm, pack.tensor("output_norm.weight"));
    m.head = m.embedding;
    if (file.find("output.weight")) {
        RIDGE_ASSIGN(m.head, pack.tensor("output.weight"));
    }
    for (uint32_t l = 0; l < m.layers; ++l) {
        const std::string b = "blk." + std::to_string(l) + ".";
        FloatLayer& w = m.layer[l];
        RIDGE_ASSIGN(w.norms, pack.tensor(b + "attn_norm.weight"));
        RIDGE_ASSIGN(const uint32_t second, pack.tensor(b + "ffn_norm.weight"));
        if (second != w.norms + 4 * m.dim)
            return fail(ErrorCode::unsupported, "dim is no multiple of 4");
        RIDGE_ASSIGN(w.q, pack.tensor(b + "attn_q.weight"));
        RIDGE_ASSIGN(w.k, pack.tensor(b + "attn_k.weight"));
        RIDGE_ASSIGN(w.v, pack.tensor(b + "attn_v.weight"));
        RIDGE_ASSIGN(w.out, pack.tensor(b + "attn_output.weight"));
        RIDGE_ASSIGN(w.gate, pack.tensor(b + "ffn_gate.weight"));
        RIDGE_ASSIGN(w.up, pack.tensor(b + "ffn_up.weight"));
        RIDGE_ASSIGN(w.down, pack.tensor(b + "ffn_down.weight"));
    }
    std::vector<uint8_t> bytes = pack.finish(m);
    if (bytes.size() > SOC_FLASH_BYTES)
        return fail(ErrorCode::unsupported, "the image needs " + std::to_string(bytes.size()) +
                                                " bytes of 16777216 of flash");
    return bytes;
}

}  // namespace ridge::baseline
