// ridge perplexity on ridge's own tiny model.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "support/cli.hpp"
#include "support/temp_dir.hpp"

namespace ridge {
namespace {

using nlohmann::json;
using test::CliRun;

const std::string tiny = RIDGE_SOURCE_DIR "/models/tiny-q8_0.gguf";

CliRun run(std::vector<std::string> args) {
    args.insert(args.begin(), "perplexity");
    return test::run_cli(RIDGE_CLI, args);
}

class Perplexity : public testing::Test {
  protected:
    void SetUp() override {
        // What the model writes itself is text it predicts well.
        const CliRun story = test::run_cli(
            RIDGE_CLI, {"run", tiny, "-p", "Once upon a time", "-n", "300", "--ignore-eos"});
        ASSERT_EQ(story.code, 0) << story.err;
        text_ = dir_.write("text", story.out);
    }
    json result(std::vector<std::string> args) {
        args.insert(args.begin(), tiny);
        args.insert(args.end(), {"--window", "64", "--json"});
        const CliRun r = run(args);
        EXPECT_EQ(r.code, 0) << r.err;
        const json j = json::parse(r.out, nullptr, false);
        EXPECT_TRUE(j.is_object()) << r.out;
        return j;
    }
    void expect_complaint(std::vector<std::string> args, const char* part) {
        args.insert(args.begin(), tiny);
        const CliRun r = run(args);
        EXPECT_EQ(r.code, 1);
        EXPECT_TRUE(test::is_one_complaint(r.err)) << r.err;
        EXPECT_NE(r.err.find(part), std::string::npos) << r.err;
        EXPECT_EQ(r.out, "");
    }
    test::TempDir dir_;
    std::string text_;
};

TEST_F(Perplexity, JsonWithoutAnOracle) {
    const json j = result({text_});
    EXPECT_GT(j["perplexity"].get<double>(), 1.0);
    EXPECT_LT(j["perplexity"].get<double>(), 50.0);  // its vocabulary has hundreds of tokens
    EXPECT_GT(j["perplexity_error"].get<double>(), 0.0);
    EXPECT_EQ(j["window"], 64);
    EXPECT_EQ(j["first"], 32);
    // Positions 32 to 62 of each window predict a token.
    EXPECT_EQ(j["tokens"].get<int>(), 31 * j["windows"].get<int>());
    EXPECT_FALSE(j.contains("mean_kld"));
    // Text it does not know is worse.
    std::string noise;
    for (int i = 0; i < 2000; ++i) noise += static_cast<char>('!' + (i * i * 31 + i / 7) % 90);
    EXPECT_GT(result({dir_.write("noise", noise)})["perplexity"].get<double>(),
              3 * j["perplexity"].get<double>());
    EXPECT_EQ(result({text_, "--max-tokens", "70"})["windows"], 1);
}

TEST_F(Perplexity, KldComparesWithTheOracle) {
    const json j = result({text_, "--kld"});
    const double kld = j["mean_kld"];
    EXPECT_GT(kld, 0.0);
    EXPECT_LT(kld, 0.05);
    EXPECT_GT(j["mean_kld_error"].get<double>(), 0.0);
    EXPECT_GE(j["kld_999"].get<double>(), kld);
    EXPECT_GE(j["kld_max"].get<double>(), j["kld_999"].get<double>());
    EXPECT_GT(j["same_top"].get<double>(), 0.9);
    EXPECT_LE(j["same_top"].get<double>(), 1.0);
    // The oracle's perplexity is that of --activations f32 with an f32 cache.
    const json oracle = result({text_, "--activations", "f32", "--cache-type", "f32"});
    EXPECT_EQ(j["oracle_perplexity"], oracle["perplexity"]);
    EXPECT_EQ(j["perplexity"], result({text_})["perplexity"]);
    EXPECT_NEAR(j["perplexity_change"].get<double>(),
                j["perplexity"].get<double>() / oracle["perplexity"].get<double>() - 1.0, 1e-12);
}

TEST_F(Perplexity, IdsAreTheTextsTokens) {
    const CliRun ids = test::run_cli(RIDGE_CLI, {"tokenize", tiny, "-f", text_, "--json"});
    ASSERT_EQ(ids.code, 0);
    const std::string object = dir_.write("ids.json", ids.out);
    const std::string list = dir_.write("list.json", json::parse(ids.out)["ids"].dump());
    const double want = result({text_})["perplexity"];
    EXPECT_EQ(result({"--ids", object})["perplexity"].get<double>(), want);
    EXPECT_EQ(result({"--ids", list})["perplexity"].get<double>(), want);
}

TEST_F(Perplexity, TextOutput) {
    const CliRun r = run({tiny, text_, "--window", "64", "--kld"});
    EXPECT_EQ(r.code, 0) << r.err;
    for (const char* part : {"tokens scored", "perplexity", "mean KLD", "same top"})
        EXPECT_NE(r.out.find(part), std::string::npos) << r.out;
}

TEST_F(Perplexity, Errors) {
    expect_complaint({dir_.write("short", "Once.")}, "fewer than one window of 512");
    expect_complaint({dir_.file("none")}, "cannot be read");
    expect_complaint({"--ids", text_}, "not a JSON list");
    for (const char* bad : {"{\"ids\": 3}", "[1, 2.5]", "[-1]", "[\"a\"]", "[99999999999]", ""})
        expect_complaint({"--ids", dir_.write("bad.json", bad)}, "not a JSON list");
    std::string far = "[";
    for (int i = 0; i < 600; ++i) far += "100000,";
    far.back() = ']';
    expect_complaint({"--ids", dir_.write("far.json", far)}, "outside the vocabulary");
    expect_complaint({text_, "--window", "64", "--first", "63"}, "a scored position");
}

}  // namespace
}  // namespace ridge
