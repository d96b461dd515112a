// ridge chat in a pipe: what it prints, commands, the context's end, files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

#include "support/cli.hpp"
#include "support/models.hpp"
#include "support/temp_dir.hpp"

namespace ridge {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string tiny = RIDGE_SOURCE_DIR "/models/tiny-q8_0.gguf";
const std::string templates = RIDGE_TEST_DATA "/templates/";

test::CliRun chat(const std::string& input, std::vector<std::string> more = {},
                  const std::string& with = "marked.jinja", const std::string& model = tiny) {
    std::vector<std::string> args = {"chat", model, "--temp", "0", "-t", "1"};
    if (!with.empty()) args.insert(args.end(), {"--template", templates + with});
    args.insert(args.end(), more.begin(), more.end());
    test::CliOptions options;
    options.input = input;
    return test::run_cli(RIDGE_CLI, args, options);
}

size_t lines_of(const std::string& text) {
    return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

// The numbers of each --stats line: computed, prompt, answer.
std::vector<std::array<size_t, 3>> stats_of(const std::string& err) {
    std::vector<std::array<size_t, 3>> out;
    const std::regex line(R"(\[(\d+) of (\d+) prompt tokens computed in [0-9.]+ s, (\d+) tokens)");
    for (auto it = std::sregex_iterator(err.begin(), err.end(), line); it != std::sregex_iterator();
         ++it)
        out.push_back({std::stoul((*it)[1]), std::stoul((*it)[2]), std::stoul((*it)[3])});
    return out;
}

TEST(Chat, InAPipeThereAreAnswersAndNothingElse) {
    const auto one = chat("Once upon a time\n", {"-n", "12"});
    EXPECT_EQ(one.code, 0) << one.err;
    EXPECT_EQ(one.err, "");
    EXPECT_EQ(lines_of(one.out), 1u) << one.out;
    EXPECT_GT(one.out.size(), 10u);
    EXPECT_THAT(one.out, Not(HasSubstr(">")));
    EXPECT_THAT(one.out, Not(HasSubstr("\033")));
    // The last line needs no end, and blank lines are no messages.
    EXPECT_EQ(chat("\n \nOnce upon a time", {"-n", "12"}).out, one.out);
    EXPECT_EQ(chat("", {}).out, "");
}

TEST(Chat, ALaterTurnComputesWhatIsNew) {
    const auto r = chat("Once upon a time\nAnd then\nThe end\n", {"-n", "20", "--stats"});
    ASSERT_EQ(r.code, 0) << r.err;
    const auto turns = stats_of(r.err);
    ASSERT_EQ(turns.size(), 3u) << r.err;
    EXPECT_EQ(turns[0][0], turns[0][1]);
    for (size_t i = 1; i < 3; ++i) {
        // The context holds the prompt before and its answer, but for the last token sampled.
        const size_t held = turns[i - 1][1] + turns[i - 1][2];
        EXPECT_LE(turns[i][0], turns[i][1] - held + 1) << r.err;
        EXPECT_LT(turns[i][0], 10u) << r.err;
    }
}

TEST(Chat, ALaterTurnComputesWhatIsNewWithSmolLm2) {
    const auto model = test::cached_model(test::smollm2);
    if (!model) GTEST_SKIP() << "no " << test::smollm2 << " in the model cache";
    const auto r = chat("What is gravity?\nAnd why?\n", {"-n", "30", "--stats"}, "", *model);
    ASSERT_EQ(r.code, 0) << r.err;
    const auto turns = stats_of(r.err);
    ASSERT_EQ(turns.size(), 2u) << r.err;
    EXPECT_LE(turns[1][0], turns[1][1] - turns[0][1] - turns[0][2] + 1) << r.err;
    EXPECT_LT(turns[1][0], 20u) << r.err;
}

TEST(Chat, TheContextsEndSaysWhatIsDropped) {
    const auto r = chat("One day a cat\nTwo days a dog\nThree days a bird\nFour days a fish\n",
                        {"-n", "20", "-c", "64", "--stats"});
    ASSERT_EQ(r.code, 0) << r.err;
    EXPECT_THAT(r.err, HasSubstr("the context is full: the model no longer sees the "));
    const auto turns = stats_of(r.err);
    ASSERT_EQ(turns.size(), 4u) << r.err;
    for (const auto& turn : turns) EXPECT_LE(turn[1] + turn[2], 64u) << r.err;
    // Without a limit the answer ends with the context, and says so.
    const auto full = chat("Once upon a time\n", {"-c", "32"});
    EXPECT_EQ(full.code, 0);
    EXPECT_THAT(full.err, HasSubstr("the context is full, so the answer ends here"));
    // A message that does not fit at all.
    std::string words;
    for (int i = 0; i < 100; ++i) words += "once upon a time ";
    const auto large = chat(words + "\n", {"-c", "32"});
    EXPECT_EQ(large.code, 1);
    EXPECT_TRUE(test::is_one_complaint(large.err)) << large.err;
    EXPECT_THAT(large.err, HasSubstr("the context has 32"));
}

TEST(Chat, CommandsSaveAndLoad) {
    const test::TempDir dir;
    const std::string file = dir.file("talk.json");
    const auto first = chat(
        "/system Be kind.\nOnce upon a time\nAnd \\\nthen\n\"\"\"\nThe\nend\n\"\"\"\n"
        "//x\n/save " +
            file + "\n/bye\nnever seen\n",
        {"-n", "8"});
    ASSERT_EQ(first.code, 0) << first.err;
    EXPECT_THAT(first.err, HasSubstr("4 turns saved to " + file));
    const auto saved = nlohmann::json::parse(test::read_file(file));
    const auto& m = saved["messages"];
    ASSERT_EQ(m.size(), 9u);
    EXPECT_EQ(m[0]["role"], "system");
    EXPECT_EQ(m[0]["content"], "Be kind.");
    EXPECT_EQ(m[1]["content"], "Once upon a time");
    EXPECT_EQ(m[3]["content"], "And \nthen");
    EXPECT_EQ(m[5]["content"], "The\nend");
    EXPECT_EQ(m[7]["content"], "/x");
    EXPECT_EQ(m[8]["role"], "assistant");

    // A loaded conversation goes on, by command or by option.
    const std::string half = dir.file("half.json");
    const auto begun = chat("Once upon a time\nAnd then\n/save " + half + "\n", {"-n", "8"});
    ASSERT_EQ(begun.code, 0) << begun.err;
    const auto loaded = chat("/load " + half + "\nThe end\n", {"-n", "8", "--stats"});
    EXPECT_THAT(loaded.err, HasSubstr("2 turns loaded"));
    EXPECT_GT(stats_of(loaded.err).at(0)[1], 20u);  // it sees the turns before
    EXPECT_EQ(chat("The end\n", {"-n", "8", "--load", half}).out, loaded.out);
    // ... as if it had never been left, where the template makes the answers' text their tokens.
    const std::string talk = "Once upon a time\nAnd then\n";
    const std::string trimming = dir.file("trimming.jinja");
    std::ofstream(trimming) << "{{ bos_token }}{% for m in messages %}{{ m.content | trim }}"
                               "{{ eos_token }}{% endfor %}";
    const std::vector<std::string> more = {"-n", "8", "--template", trimming};
    const std::string whole = chat(talk + "The end\n", more, "").out;
    chat(talk + "/save " + half + "\n", more, "");
    const std::string rest = chat("/load " + half + "\nThe end\n", more, "").out;
    EXPECT_GT(rest.size(), 10u);
    EXPECT_EQ(whole, chat(talk, more, "").out + rest);
    EXPECT_NE(rest, chat("The end\n", more, "").out) << "the turns before count";

    const auto reset = chat("Once upon a time\n/reset\nOnce upon a time\n", {"-n", "8"});
    EXPECT_EQ(reset.out.substr(0, reset.out.size() / 2), reset.out.substr(reset.out.size() / 2));
}

TEST(Chat, CommandsSayWhatIsWrong) {
    const test::TempDir dir;
    const std::string bad = dir.write("bad.json", "{\"messages\": [{\"role\": \"user\"}]}");
    const auto r = chat("/what\n/save\n/save /nowhere/x\n/load " + bad + "\n/load " + tiny +
                            "\n/set temp hot\n/set temp -1\n/set n 5\n/help\n",
                        {});
    EXPECT_EQ(r.code, 1);
    EXPECT_EQ(r.out, "");
    for (const char* part :
         {"there is no command '/what'", "/save needs the name of a file",
          "Cannot create '/nowhere/x'", "lacks role or content", "it is not JSON",
          "/set takes temp", "temp", "n 5,", "/reset               begin"})
        EXPECT_THAT(r.err, HasSubstr(part));
    for (const auto& line : {"/help", "/bye"}) EXPECT_THAT(r.err, HasSubstr(line));
}

// A script that wanted something saved learns that it was not; what comes after is still done.
TEST(Chat, ACommandThatFailsIsInTheExitCode) {
    for (const char* command :
         {"/what", "/save /nowhere/x", "/load /nowhere/x", "/load", "/set n x"}) {
        const auto r = chat(std::string(command) + "\nOnce\n", {"-n", "4"});
        EXPECT_EQ(r.code, 1) << command;
        EXPECT_EQ(lines_of(r.out), 1u) << command;
        EXPECT_TRUE(test::is_one_complaint(r.err)) << r.err;
    }
    EXPECT_EQ(chat("/set n 4\n/help\n/system\nOnce\n/reset\n/bye\n").code, 0);
}

TEST(Chat, AnAnswerThatIsCutOffInsideAGrammarIsSaid) {
    const auto cut = chat("Once\n", {"-n", "3", "--grammar", "root ::= [a-z]{40}"});
    EXPECT_EQ(cut.code, 0);
    EXPECT_THAT(cut.err, HasSubstr("does not fit the grammar"));
    EXPECT_EQ(chat("Once\n", {"-n", "3", "--grammar", "root ::= \"a\""}).err, "");
    EXPECT_EQ(chat("Once\n", {"-n", "3"}).err, "");
}

TEST(Chat, TemplatesThatCannotBeUsedAreNamed) {
    const test::TempDir dir;
    const auto expect = [&](std::vector<std::string> more, const std::string& part) {
        std::vector<std::string> args = {"chat", tiny};
        args.insert(args.end(), more.begin(), more.end());
        const auto r = test::run_cli(RIDGE_CLI, args, {.input = "Hi\n"});
        EXPECT_EQ(r.code, 1);
        EXPECT_EQ(r.out, "");
        EXPECT_TRUE(test::is_one_complaint(r.err)) << r.err;
        EXPECT_THAT(r.err, HasSubstr(part));
    };
    expect({}, "tiny-q8_0.gguf' has no chat template");
    expect({"--template", dir.write("a.jinja", "x\n {% include 'b' %}")}, "line 2, column 5");
    expect({"--template", dir.write("b.jinja", "{{ raise_exception('not today') }}")}, "not today");
    expect({"--template", dir.write("c.jinja", "{{ messages[0].what.x }}")}, "line 1, column 21");
    expect({"--template", dir.file("none.jinja")}, "cannot be read");
    expect({"--template", dir.write("d.jinja", "")}, "empty");
}

TEST(Chat, WhatAFileSaysReachesNoTerminalAsEscapeSequence) {
    const test::TempDir dir;
    const std::string hostile =
        dir.write("hostile.jinja", "{{ raise_exception('no \033]0;title\007 \033[31mred') }}");
    const auto r = chat("hi\n", {"--template", hostile}, "");
    EXPECT_NE(r.code, 0);
    EXPECT_THAT(r.err, HasSubstr("\\x1b[31mred"));
    EXPECT_THAT(r.err, Not(HasSubstr("\033")));
    EXPECT_THAT(r.err, Not(HasSubstr("\007")));
}

TEST(Chat, SaveReplacesNoDevice) {
    const test::TempDir dir;
    const std::string pipe = dir.file("pipe");
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    const auto r = chat("/save " + pipe + "\n");
    EXPECT_THAT(r.err, HasSubstr("Cannot create '" + pipe + "'"));  // nobody reads it
    struct stat info = {};
    ASSERT_EQ(stat(pipe.c_str(), &info), 0);
    EXPECT_TRUE(S_ISFIFO(info.st_mode));
}

TEST(Chat, SaveReplacesSavedChatsAlone) {
    const test::TempDir dir;
    const std::string model = dir.write("m.gguf", test::read_file(tiny)),
                      notes = dir.write("notes", "to keep"), empty = dir.write("empty", ""),
                      link = dir.file("link");
    std::filesystem::create_symlink(model, link);
    const auto r = chat("/save " + model + "\n/save " + link + "\n/save " + notes + "\n/save " +
                            empty + "\n/system new\n/save " + empty + "\n",
                        {}, "marked.jinja", model);
    EXPECT_EQ(r.code, 1);
    for (const auto& path : {model, link})
        EXPECT_THAT(r.err, HasSubstr("'" + path + "' is a file that is read"));
    EXPECT_THAT(r.err, HasSubstr("'" + notes + "' is there and is no saved chat; give another"));
    EXPECT_TRUE(test::read_file(model) == test::read_file(tiny));
    EXPECT_EQ(test::read_file(notes), "to keep");
    EXPECT_THAT(test::read_file(empty), HasSubstr("\"new\""));
}

TEST(Chat, SaveSaysWhatJsonCannotHold) {
    const test::TempDir dir;
    const std::string said = "no UTF-8";
    const std::string file = dir.file("talk.json");
    const auto r = chat("/system caf\xe9\n/save " + file + "\n");
    EXPECT_THAT(r.err, HasSubstr(said));
    EXPECT_THAT(test::read_file(file), HasSubstr("caf\xEF\xBF\xBD"));
    EXPECT_THAT(chat("/system caf\xc3\xa9\n/save " + file + "\n").err, Not(HasSubstr(said)));
}

TEST(Chat, TheSystemMessageCanBeEmptied) {
    const auto r = chat("/system -\n/system\nOnce\n", {"--system", "Be kind.", "-n", "4"});
    EXPECT_THAT(r.err, HasSubstr("there is no system message"));
    EXPECT_THAT(r.err, Not(HasSubstr("the system message is")));
    EXPECT_EQ(r.out, chat("Once\n", {"-n", "4"}).out);
}

TEST(Chat, InAPipeCtrlCEndsIt) {
    test::CliOptions options;
    options.input = "Once upon a time\nAnd then\n";
    options.on_output = [](const std::string&, int pid) { kill(pid, SIGINT); };
    const auto r = test::run_cli(RIDGE_CLI,
                                 {"chat", tiny, "--temp", "0", "-t", "1", "--kernels", "ref",
                                  "--activations", "f32", "--template", templates + "plain.jinja"},
                                 options);
    EXPECT_EQ(r.code, 130) << r.err;
    EXPECT_EQ(lines_of(r.out), 1u) << r.out;
}

}  // namespace
}  // namespace ridge
