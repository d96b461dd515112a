// ridge convert as users type it.
#include <gtest/gtest.h>

#include <filesystem>

#include "support/cli.hpp"
#include "support/temp_dir.hpp"

namespace ridge {
namespace {

TEST(ConvertVerb, WritesAFileThatRuns) {
    const test::TempDir dir;
    const std::string out = dir.file("out.gguf"), folder = RIDGE_TEST_DATA "/hf/llama";
    const auto r = test::run_cli(RIDGE_CLI, {"convert", folder, out, "--type", "F32"});
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_NE(r.out.find("llama, tokenizer llama"), std::string::npos) << r.out;
    const auto answer = test::run_cli(RIDGE_CLI, {"run", out, "-p", "a", "-n", "4"});
    EXPECT_EQ(answer.code, 0) << answer.err;
}

TEST(ConvertVerb, MistakesGetOneLineAndNoFile) {
    const test::TempDir dir;
    const std::string out = dir.file("out.gguf"), folder = RIDGE_TEST_DATA "/hf/llama";
    for (const std::vector<std::string>& args :
         std::vector<std::vector<std::string>>{{"convert", dir.file("absent"), out},
                                               {"convert", dir.path(), out},
                                               {"convert", folder, dir.file("no/folder/out")},
                                               {"convert", folder, out, "--type", "Q4_K"}}) {
        const auto r = test::run_cli(RIDGE_CLI, args);
        EXPECT_EQ(r.code, 1);
        EXPECT_TRUE(test::is_one_complaint(r.err)) << r.err;
    }
    EXPECT_FALSE(std::filesystem::exists(out));
}

TEST(ConvertVerb, NoFileThatIsReadIsTheOutput) {
    namespace fs = std::filesystem;
    const test::TempDir dir;
    const std::string folder = dir.file("hf");
    fs::copy(RIDGE_TEST_DATA "/hf/llama", folder);
    for (const auto& entry : fs::directory_iterator(RIDGE_TEST_DATA "/hf/llama")) {
        const std::string name = entry.path().filename().string(), out = folder + "/" + name;
        const auto r = test::run_cli(RIDGE_CLI, {"convert", folder, out});
        EXPECT_EQ(r.code, 1) << name;
        EXPECT_TRUE(test::is_one_complaint(r.err)) << r.err;
        EXPECT_NE(r.err.find("is a file that is read"), std::string::npos) << r.err;
        ASSERT_EQ(test::read_file(out), test::read_file(entry.path().string())) << name;
    }
    // a model in the folder is none of them, and may be made again
    for (int i = 0; i < 2; ++i)
        EXPECT_EQ(test::run_cli(RIDGE_CLI, {"convert", folder, folder + "/m.gguf"}).code, 0);
}

}  // namespace
}  // namespace ridge
