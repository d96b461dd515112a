// What the random-weight generator writes beside weights: each setting under its key, and each
// shape that fits no architecture refused by the member that is wrong.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <map>

#include "format/random_model.hpp"
#include "support/random_model.hpp"

namespace ridge {
namespace {

// llama.cpp's include/llama.h, enum llama_ftype.
TEST(RandomSettings, FileTypesAreThoseOfLlamaCpp) {
    const std::map<DType, uint64_t> numbers = {
        {DType::f32, 0},     {DType::f16, 1},     {DType::q4_0, 2},  {DType::q4_1, 3},
        {DType::q8_0, 7},    {DType::q5_0, 8},    {DType::q5_1, 9},  {DType::q2_k, 10},
        {DType::q3_k, 12},   {DType::q4_k, 14},   {DType::q5_k, 16}, {DType::q6_k, 18},
        {DType::iq4_nl, 25}, {DType::iq4_xs, 30}, {DType::bf16, 32}, {DType::mxfp4, 38}};
    const test::TempDir dir;
    ShapeConfig config;
    config.embedding_length = config.feed_forward_length = 256;
    config.block_count = 1;
    const auto file_type = [&] {
        auto file = GgufFile::open(test::write_model(dir, config));
        EXPECT_TRUE(file);
        return file->get_uint("general.file_type");
    };
    for (const auto& [type, number] : numbers) {
        config.type = type;
        EXPECT_EQ(file_type(), number) << name(type);
    }
    for (const auto& [mix, number] :
         {std::pair{Mix::q4_0, 2u}, std::pair{Mix::q4_k_m, 15u}, std::pair{Mix::q5_k_m, 17u}}) {
        config.mix = mix;
        EXPECT_EQ(file_type(), number);
    }
}

TEST(RandomSettings, EachSettingStandsUnderItsKey) {
    const test::TempDir dir;
    const std::string json = R"({"name":"n","architecture":"gemma2","embedding_length":32,
        "head_count":2,"head_count_kv":1,"key_length":16,"rope_dimension_count":8,
        "sliding_window":64,"sliding_window_pattern":2,"attn_softcap":50.0,"final_softcap":30.0,
        "rope_scaling":"yarn","rope_scaling_factor":4.0,"rope_original_context":128,
        "rope_attn_factor":1.25,"yarn_attn_factor":1.5,"yarn_beta_fast":32.0,"yarn_beta_slow":2.0,
        "rope_freqs":[1,2,3,4],"rope_factors_short":[1,1,1,1.5],"rope_factors_long":[2,4,6,8],
        "tied":true,"attention_bias":false,"rms_epsilon":0.001,"rope_freq_base":20000,
        "mix":"NONE","seed":9})";
    const auto config = read_shape_config(dir.write("c.json", json));
    ASSERT_TRUE(config) << config.error().message;
    EXPECT_EQ(config->seed, 9u);
    auto file = GgufFile::open(test::write_model(dir, *config));
    ASSERT_TRUE(file) << file.error().message;
    const std::map<std::string, double> numbers = {
        {"attention.sliding_window", 64},    {"attention.sliding_window_pattern", 2},
        {"attn_logit_softcapping", 50},      {"final_logit_softcapping", 30},
        {"rope.dimension_count", 8},         {"rope.freq_base", 20000},
        {"rope.scaling.factor", 4},          {"rope.scaling.original_context_length", 128},
        {"rope.scaling.attn_factor", 1.25},  {"rope.scaling.yarn_attn_factor", 1.5},
        {"rope.scaling.yarn_beta_fast", 32}, {"rope.scaling.yarn_beta_slow", 2}};
    for (const auto& [key, value] : numbers)
        EXPECT_EQ(file->get_float("gemma2." + key), value) << key;
    EXPECT_EQ(file->get_string("gemma2.rope.scaling.type"), "yarn");
    for (const auto& [name, last] :
         {std::pair{"rope_freqs.weight", 4.0f}, std::pair{"rope_factors_short.weight", 1.5f},
          std::pair{"rope_factors_long.weight", 8.0f}}) {
        const TensorInfo* t = file->find(name);
        ASSERT_NE(t, nullptr) << name;
        ASSERT_EQ(t->elements(), 4u);
        float got = 0.0f;
        __builtin_memcpy(&got, t->data + 12, 4);
        EXPECT_EQ(got, last) << name;
    }
}

TEST(RandomSettings, MembersOfAnotherKindAreNamed) {
    const test::TempDir dir;
    for (const char* member : {"name",
                               "architecture",
                               "vocab_size",
                               "block_count",
                               "context_length",
                               "embedding_length",
                               "feed_forward_length",
                               "head_count",
                               "head_count_kv",
                               "key_length",
                               "rms_epsilon",
                               "rope_freq_base",
                               "tied",
                               "attention_bias",
                               "sliding_window",
                               "sliding_window_pattern",
                               "rope_dimension_count",
                               "attn_softcap",
                               "final_softcap",
                               "rope_scaling",
                               "rope_scaling_factor",
                               "rope_original_context",
                               "rope_attn_factor",
                               "yarn_attn_factor",
                               "yarn_beta_fast",
                               "yarn_beta_slow",
                               "rope_freqs",
                               "rope_factors_short",
                               "rope_factors_long",
                               "type",
                               "mix",
                               "logits",
                               "seed"})
        for (const char* value : {"{}", "[\"x\"]", "null"}) {
            const auto c = read_shape_config(
                dir.write("c.json", std::string("{\"") + member + "\":" + value + "}"));
            ASSERT_FALSE(c) << member << value;
            EXPECT_EQ(c.error().code, ErrorCode::bad_file);
            EXPECT_NE(c.error().message.find(member), std::string::npos) << c.error().message;
        }
    EXPECT_EQ(read_shape_config(dir.file("absent")).error().code, ErrorCode::not_found);
}

TEST(RandomSettings, WhatDoesNotFitIsNamed) {
    const test::TempDir dir;
    const std::pair<const char*, std::function<void(ShapeConfig&)>> cases[] = {
        {"vocab_size", [](auto& c) { c.vocab_size = (1u << 24) + 1; }},
        {"block_count", [](auto& c) { c.block_count = 1025; }},
        {"context_length", [](auto& c) { c.context_length = 0; }},
        {"every width", [](auto& c) { c.embedding_length = 0; }},
        {"every width", [](auto& c) { c.feed_forward_length = (1u << 20) + 1; }},
        {"head_count_kv must divide", [](auto& c) { c.head_count_kv = 3; }},
        {"key_length must be even", [](auto& c) { c.key_length = 7; }},
        {"rms_epsilon", [](auto& c) { c.rms_epsilon = 0.0f; }},
        {"rope_freq_base", [](auto& c) { c.rope_freq_base = NAN; }},
        {"sliding_window_pattern",
         [](auto& c) {
             c.architecture = "gemma3";
             c.sliding_window_pattern = 0;
         }},
        {"rope_dimension_count", [](auto& c) { c.rope_dimension_count = 3; }},
        {"rope_dimension_count", [](auto& c) { c.rope_dimension_count = 10; }},
        {"RoPE factors", [](auto& c) { c.rope_freqs = {1.0f}; }},
        {"RoPE factors", [](auto& c) { c.rope_factors_long = std::vector<float>(5, 1.0f); }},
    };
    for (const auto& [words, change] : cases) {
        ShapeConfig config;
        change(config);
        const auto done = write_random_model(config, dir.file("u.gguf"));
        ASSERT_FALSE(done) << words;
        EXPECT_EQ(done.error().code, ErrorCode::invalid_argument);
        EXPECT_NE(done.error().message.find(words), std::string::npos) << done.error().message;
        EXPECT_FALSE(std::filesystem::exists(dir.file("u.gguf")));
    }
}

// Rows that no block divides: the smaller types that llama-quantize falls back to.
TEST(RandomSettings, RowsThatABlockDoesNotDivide) {
    ShapeConfig c;
    const std::pair<DType, DType> smaller[] = {
        {DType::q2_k, DType::iq4_nl}, {DType::q3_k, DType::iq4_nl}, {DType::iq4_xs, DType::iq4_nl},
        {DType::q4_k, DType::q5_0},   {DType::q5_k, DType::q5_1},   {DType::q6_k, DType::q8_0},
        {DType::q4_0, DType::q4_0},   {DType::mxfp4, DType::mxfp4}, {DType::f32, DType::f32}};
    for (const auto& [type, fallback] : smaller) {
        c.type = type;
        EXPECT_EQ(matrix_type(c, "blk.0.attn_q.weight", 512), type);
        EXPECT_EQ(matrix_type(c, "blk.0.attn_q.weight", 96), fallback) << name(type);
        EXPECT_EQ(matrix_type(c, "blk.0.attn_q.weight", 40),
                  type == DType::f32 ? DType::f32 : DType::f16);
    }
}

TEST(RandomSettings, EveryPresetFitsItsArchitecture) {
    for (const std::string& preset : shape_preset_names()) {
        const auto c = shape_preset(preset);
        ASSERT_TRUE(c) << preset;
        uint64_t weights = 0;
        for (const RandomTensor& t : random_tensors(*c)) {
            uint64_t n = 1;
            for (const uint64_t d : t.dims) n *= d;
            weights += n;
        }
        // The size in the name is what was published, but for two names that are further off
        // (model cards of Llama 3.2 1B and Gemma 2 2B).
        const size_t dash = preset.rfind('-');
        const char unit = preset.back();
        if (dash == std::string::npos || (unit != 'm' && unit != 'b')) continue;
        double said = std::stod(preset.substr(dash + 1)) * (unit == 'm' ? 1e6 : 1e9);
        if (preset == "llama3.2-1b") said = 1.23e9;
        if (preset == "gemma2-2b") said = 2.6e9;
        EXPECT_NEAR(static_cast<double>(weights) / said, 1.0, 0.1) << preset;
    }
    // The fastest wave is kept, the slowest slowed by the factor of 32 (config.json of Llama 3.2).
    const auto llama = shape_preset("llama3.2-1b");
    ASSERT_EQ(llama->rope_freqs.size(), 32u);
    EXPECT_EQ(llama->rope_freqs.front(), 1.0f);
    EXPECT_EQ(llama->rope_freqs.back(), 32.0f);
    EXPECT_NE(shape_preset("huge").error().message.find("gemma3-4b"), std::string::npos);
}

}  // namespace
}  // namespace ridge
