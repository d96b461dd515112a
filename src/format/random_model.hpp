// Random-weight models of any shape: the same values for the same seed on every machine, so that a
// reference implementation can be given the same weights (tools/golden) and a benchmark a model of
// any published shape.
//
// Element i (flat, dims[0] fastest) of tensor NAME is drawn by splitmix64 from
// seed + fnv1a64(NAME) + (i + 1) * 0x9E3779B97F4A7C15; u is its top 24 bits scaled to [-1, 1), and
// norms are 1 + 0.25 u, biases 0.1 u, the embedding 0.5 u, other matrices sqrt(3 / dims[0]) u, in
// f32. Norms and biases are stored as F32, matrices in the configured type by plain rounding.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "base/types.hpp"

namespace ridge {

// How llama.cpp's mixes spend bits; none: every matrix in ShapeConfig::type.
enum class Mix { none, q4_0, q4_k_m, q5_k_m };

struct ShapeConfig {
    std::string name = "random";
    std::string architecture = "llama";  // or qwen2, qwen3, phi3, gemma2, gemma3
    uint64_t seed = 1;
    uint32_t vocab_size = 512;  // at least 260
    uint32_t block_count = 2;
    uint32_t context_length = 512;
    uint32_t embedding_length = 64;
    uint32_t feed_forward_length = 172;
    uint32_t head_count = 8;
    uint32_t head_count_kv = 4;
    uint32_t key_length = 8;            // also the value length
    uint32_t rope_dimension_count = 0;  // 0: key_length
    float rms_epsilon = 1e-5f;
    float rope_freq_base = 10000.0f;
    bool tied = true;
    bool attention_bias = false;          // llama: q, k, v and output; qwen2 has those of q, k, v
    uint32_t sliding_window = 0;          // phi3, gemma2, gemma3; 0: none
    uint32_t sliding_window_pattern = 6;  // gemma: layer i is global when (i + 1) % it == 0
    float attn_softcap = 0.0f;            // gemma2
    float final_softcap = 0.0f;           // gemma2, gemma3
    // rope.scaling.*; what is empty or 0 is left out of the file
    std::string rope_scaling;  // linear, yarn, longrope
    float rope_scaling_factor = 0.0f;
    uint32_t rope_original_context = 0;
    float rope_attn_factor = 0.0f;
    float yarn_attn_factor = 0.0f, yarn_beta_fast = 0.0f, yarn_beta_slow = 0.0f;
    // Tensors of divisors, rope_dimension_count / 2 each: rope_freqs, rope_factors_short, _long.
    std::vector<float> rope_freqs, rope_factors_short, rope_factors_long;
    DType type = DType::f32;
    Mix mix = Mix::none;
    // Of golden files: the token ids and the file (beside the configuration) of their logits.
    std::vector<int32_t> tokens;
    std::string logits;
};

// Reads the JSON form, whose member names are those above ("type" a name such as "Q4_K", "mix" as
// in parse_mix). Missing members keep their defaults, unknown ones are ignored.
Result<ShapeConfig> read_shape_config(const std::string& path);

// A published shape by name (random_presets.cpp). Errors name the choices.
Result<ShapeConfig> shape_preset(std::string_view name);
std::vector<std::string> shape_preset_names();

// "none", "Q4_0", "Q4_K_M" or "Q5_K_M", any case.
Result<Mix> parse_mix(std::string_view name);

// The type a matrix is stored in. llama.cpp's mixes keep the output matrix (the embedding when it
// is tied) in Q6_K; the K_M mixes also attn_v and ffn_down in the first and last eighth of the
// layers and every third between. Where `type`'s block does not divide the row: Q2_K, Q3_K and
// IQ4_XS become IQ4_NL, Q4_K Q5_0, Q5_K Q5_1, Q6_K Q8_0, and where 32 does not divide it, F16.
DType matrix_type(const ShapeConfig& config, std::string_view tensor, uint64_t row_length);

struct RandomTensor {
    std::string name;
    std::vector<uint64_t> dims;  // dims[0] fastest
};
// Every tensor of the shape, in file order.
std::vector<RandomTensor> random_tensors(const ShapeConfig& config);

// Elements first to first + out.size() of a tensor of the definition above; `row_length` is
// dims[0].
void random_values(uint64_t seed, std::string_view tensor, uint64_t row_length, uint64_t first,
                   std::span<float> out);

// Writes the model with a byte-token vocabulary (tokenizer "llama": <unk>, <s>, </s>, 256 bytes, a
// space, fillers). Errors: invalid_argument names the member that does not fit; io.
Status write_random_model(const ShapeConfig& config, const std::string& path, unsigned threads = 1);

}  // namespace ridge
