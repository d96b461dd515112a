// The random-weight generator: values against constants computed by the independent Python
// definition (tools/golden/spec.py), types by llama.cpp's rule, metadata complete.
#include "format/random_model.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "format/dequantize.hpp"
#include "support/random_model.hpp"

namespace ridge {
namespace {

float value_at(const TensorInfo& t, uint64_t i) {
    float f;
    std::memcpy(&f, t.data + 4 * i, 4);
    return f;
}

TEST(RandomModel, ValuesAreThoseOfTheDefinition) {
    const test::TempDir dir;
    const ShapeConfig config = test::golden_config("llama-bias");
    auto file = GgufFile::open(test::write_model(dir, config));
    ASSERT_TRUE(file) << file.error().message;
    const struct {
        const char* name;
        float first, second, last;
    } expected[] = {
        {"token_embd.weight", 0x1.a574180000000p-2f, -0x1.e411880000000p-3f,
         -0x1.e5013c0000000p-2f},
        {"blk.0.attn_norm.weight", 0x1.3674b20000000p+0f, 0x1.a8ac0c0000000p-1f,
         0x1.816bd00000000p-1f},
        {"blk.1.attn_q.bias", 0x1.6ceb840000000p-4f, 0x1.2164f00000000p-4f, -0x1.f118c00000000p-5f},
        {"blk.1.ffn_down.weight", 0x1.13b8460000000p-4f, 0x1.e1f1b40000000p-4f,
         -0x1.0a70f80000000p-5f},
    };
    for (const auto& e : expected) {
        const TensorInfo* t = file->find(e.name);
        ASSERT_NE(t, nullptr) << e.name;
        EXPECT_EQ(value_at(*t, 0), e.first) << e.name;
        EXPECT_EQ(value_at(*t, 1), e.second) << e.name;
        EXPECT_EQ(value_at(*t, t->elements() - 1), e.last) << e.name;
    }
}

TEST(RandomModel, ConfigurationIsInTheMetadata) {
    const test::TempDir dir;
    const ShapeConfig config = test::golden_config("gemma3-pattern");
    EXPECT_EQ(config.logits, "gemma3-pattern.f32");
    EXPECT_FALSE(config.tokens.empty());
    auto file = GgufFile::open(test::write_model(dir, config));
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(file->get_string("general.architecture"), "gemma3");
    EXPECT_EQ(file->get_uint("gemma3.block_count"), 7u);
    EXPECT_EQ(file->get_uint("gemma3.attention.key_length"), 16u);
    EXPECT_EQ(file->get_uint("gemma3.attention.sliding_window"), 24u);
    EXPECT_EQ(file->get_uint("gemma3.attention.sliding_window_pattern"), 6u);
    EXPECT_EQ(file->get_float("gemma3.rope.freq_base"), 1e6);
    EXPECT_EQ(file->get_strings("tokenizer.ggml.tokens")->size(), 260u);
    EXPECT_EQ(file->get_ints("tokenizer.ggml.token_type")->size(), 260u);
    EXPECT_NE(file->find("blk.6.post_ffw_norm.weight"), nullptr);
    EXPECT_EQ(file->find("output.weight"), nullptr);
    EXPECT_EQ(file->find("blk.0.attn_q_norm.weight")->dims[0], 16u);
}

TEST(RandomModel, MatricesOfEveryTypeAreReadable) {
    const test::TempDir dir;
    for (uint8_t t = 0; t < static_cast<uint8_t>(DType::count_); ++t) {
        ShapeConfig config;
        config.name = name(static_cast<DType>(t));
        config.type = static_cast<DType>(t);
        config.embedding_length = 256;
        config.feed_forward_length = 96;  // 32 divides it, 256 does not
        config.head_count = config.head_count_kv = 4;
        config.key_length = 64;
        config.tied = false;
        auto file = GgufFile::open(test::write_model(dir, config));
        ASSERT_TRUE(file) << file.error().message;
        EXPECT_EQ(file->find("output.weight")->type, config.type);
        const TensorInfo* down = file->find("blk.0.ffn_down.weight");
        EXPECT_EQ(down->type == config.type, info(config.type).block <= 32);
        EXPECT_EQ(file->find("blk.0.ffn_norm.weight")->type, DType::f32);
        std::vector<float> stored(256), exact(256);
        const TensorInfo* up = file->find("blk.1.ffn_up.weight");
        dequantize(up->type, up->data + row_bytes(up->type, 256) * 5, 256, stored.data());
        random_values(config.seed, up->name, 256, 5 * 256, exact);
        for (size_t i = 0; i < 256; ++i) EXPECT_NEAR(stored[i], exact[i], 0.06f) << config.name;
    }
}

TEST(RandomModel, MixesFollowTheRule) {
    auto config = shape_preset("qwen3-0.6b");
    ASSERT_TRUE(config);
    config->mix = Mix::q4_k_m;
    EXPECT_EQ(matrix_type(*config, "token_embd.weight", 1024), DType::q6_k);
    EXPECT_EQ(matrix_type(*config, "blk.0.attn_q.weight", 1024), DType::q4_k);
    // 28 layers: 0..2 and 24..27 (7 * 28 / 8 = 24), and from 3 on every third: 5, 8, ...
    int favoured = 0;
    for (int layer = 0; layer < 28; ++layer) {
        const bool more = layer < 3 || layer >= 24 || (layer - 3) % 3 == 2;
        const std::string v = "blk." + std::to_string(layer) + ".attn_v.weight";
        const std::string down = "blk." + std::to_string(layer) + ".ffn_down.weight";
        EXPECT_EQ(matrix_type(*config, v, 1024), more ? DType::q6_k : DType::q4_k) << layer;
        EXPECT_EQ(matrix_type(*config, down, 3072), more ? DType::q6_k : DType::q4_k) << layer;
        favoured += more ? 1 : 0;
    }
    EXPECT_EQ(favoured, 14);
    config->mix = Mix::q5_k_m;
    EXPECT_EQ(matrix_type(*config, "blk.3.ffn_up.weight", 1024), DType::q5_k);
    config->tied = false;
    EXPECT_EQ(matrix_type(*config, "token_embd.weight", 1024), DType::q5_k);
    EXPECT_EQ(matrix_type(*config, "output.weight", 1024), DType::q6_k);
    config->mix = Mix::q4_0;
    EXPECT_EQ(matrix_type(*config, "blk.0.attn_v.weight", 1024), DType::q4_0);
    EXPECT_EQ(matrix_type(*config, "output.weight", 1024), DType::q6_k);

    // Gemma 3 270M: rows of 640, as its published Q4_K_M has them
    auto gemma = shape_preset("gemma3-270m");
    ASSERT_TRUE(gemma);
    gemma->mix = Mix::q4_k_m;
    EXPECT_EQ(matrix_type(*gemma, "token_embd.weight", 640), DType::q8_0);
    EXPECT_EQ(matrix_type(*gemma, "blk.0.attn_k.weight", 640), DType::q5_0);
    EXPECT_EQ(matrix_type(*gemma, "blk.0.attn_v.weight", 640), DType::q8_0);
    EXPECT_EQ(matrix_type(*gemma, "blk.0.attn_output.weight", 1024), DType::q4_k);
    EXPECT_EQ(matrix_type(*gemma, "blk.0.ffn_down.weight", 2048), DType::q6_k);
    gemma->mix = Mix::q5_k_m;
    EXPECT_EQ(matrix_type(*gemma, "blk.0.attn_k.weight", 640), DType::q5_1);
    EXPECT_EQ(matrix_type(*gemma, "blk.0.attn_k.weight", 172), DType::f16);
}

TEST(RandomModel, UnfitShapesAreRefused) {
    const test::TempDir dir;
    const auto refused = [&](auto change) {
        ShapeConfig config;
        change(config);
        const auto done = write_random_model(config, dir.file("u.gguf"));
        return !done && done.error().code == ErrorCode::invalid_argument;
    };
    EXPECT_TRUE(refused([](ShapeConfig& c) { c.vocab_size = 259; }));
    EXPECT_TRUE(refused([](ShapeConfig& c) { c.architecture = "gpt2"; }));
    EXPECT_TRUE(refused([](ShapeConfig& c) { c.head_count_kv = 3; }));
    EXPECT_TRUE(refused([](ShapeConfig& c) { c.head_count_kv = 0; }));
    EXPECT_TRUE(refused([](ShapeConfig& c) { c.key_length = 7; }));
    EXPECT_TRUE(refused([](ShapeConfig& c) { c.block_count = 0; }));
    EXPECT_FALSE(shape_preset("huge"));
    EXPECT_FALSE(parse_mix("Q9"));
}

TEST(RandomModel, UnfitConfigurationsAreRefused) {
    const test::TempDir dir;
    for (const char* text :
         {"", "[]", "{", R"({"vocab_size": -1})", R"({"vocab_size": 1.5})", R"({"tied": 1})",
          R"({"type": "Q9"})", R"({"mix": "best"})", R"({"seed": "x"})", R"({"tokens": [-1]})",
          R"({"tokens": [512]})", R"({"tokens": 3})", R"({"block_count": 4294967296})"}) {
        EXPECT_FALSE(read_shape_config(dir.write("c.json", text))) << text;
    }
    auto config = read_shape_config(dir.write("c.json", R"({"type": "q4_k", "tokens": [0, 511]})"));
    ASSERT_TRUE(config) << config.error().message;
    EXPECT_EQ(config->type, DType::q4_k);
    EXPECT_EQ(config->tokens, (std::vector<int32_t>{0, 511}));
}

}  // namespace
}  // namespace ridge
