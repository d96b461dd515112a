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

}  // namespace
}  // namespace ridge
