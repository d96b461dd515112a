// ridge embed: hidden states of transformers for a converted folder, pooled here by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "support/cli.hpp"
#include "support/temp_dir.hpp"

namespace ridge {
namespace {

using nlohmann::json;

class Embed : public testing::Test {
  protected:
    void SetUp() override {
        const auto r = test::run_cli(RIDGE_CLI, {"convert", RIDGE_TEST_DATA "/hf/llama", model_});
        ASSERT_EQ(r.code, 0) << r.err;
        want_ = json::parse(test::read_file(RIDGE_TEST_DATA "/hf/llama.json")).at("embedding");
    }
    std::vector<float> run(std::vector<std::string> args) {
        args.insert(args.begin(), {"embed", model_, "--activations", "f32", "--json"});
        const auto r = test::run_cli(RIDGE_CLI, args);
        EXPECT_EQ(r.code, 0) << r.err;
        const json j = json::parse(r.out, nullptr, false);
        return j.at("embeddings").back().at("embedding").get<std::vector<float>>();
    }
    static void near(const std::vector<float>& got, std::vector<float> want, bool normalize) {
        double length = 0.0;
        for (const float v : want) length += static_cast<double>(v) * static_cast<double>(v);
        if (normalize)
            for (float& v : want)
                v = static_cast<float>(static_cast<double>(v) / std::sqrt(length));
        ASSERT_EQ(got.size(), want.size());
        const double bound = 1e-4 * (normalize ? 1.0 : std::sqrt(length));
        for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], bound) << i;
    }
    test::TempDir dir_;
    std::string model_ = dir_.file("m.gguf");
    json want_;
};

TEST_F(Embed, PoolsWhatTransformersComputes) {
    const std::string text = want_.at("text");
    const auto mean = want_.at("mean").get<std::vector<float>>();
    const auto last = want_.at("last").get<std::vector<float>>();
    near(run({"-p", text, "--raw"}), mean, false);
    near(run({"-p", text, "--raw", "--chunk", "3"}), mean, false);
    near(run({"-p", text}), mean, true);
    near(run({"-p", text, "--pooling", "last", "--raw"}), last, false);
    near(run({"-p", "something else", "-p", text, "--pooling", "last"}), last, true);
}

TEST_F(Embed, LinesAndMistakes) {
    const auto r = test::run_cli(RIDGE_CLI, {"embed", model_, "-p", "a", "-p", "b"});
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_EQ(std::count(r.out.begin(), r.out.end(), '\n'), 2);
    EXPECT_EQ(std::count(r.out.begin(), r.out.end(), ' '), 2 * 31);
    for (const std::vector<std::string>& args : std::vector<std::vector<std::string>>{
             {"embed", model_, "-f", dir_.file("absent")},
             {"embed", model_, "-p", std::string(500, 'x'), "-c", "8"},
             {"embed", dir_.file("absent.gguf"), "-p", "a"}}) {
        const auto bad = test::run_cli(RIDGE_CLI, args);
        EXPECT_EQ(bad.code, 1) << bad.out;
        EXPECT_TRUE(test::is_one_complaint(bad.err)) << bad.err;
    }
    const auto none = test::run_cli(RIDGE_CLI, {"embed", model_});
    EXPECT_EQ(none.code, 2);
    EXPECT_TRUE(test::is_one_complaint(none.err)) << none.err;
}

}  // namespace
}  // namespace ridge
