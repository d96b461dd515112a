#include "format/random_model.hpp"

#include <fmt/format.h>

#include <cmath>

#include "format/gguf_writer.hpp"
#include "format/quantize.hpp"

namespace ridge {

namespace {

uint64_t fnv1a64(std::string_view text) {
    uint64_t h = 0xcbf29ce484222325u;
    for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return h;
}

// Uniform in [-1, 1), exact in f32.
float draw(uint64_t z) {
    z ^= z >> 30;
    z *= 0xbf58476d1ce4e5b9u;
    z ^= z >> 27;
    z *= 0x94d049bb133111ebu;
    z ^= z >> 31;
    return static_cast<float>(static_cast<int32_t>(z >> 40)) * 0x1p-23f - 1.0f;
}

bool is_gemma(const ShapeConfig& c) {
    return c.architecture == "gemma2" || c.architecture == "gemma3";
}
bool known_architecture(const ShapeConfig& c) {
    const std::string& a = c.architecture;
    return a == "llama" || a == "qwen2" || a == "qwen3" || a == "phi3" || is_gemma(c);
}
uint32_t rotated(const ShapeConfig& c) {
    return c.rope_dimension_count != 0 ? c.rope_dimension_count : c.key_length;
}

Status check(const ShapeConfig& c) {
    const auto bad = [&](const char* what) {
        return fail(ErrorCode::invalid_argument,
                    fmt::format("The shape '{}' does not fit: {}.", c.name, what));
    };
    if (!known_architecture(c))
        return bad("architecture must be llama, qwen2, qwen3, phi3, gemma2 or gemma3");
    if (c.vocab_size < 260 || c.vocab_size > 1u << 24)
        return bad("vocab_size must be from 260 to 2^24");
    if (c.block_count < 1 || c.block_count > 1024) return bad("block_count must be 1 to 1024");
    if (c.context_length < 1) return bad("context_length must be positive");
    for (const uint32_t n :
         {c.embedding_length, c.feed_forward_length, c.head_count, c.head_count_kv, c.key_length})
        if (n < 1 || n > 1u << 20) return bad("every width and head count must be 1 to 2^20");
    if (c.head_count % c.head_count_kv != 0) return bad("head_count_kv must divide head_count");
    if (c.key_length % 2 != 0) return bad("key_length must be even");
    if (!(c.rms_epsilon > 0.0f) || !(c.rope_freq_base > 0.0f))
        return bad("rms_epsilon and rope_freq_base must be positive");
    if (is_gemma(c) && c.sliding_window_pattern < 1)
        return bad("sliding_window_pattern must be positive");
    if (rotated(c) % 2 != 0 || rotated(c) > c.key_length)
        return bad("rope_dimension_count must be even and at most key_length");
    for (const std::vector<float>* v : {&c.rope_freqs, &c.rope_factors_short, &c.rope_factors_long})
        if (!v->empty() && v->size() != rotated(c) / 2)
            return bad("RoPE factors must be half as many as rotated elements");
    return {};
}

// llama.cpp's number for the file's overall type (general.file_type).
uint32_t file_type(const ShapeConfig& c) {
    if (c.mix == Mix::q4_k_m) return 15;
    if (c.mix == Mix::q5_k_m) return 17;
    if (c.mix == Mix::q4_0) return 2;
    switch (c.type) {
        case DType::f16:
            return 1;
        case DType::q4_0:
            return 2;
        case DType::q4_1:
            return 3;
        case DType::q8_0:
            return 7;
        case DType::q5_0:
            return 8;
        case DType::q5_1:
            return 9;
        case DType::q2_k:
            return 10;
        case DType::q3_k:
            return 12;
        case DType::q4_k:
            return 14;
        case DType::q5_k:
            return 16;
        case DType::q6_k:
            return 18;
        case DType::iq4_nl:
            return 25;
        case DType::iq4_xs:
            return 30;
        case DType::bf16:
            return 32;
        case DType::mxfp4:
            return 38;
        default:
            return 0;
    }
}

void set_metadata(const ShapeConfig& c, GgufWriter& out) {
    const auto key = [&](const char* name) { return c.architecture + "." + name; };
    out.set("general.architecture", c.architecture);
    out.set("general.name", c.name);
    out.set("general.file_type", file_type(c));
    out.set("general.quantization_version", uint32_t{2});
    out.set(key("vocab_size"), c.vocab_size);
    out.set(key("context_length"), c.context_length);
    out.set(key("block_count"), c.block_count);
    out.set(key("embedding_length"), c.embedding_length);
    out.set(key("feed_forward_length"), c.feed_forward_length);
    out.set(key("attention.head_count"), c.head_count);
    out.set(key("attention.head_count_kv"), c.head_count_kv);
    out.set(key("attention.key_length"), c.key_length);
    out.set(key("attention.value_length"), c.key_length);
    out.set(key("attention.layer_norm_rms_epsilon"), c.rms_epsilon);
    out.set(key("rope.freq_base"), c.rope_freq_base);
    out.set(key("rope.dimension_count"), rotated(c));
    if (is_gemma(c) || (c.architecture == "phi3" && c.sliding_window != 0))
        out.set(key("attention.sliding_window"), c.sliding_window);
    if (is_gemma(c)) out.set(key("attention.sliding_window_pattern"), c.sliding_window_pattern);
    const auto set_positive = [&](const char* name, auto value) {
        if (value > 0) out.set(key(name), value);
    };
    set_positive("attn_logit_softcapping", c.attn_softcap);
    set_positive("final_logit_softcapping", c.final_softcap);
    if (!c.rope_scaling.empty()) out.set(key("rope.scaling.type"), c.rope_scaling);
    set_positive("rope.scaling.factor", c.rope_scaling_factor);
    set_positive("rope.scaling.original_context_length", c.rope_original_context);
    set_positive("rope.scaling.attn_factor", c.rope_attn_factor);
    set_positive("rope.scaling.yarn_attn_factor", c.yarn_attn_factor);
    set_positive("rope.scaling.yarn_beta_fast", c.yarn_beta_fast);
    set_positive("rope.scaling.yarn_beta_slow", c.yarn_beta_slow);
}

// Tensors whose values the shape gives; null for those that are drawn.
const std::vector<float>* given_values(const ShapeConfig& c, std::string_view tensor) {
    if (tensor == "rope_freqs.weight") return &c.rope_freqs;
    if (tensor == "rope_factors_short.weight") return &c.rope_factors_short;
    if (tensor == "rope_factors_long.weight") return &c.rope_factors_long;
    return nullptr;
}

void set_vocabulary(const ShapeConfig& c, GgufWriter& out) {
    enum : int32_t { normal = 1, unknown = 2, control = 3, byte = 6 };
    std::vector<std::string> tokens = {"<unk>", "<s>", "</s>"};
    std::vector<int32_t> types = {unknown, control, control};
    for (int b = 0; b < 256; ++b) {
        tokens.push_back(fmt::format("<0x{:02X}>", b));
        types.push_back(byte);
    }
    tokens.emplace_back("\xe2\x96\x81");  // U+2581, a space
    types.push_back(normal);
    for (size_t i = tokens.size(); i < c.vocab_size; ++i) {
        tokens.push_back(fmt::format("<filler {}>", i));
        types.push_back(normal);
    }
    std::vector<float> scores(tokens.size(), 0.0f);
    for (size_t i = 259; i < scores.size(); ++i) scores[i] = -static_cast<float>(i - 259);
    out.set("tokenizer.ggml.model", "llama");
    out.set("tokenizer.ggml.pre", "default");
    out.set_strings("tokenizer.ggml.tokens", tokens);
    out.set_array("tokenizer.ggml.scores", scores);
    out.set_array("tokenizer.ggml.token_type", types);
    out.set("tokenizer.ggml.bos_token_id", uint32_t{1});
    out.set("tokenizer.ggml.eos_token_id", uint32_t{2});
    out.set("tokenizer.ggml.unknown_token_id", uint32_t{0});
    out.set("tokenizer.ggml.add_bos_token", true);
    out.set("tokenizer.ggml.add_eos_token", false);
}

}  // namespace

void random_values(uint64_t seed, std::string_view tensor, uint64_t row_length, uint64_t first,
                   std::span<float> out) {
    float scale = static_cast<float>(std::sqrt(3.0 / static_cast<double>(row_length)));
    float centre = 0.0f;
    if (tensor.ends_with("norm.weight")) {
        scale = 0.25f;
        centre = 1.0f;
    } else if (tensor.ends_with(".bias")) {
        scale = 0.1f;
    } else if (tensor == "token_embd.weight") {
        scale = 0.5f;
    }
    constexpr uint64_t step = 0x9E3779B97F4A7C15u;
    const uint64_t base = seed + fnv1a64(tensor) + (first + 1) * step;
    for (size_t i = 0; i < out.size(); ++i) out[i] = centre + scale * draw(base + i * step);
}

std::vector<RandomTensor> random_tensors(const ShapeConfig& c) {
    const uint64_t embed = c.embedding_length, ffn = c.feed_forward_length;
    const uint64_t q = uint64_t{c.head_count} * c.key_length;
    const uint64_t kv = uint64_t{c.head_count_kv} * c.key_length;
    const bool gemma = is_gemma(c);
    const bool head_norms = c.architecture == "gemma3" || c.architecture == "qwen3";
    const bool fused = c.architecture == "phi3";
    const bool biases = c.attention_bias || c.architecture == "qwen2";
    std::vector<RandomTensor> out;
    out.push_back({"token_embd.weight", {embed, c.vocab_size}});
    for (uint32_t layer = 0; layer < c.block_count; ++layer) {
        const auto add = [&](const char* name, std::vector<uint64_t> dims) {
            out.push_back({fmt::format("blk.{}.{}", layer, name), std::move(dims)});
        };
        add("attn_norm.weight", {embed});
        if (fused) {
            add("attn_qkv.weight", {embed, q + 2 * kv});
        } else {
            add("attn_q.weight", {embed, q});
            add("attn_k.weight", {embed, kv});
            add("attn_v.weight", {embed, kv});
        }
        add("attn_output.weight", {q, embed});
        if (biases) {
            add("attn_q.bias", {q});
            add("attn_k.bias", {kv});
            add("attn_v.bias", {kv});
        }
        if (c.attention_bias) add("attn_output.bias", {embed});
        if (head_norms) {
            add("attn_q_norm.weight", {c.key_length});
            add("attn_k_norm.weight", {c.key_length});
        }
        if (gemma) add("post_attention_norm.weight", {embed});
        add("ffn_norm.weight", {embed});
        if (!fused) add("ffn_gate.weight", {embed, ffn});
        add("ffn_up.weight", {embed, fused ? 2 * ffn : ffn});
        add("ffn_down.weight", {ffn, embed});
        if (gemma) add("post_ffw_norm.weight", {embed});
    }
    out.push_back({"output_norm.weight", {embed}});
    if (!c.tied) out.push_back({"output.weight", {embed, c.vocab_size}});
    for (const char* name :
         {"rope_freqs.weight", "rope_factors_short.weight", "rope_factors_long.weight"})
        if (const uint64_t n = given_values(c, name)->size(); n > 0) out.push_back({name, {n}});
    return out;
}

Status write_random_model(const ShapeConfig& config, const std::string& path, unsigned threads) {
    RIDGE_TRY(check(config));
    GgufWriter writer;
    set_metadata(config, writer);
    set_vocabulary(config, writer);
    for (const RandomTensor& tensor : random_tensors(config)) {
        const uint64_t row = tensor.dims[0];
        const DType type =
            tensor.dims.size() == 1 ? DType::f32 : matrix_type(config, tensor.name, row);
        const std::vector<float>* given = given_values(config, tensor.name);
        const auto fill = [name = tensor.name, row, type, seed = config.seed, given](
                              uint64_t first, uint64_t count, uint8_t* out) -> Status {
            std::vector<float> values(row);
            for (uint64_t r = first; r < first + count; ++r, out += row_bytes(type, row)) {
                if (given != nullptr)
                    values = *given;
                else
                    random_values(seed, name, row, r * row, values);
                quantize_plain(type, values.data(), row, out);
            }
            return {};
        };
        RIDGE_TRY(writer.add_tensor(tensor.name, type, tensor.dims, fill));
    }
    return writer.write(path, threads);
}

}  // namespace ridge
