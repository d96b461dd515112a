// The shape of each model family at its real widths, from random weights, with few layers and a
// small vocabulary: it loads, and every way of cutting up the work gives the same finite bits.
// (docs/models.md says which whole shapes were run by hand.)
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "format/gguf_writer.hpp"
#include "support/engine.hpp"
#include "support/sanitized.hpp"

namespace ridge {
namespace {

class Shapes : public testing::TestWithParam<std::string> {};

TEST_P(Shapes, LoadAndRun) {
    auto shape = shape_preset(GetParam());
    ASSERT_TRUE(shape.has_value());
    if (test::sanitized && shape->embedding_length > 1200)
        GTEST_SKIP() << "too wide for a sanitized build; narrower shapes of each family run";
    // Gemma: one layer behind a window, one that sees everything.
    const bool gemma = shape->architecture.starts_with("gemma");
    shape->block_count = gemma ? 2 : 1;
    if (gemma) shape->sliding_window_pattern = 2;
    shape->vocab_size = 500;
    shape->type = DType::q4_0;
    const test::TempDir dir;
    ModelOptions options;
    options.threads = 2;
    options.max_logits = 64;
    const auto model = test::load(test::write_model(dir, *shape), options);
    ASSERT_NE(model, nullptr);
    EXPECT_EQ(model->architecture(), shape->architecture);
    const auto tokens = test::random_tokens(40, shape->vocab_size, 3);
    std::vector<float> want;
    for (const uint32_t chunk : {64u, 7u, 1u}) {
        const auto context = test::context(*model, 64);
        ASSERT_NE(context, nullptr);
        const std::vector<float> got = test::all_logits(*context, tokens, chunk);
        ASSERT_EQ(got.size(), tokens.size() * shape->vocab_size);
        for (const float x : got) ASSERT_TRUE(std::isfinite(x));
        EXPECT_NE(std::ranges::max(got), std::ranges::min(got));
        if (want.empty()) want = got;
        EXPECT_TRUE(test::same_bits(got, want)) << "chunks of " << chunk;
    }
}

std::vector<std::string> names() {
    std::vector<std::string> all = shape_preset_names();
    std::erase(all, "tiny");
    return all;
}

INSTANTIATE_TEST_SUITE_P(Published, Shapes, testing::ValuesIn(names()), [](const auto& info) {
    std::string name = info.param;
    std::ranges::replace_if(name, [](char c) { return c == '-' || c == '.'; }, '_');
    return name;
});

// phi3's q, k and v in one tensor and in three, in block types: the same bits.
TEST(FusedTensors, GiveTheBitsOfSeparateOnes) {
    const test::TempDir dir;
    for (const DType type : {DType::q4_k, DType::q8_0, DType::bf16}) {
        ShapeConfig shape = test::tiny_llama(type);
        shape.name = std::string("phi3-") + name(type);
        shape.architecture = "phi3";
        shape.key_length = 40;  // groups of 16 columns end inside a head
        const std::string fused = test::write_model(dir, shape);
        auto file = GgufFile::open(fused);
        ASSERT_TRUE(file.has_value()) << file.error().message;
        GgufWriter out;
        for (const std::string& key : file->keys()) {
            const auto value = file->encoded_value(key);
            out.set_encoded(key, std::string(value.begin(), value.end()));
        }
        for (const TensorInfo& t : file->tensors()) {
            std::vector<uint64_t> dims(t.dims.begin(), t.dims.begin() + t.n_dims);
            const size_t at = t.name.find("attn_qkv");
            if (at == std::string::npos) {
                ASSERT_TRUE(out.add_tensor(t.name, t.type, dims, t.data));
                continue;
            }
            const uint64_t rows[3] = {6 * 40, 2 * 40, 2 * 40};
            const uint8_t* data = t.data;
            for (int i = 0; i < 3; ++i) {
                std::string part = t.name;
                part.replace(at, 8, std::string("attn_") + "qkv"[i]);
                ASSERT_TRUE(out.add_tensor(part, t.type, {dims[0], rows[i]}, data));
                data += rows[i] * row_bytes(t.type, dims[0]);
            }
            ASSERT_EQ(data, t.data + t.bytes);
        }
        const std::string separate = dir.file("separate.gguf");
        ASSERT_TRUE(out.write(separate));
        ModelOptions options;
        options.threads = 2;
        const auto tokens = test::random_tokens(30, shape.vocab_size, 4);
        std::vector<float> logits[2];
        for (int i = 0; i < 2; ++i) {
            const auto model = test::load(i == 0 ? fused : separate, options);
            ASSERT_NE(model, nullptr);
            logits[i] = test::all_logits(*test::context(*model, 64), tokens, 16);
        }
        EXPECT_TRUE(test::same_bits(logits[0], logits[1])) << name(type);
    }
}

}  // namespace
}  // namespace ridge
