// The sampling options of ridge run, as users meet them.
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

CliRun run(std::vector<std::string> more) {
    std::vector<std::string> args = {"run", tiny, "-p", "Once", "-n", "60"};
    args.insert(args.end(), more.begin(), more.end());
    return test::run_cli(RIDGE_CLI, args);
}
std::string text_of(const std::vector<std::string>& args) {
    const CliRun r = run(args);
    EXPECT_EQ(r.code, 0) << r.err;
    return r.out;
}
void expect_complaint(const std::vector<std::string>& args, const std::vector<std::string>& parts) {
    const CliRun r = run(args);
    EXPECT_EQ(r.code, 1) << r.out;
    EXPECT_TRUE(test::is_one_complaint(r.err)) << r.err;
    for (const std::string& part : parts)
        EXPECT_NE(r.err.find(part), std::string::npos) << r.err << " lacks " << part;
}

TEST(SamplingCli, LlamaCppsSpellings) {
    const std::string plain = text_of({"--temp", "0.9", "-s", "3"});
    EXPECT_EQ(text_of({"--temperature", "0.9", "--seed", "3"}), plain);
    EXPECT_NE(text_of({"--temp", "0.9", "--seed", "4"}), plain);
    // What is said with its default changes nothing.
    EXPECT_EQ(text_of({"--temp",
                       "0.9",
                       "--seed",
                       "3",
                       "--top-k",
                       "40",
                       "--top-p",
                       "0.95",
                       "--min-p",
                       "0.05",
                       "--top-nsigma",
                       "-1",
                       "--typical",
                       "1",
                       "--xtc-probability",
                       "0",
                       "--xtc-threshold",
                       "0.1",
                       "--dynatemp-range",
                       "0",
                       "--dynatemp-exp",
                       "1",
                       "--repeat-last-n",
                       "64",
                       "--repeat-penalty",
                       "1",
                       "--frequency-penalty",
                       "0",
                       "--presence-penalty",
                       "0",
                       "--dry-multiplier",
                       "0",
                       "--dry-base",
                       "1.75",
                       "--dry-allowed-length",
                       "2",
                       "--dry-penalty-last-n",
                       "64",
                       "--mirostat",
                       "0",
                       "--mirostat-lr",
                       "0.1",
                       "--mirostat-ent",
                       "5",
                       "--samplers",
                       "penalties;dry;top_n_sigma;top_k;typ_p;top_p;min_p;xtc;temperature"}),
              plain);
    EXPECT_EQ(text_of({"--temp", "0.9", "--seed", "3", "--sampling-seq", "edskypmxt"}), plain);
    // Each of these changes the text.
    for (const std::vector<std::string>& more :
         std::vector<std::vector<std::string>>{{"--repeat-penalty", "1.8"},
                                               {"--dry-multiplier", "5", "--dry-sequence-breaker",
                                                "none", "--dry-allowed-length", "1"},
                                               {"--mirostat", "2"},
                                               {"--sampler-seq", "t"},
                                               {"--top-k", "1"}}) {
        std::vector<std::string> args = {"--temp", "0.9", "--seed", "3"};
        const std::string without = text_of(args);
        args.insert(args.end(), more.begin(), more.end());
        EXPECT_NE(text_of(args), without) << more[0];
    }
}

TEST(SamplingCli, AnswersFollowGrammars) {
    EXPECT_EQ(text_of({"--grammar", "root ::= \" yes\" | \" no\""}).size() > 3, true);
    const test::TempDir dir;
    const std::string file = dir.write("three.gbnf", "root ::= [xyz]{3}\n");
    for (const char* option : {"--grammar-file", "--grammar"}) {
        const std::string out = text_of({option, file});
        EXPECT_EQ(out.find_first_not_of("xyz"), 3u) << out;
        EXPECT_EQ(out, out.substr(0, 3) + "\n");
    }
    const std::string schema =
        R"({"type":"object","properties":{"a":{"type":"integer","maximum":99,"minimum":10},"b":{"enum":["x","y"]}},"required":["a","b"]})";
    const std::string schema_file = dir.write("schema.json", schema);
    for (const std::vector<std::string>& args : std::vector<std::vector<std::string>>{
             {"-j", schema},
             {"--json-schema", schema_file},
             {"-jf", schema_file},
             {"--json-schema-file", schema_file, "--temp", "1"}}) {
        const json j = json::parse(text_of(args), nullptr, false);
        ASSERT_TRUE(j.is_object()) << args[0];
        EXPECT_GE(j.at("a").get<int>(), 10);
        EXPECT_LE(j.at("a").get<int>(), 99);
        EXPECT_TRUE(j.at("b") == "x" || j.at("b") == "y");
    }
    // The end is the grammar's, whatever --ignore-eos says about the model's.
    const CliRun r = run({"--grammar", "root ::= \"abc\"", "--ignore-eos", "--json"});
    const json j = json::parse(r.out);
    EXPECT_EQ(j.at("text"), "abc");
    EXPECT_EQ(j.at("finish"), "stop");
}

TEST(SamplingCli, LogProbabilitiesOfTheGreedyTokenAreTheBest) {
    const json j = json::parse(run({"--json", "--logprobs", "3"}).out);
    ASSERT_EQ(j.at("logprobs").size(), j.at("ids").size());
    for (size_t i = 0; i < j.at("ids").size(); ++i) {
        const json& l = j.at("logprobs")[i];
        ASSERT_EQ(l.at("best").size(), 3u);
        EXPECT_EQ(l.at("best")[0].at("id"), j.at("ids")[i]);
        EXPECT_EQ(l.at("best")[0].at("logprob"), l.at("logprob"));
        double share = 0;
        for (const json& b : l.at("best")) share += std::exp(b.at("logprob").get<double>());
        EXPECT_LE(share, 1.0 + 1e-6);
    }
    const CliRun alone = run({"--logprobs", "3"});
    EXPECT_EQ(alone.code, 2);
    EXPECT_NE(alone.err.find("add --json"), std::string::npos) << alone.err;
}

TEST(SamplingCli, AnAnswerThatIsCutOffInsideAGrammarIsSaid) {
    for (const std::vector<std::string>& more :
         std::vector<std::vector<std::string>>{{}, {"--json"}}) {
        std::vector<std::string> args = {"run", tiny, "-p",        "Once",
                                         "-n",  "3",  "--grammar", "root ::= [a-z]{40}"};
        args.insert(args.end(), more.begin(), more.end());
        const CliRun r = test::run_cli(RIDGE_CLI, args);
        EXPECT_EQ(r.code, 0);
        EXPECT_TRUE(test::is_one_complaint(r.err)) << r.err;
        EXPECT_NE(r.err.find("does not fit the grammar"), std::string::npos) << r.err;
        if (!more.empty()) {
            EXPECT_EQ(json::parse(r.out).at("finish"), "length");
        }
    }
    EXPECT_EQ(run({"--grammar", "root ::= [a-z]{40}"}).err, "");
    EXPECT_EQ(run({"--stop", "a", "--grammar", "root ::= [a-z]{40}"}).err, "");  // asked for
    EXPECT_EQ(run({}).err, "");
}

TEST(SamplingCli, WhatIsWrongIsNamed) {
    expect_complaint({"--grammar", "root ::= \"x"}, {"line 1, column 10"});
    expect_complaint({"--grammar", "/no/such/file"}, {"/no/such/file", "::="});
    expect_complaint({"--json-schema", "/no/such/file"}, {"/no/such/file"});
    expect_complaint({"-j", R"({"not":{}})"}, {"'not'", "#"});
    expect_complaint({"-j", "{}", "--grammar", "root ::= \"a\""}, {"not several"});
    expect_complaint({"--samplers", "top_k;nope"}, {"'nope'", "top_p"});
    expect_complaint({"--sampler-seq", "kq"}, {"'q'"});
    expect_complaint({"-l", "12"}, {"'12'", "TOKEN+BIAS"});
    expect_complaint({"-l", "99999999+1"}, {"99999999"});
    expect_complaint({"--seed", "-2"}, {"seed"});
    expect_complaint({"--mirostat", "1"}, {"mirostat"});
    expect_complaint({"--repeat-penalty", "0"}, {"repeat-penalty"});
    expect_complaint({"--grammar-file", "/dev/zero"}, {"/dev/zero", "128 MiB"});
}

// As in --grammar "$(cat FILE)" where there is no FILE: the answer must not come without a mask.
TEST(SamplingCli, AnEmptyGrammarIsNoPermission) {
    for (const char* option : {"--grammar", "--grammar-file", "--json-schema", "-jf"}) {
        const CliRun r = run({option, ""});
        EXPECT_NE(r.code, 0) << option;
        EXPECT_EQ(r.out, "") << option;
        EXPECT_TRUE(test::is_one_complaint(r.err)) << r.err;
        EXPECT_NE(r.err.find("empty"), std::string::npos) << r.err;
    }
}

}  // namespace
}  // namespace ridge
