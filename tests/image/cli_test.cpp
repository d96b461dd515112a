// ridge export and ridge run --board, as users meet them.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/run_ridge.hpp"
#include "support/parts.hpp"
#include "support/random_model.hpp"
#include "support/sanitized.hpp"

namespace ridge {
namespace {

using nlohmann::json;
using test::CliOptions;
using test::CliRun;
using test::expect_complaint;

const std::string tiny = RIDGE_SOURCE_DIR "/models/tiny-395-f32.gguf";

#ifndef RIDGE_FIRMWARE_ELF

TEST(BoardCli, ABuildWithoutACrossCompilerSaysSo) {
    expect_complaint("run --board ai-max-395 " + tiny + " -p x", "without riscv64-unknown-elf-g++");
    expect_complaint("export --board ai-max-395 " + tiny + " -o /tmp/x",
                     "without riscv64-unknown-elf-g++");
    EXPECT_NE(test::run_ridge("export --help").out.find("holds no firmware"), std::string::npos);
}

#else

// Sanitized code calibrates a hundred times slower: two prompts do for what is no matter of
// numbers.
const std::string two_prompts = RIDGE_TEST_DATA "/boards/two_prompts.txt";

CliRun board_run(std::vector<std::string> more, CliOptions options = {.timeout_s = 300}) {
    std::vector<std::string> args = {
        "run", "--board", "ai-max-395", tiny, "--calibration-text", two_prompts};
    args.insert(args.end(), more.begin(), more.end());
    return test::run_cli(RIDGE_CLI, args, options);
}

json parsed(const CliRun& r) {
    EXPECT_EQ(r.code, 0) << r.err;
    const json j = json::parse(r.out, nullptr, false);
    EXPECT_FALSE(j.is_discarded()) << r.out;
    return j;
}

TEST(BoardCli, ExportWritesTheSameImageTwiceAndSaysWhatItNeeds) {
    if (test::sanitized) GTEST_SKIP() << "the 200 prompts take minutes in a sanitized build";
    const test::TempDir dir;
    const std::string first = dir.file("a.bin"), second = dir.file("b.bin");
    const CliRun r = test::run_ridge("export " + tiny + " -o " + first);
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_NE(r.out.find("640 of 1024 B of cache a token"), std::string::npos) << r.out;
    EXPECT_NE(r.out.find("of 200 prompts"), std::string::npos) << r.out;
    EXPECT_EQ(test::run_ridge("export " + tiny + " --board ai-max-395 -o " + second).code, 0);
    EXPECT_GT(test::read_file(first).size(), 600000u);
    EXPECT_TRUE(test::read_file(first) == test::read_file(second));
    const std::string prompts = dir.write("prompts.txt", "One line.\n# no prompt\nAnother line.\n");
    const CliRun other =
        test::run_ridge("export " + tiny + " --calibration-text " + prompts + " -o " + second);
    EXPECT_NE(other.out.find("of 2 prompts"), std::string::npos) << other.out << other.err;
    EXPECT_FALSE(test::read_file(first) == test::read_file(second));
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir.path()), {}), 3);
}

TEST(BoardCli, WhatCannotBeExportedLeavesNoFile) {
    const test::TempDir dir;
    const std::string out = dir.file("model.bin");
    const std::string typo = RIDGE_SOURCE_DIR "/models/tiny-395-f23.gguf";
    expect_complaint("export " + typo + " -o " + out, "did you mean");
    expect_complaint("export " + tiny + " --board ai-max-359 -o " + out,
                     "did you mean 'ai-max-395'");
    expect_complaint("export " + tiny + " -o /nowhere/model.bin", "/nowhere/model.bin");
    expect_complaint("export " + tiny + " -o " + dir.path(), dir.path());
    expect_complaint("export " + tiny + " --calibration-text /nowhere/p.txt -o " + out,
                     "/nowhere/p.txt");
    const std::string empty = dir.write("empty.txt", "\n");
    expect_complaint("export " + tiny + " --calibration-text " + empty + " -o " + out, "no prompt");
    expect_complaint("export " + empty + " -o " + out, empty);
    const std::string copy = dir.write("copy.gguf", test::read_file(tiny)),
                      prompts = dir.write("prompts.txt", "One line.\n");
    expect_complaint("export " + copy + " -o " + copy, "is a file that is read");
    expect_complaint("export " + tiny + " --calibration-text " + prompts + " -o " + prompts,
                     "is a file that is read");
    EXPECT_EQ(test::read_file(prompts), "One line.\n");
    const std::string large = RIDGE_SOURCE_DIR "/models/tiny-f32.gguf";
    expect_complaint("export " + large + " -o " + out, "5 layers x KV width 64 = 320 of 256");
    expect_complaint("export " + large + " -o " + out, "vocabulary 1024 of 512");
    ShapeConfig c;
    c.architecture = "qwen3";
    expect_complaint("export " + test::write_model(dir, c) + " -o " + out,
                     "norms of queries and keys in layer 0");
    EXPECT_FALSE(std::filesystem::exists(out));
    EXPECT_FALSE(test::part_is_left(out));
}

// The story is that of another implementation in floats (models/llama.py), token for token.
TEST(BoardCli, RunTellsTheStoryOfTheGolden) {
    if (test::sanitized) GTEST_SKIP() << "the release build says whether ids are right";
    const auto golden = json::parse(std::ifstream(RIDGE_SOURCE_DIR "/models/tiny-395.golden.json"));
    const json j = parsed(test::run_cli(
        RIDGE_CLI,
        {"run", "--board", "ai-max-395", tiny, "-p", golden["prompt"], "-n", "64", "--json"},
        {.timeout_s = 300}));
    EXPECT_EQ(j["prompt_ids"], golden["ids"]);
    EXPECT_EQ(j["ids"], golden["greedy"]);
    EXPECT_EQ(j["finish"], "length");
    EXPECT_EQ(j["simulated"], true);
    EXPECT_EQ(j["races"], 0);
    EXPECT_GT(j["first_token_ms"].get<double>(), 0);
    EXPECT_GT(j["tokens_per_s"].get<double>(), 0);
}

TEST(BoardCli, TextStreamsAndTimesAreCalledSimulated) {
    std::vector<size_t> sizes;
    CliOptions options{.timeout_s = 300};
    options.on_output = [&](const std::string& out, int) { sizes.push_back(out.size()); };
    const CliRun r = board_run({"-p", "Once upon a time", "-n", "24"}, options);
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_GT(sizes.size(), 3u);  // piece by piece
    EXPECT_GT(r.out.size(), 30u);
    EXPECT_NE(r.err.find("simulated (ai-max-395, profile report): first token "), std::string::npos)
        << r.err;
    EXPECT_NE(r.err.find("MAU"), std::string::npos) << r.err;
}

TEST(BoardCli, CostsChangeTimesAndNoToken) {
    const json a = parsed(board_run({"-p", "Tom was sad.", "-n", "8", "--json"}));
    const json b =
        parsed(board_run({"-p", "Tom was sad.", "-n", "8", "--json", "--profile", "peak"}));
    const json c = parsed(
        board_run({"-p", "Tom was sad.", "-n", "8", "--json", "--set", "flash.mb_per_s=40"}));
    EXPECT_EQ(a["ids"], b["ids"]);
    EXPECT_EQ(a["ids"], c["ids"]);
    EXPECT_LT(b["first_token_ms"].get<double>(), a["first_token_ms"].get<double>());
    EXPECT_GT(c["first_token_ms"].get<double>(), a["first_token_ms"].get<double>());
}

TEST(BoardCli, WrongRunsAreOneSentence) {
    const std::string run = "run --board ai-max-395 " + tiny + " --calibration-text " + two_prompts;
    expect_complaint("run --board ai-max-359 " + tiny + " -p x", "did you mean 'ai-max-395'");
    expect_complaint(run + " -p x --profile fast", "report");
    expect_complaint(run + " -p x --set nonsense=1", "nonsense");
    expect_complaint(run + " -p x -n 0", "-n 1");
    expect_complaint(run + " -p x -n 9000", "lower -n");
    expect_complaint(run + " -p x --temp 0.5", "greedily");
    expect_complaint(run + " -f /nowhere", "/nowhere");
    expect_complaint("run " + tiny + " -p x --profile peak", "--board");
    expect_complaint("run --board ai-max-395 " + tiny + " -p x --calibration-text /nowhere/p.txt",
                     "/nowhere/p.txt");
    const test::TempDir dir;
    std::string text;
    for (int i = 0; i < 200; ++i) text += "xyz ";
    expect_complaint(run + " -f " + dir.write("long.txt", text), "the board takes 128 at most");
}

TEST(BoardCli, CtrlCEndsCleanly) {
    bool sent = false;
    CliOptions options{.timeout_s = 300};
    options.on_output = [&](const std::string& out, int pid) {
        if (!sent && out.size() > 10) sent = ::kill(pid, SIGINT) == 0;
    };
    const CliRun r = board_run({"-p", "Once upon a time", "-n", "2000", "--ignore-eos"}, options);
    EXPECT_TRUE(sent);
    EXPECT_EQ(r.code, 130) << r.err;
    EXPECT_FALSE(r.timed_out);
    EXPECT_NE(r.err.find("simulated"), std::string::npos) << r.err;
}

#endif

}  // namespace
}  // namespace ridge
