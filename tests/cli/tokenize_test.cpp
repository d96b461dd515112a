// ridge tokenize on a vocabulary of bytes (the random models': <unk>, <s>, </s>, 256 bytes, a
// space).
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/cli.hpp"
#include "support/random_model.hpp"

namespace ridge {
namespace {

using nlohmann::json;
using test::CliRun;

class Tokenize : public testing::Test {
  protected:
    void SetUp() override {
        ShapeConfig s;
        s.name = "bytes";
        s.vocab_size = 300;
        model_ = test::write_model(dir_, s);
    }
    CliRun run(std::vector<std::string> args, const test::CliOptions& o = {}) {
        args.insert(args.begin(), {"tokenize", model_});
        return test::run_cli(RIDGE_CLI, args, o);
    }
    std::vector<int32_t> ids(const std::vector<std::string>& args, const test::CliOptions& o = {}) {
        std::vector<std::string> all = args;
        all.push_back("--json");
        const CliRun r = run(all, o);
        EXPECT_EQ(r.code, 0) << r.err;
        const json j = json::parse(r.out, nullptr, false);
        EXPECT_TRUE(j.is_object() && j.size() == 1 && j.contains("ids")) << r.out;
        return j.at("ids").get<std::vector<int32_t>>();
    }
    using Ids = std::vector<int32_t>;

    test::TempDir dir_;
    std::string model_;
};

TEST_F(Tokenize, JsonHoldsTheIds) {
    // BOS, the leading space, and letters as bytes: byte b is 3 + b.
    EXPECT_EQ(ids({"-p", "ab"}), (Ids{1, 259, 3 + 'a', 3 + 'b'}));
    EXPECT_EQ(ids({"-p", "a b"}), (Ids{1, 259, 3 + 'a', 259, 3 + 'b'}));
    EXPECT_EQ(ids({"-p", ""}), (Ids{1}));
}

TEST_F(Tokenize, FilesAndStandardInput) {
    const std::string file = dir_.write("text", "ab");
    EXPECT_EQ(ids({"-f", file}), ids({"-p", "ab"}));
    EXPECT_EQ(ids({"-f", "-"}, {.input = "ab"}), ids({"-p", "ab"}));
    EXPECT_EQ(ids({"-f", dir_.write("none", "")}), (Ids{1}));
    // Bytes that are no UTF-8, and a zero byte.
    EXPECT_EQ(ids({"-f", dir_.write("odd", std::string("\xff\0", 2))}), (Ids{1, 259, 3 + 0xff, 3}));
}

TEST_F(Tokenize, NoSpecialLeavesControlTokensAsText) {
    const Ids with = ids({"-p", "a</s>"});
    EXPECT_EQ(with, (Ids{1, 259, 3 + 'a', 2}));
    const Ids without = ids({"-p", "a</s>", "--no-special"});
    EXPECT_EQ(without, (Ids{259, 3 + 'a', 3 + '<', 3 + '/', 3 + 's', 3 + '>'}));
}

TEST_F(Tokenize, DecodesIds) {
    const auto decoded = [&](const std::string& text) {
        const CliRun r = run({"--decode", "-p", text});
        EXPECT_EQ(r.code, 0) << r.err;
        return r.out;
    };
    EXPECT_EQ(decoded("1 259 100 101"), "ab");  // without BOS and the space that encoding adds
    EXPECT_EQ(decoded("[100, 259, 101]"), "a b");
    EXPECT_EQ(decoded(""), "");
    for (const std::string wrong : {"4294967296", "99999999", "-1", "abc", "1.5", "100x"}) {
        const CliRun bad = run({"--decode", "-p=100 " + wrong});
        EXPECT_EQ(bad.code, 1) << wrong;
        EXPECT_EQ(bad.out, "");
        EXPECT_TRUE(test::is_one_complaint(bad.err)) << bad.err;
        EXPECT_NE(bad.err.find("no token id"), std::string::npos) << bad.err;
    }
}

TEST_F(Tokenize, WarnsOfTwoBosTokens) {
    CliRun r = run({"-p", "<s>ab", "--json"});
    EXPECT_EQ(r.code, 0);
    EXPECT_EQ(r.out, "{\"ids\":[1,1,259,100,101]}\n");
    EXPECT_NE(r.err.find("two"), std::string::npos) << r.err;
    r = run({"-p", "<s>ab", "--json", "--no-bos"});
    EXPECT_EQ(r.out, "{\"ids\":[1,259,100,101]}\n");
    EXPECT_EQ(r.err, "");
    r = run({"-p", "<s>ab", "--json", "--no-special"});
    EXPECT_EQ(r.err, "");
}

TEST_F(Tokenize, ListsIdsAndPieces) {
    const CliRun r = run({"-p", "a\n"});
    EXPECT_EQ(r.code, 0);
    EXPECT_EQ(r.out,
              "       1  \"<s>\"\n     259  \"\xe2\x96\x81\"\n     100  \"<0x61>\"\n      13  "
              "\"<0x0A>\"\n");
}

TEST_F(Tokenize, Errors) {
    const CliRun missing = run({"-f", dir_.file("nothing")});
    EXPECT_EQ(missing.code, 1);
    EXPECT_TRUE(test::is_one_complaint(missing.err)) << missing.err;
    const std::string text = dir_.write("text.gguf", "not a model");
    const CliRun bad = test::run_cli(RIDGE_CLI, {"tokenize", text, "-p", "x"});
    EXPECT_EQ(bad.code, 1);
    EXPECT_TRUE(test::is_one_complaint(bad.err)) << bad.err;
}

}  // namespace
}  // namespace ridge
