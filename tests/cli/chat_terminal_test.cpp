// ridge chat as a person has it: five turns in a terminal of 60 columns, run by tmux.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "sample/sampler.hpp"
#include "support/engine.hpp"
#include "support/temp_dir.hpp"
#include "text/chat.hpp"

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

// The same model asked without ridge chat, as the terminal below sets it up: what the answers are
// to be.
class Oracle {
  public:
    Oracle() {
        ModelOptions options;
        options.kernels = "ref";
        options.f32_activations = true;
        options.kv = KvType::f32;
        options.threads = 1;
        model_ = test::load(tiny, options);
        context_ = test::context(*model_, 1024);
    }
    // The answer to these messages, of `most` tokens at most; `enough` bytes of it are enough.
    // `held` are the tokens so far, of the messages but for the last one, and become those with the
    // last one and the answer: the model's own, which its text need not have. Empty: all from text.
    std::string answer(std::vector<int32_t>& held, std::span<const nlohmann::json> messages,
                       size_t most, size_t enough = SIZE_MAX) {
        const Tokenizer& t = model_->tokenizer();
        TemplateInput input;
        input.messages = nlohmann::ordered_json::array();
        for (const auto& message : messages) input.messages.emplace_back(message);
        auto prompt = ChatPrompt::create(t, test::read_file(templates + "marked.jinja"));
        EXPECT_TRUE(prompt) << prompt.error().message;
        const auto ids = prompt->encode(std::move(input));
        EXPECT_TRUE(ids) << ids.error().message;
        // marked.jinja ends each message with EOS: from the answer's on all is new.
        const auto end = std::find(ids->rbegin() + 1, ids->rend(), t.eos());
        held.insert(held.end(), held.empty() ? ids->begin() : end.base() - 1, ids->end());
        EXPECT_TRUE(context_->prompt(0, held));
        std::string text;
        for (size_t n = 0; n < most && text.size() < enough; ++n) {
            const int32_t id = Sampler::greedy(context_->logits(0));
            if (t.is_end(id)) break;
            text += t.bytes(id);
            held.push_back(id);
            const Row row{0, id, true};
            EXPECT_TRUE(context_->pass({&row, 1}));
        }
        return text;
    }

  private:
    std::unique_ptr<Model> model_;
    std::unique_ptr<Context> context_;
};

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
    // What stands below the last `question` that was typed, up to the next prompt.
    static std::string below(const std::string& screen, const std::string& question) {
        const size_t at = screen.rfind(question + "\n");
        if (at == std::string::npos) return "'" + question + "' is not on the screen";
        const size_t from = at + question.size() + 1;
        return screen.substr(from, screen.find("\n>", from) - from);
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
    std::array<std::string, 5> shown;
    shown[1] = below(screen(), "> And then he said");

    key("Up");  // 3: the same again, from history, edited
    ASSERT_NO_FATAL_FAILURE(
        wait_for([](const std::string& s) { return last_line(s) == "> And then he said"; }));
    key("BSpace BSpace BSpace BSpace");
    ASSERT_NO_FATAL_FAILURE(turn("was"));
    shown[2] = below(screen(), "> And then he was");

    enter("\"\"\"a dog");  // 4: several lines
    ASSERT_NO_FATAL_FAILURE(wait_for([](const std::string& s) { return last_line(s) == "."; }));
    ASSERT_NO_FATAL_FAILURE(turn("and a cat\"\"\""));
    shown[3] = below(screen(), "and a cat\"\"\"");

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
    shown[0] = below(stopped, "> Once upon a time");
    shown[0].resize(std::min(shown[0].size(), shown[0].find("[stopped]")));
    EXPECT_THAT(shown[0], HasSubstr("\n")) << "it is longer than a line";
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
    shown[4] = below(screen(), "> The end");
    ASSERT_NO_FATAL_FAILURE(turn("/save " + dir_.file("five.json")));
    EXPECT_THAT(screen(), HasSubstr("5 turns saved"));
    key("C-d");
    ASSERT_NO_FATAL_FAILURE(wait_for([](const std::string& s) { return last_line(s) == "$"; }));

    const auto five = saved("five.json")["messages"];
    ASSERT_EQ(five.size(), 11u);
    for (size_t i = 0; i < four.size(); ++i) EXPECT_EQ(five[i], four[i]);
    EXPECT_EQ(five[9]["content"], "The end");

    // Every answer is what the model says to all that came before: shown, saved, and gone on from
    // when loaded, where the text is all there is.
    Oracle oracle;
    const std::vector<nlohmann::json> all(five.begin(), five.end());
    std::vector<int32_t> held;
    for (size_t i = 0; i < shown.size(); ++i) {
        SCOPED_TRACE("answer " + std::to_string(i + 1));
        const auto before = std::span(all).first(2 * i + 2);
        const std::string kept = all[2 * i + 2]["content"];
        const size_t most = i == 0 ? 400 : i == 4 ? 16 : 8;
        if (i == 4) held.clear();
        const size_t enough = i == 0 ? kept.size() : SIZE_MAX;
        std::string wanted = oracle.answer(held, before, most, enough);
        if (wanted != kept) {  // ridge may have gone on from the text (ChatSession::keep_answer)
            std::vector<int32_t> from_text;
            wanted = oracle.answer(from_text, before, most, enough);
            held = from_text;
        }
        EXPECT_EQ(kept, wanted);
        const auto words = words_of(wanted);
        if (const size_t echo = shown[i].find("^C"); i == 0 && echo != std::string::npos) {
            // With Ctrl-C a terminal drops what it has not yet shown: a word or two at the "^C".
            const auto first = words_of(shown[i].substr(0, echo));
            const auto rest = words_of(shown[i].substr(echo + 2));
            ASSERT_LE(first.size() + rest.size(), words.size()) << shown[i];
            EXPECT_GE(first.size() + rest.size() + 2, words.size()) << shown[i];
            EXPECT_TRUE(std::equal(first.begin(), first.end(), words.begin())) << shown[i];
            EXPECT_TRUE(std::equal(rest.rbegin(), rest.rend(), words.rbegin())) << shown[i];
        } else {
            EXPECT_EQ(words_of(shown[i]), words);
        }
        std::vector<int32_t> nothing;
        if (i > 0) {
            EXPECT_NE(wanted, oracle.answer(nothing, before.last(1), most))
                << "what came before makes no difference";
        }
    }
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
