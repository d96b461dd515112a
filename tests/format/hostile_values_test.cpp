// Hostile values (class 2 of reliability-anchors.md section 2): their encoding, each
// hyper-parameter and each key that ridge reads.
#include <fmt/format.h>

#include <limits>

#include "hostile_files.hpp"

namespace ridge::test {

using gguf::ValueType;

namespace {

std::string one_number() {
    return Bytes().type(ValueType::array).type(ValueType::u32).put<uint64_t>(1).put(1u).text();
}

void add_encodings(HostileMaker& make) {
    const auto value = [&](const std::string& name, const std::string& raw) {
        make.add(name, Bytes().header(0, 1).raw(raw).zeros(64).text());
    };
    const auto array = [](uint32_t type, uint64_t n) {
        return Bytes().string("k").type(ValueType::array).put(type).put(n).text();
    };
    value("key of length 0", Bytes().string("").zeros(32).text());
    value("key longer than the file", Bytes().put<uint64_t>(200).zeros(64).text());
    for (const uint64_t n : hostile_limits) {
        value(fmt::format("key of length {}", n), Bytes().put(n).zeros(32).text());
        for (uint32_t type = 0; type < 13; ++type)
            value(fmt::format("{} elements of type {}", n, type), array(type, n));
        value(fmt::format("string of {}", n),
              Bytes().string("k").type(ValueType::string).put(n).text());
        value(fmt::format("string of {} in an array", n),
              Bytes().raw(array(static_cast<uint32_t>(ValueType::string), 1)).put(n).text());
    }
    // count times size wraps to 8
    value("elements that wrap",
          array(static_cast<uint32_t>(ValueType::u64), 0x2000000000000001ull));
    value("1 GiB in 200 bytes",
          Bytes().string("k").type(ValueType::string).put(1ull << 30).zeros(120).text());
    for (const uint32_t type : {13u, 255u, 1u << 31, ~0u})
        value(fmt::format("value type {}", type), Bytes().string("k").put(type).zeros(16).text());
    for (const size_t depth : {1u, 2u, 1000u, 100000u}) {
        Bytes b;
        b.string("k").type(ValueType::array);
        for (size_t i = 0; i < depth; ++i) b.type(ValueType::array).put<uint64_t>(1);
        value(fmt::format("arrays nested {} deep", depth), b.text());
    }
    make.with(make.base(), "a\xff\xfe", "is not UTF-8", encoded(ValueType::u8, uint8_t{1}),
              Outcome::refused);
    make.changed("duplicate key", Outcome::refused, [](GgufImage& i) {
        i.values.emplace_back("general.name", encoded_string("again"));
    });
    make.with(make.base(), "tokenizer.ggml.add_bos_token", "2",
              encoded(ValueType::boolean, uint8_t{2}), Outcome::refused);
}

// Each hyper-parameter as it must not be. Some are ignored where the architecture does not ask.
void add_hyper_parameters(HostileMaker& make) {
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    const std::pair<const char*, std::string> numbers[] = {
        {"0", encoded(ValueType::u32, 0u)},
        {"0.0", encoded(ValueType::f32, 0.0f)},
        {"huge", encoded(ValueType::u32, ~0u)},
        {"2^63", encoded(ValueType::u64, 1ull << 63)},
        {"-1", encoded(ValueType::i32, -1)},
        {"-1.0", encoded(ValueType::f32, -1.0f)},
        {"NaN", encoded(ValueType::f32, nan)},
        {"1.5", encoded(ValueType::f64, 1.5)},
        {"infinite", encoded(ValueType::f32, std::numeric_limits<float>::infinity())},
        {"text", encoded_string("many")},
        {"true", encoded(ValueType::boolean, uint8_t{1})},
        {"list", one_number()}};
    const char* counts[] = {
        "block_count",           "embedding_length",        "feed_forward_length",
        "attention.head_count",  "attention.head_count_kv", "attention.key_length",
        "attention.value_length"};
    const char* others[] = {"context_length",
                            "attention.layer_norm_rms_epsilon",
                            "rope.freq_base",
                            "rope.dimension_count",
                            "vocab_size",
                            "expert_count",
                            "expert_used_count",
                            "attention.sliding_window",
                            "attention.sliding_window_pattern"};
    for (const char* architecture : {"llama", "gemma3"}) {
        const GgufImage& from = make.base(architecture);
        const std::string prefix = std::string(architecture) + ".";
        for (const char* key : counts)
            for (const auto& [what, value] : numbers)
                make.with(from, prefix + key, what, value, Outcome::refused);
        for (const char* key : others)
            for (const auto& [what, value] : numbers)
                make.with(from, prefix + key, what, value, Outcome::either);
        for (const char* key :
             {"block_count", "embedding_length", "feed_forward_length", "attention.head_count"})
            make.with(from, prefix + key, "missing", "", Outcome::refused);
        for (const char* key : others)
            make.with(from, prefix + key, "missing", "", Outcome::either);
        make.with(from, prefix + "context_length", "0 again", encoded(ValueType::u32, 0u),
                  Outcome::refused);
        for (const float epsilon : {0.0f, -1e-5f, nan})
            make.with(from, prefix + "attention.layer_norm_rms_epsilon",
                      fmt::format("{} again", epsilon), encoded(ValueType::f32, epsilon),
                      Outcome::refused);
        make.with(from, prefix + "rope.dimension_count", "odd", encoded(ValueType::u32, 15u),
                  Outcome::refused);
    }
    // keys of one architecture
    const std::pair<const char*, std::vector<const char*>> own[] = {
        {"gemma2",
         {"attn_logit_softcapping", "final_logit_softcapping", "attention.sliding_window",
          "attention.sliding_window_pattern"}},
        {"gemma3", {"rope.freq_base_swa"}},
        {"phi3", {"rope.dimension_count", "attention.sliding_window"}},
        {"qwen2", {"rope.freq_base"}},
        {"qwen3", {"rope.freq_base", "attention.key_length"}}};
    for (const auto& [architecture, keys] : own)
        for (const char* key : keys)
            for (const auto& [what, value] : numbers)
                make.with(make.base(architecture), fmt::format("{}.{}", architecture, key), what,
                          value, Outcome::either);
    GgufImage yarn = make.base();
    yarn.set("llama.rope.scaling.type", encoded_string("yarn"));
    yarn.set("llama.rope.scaling.factor", encoded(ValueType::f32, 4.0f));
    make.add("yarn", yarn.bytes(), Outcome::works);
    for (const char* key :
         {"type", "factor", "original_context_length", "attn_factor", "yarn_attn_factor",
          "yarn_beta_fast", "yarn_beta_slow", "yarn_ext_factor"})
        for (const auto& [what, value] : numbers)
            make.with(yarn, fmt::format("llama.rope.scaling.{}", key), what, value,
                      Outcome::either);
}

void add_combinations(HostileMaker& make) {
    const auto set = [&](const std::string& name,
                         std::vector<std::pair<const char*, uint32_t>> values) {
        make.changed(name, Outcome::refused, [&](GgufImage& i) {
            for (const auto& [key, n] : values)
                i.set(std::string("llama.") + key, encoded(ValueType::u32, n));
        });
    };
    set("more KV heads than heads", {{"attention.head_count_kv", 4}});
    set("KV heads that do not divide the heads",
        {{"attention.head_count", 3}, {"attention.head_count_kv", 2}});
    set("heads that do not divide the width", {{"attention.head_count", 3}});
    set("a width of 33", {{"embedding_length", 33}});
    set("odd heads", {{"attention.key_length", 15}, {"attention.value_length", 15}});
    set("more layers than tensors", {{"block_count", 2}});
    set("512 layers", {{"block_count", 512}});
    set("experts", {{"expert_count", 8}});
    set("more experts used than there are", {{"expert_count", 4}, {"expert_used_count", 8}});
}

// Keys beside the hyper-parameters, each with values of the types that it is not.
void add_keys(HostileMaker& make) {
    const std::pair<const char*, std::string> values[] = {
        {"number", encoded(ValueType::u32, 1u)},
        {"2^63", encoded(ValueType::u64, 1ull << 63)},
        {"fraction", encoded(ValueType::f32, 0.5f)},
        {"truth", encoded(ValueType::boolean, uint8_t{1})},
        {"text", encoded_string("x")},
        {"empty text", encoded_string("")},
        {"numbers", one_number()},
        {"texts", encoded_strings({"x"})},
        {"empty list", encoded_strings({})}};
    for (const char* key : {"general.architecture",
                            "general.name",
                            "general.alignment",
                            "general.file_type",
                            "split.no",
                            "split.count",
                            "split.tensors.count",
                            "tokenizer.ggml.model",
                            "tokenizer.ggml.pre",
                            "tokenizer.ggml.tokens",
                            "tokenizer.ggml.scores",
                            "tokenizer.ggml.token_type",
                            "tokenizer.ggml.merges",
                            "tokenizer.ggml.bos_token_id",
                            "tokenizer.ggml.eos_token_id",
                            "tokenizer.ggml.eot_token_id",
                            "tokenizer.ggml.eom_token_id",
                            "tokenizer.ggml.fim_pad_token_id",
                            "tokenizer.ggml.unknown_token_id",
                            "tokenizer.ggml.add_bos_token",
                            "tokenizer.ggml.add_eos_token",
                            "tokenizer.ggml.add_space_prefix",
                            "tokenizer.chat_template"})
        for (const auto& [what, value] : values)
            make.with(make.base(), key, what, value, Outcome::either);
    for (const char* key :
         {"general.architecture", "tokenizer.ggml.model", "tokenizer.ggml.tokens"})
        make.with(make.base(), key, "missing", "", Outcome::refused);
    const auto architecture = [&](const char* what, const std::string& name) {
        make.with(make.base(), "general.architecture", what, encoded_string(name),
                  Outcome::refused);
    };
    architecture("unknown", "mamba");
    architecture("not printable", "a\n\xff");
    architecture("of 1 MiB", std::string(1 << 20, 'a'));
}

}  // namespace

void add_value_files(HostileMaker& make) {
    add_encodings(make);
    add_hyper_parameters(make);
    add_combinations(make);
    add_keys(make);
}

}  // namespace ridge::test
