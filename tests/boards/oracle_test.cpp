// The oracle against what others publish: llama2.c's greedy text, transformers' logits.
#include "support/oracle.hpp"

#include <gtest/gtest.h>

#include "format/llama2c.hpp"
#include "support/random_model.hpp"
#include "support/temp_dir.hpp"
#include "support/worst_difference.hpp"
#include "text/tokenizer.hpp"
#include "text/vocab.hpp"

namespace ridge {
namespace {

std::string stories(const char* name) {
    return std::string(RIDGE_TEST_DATA) + "/stories260K/" + name;
}

// doc/stories260K.md of karpathy/llama2.c: `run ... -t 0.0`, 256 steps from BOS.
TEST(Oracle, TellsTheStoryThatLlama2cPublishes) {
    const test::TempDir dir;
    const std::string path = dir.file("stories.gguf");
    ASSERT_TRUE(convert_llama2c(stories("stories260K.bin"), stories("tok512.bin"), path));
    auto oracle = test::Oracle::open(path);
    ASSERT_TRUE(oracle) << oracle.error().message;
    const auto file = GgufFile::open(path);
    ASSERT_TRUE(file);
    const auto vocab = read_vocab(*file);
    ASSERT_TRUE(vocab) << vocab.error().message;
    const auto tokenizer = Tokenizer::create(*vocab);
    ASSERT_TRUE(tokenizer) << tokenizer.error().message;

    std::vector<int32_t> ids = {1};
    for (int i = 0; i < 256; ++i) {
        const std::vector<double>& logits = oracle->step(ids.back());
        ids.push_back(
            static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin()));
    }
    const std::string published = test::read_file(stories("greedy.txt"));
    ASSERT_GT(published.size(), 500u);
    const std::string told = tokenizer->decode(ids);
    EXPECT_EQ(told.substr(0, published.size() - 1), published.substr(0, published.size() - 1));
    EXPECT_LT(told.size(), published.size() + 4) << "256 tokens are this text and little more";
}

// Random models whose logits transformers computed in float32 (tests/data/goldens/README.md).
TEST(Oracle, LogitsAreThoseOfTransformers) {
    for (const char* name : {"llama-bias", "llama-gqa", "llama-mqa", "llama-untied",
                             "llama-widekey", "llama-head80", "llama-hidden896", "llama-long"}) {
        const test::TempDir dir;
        const ShapeConfig config = test::golden_config(name);
        auto oracle = test::Oracle::open(test::write_model(dir, config));
        ASSERT_TRUE(oracle) << name << ": " << oracle.error().message;
        const std::string bytes =
            test::read_file(std::string(RIDGE_TEST_DATA) + "/goldens/" + name + ".f32");
        std::vector<float> want(bytes.size() / 4);
        std::memcpy(want.data(), bytes.data(), bytes.size());
        ASSERT_EQ(want.size(), config.tokens.size() * config.vocab_size) << name;
        test::WorstDifference worst;
        for (size_t t = 0, at = 0; t < config.tokens.size(); ++t)
            for (const double logit : oracle->step(config.tokens[t])) worst.add(logit, want[at++]);
        EXPECT_LE(worst.value(), 1e-5 * worst.largest()) << name;
        EXPECT_GT(worst.largest(), 0) << name;
    }
}

// Attention over a window sees what a sequence of just those tokens' keys would give: with a window
// of one, each position sees itself alone, whatever came before.
TEST(Oracle, AWindowForgetsTheOldest) {
    const test::TempDir dir;
    ShapeConfig config = test::golden_config("llama-gqa");
    config.block_count = 1;
    auto oracle = test::Oracle::open(test::write_model(dir, config));
    ASSERT_TRUE(oracle) << oracle.error().message;
    std::vector<double> attention;
    oracle->tap = [&](const char* stage, size_t, std::span<double> x) {
        if (std::string_view(stage) == "attention") attention.assign(x.begin(), x.end());
    };
    oracle->reset(1);
    oracle->step(5);
    const std::vector<double> alone = attention;
    for (const int32_t token : {7, 9, 5}) oracle->step(token);
    ASSERT_EQ(attention.size(), alone.size());
    for (size_t i = 0; i < alone.size(); ++i) EXPECT_NEAR(attention[i], alone[i], 1e-12);
    oracle->reset();
    for (const int32_t token : {7, 9, 5}) oracle->step(token);
    const test::WorstDifference apart(attention, alone);
    EXPECT_GT(apart.value(), 1e-6) << "without a window the past counts";
    EXPECT_TRUE(std::isfinite(apart.value()));
}

}  // namespace
}  // namespace ridge
