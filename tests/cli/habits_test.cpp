// What people type who come from llama.cpp: it works, or says what to type.
#include <gtest/gtest.h>

#include "cli/run_ridge.hpp"

namespace ridge {
namespace {

using test::CliRun;
using test::expect_complaint;
using test::run_ridge;

const std::string tiny = RIDGE_SOURCE_DIR "/models/tiny-q8_0.gguf";

TEST(Habits, TheModelByOption) {
    const std::string text = RIDGE_SOURCE_DIR "/LICENSE";
    for (const std::string& rest :
         {std::string("run MODEL -p Once -n 8"), std::string("run MODEL -p Once -n 8 --chunk 2"),
          std::string("tokenize MODEL -p Once"), std::string("inspect MODEL"),
          std::string("embed MODEL -p Once"),
          "perplexity MODEL " + text + " --max-tokens 64 --window 32"}) {
        const auto with = [&](const std::string& model) {
            std::string line = rest;
            return run_ridge(line.replace(line.find("MODEL"), 5, model));
        };
        const CliRun placed = with(tiny);
        EXPECT_EQ(placed.code, 0) << rest << placed.err;
        for (const char* option : {"-m ", "--model "}) {
            const CliRun by_option = with(option + tiny);
            EXPECT_EQ(by_option.code, 0) << rest << by_option.err;
            EXPECT_EQ(by_option.out, placed.out) << rest;
        }
    }
    expect_complaint("run -p x", "give a model");
    expect_complaint("run " + tiny + " -m " + tiny + " -p x", "--model");
}

TEST(Habits, TokensWithoutEnd) {
    const CliRun plain = run_ridge("run " + tiny + " -p Once -n 100000");
    ASSERT_EQ(plain.code, 0) << plain.err;
    EXPECT_GT(plain.out.size(), 100u);
    for (const char* n : {"-n -1", "-n -2", "--tokens -1", "--tokens=-1"}) {
        const CliRun r = run_ridge("run " + tiny + " -p Once " + n);
        EXPECT_EQ(r.code, 0) << r.err;
        EXPECT_EQ(r.out, plain.out) << n;
    }
    expect_complaint("run " + tiny + " -p Once -n -3", "--tokens takes -2 to ");
}

TEST(Habits, TextToTokenizeInItsPlace) {
    const CliRun by_option = run_ridge("tokenize " + tiny + " -p Once");
    const CliRun placed = run_ridge("tokenize " + tiny + " Once");
    EXPECT_EQ(placed.code, 0) << placed.err;
    EXPECT_NE(placed.out, "");
    EXPECT_EQ(placed.out, by_option.out);
    EXPECT_EQ(run_ridge("tokenize -m " + tiny + " Once").out, placed.out);
    const CliRun back = run_ridge("tokenize " + tiny + " [438,439] --decode");
    EXPECT_EQ(back.out, "Once upon") << back.err;
}

TEST(Habits, SchemasThatAreTrueAndFalse) {
    const CliRun any = run_ridge("run " + tiny + " -p x -n 4 -j true");
    EXPECT_EQ(any.code, 0) << any.err;
    expect_complaint("run " + tiny + " -p x -n 4 -j false", "no value fits the schema");
}

TEST(Habits, AnEmptyPromptIsSaid) {
    const CliRun none = run_ridge("run " + tiny + " -n 4");
    EXPECT_EQ(none.code, 0);
    EXPECT_TRUE(test::is_one_complaint(none.err)) << none.err;
    EXPECT_NE(none.err.find("the prompt is empty"), std::string::npos) << none.err;
    EXPECT_NE(none.err.find("BOS"), std::string::npos) << none.err;
    EXPECT_NE(none.out, "");
}

}  // namespace
}  // namespace ridge
