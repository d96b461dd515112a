// ridge run, as users meet it: bad files, output, limits, signals.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <signal.h>
#include <cstdlib>

#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "support/cli.hpp"
#include "support/temp_dir.hpp"

namespace ridge {
namespace {

using nlohmann::json;
using test::CliOptions;
using test::CliRun;

const std::string tiny = RIDGE_SOURCE_DIR "/models/tiny-q8_0.gguf";

CliRun ridge(std::vector<std::string> args, CliOptions options = {}) {
    return test::run_cli(RIDGE_CLI, args, options);
}
CliRun run(std::vector<std::string> args, CliOptions options = {}) {
    args.insert(args.begin(), "run");
    return ridge(std::move(args), std::move(options));
}
json parsed(const CliRun& r) {
    EXPECT_EQ(r.code, 0) << r.err;
    const json j = json::parse(r.out, nullptr, false);
    EXPECT_FALSE(j.is_discarded()) << r.out;
    return j;
}

// One sentence that names what is wrong, exit code 1, under a second of work, no hanging.
void expect_complaint(const CliRun& r, const std::vector<std::string>& parts) {
    EXPECT_FALSE(r.timed_out);
    EXPECT_EQ(r.code, 1) << r.out;
    EXPECT_TRUE(test::is_one_complaint(r.err)) << r.err;
    EXPECT_EQ(r.out, "");
    EXPECT_LT(r.cpu_seconds, 1.0);
    for (const std::string& part : parts)
        EXPECT_NE(r.err.find(part), std::string::npos) << r.err << " lacks " << part;
}
void expect_bad_model(const std::string& path, const std::vector<std::string>& parts) {
    expect_complaint(run({path, "-p", "x", "-n", "4"}, {.timeout_s = 10}), parts);
}

class RunBadFiles : public testing::Test {
  protected:
    void SetUp() override {
        bytes_ = test::read_file(tiny);
        ASSERT_GT(bytes_.size(), 100000u) << tiny;
    }
    // Where what follows `name`'s text begins.
    size_t after(const std::string& name) const {
        const size_t at = bytes_.find(name);
        EXPECT_NE(at, std::string::npos) << name;
        return at + name.size();
    }
    test::TempDir dir_;
    std::string bytes_;
};

TEST_F(RunBadFiles, Truncated) {
    for (const size_t n :
         {size_t{3}, size_t{20}, size_t{100}, size_t{5000}, bytes_.size() / 2, bytes_.size() - 1}) {
        const std::string path = dir_.write("cut.gguf", bytes_.substr(0, n));
        expect_bad_model(path, {"cut.gguf"});
    }
}

TEST_F(RunBadFiles, NotAModel) {
    expect_bad_model(dir_.write("notes.txt", "Dear diary,\nnothing happened.\n"), {"notes.txt"});
    expect_bad_model(dir_.write("zeros.gguf", std::string(100000, '\0')), {"zeros.gguf"});
    expect_bad_model(dir_.write("empty.gguf", ""), {"empty.gguf", "empty"});
    expect_bad_model(dir_.path(), {"directory"});
    expect_bad_model("/dev/null", {"/dev/null"});
}

TEST_F(RunBadFiles, MissingWithANearMiss) {
    dir_.write("smol-model.gguf", "x");
    expect_bad_model(dir_.file("smol-modle.gguf"),
                     {"smol-modle.gguf", "did you mean", "smol-model.gguf"});
    expect_bad_model(dir_.file("quite-different.gguf"), {"quite-different.gguf"});
    expect_bad_model("", {"the model's name is empty"});
    // By name, in the model folder.
    expect_complaint(run({"smol-mode", "-p", "x"},
                         {.timeout_s = 10, .environment = {{"RIDGE_MODELS", dir_.path()}}}),
                     {"did you mean 'smol-model.gguf'"});
}

TEST_F(RunBadFiles, UnsupportedArchitecture) {
    const size_t at = after("general.architecture") + 4 + 8;  // type, length
    ASSERT_EQ(bytes_.substr(at, 5), "llama");
    bytes_.replace(at, 5, "mamba");
    expect_bad_model(dir_.write("m.gguf", bytes_), {"'mamba'", "llama", "gemma3"});
}

TEST_F(RunBadFiles, UnsupportedTensorType) {
    const size_t at = after("token_embd.weight") + 4 + 2 * 8;  // n_dims, dims
    uint32_t type = 0;
    std::memcpy(&type, &bytes_[at], 4);
    ASSERT_EQ(type, 8u);                              // Q8_0
    for (const uint32_t other : {16u, 35u, 9999u}) {  // IQ2_XXS, TQ2_0, nothing
        std::memcpy(&bytes_[at], &other, 4);
        expect_bad_model(dir_.write("t.gguf", bytes_), {"token_embd.weight", "Q4_0", "Q6_K"});
    }
}

TEST(Run, StreamsTextAndEndsTheLine) {
    const CliRun r = run({tiny, "-p", "Once upon a time", "-n", "20"});
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_GT(r.out.size(), 10u);
    EXPECT_EQ(r.out.back(), '\n');
    EXPECT_EQ(r.err, "");
    // Streaming and JSON are the same answer; so are a prompt in a file and on standard input.
    const json j = parsed(run({tiny, "-p", "Once upon a time", "-n", "20", "--json"}));
    EXPECT_EQ(j["text"].get<std::string>() + "\n", r.out);
    const CliRun input = run({tiny, "-f", "-", "-n", "20"}, {.input = "Once upon a time"});
    EXPECT_EQ(input.out, r.out);
}

TEST(Run, JsonHoldsTheAnswer) {
    const json j = parsed(run({tiny, "-p", "The cat", "-n", "7", "--ignore-eos", "--json"}));
    EXPECT_EQ(j["tokens"], 7);
    EXPECT_EQ(j["ids"].size(), 7u);
    EXPECT_EQ(j["finish"], "length");
    EXPECT_EQ(j["prompt_ids"].size(), j["prompt_tokens"].get<size_t>());
    EXPECT_GT(j["bytes_per_token"].get<uint64_t>(), 100000u);
    EXPECT_FALSE(j["text"].get<std::string>().empty());
}

TEST(Run, TokenLimits) {
    for (const int n : {0, 1, 5}) {
        const json j =
            parsed(run({tiny, "-p", "One day", "-n", std::to_string(n), "--ignore-eos", "--json"}));
        EXPECT_EQ(j["tokens"], n);
    }
    // The context ends an answer as well: its last position may still be predicted from.
    const json j =
        parsed(run({tiny, "-p", "One day", "-n", "100", "-c", "16", "--ignore-eos", "--json"}));
    EXPECT_EQ(j["tokens"].get<int>() + j["prompt_tokens"].get<int>(), 17);
    EXPECT_EQ(j["finish"], "length");
}

TEST(Run, StopStrings) {
    const auto with = [](std::vector<std::string> more) {
        std::vector<std::string> args = {tiny, "-p", "Once upon a time", "-n", "40", "--json"};
        args.insert(args.end(), more.begin(), more.end());
        return parsed(run(args));
    };
    const std::string all = with({})["text"];
    ASSERT_GT(all.size(), 40u);
    // A string that begins inside one token and ends inside another.
    for (const auto& [at, n] : {std::pair<size_t, size_t>{21, 7}, {10, 1}, {13, 15}}) {
        const std::string stop = all.substr(at, n);
        const json j = with({"--stop", stop});
        EXPECT_EQ(j["text"], all.substr(0, all.find(stop))) << "stop '" << stop << "'";
        EXPECT_EQ(j["finish"], "stop");
    }
    // The first of several; one that does not come changes nothing.
    const std::string a = all.substr(30, 5), b = all.substr(12, 5);
    EXPECT_EQ(with({"--stop", a, "--stop", b})["text"],
              all.substr(0, std::min(all.find(a), all.find(b))));
    EXPECT_EQ(with({"--stop", "\x01no"})["text"], all);
    // The beginning of a stop string at the very end is text.
    EXPECT_EQ(with({"--stop", all.substr(all.size() - 3) + "\x01"})["text"], all);
    const CliRun empty = run({tiny, "-p", "x", "--stop", ""});
    EXPECT_EQ(empty.code, 2);
    EXPECT_NE(empty.err.find("stop string"), std::string::npos) << empty.err;
}

TEST(Run, SeedsDecideTheText) {
    const auto text = [](const char* seed, const char* threads) {
        return run({tiny, "-p", "Once", "-n", "30", "--temp", "0.9", "--seed", seed, "-t", threads})
            .out;
    };
    const std::string first = text("7", "1");
    EXPECT_EQ(text("7", "1"), first);
    EXPECT_EQ(text("7", "2"), first);
    EXPECT_NE(text("8", "1"), first);
    // Greedy has no seed.
    EXPECT_EQ(run({tiny, "-p", "Once", "-n", "30", "--seed", "1"}).out,
              run({tiny, "-p", "Once", "-n", "30", "--seed", "2"}).out);
}

TEST(Run, Prompts) {
    // An empty prompt is the beginning of a text: BOS alone.
    const json j = parsed(run({tiny, "-p", "", "-n", "8", "--json"}));
    EXPECT_EQ(j["prompt_tokens"], 1);
    const std::string text(3000, 'x');
    expect_complaint(run({tiny, "-p", text, "-c", "64"}), {"tokens, the context 64", "-c"});
    expect_complaint(run({tiny, "-f", "/nonexistent/prompt"}), {"/nonexistent/prompt"});
    // Control tokens of the vocabulary are text in a prompt.
    const json spelled = parsed(run({tiny, "-p", "</s>", "-n", "1", "--json"}));
    EXPECT_GT(spelled["prompt_tokens"].get<int>(), 2);
}

TEST(Run, BadOptions) {
    expect_complaint(run({tiny, "-p", "x", "--temp", "-1"}), {"temperature"});
    expect_complaint(run({tiny, "-p", "x", "--temp", "1", "--top-p", "0"}), {"top-p"});
    expect_complaint(run({tiny, "-p", "x", "--kernels", "mmx"}), {"mmx", "ref"});
    expect_complaint(run({tiny, "-p", "x", "--cache-type", "q2"}), {"q2", "bf16"});
    expect_complaint(run({tiny, "-p", "x", "--activations", "int1"}), {"int1", "f32"});
    expect_complaint(run({tiny, "-p", "x", "--chat"}),
                     {"tiny-q8_0.gguf' has no chat template", "--template FILE"});
    for (const auto& args : {std::vector<std::string>{"run", tiny, "--no-such-option"},
                             {"fly"},
                             {},
                             {"run"},
                             {"run", tiny, "-n", "-5"},
                             {"run", tiny, "-t", "many"}}) {
        const CliRun r = ridge(args);
        EXPECT_NE(r.code, 0);
        EXPECT_LT(r.code, 128);  // no signal
        EXPECT_FALSE(r.err.empty());
        EXPECT_EQ(r.out, "");
    }
}

TEST(Run, HelpAndVersion) {
    const CliRun help = ridge({"--help"});
    EXPECT_EQ(help.code, 0);
    for (const char* verb : {"run", "tokenize", "perplexity", "bench"})
        EXPECT_NE(help.out.find(verb), std::string::npos) << verb;
    EXPECT_EQ(ridge({"run", "--help"}).code, 0);
    const CliRun version = ridge({"--version"});
    EXPECT_EQ(version.code, 0);
    EXPECT_EQ(version.out, "ridge 0.1.0\n");
}

// No verb loses its output silently or ends by an exception.
TEST(Run, AFullDiskIsReported) {
    const std::string full = std::string(RIDGE_CLI) + " ";
    const auto status = [&](const std::string& arguments) {
        const std::string command = full + arguments + " >/dev/full 2>/dev/null";
        return WEXITSTATUS(std::system(command.c_str()));
    };
    EXPECT_EQ(status("tokenize " + tiny + " -p abc"), 1);
    EXPECT_EQ(status("tokenize " + tiny + " --json -f " + RIDGE_TEST_DATA "/text/northanger.txt"),
              1);
    EXPECT_EQ(status("inspect " + tiny + " --tensors"), 1);
    EXPECT_EQ(status("perplexity " + tiny + " --window 4 --max-tokens 8 " +
                     RIDGE_TEST_DATA "/text/northanger.txt"),
              1);
    EXPECT_EQ(status("run " + tiny + " -p a -n 3"), 1);
    // Help, too, and with the same words; a closed output is no other case.
    for (const char* verb : {"--help", "run --help", "--version", "help", "help run", "manual",
                             "completion bash", "completion zsh", "completion fish"})
        for (const char* where : {">/dev/full", ">&-"}) {
            const CliRun r =
                test::run_cli("/bin/sh", {"-c", std::string(RIDGE_CLI) + " " + verb + " " + where});
            EXPECT_EQ(r.code, 1) << verb << where;
            EXPECT_EQ(r.err, "ridge: the output could not be written\n") << verb << where;
        }
}

// The next file that is opened would take the number of a closed standard stream: here the model
// that of the input, and so it would be the text.
TEST(Run, AClosedStreamIsNoOtherFile) {
    const CliRun in = test::run_cli(
        "/bin/sh", {"-c", std::string(RIDGE_CLI) + " perplexity '" + tiny + "' - --window 32 <&-"});
    EXPECT_EQ(in.code, 1) << in.out;
    EXPECT_NE(in.err.find("reading '-' failed"), std::string::npos) << in.err;
    // With nowhere to complain, there is still an exit code.
    const CliRun mute = test::run_cli(
        "/bin/sh", {"-c", std::string(RIDGE_CLI) + " tokenize '" + tiny + "' a >&- 2>&-"});
    EXPECT_EQ(mute.code, 1);
}

TEST(Run, AClosedPipeEndsIt) {
    const CliRun r = run({tiny, "-p", "Once", "-n", "1000000", "-c", "2000000", "--ignore-eos"},
                         {.timeout_s = 60, .close_after = 1});
    EXPECT_FALSE(r.timed_out);
    EXPECT_EQ(r.out.size(), 1u);
    EXPECT_NE(r.code, 0);
    // What cannot be written is said.
    const CliRun full = test::run_cli(
        "/bin/sh", {"-c", std::string(RIDGE_CLI) + " run '" + tiny + "' -p Once -n 4 > /dev/full"});
    EXPECT_EQ(full.code, 1);
    EXPECT_NE(full.err.find("could not be written"), std::string::npos) << full.err;
}

TEST(Run, CtrlCStopsTheAnswer) {
    const std::vector<std::string> args = {tiny,      "-p", "Once upon", "-n",
                                           "1000000", "-c", "200000",    "--ignore-eos"};
    bool sent = false;
    CliOptions o;
    o.on_output = [&](const std::string& out, int pid) {
        if (!sent && out.size() > 20) sent = kill(pid, SIGINT) == 0;
    };
    const CliRun r = run(args, o);
    EXPECT_TRUE(sent);
    EXPECT_FALSE(r.timed_out);
    EXPECT_EQ(r.code, 130);
    EXPECT_EQ(r.out.back(), '\n');
    // What came is the beginning of the same answer, and well-formed UTF-8.
    std::vector<std::string> same = args;
    same[4] = "60";
    const CliRun whole = run(same);
    const size_t n = std::min(r.out.size(), whole.out.size()) - 2;
    EXPECT_EQ(r.out.substr(0, n), whole.out.substr(0, n));
    EXPECT_NO_THROW((void)json(r.out).dump());
}

}  // namespace
}  // namespace ridge
