// The command line: what is refused, in which words, and help.
#include <gtest/gtest.h>

#include "cli/run_ridge.hpp"
#include "format/gguf.hpp"
#include "format/gguf_writer.hpp"

namespace ridge {
namespace {

using test::CliRun;
using test::run_ridge;

const std::string tiny = RIDGE_SOURCE_DIR "/models/tiny-q8_0.gguf";

// The whole sentence, and the exit code of a command line that cannot be meant.
void expect_refusal(const std::string& arguments, const std::string& sentence) {
    const CliRun r = run_ridge(arguments);
    EXPECT_EQ(r.code, 2) << arguments;
    EXPECT_EQ(r.err, "ridge: " + sentence + "\n") << arguments;
    EXPECT_EQ(r.out, "") << arguments;
}

// None of these may drop a part of what was typed.
TEST(Usage, InputThatWouldBeIgnoredIsRefused) {
    const std::string run = "run " + tiny + " -p x ", tokenize = "tokenize " + tiny + " ";
    const std::string run_usage = ": ridge run MODEL [options]",
                      tokenize_usage = ": ridge tokenize MODEL [TEXT] [options]";
    expect_refusal(run + "-f /nowhere", "give --prompt or --file, not both" + run_usage);
    expect_refusal("run " + tiny + " -f /nowhere -p x",
                   "give --prompt or --file, not both" + run_usage);
    expect_refusal(run + "--system y", "--system needs --chat" + run_usage);
    expect_refusal(run + "--profile peak", "--profile needs --board" + run_usage);
    expect_refusal(run + "--set a=1", "--set needs --board" + run_usage);
    expect_refusal(run + "--samplers top_k --sampler-seq k",
                   "give --samplers or --sampler-seq, not both" + run_usage);
    expect_refusal(run + "--logprobs 3",
                   "--logprobs are part of the JSON object that --json prints; add --json");
    for (const std::string option :
         {"--chat", "--threads 2", "--seed 4", "--grammar x", "--top-k 3", "--json --logprobs 3",
          "--stop x", "--kernels ref"}) {
        const CliRun r = run_ridge(run + "--board ai-max-395 " + option);
        EXPECT_EQ(r.code, 2) << option;
        EXPECT_NE(r.err.find("is for this machine"), std::string::npos) << option << r.err;
    }
    expect_refusal(tokenize + "x -f /nowhere", "give TEXT or --file, not both" + tokenize_usage);
    expect_refusal(tokenize + "-p x -f /nowhere", "give TEXT or --file, not both" + tokenize_usage);
    expect_refusal(tokenize + "5 --decode --json",
                   "give --decode or --json, not both" + tokenize_usage);
    expect_refusal("perplexity " + tiny + " /nowhere --ids /nowhere",
                   "give TEXT or --ids, not both: ridge perplexity MODEL [TEXT] [options]");
    expect_refusal("perplexity " + tiny, "give a text file or --ids FILE, one of the two");
    expect_refusal("perplexity " + tiny + " /nowhere --kld --activations f32",
                   "--kld compares with --activations f32; leave that option out");
    expect_refusal("inspect --cpu --tensors",
                   "--tensors needs MODEL: ridge inspect [MODEL] [options]");
    expect_refusal("chat " + tiny + " --logprobs 3",
                   "'ridge chat' has no option '--logprobs'; 'ridge help chat' lists its options");
    EXPECT_EQ(run_ridge("sim /nowhere --at 3 --trace /nowhere/t").code, 2);
    EXPECT_EQ(run_ridge("sim /nowhere --board rv32 --flash /nowhere").code, 2);
}

TEST(Usage, WhatIsMissing) {
    expect_refusal("pull", "missing WHAT: ridge pull WHAT [options]");
    expect_refusal("convert folder", "missing OUT: ridge convert FOLDER OUT [options]");
    expect_refusal("quantize m Q4_0", "missing TYPE: ridge quantize IN OUT TYPE [options]");
    expect_refusal("export " + tiny, "missing -o OUTPUT: ridge export MODEL -o OUTPUT [options]");
    expect_refusal("run -p x", "give a model, in its place or by -m: ridge run MODEL [options]");
    const CliRun none = run_ridge("");
    EXPECT_EQ(none.code, 2);
    EXPECT_NE(none.err.find("ridge: give a verb: run, chat, "), std::string::npos) << none.err;
}

TEST(Usage, WhatIsWrong) {
    const std::string run = "run " + tiny + " ", see_run = "; 'ridge help run' lists its options";
    expect_refusal(run + "-p a -p b",
                   "--prompt may be given once, not 2 times: ridge run MODEL [options]");
    expect_refusal(run + "-m " + tiny,
                   "MODEL or --model may be given once, not 2 times: ridge run MODEL [options]");
    expect_refusal(run + "-t", "--threads stands without its value" + see_run);
    expect_refusal(run + "-t many", "--threads takes 0 to 256, not 'many'" + see_run);
    expect_refusal(run + "-t 999", "--threads takes 0 to 256, not '999'" + see_run);
    expect_refusal(run + "--seed x", "--seed takes a number, not 'x'" + see_run);
    expect_refusal(run + "--json=foo", "--json takes no value such as 'foo'" + see_run);
    expect_refusal(run + "--thread 3",
                   "'ridge run' has no option '--thread' (did you mean '--threads'?)" + see_run);
    expect_refusal(run + "hello",
                   "there is no place for 'hello' (a prompt is given by -p): "
                   "ridge run MODEL [options]");
    expect_refusal("convert a b c",
                   "there is no place for 'c': ridge convert FOLDER OUT [options]");
    expect_refusal("embed " + tiny + " -p x --pooling max",
                   "--pooling takes one of mean, last, not 'max'; 'ridge help embed' lists its "
                   "options");
    for (const char* line : {"--colour", "--colour run"})
        expect_refusal(line, "'ridge' has no option '--colour'; 'ridge help' lists what there is");
}

TEST(Usage, HelpIsAVerb) {
    const CliRun all = run_ridge("help"), option = run_ridge("--help");
    EXPECT_EQ(all.code, 0) << all.err;
    EXPECT_EQ(all.out, option.out);
    EXPECT_NE(all.out.find("\nVerbs:\n"), std::string::npos) << all.out;
    for (const std::string verb : {"run", "quantize", "bench", "help"}) {
        const CliRun one = run_ridge("help " + verb);
        EXPECT_EQ(one.code, 0) << one.err;
        EXPECT_EQ(one.out, run_ridge(verb + " --help").out);
    }
    EXPECT_NE(run_ridge("help convert").out.find("Usage: ridge convert FOLDER OUT [options]\n"),
              std::string::npos);
    EXPECT_EQ(run_ridge("help nothing").err, run_ridge("nothing").err);
    EXPECT_EQ(run_ridge("help nothing").code, 2);
}

TEST(Usage, AnEmptyMessageIsSaid) {
    const auto file = GgufFile::open(tiny);
    ASSERT_TRUE(file);
    GgufWriter writer;
    for (const std::string& key : file->keys()) {
        const auto value = file->encoded_value(key);
        writer.set_encoded(key, {reinterpret_cast<const char*>(value.data()), value.size()});
    }
    writer.set("tokenizer.chat_template", "{{ messages[0].content }}!");
    for (const TensorInfo& t : file->tensors())
        ASSERT_TRUE(
            writer.add_tensor(t.name, t.type, {t.dims.begin(), t.dims.begin() + t.n_dims}, t.data));
    const test::TempDir dir;
    const std::string model = dir.file("chat.gguf");
    ASSERT_TRUE(writer.write(model));
    const CliRun none = run_ridge("run " + model + " --chat -n 4");
    EXPECT_EQ(none.code, 0);
    EXPECT_EQ(none.err,
              "ridge: the prompt is empty (-p TEXT, -f FILE), so an empty message is answered\n");
    EXPECT_EQ(run_ridge("run " + model + " --chat -n 4 -p Once").err, "");
}

}  // namespace
}  // namespace ridge
