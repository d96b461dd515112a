// ridge quantize as users type it.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "format/gguf.hpp"
#include "support/cli.hpp"
#include "support/random_model.hpp"

namespace ridge {
namespace {

class QuantizeVerb : public testing::Test {
  protected:
    void SetUp() override {
        ShapeConfig c;
        c.name = "in";
        c.embedding_length = 256;
        c.feed_forward_length = 320;
        c.key_length = 32;
        in_ = test::write_model(dir_, c);
    }
    test::CliRun run(std::vector<std::string> args) {
        args.insert(args.begin(), "quantize");
        return test::run_cli(RIDGE_CLI, args);
    }
    test::TempDir dir_;
    std::string in_;
};

TEST_F(QuantizeVerb, WritesAModelThatRuns) {
    const std::string out = dir_.file("out.gguf");
    const auto r = run({in_, out, "q4_k_m"});
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_NE(r.out.find("bits a weight"), std::string::npos) << r.out;
    EXPECT_NE(r.out.find("320 columns, Q4_K needs multiples of 256, so Q5_0"), std::string::npos)
        << r.out;
    EXPECT_EQ(r.err, "");
    const auto answer = test::run_cli(RIDGE_CLI, {"run", out, "-p", "a", "-n", "4"});
    EXPECT_EQ(answer.code, 0) << answer.err;
}

TEST_F(QuantizeVerb, DryRunListsAndWritesNothing) {
    const auto r = run({in_, dir_.file("out.gguf"), "Q4_K", "--dry-run"});
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_NE(r.out.find("blk.1.ffn_down.weight"), std::string::npos);
    EXPECT_NE(r.out.find("Q8_0"), std::string::npos);  // ffn_down: 320 columns
    EXPECT_FALSE(std::filesystem::exists(dir_.file("out.gguf")));
}

// Q4_0's mix wants Q6_K for a tied head: where that block does not divide, Q6_K is what is named.
TEST_F(QuantizeVerb, TheTypeThatDidNotFitIsNamed) {
    ShapeConfig c;
    c.name = "odd";
    c.embedding_length = 288;
    c.feed_forward_length = 320;
    c.key_length = 32;
    c.tied = true;
    const std::string odd = test::write_model(dir_, c);
    const auto r = run({odd, dir_.file("out.gguf"), "Q4_0", "--dry-run"});
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_NE(r.out.find("(288 columns, Q6_K needs multiples of 256)"), std::string::npos) << r.out;
    EXPECT_NE(r.out.find("; token_embd.weight: 288 columns, Q6_K needs multiples of 256, so Q8_0"),
              std::string::npos)
        << r.out;
    EXPECT_EQ(r.out.find("Q4_0 needs"), std::string::npos) << r.out;
}

// The finished file is renamed to its name: onto /dev/full, that would be the end of the device.
TEST_F(QuantizeVerb, DevicesPipesAndFoldersAreNotReplaced) {
    const std::string pipe = dir_.file("pipe");
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    const auto r = run({in_, pipe, "Q8_0"});
    EXPECT_EQ(r.code, 1) << r.out;
    EXPECT_TRUE(test::is_one_complaint(r.err)) << r.err;
    EXPECT_NE(r.err.find("no regular file"), std::string::npos) << r.err;
    EXPECT_TRUE(std::filesystem::is_fifo(pipe));
    const auto folder = run({in_, dir_.path(), "Q8_0"});
    EXPECT_EQ(folder.code, 1);
    EXPECT_NE(folder.err.find("is a directory"), std::string::npos) << folder.err;
}

// SIGINT, SIGTERM and SIGHUP each end it with their code, and leave no file.
TEST_F(QuantizeVerb, SignalsLeaveNothing) {
    ShapeConfig c;
    c.name = "large";
    c.embedding_length = 1024;
    c.feed_forward_length = 4096;
    c.block_count = 8;
    const std::string large = test::write_model(dir_, c), folder = dir_.file("out");
    std::filesystem::create_directory(folder);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        const pid_t pid = fork();
        if (pid == 0) {
            ::signal(signal, SIG_DFL);
            execl(RIDGE_CLI, RIDGE_CLI, "quantize", large.c_str(), (folder + "/q.gguf").c_str(),
                  "IQ4_NL", "-t", "1", nullptr);
            _exit(127);
        }
        for (int i = 0; i < 6000 && std::filesystem::is_empty(folder); ++i) usleep(5000);
        EXPECT_FALSE(std::filesystem::is_empty(folder));
        // twice, as a terminal that closes does it
        if (signal == SIGHUP) kill(pid, signal);
        if (signal == SIGHUP) usleep(2000);
        kill(pid, signal);
        int status = 0;
        ASSERT_EQ(waitpid(pid, &status, 0), pid);
        EXPECT_TRUE(WIFEXITED(status)) << signal;
        EXPECT_EQ(WEXITSTATUS(status), 128 + signal);
        EXPECT_TRUE(std::filesystem::is_empty(folder)) << signal;
    }
}

TEST_F(QuantizeVerb, MistakesGetOneLine) {
    const std::string out = dir_.file("out.gguf");
    for (const std::vector<std::string>& args : std::vector<std::vector<std::string>>{
             {in_, out, "Q9"},
             {dir_.file("absent.gguf"), out, "Q4_0"},
             {in_, dir_.file("no/folder/out"), "Q4_0"},
             {in_, in_, "Q4_0"},
             {in_, out, "Q4_0", "--imatrix", dir_.file("absent")}}) {
        const auto r = run(args);
        EXPECT_EQ(r.code, 1);
        EXPECT_TRUE(test::is_one_complaint(r.err)) << r.err;
    }
    EXPECT_EQ(run({in_, out}).code, 2);
    EXPECT_FALSE(std::filesystem::exists(out));
}

}  // namespace
}  // namespace ridge
