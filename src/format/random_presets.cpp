// Published shapes, from the models' configuration files (config.json on the hubs that hold them).
//
// Values that are weights of a kind are stand-ins like all weights here: LongRoPE's factors rise
// evenly (Phi-3.5, Phi-4-mini); Llama 3's follow its rule, which their configuration states.
#include <fmt/format.h>

#include <cmath>

#include "format/gguf_types.hpp"
#include "format/random_model.hpp"

namespace ridge {
namespace {

struct Shape {
    const char* name;
    const char* architecture;
    uint32_t vocab, layers, embed, ffn, heads, kv_heads, head_dim, context;
    float epsilon, rope_base;
    bool tied;
};

constexpr Shape shapes[] = {
    {"smollm2-135m", "llama", 49152, 30, 576, 1536, 9, 3, 64, 8192, 1e-5f, 1e5f, true},
    {"smollm2-360m", "llama", 49152, 32, 960, 2560, 15, 5, 64, 8192, 1e-5f, 1e5f, true},
    {"smollm2-1.7b", "llama", 49152, 24, 2048, 8192, 32, 32, 64, 8192, 1e-5f, 1.3e5f, true},
    {"tinyllama-1.1b", "llama", 32000, 22, 2048, 5632, 32, 4, 64, 2048, 1e-5f, 1e4f, false},
    {"llama3.2-1b", "llama", 128256, 16, 2048, 8192, 32, 8, 64, 131072, 1e-5f, 5e5f, true},
    {"llama3.2-3b", "llama", 128256, 28, 3072, 8192, 24, 8, 128, 131072, 1e-5f, 5e5f, true},
    {"mistral-7b", "llama", 32768, 32, 4096, 14336, 32, 8, 128, 32768, 1e-5f, 1e6f, false},
    {"qwen2.5-0.5b", "qwen2", 151936, 24, 896, 4864, 14, 2, 64, 32768, 1e-6f, 1e6f, true},
    {"qwen2.5-1.5b", "qwen2", 151936, 28, 1536, 8960, 12, 2, 128, 32768, 1e-6f, 1e6f, true},
    {"qwen2.5-3b", "qwen2", 151936, 36, 2048, 11008, 16, 2, 128, 32768, 1e-6f, 1e6f, true},
    {"qwen3-0.6b", "qwen3", 151936, 28, 1024, 3072, 16, 8, 128, 40960, 1e-6f, 1e6f, true},
    {"qwen3-1.7b", "qwen3", 151936, 28, 2048, 6144, 16, 8, 128, 40960, 1e-6f, 1e6f, true},
    {"qwen3-4b", "qwen3", 151936, 36, 2560, 9728, 32, 8, 128, 40960, 1e-6f, 1e6f, true},
    {"phi3-mini-4k", "phi3", 32064, 32, 3072, 8192, 32, 32, 96, 4096, 1e-5f, 1e4f, false},
    {"phi3.5-mini", "phi3", 32064, 32, 3072, 8192, 32, 32, 96, 131072, 1e-5f, 1e4f, false},
    {"phi4-mini", "phi3", 200064, 32, 3072, 8192, 24, 8, 128, 131072, 1e-5f, 1e4f, true},
    {"gemma2-2b", "gemma2", 256000, 26, 2304, 9216, 8, 4, 256, 8192, 1e-6f, 1e4f, true},
    {"gemma3-270m", "gemma3", 262144, 18, 640, 2048, 4, 1, 256, 32768, 1e-6f, 1e6f, true},
    {"gemma3-1b", "gemma3", 262144, 26, 1152, 6912, 4, 1, 256, 32768, 1e-6f, 1e6f, true},
    {"gemma3-4b", "gemma3", 262144, 34, 2560, 10240, 8, 4, 256, 131072, 1e-6f, 1e6f, true},
};

// Divisors of RoPE's frequencies as Llama 3.1 and later compute them (config.json: rope_scaling,
// low_freq_factor 1, high_freq_factor 4, original_max_position_embeddings 8192).
std::vector<float> llama3_divisors(uint32_t n_rot, double base, double factor) {
    const double original = 8192.0, low = 1.0, high = 4.0;
    std::vector<float> divisors;
    for (uint32_t i = 0; i < n_rot / 2; ++i) {
        const double wave = 2.0 * 3.14159265358979323846 * std::pow(base, 2.0 * i / n_rot);
        const double smooth = (original / wave - low) / (high - low);
        const double own = std::min(1.0, std::max(0.0, smooth));
        divisors.push_back(static_cast<float>(1.0 / ((1.0 - own) / factor + own)));
    }
    return divisors;
}

std::vector<float> rising(uint32_t n, float last) {
    std::vector<float> v;
    for (uint32_t i = 0; i < n; ++i)
        v.push_back(1.0f + (last - 1.0f) * static_cast<float>(i) / static_cast<float>(n - 1));
    return v;
}

void set_longrope(ShapeConfig& c) {
    const uint32_t n_rot = c.rope_dimension_count != 0 ? c.rope_dimension_count : c.key_length;
    c.rope_original_context = 4096;
    c.rope_attn_factor = 1.1902380714238083f;  // sqrt(1 + ln 32 / ln 4096)
    c.rope_factors_short = rising(n_rot / 2, 2.0f);
    c.rope_factors_long = rising(n_rot / 2, 60.0f);
}

ShapeConfig config_of(const Shape& s) {
    ShapeConfig c;
    c.name = s.name;
    c.architecture = s.architecture;
    c.vocab_size = s.vocab;
    c.block_count = s.layers;
    c.embedding_length = s.embed;
    c.feed_forward_length = s.ffn;
    c.head_count = s.heads;
    c.head_count_kv = s.kv_heads;
    c.key_length = s.head_dim;
    c.context_length = s.context;
    c.rms_epsilon = s.epsilon;
    c.rope_freq_base = s.rope_base;
    c.tied = s.tied;
    if (c.name.starts_with("llama3.2")) c.rope_freqs = llama3_divisors(s.head_dim, 5e5, 32.0);
    if (c.name == "phi3-mini-4k") c.sliding_window = 2047;
    if (c.name == "phi3.5-mini") c.sliding_window = 262144;
    if (c.name == "phi4-mini") c.rope_dimension_count = 96;
    if (c.name == "phi3.5-mini" || c.name == "phi4-mini") set_longrope(c);
    if (c.architecture == "gemma2") {
        c.sliding_window = 4096;
        c.sliding_window_pattern = 2;
        c.attn_softcap = 50.0f;
        c.final_softcap = 30.0f;
    }
    if (c.architecture == "gemma3") c.sliding_window = c.name == "gemma3-4b" ? 1024 : 512;
    if (c.name == "gemma3-4b") {
        c.rope_scaling = "linear";
        c.rope_scaling_factor = 8.0f;
    }
    return c;
}

}  // namespace

std::vector<std::string> shape_preset_names() {
    std::vector<std::string> names = {"tiny"};
    for (const Shape& s : shapes) names.emplace_back(s.name);
    return names;
}

Result<ShapeConfig> shape_preset(std::string_view name) {
    if (name == "tiny") return ShapeConfig{};
    for (const Shape& s : shapes)
        if (name == s.name) return config_of(s);
    std::string choices;
    for (const std::string& n : shape_preset_names()) choices += choices.empty() ? n : ", " + n;
    return fail(ErrorCode::invalid_argument, fmt::format("There is no preset {}; choose one of {}.",
                                                         gguf::quoted(name), choices));
}

}  // namespace ridge
