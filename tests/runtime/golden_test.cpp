// Logits against transformers: tests/data/goldens holds them for random models whose weights the
// generator of format/random_model.hpp reproduces bit for bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "runtime/model.hpp"
#include "support/engine.hpp"

namespace ridge {
namespace {

std::vector<std::string> golden_names() {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(RIDGE_TEST_DATA "/goldens"))
        if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
    std::sort(names.begin(), names.end());
    return names;
}

std::vector<float> golden_logits(const std::string& name) {
    const std::string bytes = test::read_file(RIDGE_TEST_DATA "/goldens/" + name + ".f32");
    std::vector<float> logits(bytes.size() / 4);
    std::memcpy(logits.data(), bytes.data(), logits.size() * 4);
    return logits;
}

class Golden : public testing::TestWithParam<std::tuple<std::string, std::string>> {};

TEST_P(Golden, LogitsEqualTransformers) {
    const auto& [name, set] = GetParam();
    const auto choice = choose_kernels(set);
    if (!choice) GTEST_SKIP() << choice.error().message;
    const test::TempDir dir;
    const ShapeConfig config = test::golden_config(name);
    ModelOptions options;
    options.kernels = set;
    options.f32_activations = true;
    options.kv = KvType::f32;
    options.threads = 2;
    auto model = Model::load(test::write_model(dir, config), options);
    ASSERT_TRUE(model.has_value()) << model.error().message;
    const std::vector<float> want = golden_logits(name);
    ASSERT_EQ(want.size(), config.tokens.size() * config.vocab_size);
    const double bound =
        1e-4 * std::abs(*std::max_element(want.begin(), want.end(), [](float a, float b) {
            return std::abs(a) < std::abs(b);
        }));
    ContextOptions context_options;
    context_options.context = static_cast<uint32_t>(config.tokens.size());
    for (const uint32_t chunk : {64u, 1u}) {
        if (chunk == 1 && config.tokens.size() > 100 && set == "ref") continue;
        auto context = Context::create(**model, context_options);
        ASSERT_TRUE(context.has_value()) << context.error().message;
        const std::vector<float> got = test::all_logits(**context, config.tokens, chunk);
        ASSERT_EQ(got.size(), want.size());
        double worst = 0.0;
        size_t where = 0;
        for (size_t i = 0; i < want.size(); ++i) {
            const double d = std::abs(static_cast<double>(got[i]) - want[i]);
            if (!(d <= worst)) {
                worst = d;
                where = i;
            }
        }
        EXPECT_LE(worst, bound) << "chunk " << chunk << ", position " << where / config.vocab_size
                                << ", token " << where % config.vocab_size << ": " << got[where]
                                << " instead of " << want[where];
    }
}

INSTANTIATE_TEST_SUITE_P(Models, Golden,
                         testing::Combine(testing::ValuesIn(golden_names()),
                                          testing::Values("avx512", "avx2", "ref")),
                         [](const auto& info) {
                             std::string name =
                                 std::get<0>(info.param) + "_" + std::get<1>(info.param);
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

}  // namespace
}  // namespace ridge
