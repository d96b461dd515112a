// Logits against transformers: tests/data/goldens holds them for random models whose weights the
// generator of format/random_model.hpp reproduces bit for bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <limits>
#include <set>

#include "runtime/model.hpp"
#include "support/engine.hpp"
#include "support/worst_difference.hpp"

namespace ridge {
namespace {

// Written down, so that a golden that is gone fails.
const std::vector<std::string> names = {
    "gemma2-softcap",   "gemma2-window256", "gemma3-head256",  "gemma3-linear",
    "gemma3-mqa64",     "gemma3-nowindow",  "gemma3-pattern",  "gemma3-pattern2",
    "gemma3-window256", "gemma3-window512", "llama-bias",      "llama-gqa",
    "llama-head80",     "llama-head96",     "llama-hidden896", "llama-linear",
    "llama-llama3",     "llama-long",       "llama-mqa",       "llama-untied",
    "llama-vocab32003", "llama-widekey",    "llama-yarn",      "llama-yarn-set",
    "phi3-long",        "phi3-partial",     "phi3-short",      "phi3-window",
    "qwen2-gqa",        "qwen2-yarn",       "qwen3-gqa",       "qwen3-widehead",
};

std::vector<float> golden_logits(const std::string& name) {
    const std::string bytes = test::read_file(RIDGE_TEST_DATA "/goldens/" + name + ".f32");
    std::vector<float> logits(bytes.size() / 4);
    std::memcpy(logits.data(), bytes.data(), logits.size() * 4);
    return logits;
}

// What every comparison with a golden rests on.
TEST(GoldenFiles, WhatIsNoNumberIsWorst) {
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    constexpr float infinite = std::numeric_limits<float>::infinity();
    using Numbers = std::vector<float>;
    const Numbers want = {1, -4, 2};
    const auto of = [&](const Numbers& got) { return test::WorstDifference(got, want); };
    EXPECT_EQ(of({1, -3, 2.5f}).value(), 1.0);
    EXPECT_EQ(of({1, -3, 2.5f}).where(), 1u);
    EXPECT_EQ(of(want).value(), 0.0);
    EXPECT_EQ(of(want).largest(), 4.0);
    for (const float bad : {nan, infinite, -infinite})
        for (size_t at = 0; at < want.size(); ++at) {
            Numbers got = {1, -3, 2.5f};
            got[at] = bad;
            EXPECT_EQ(of(got).value(), infinite) << bad << " at " << at;
            EXPECT_EQ(of(got).where(), at);
            EXPECT_FALSE(of(got).value() <= 1e-4 * of(got).largest());
            // Wanted it is no better, not even where both are the same.
            const test::WorstDifference same(got, got);
            EXPECT_FALSE(same.value() <= 1e-4 * same.largest()) << bad << " at " << at;
        }
    EXPECT_EQ(of({1, -4}).value(), infinite) << "one is missing";
    EXPECT_EQ(test::WorstDifference().value(), infinite) << "nothing was compared";
}

TEST(GoldenFiles, AreThoseOfTheListAndOfEveryArchitecture) {
    std::vector<std::string> shapes, logits;
    for (const auto& entry : std::filesystem::directory_iterator(RIDGE_TEST_DATA "/goldens")) {
        const std::string stem = entry.path().stem().string();
        if (entry.path().extension() == ".json") shapes.push_back(stem);
        if (entry.path().extension() == ".f32") logits.push_back(stem);
    }
    EXPECT_THAT(shapes, testing::UnorderedElementsAreArray(names));
    EXPECT_THAT(logits, testing::UnorderedElementsAreArray(names));
    std::set<std::string> architectures;
    for (const std::string& name : names)
        architectures.insert(test::golden_config(name).architecture);
    EXPECT_THAT(architectures,
                testing::ElementsAre("gemma2", "gemma3", "llama", "phi3", "qwen2", "qwen3"));
}

class Golden : public testing::TestWithParam<std::tuple<std::string, std::string>> {};

TEST_P(Golden, LogitsEqualTransformers) {
    const auto& [name, set] = GetParam();
    const auto choice = choose_kernels(set);
    if (!choice) GTEST_SKIP() << choice.error().message;
    const test::TempDir dir;
    const ShapeConfig config = test::golden_config(name);
    ASSERT_FALSE(HasFailure());
    ModelOptions options;
    options.kernels = set;
    options.f32_activations = true;
    options.kv = KvType::f32;
    options.threads = 2;
    auto model = Model::load(test::write_model(dir, config), options);
    ASSERT_TRUE(model.has_value()) << model.error().message;
    const std::vector<float> want = golden_logits(name);
    ASSERT_EQ(want.size(), config.tokens.size() * config.vocab_size);
    ContextOptions context_options;
    context_options.context = static_cast<uint32_t>(config.tokens.size());
    for (const uint32_t chunk : {64u, 1u}) {
        if (chunk == 1 && config.tokens.size() > 100 && set == "ref") continue;
        auto context = Context::create(**model, context_options);
        ASSERT_TRUE(context.has_value()) << context.error().message;
        const std::vector<float> got = test::all_logits(**context, config.tokens, chunk);
        ASSERT_EQ(got.size(), want.size());
        const test::WorstDifference worst(got, want);
        const size_t where = worst.where();
        EXPECT_LE(worst.value(), 1e-4 * worst.largest())
            << "chunk " << chunk << ", position " << where / config.vocab_size << ", token "
            << where % config.vocab_size << ": " << got[where] << " instead of " << want[where];
    }
}

INSTANTIATE_TEST_SUITE_P(Models, Golden,
                         testing::Combine(testing::ValuesIn(names),
                                          testing::Values("avx512", "avx2", "ref")),
                         [](const auto& info) {
                             std::string name =
                                 std::get<0>(info.param) + "_" + std::get<1>(info.param);
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

}  // namespace
}  // namespace ridge
