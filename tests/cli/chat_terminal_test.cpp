// ridge chat as a person has it: five turns in a terminal of 60 columns, run by tmux.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "support/temp_dir.hpp"

namespace ridge {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string tiny = RIDGE_SOURCE_DIR "/models/tiny-q8_0.gguf";
const std::string templates = RIDGE_TEST_DATA "/templates/";

std::string output_of(const std::string& command) {
    std::string out;
    std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
    if (pipe == nullptr) return out;
    std::array<char, 4096> buffer;
    for (size_t n; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
        out.append(buffer.data(), n);
    pclose(pipe);
    return out;
}

// A terminal with a shell in it.
class ChatTerminal : public testing::Test {
  protected:
    void SetUp() override {
        if (output_of("tmux -V").rfind("tmux ", 0) != 0) GTEST_SKIP() << "there is no tmux here";
        tmux("-f /dev/null new-session -d -x 60 -y 200 \"env -u NO_COLOR PS1='$ ' HOME=" +
             dir_.path() + " XDG_STATE_HOME= sh\"");
        started_ = true;
        wait_for([](const std::string& s) { return last_line(s) == "$"; });
    }
    void TearDown() override {
        if (started_) tmux("kill-server");
    }

    std::string tmux(const std::string& arguments) const {
        return output_of("tmux -L ridge-chat-" + std::to_string(getpid()) + " " + arguments);
    }
    std::string screen() const { return tmux("capture-pane -p"); }
    // The last line that is not empty.
    static std::string last_line(const std::string& screen) {
        std::istringstream in(screen);
        std::string last;
        for (std::string line; std::getline(in, line);)
            if (!line.empty()) last = line;
        return last;
    }
    void wait_for(const std::function<bool(const std::string&)>& holds) const {
        using namespace std::chrono;
        const auto end = steady_clock::now() + seconds(120);
        for (;;) {
            const std::string now = screen();
            if (holds(now)) return;
            if (steady_clock::now() > end) FAIL() << "the terminal stays at:\n" << now;
            std::this_thread::sleep_for(milliseconds(50));
        }
    }
    void wait_for_text(const std::string& text) const {
        wait_for([&](const std::string& s) { return s.find(text) != std::string::npos; });
    }
    static size_t prompts_in(const std::string& screen) {
        std::istringstream in(screen);
        size_t n = 0;
        for (std::string line; std::getline(in, line);) n += line.starts_with(">") ? 1 : 0;
        return n;
    }
    // Waits until ridge asks for the `n`th time.
    void wait_for_prompt(size_t n) const {
        wait_for([n](const std::string& s) { return prompts_in(s) >= n && last_line(s) == ">"; });
    }
    // Types a line at the prompt and waits for the next one.
    void turn(const std::string& text) const {
        const size_t before = prompts_in(screen());
        enter(text);
        wait_for_prompt(before + 1);
    }
    void type(const std::string& text) const { tmux("send-keys -l '" + text + "'"); }
    void key(const std::string& name) const { tmux("send-keys " + name); }
    void enter(const std::string& text) const {
        type(text);
        key("Enter");
    }
    void start(const std::string& with, const std::string& before = "") const {
        // The reference kernels are slow enough for an answer to be stopped.
        enter(before + RIDGE_CLI " chat " + tiny + " --template " + templates + with +
              " --temp 0 -t 1 -n 16 --kernels ref --activations f32");
        wait_for_prompt(1);
    }
    static std::vector<std::string> words_of(const std::string& text) {
        std::istringstream in(text);
        std::vector<std::string> words;
        for (std::string word; in >> word;) words.push_back(word);
        return words;
    }
    nlohmann::json saved(const std::string& name) const {
        return nlohmann::json::parse(test::read_file(dir_.file(name)), nullptr, false);
    }

    test::TempDir dir_;
    bool started_ = false;
};

TEST_F(ChatTerminal, FiveTurns) {
    ASSERT_NO_FATAL_FAILURE(start("marked.jinja"));
    EXPECT_THAT(screen(), HasSubstr("/help lists"));

    ASSERT_NO_FATAL_FAILURE(turn("Once upon a time"));  // 1
    // Kept at once: whoever closes the terminal loses nothing.
    EXPECT_THAT(test::read_file(dir_.file(".local/state/ridge/chat_history")),
                HasSubstr("Once\\040upon"));
    ASSERT_NO_FATAL_FAILURE(turn("/system Be kind."));
    EXPECT_THAT(screen(), HasSubstr("the system message is"));

    ASSERT_NO_FATAL_FAILURE(turn("/set n 400"));
    EXPECT_THAT(screen(), HasSubstr("n 400"));
    ASSERT_NO_FATAL_FAILURE(turn("/reset"));
    EXPECT_THAT(screen(), HasSubstr("a new conversation"));
    size_t asked = prompts_in(screen());
    enter("Once upon a time");  // 1 again
    // Some of the answer is there before it is stopped.
    ASSERT_NO_FATAL_FAILURE(wait_for([](const std::string& s) {
        const size_t at = s.find("> Once upon a time\n", s.rfind("a new conversation"));
        return at != std::string::npos && s.find_last_not_of(" \n") > at + 30;
    }));
    key("C-c");
    ASSERT_NO_FATAL_FAILURE(wait_for_text("[stopped]"));
    ASSERT_NO_FATAL_FAILURE(wait_for_prompt(asked + 1));
    const std::string stopped = screen();

    ASSERT_NO_FATAL_FAILURE(turn("/set n 8"));
    EXPECT_THAT(screen(), HasSubstr("n 8,"));
    ASSERT_NO_FATAL_FAILURE(turn("And then he said"));  // 2

    key("Up");  // 3: the same again, from history, edited
    ASSERT_NO_FATAL_FAILURE(
        wait_for([](const std::string& s) { return last_line(s) == "> And then he said"; }));
    key("BSpace BSpace BSpace BSpace");
    ASSERT_NO_FATAL_FAILURE(turn("was"));

    enter("\"\"\"a dog");  // 4: several lines
    ASSERT_NO_FATAL_FAILURE(wait_for([](const std::string& s) { return last_line(s) == "."; }));
    ASSERT_NO_FATAL_FAILURE(turn("and a cat\"\"\""));

    // Ctrl-C on a line gives the line up, not the program.
    asked = prompts_in(screen());
    type("half a line");
    key("C-c");
    ASSERT_NO_FATAL_FAILURE(wait_for_text("/bye or Ctrl-D leaves"));
    ASSERT_NO_FATAL_FAILURE(wait_for_prompt(asked + 1));

    ASSERT_NO_FATAL_FAILURE(turn("/save " + dir_.file("four.json")));
    EXPECT_THAT(screen(), HasSubstr("4 turns saved"));
    enter("/bye");
    ASSERT_NO_FATAL_FAILURE(wait_for([](const std::string& s) { return last_line(s) == "$"; }));

    const auto four = saved("four.json")["messages"];
    ASSERT_EQ(four.size(), 9u) << four;
    EXPECT_EQ(four[0]["content"], "Be kind.");
    EXPECT_EQ(four[1]["content"], "Once upon a time");
    EXPECT_GT(four[2]["content"].get<std::string>().size(), 0u);
    // The answer was broken between words: on the screen they are those of the text.
    const size_t from = stopped.rfind("> Once upon a time\n") + 19;
    std::string shown = stopped.substr(from, stopped.find("[stopped]", from) - from);
    if (const size_t echo = shown.find("^C"); echo != std::string::npos) shown.erase(echo, 2);
    EXPECT_THAT(shown, HasSubstr("\n")) << "it is longer than a line";
    EXPECT_EQ(words_of(shown), words_of(four[2]["content"].get<std::string>()));
    EXPECT_EQ(four[3]["content"], "And then he said");
    EXPECT_EQ(four[5]["content"], "And then he was");
    EXPECT_EQ(four[7]["content"], "a dog\nand a cat");

    tmux("clear-history");
    enter("clear");
    ASSERT_NO_FATAL_FAILURE(start("marked.jinja"));
    key("Up");  // history outlives the program
    ASSERT_NO_FATAL_FAILURE(
        wait_for([](const std::string& s) { return last_line(s) == "> /bye"; }));
    key("C-u");
    ASSERT_NO_FATAL_FAILURE(turn("/load " + dir_.file("four.json")));
    EXPECT_THAT(screen(), HasSubstr("4 turns loaded"));
    ASSERT_NO_FATAL_FAILURE(turn("The end"));  // 5
    ASSERT_NO_FATAL_FAILURE(turn("/save " + dir_.file("five.json")));
    EXPECT_THAT(screen(), HasSubstr("5 turns saved"));
    key("C-d");
    ASSERT_NO_FATAL_FAILURE(wait_for([](const std::string& s) { return last_line(s) == "$"; }));

    const auto five = saved("five.json")["messages"];
    ASSERT_EQ(five.size(), 11u);
    for (size_t i = 0; i < four.size(); ++i) EXPECT_EQ(five[i], four[i]);
    EXPECT_EQ(five[9]["content"], "The end");
}

TEST_F(ChatTerminal, ReasoningAndNotesAreDimmedUnlessNoColorIsSet) {
    ASSERT_NO_FATAL_FAILURE(start("thinking.jinja"));  // opens <think>, so all of it is reasoning
    ASSERT_NO_FATAL_FAILURE(turn("Once upon a time"));
    const std::string dimmed = tmux("capture-pane -p -e");
    const size_t answer = dimmed.rfind("> Once upon a time");
    ASSERT_NE(answer, std::string::npos) << dimmed;
    EXPECT_THAT(dimmed.substr(answer), HasSubstr("\033[2m")) << dimmed;
    enter("/bye");
    ASSERT_NO_FATAL_FAILURE(wait_for([](const std::string& s) { return last_line(s) == "$"; }));
    tmux("clear-history");
    enter("clear");
    ASSERT_NO_FATAL_FAILURE(start("thinking.jinja", "NO_COLOR=1 "));
    ASSERT_NO_FATAL_FAILURE(turn("Once upon a time"));
    EXPECT_THAT(tmux("capture-pane -p -e"), Not(HasSubstr("\033[2m")));
}

}  // namespace
}  // namespace ridge
