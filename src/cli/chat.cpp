// ridge chat: a conversation on a terminal or in a pipe.
#include "cli/chat_session.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <charconv>
#include <cstdio>
#include <filesystem>

#include "cli/chat_editor.hpp"
#include "cli/chat_output.hpp"
#include "cli/common.hpp"
#include "cli/verbs.hpp"
#include "cli/word_wrap.hpp"
#include "runtime/profile.hpp"

namespace ridge::cli {
namespace {

struct ChatArgs {
    EngineArgs engine;
    SamplingArgs sampling;
    std::string system, template_file, load;
    int64_t n = 0;  // 0 or below: until the context is full
    bool stats = false;
};

volatile sig_atomic_t stop_asked = 0;

void on_stop(int) {
    stop_asked = 1;
}

constexpr const char* kHelp =
    "/help                this list\n"
    "/system [TEXT]       show or set the system message;\n"
    "                     - empties it\n"
    "/reset               begin a new conversation\n"
    "/save FILE           write the conversation as JSON\n"
    "/load FILE           go on with a saved one\n"
    "/set [NAME VALUE]    show or set temp, top-k, top-p,\n"
    "                     min-p, seed, n, think (on, off)\n"
    "/bye                 leave (or Ctrl-D)\n"
    "Ctrl-C stops an answer. A line that ends with \\ goes on\n"
    "in the next; \"\"\" begins and ends text of many lines. A\n"
    "message that begins with / is written with //.\n";

class Chat {
  public:
    Chat(ChatArgs& args, ChatSession& session, const ChatStyle& style)
        : args_(args), session_(session), style_(style) {}

    int run() {
        LineEditor editor(style_.terminal);
        if (style_.terminal)
            chat_note(style_,
                      fmt::format("{}, {}; /help lists commands, Ctrl-D leaves",
                                  std::filesystem::path(args_.engine.model).filename().string(),
                                  session_.prompt().description()));
        else if (session_.prompt().own_format())
            chat_note(style_, session_.prompt().description());
        int code = 0;
        for (std::string message; !left_;) {
            stop_asked = 0;
            const LineEditor::End end = editor.read_message(message);
            if (end == LineEditor::End::closed) break;
            if (end == LineEditor::End::interrupt) {
                if (!style_.terminal) return 130;
                chat_note(style_, "/bye or Ctrl-D leaves");
                continue;
            }
            if (message.find_first_not_of(" \t\n") == std::string::npos) continue;
            if (message.starts_with("//"))
                message.erase(0, 1);
            else if (message[0] == '/') {
                command(message);
                continue;
            }
            code = answer(message);
            if (code != 0 && !style_.terminal) return code;
            if (std::ferror(stdout) != 0) return 1;  // nobody reads any more
        }
        return any_failed_ && !style_.terminal ? 1 : code;
    }

  private:
    // Exit code for a pipe, where nobody could mend what went wrong.
    int answer(const std::string& message) {
        ReasoningFilter reasoning(style_.color, false);
        const auto show = [](const std::string& text) {
            std::fwrite(text.data(), 1, text.size(), stdout);
            std::fflush(stdout);
        };
        ChatSession::Events events;
        events.stop = [] { return stop_asked != 0; };
        events.begin = [&](size_t dropped, bool inside) {
            reasoning = ReasoningFilter(style_.color, inside);
            if (dropped > 0)
                chat_note(style_,
                          fmt::format("the context is full: the model no longer sees the {} "
                                      "oldest turn{}",
                                      dropped, dropped == 1 ? "" : "s"));
        };
        WordWrap wrap(chat_columns(style_));
        events.piece = [&](const std::string& text) { show(wrap.push(reasoning.push(text))); };
        const size_t most = args_.n <= 0 ? SIZE_MAX : static_cast<size_t>(args_.n);
        const auto a = session_.ask(message, args_.sampling, most, events);
        show(wrap.push(reasoning.finish()));
        show(wrap.finish());
        if (!a) {
            if (!style_.terminal) return complain(a.error());
            chat_note(style_, a.error().message);
            return 1;
        }
        show("\n");
        const std::string_view finish = a->finish;
        if (finish == "interrupt" && style_.terminal) chat_note(style_, "stopped");
        if (!a->fits && finish == "length")
            chat_note(style_,
                      "the answer is cut off by -n and does not fit the grammar; a larger -n lets "
                      "it end");
        if (finish == "context")
            chat_note(style_,
                      "the context is full, so the answer ends here; the next message "
                      "makes room");
        if (args_.stats)
            fmt::print(
                stderr,
                "[{} of {} prompt tokens computed in {:.2f} s, {} tokens, {:.1f} a second]\n",
                a->computed_tokens, a->prompt_tokens, a->prefill_s, a->tokens,
                a->decode_s > 0 ? static_cast<double>(a->tokens) / a->decode_s : 0.0);
        return finish == "interrupt" && !style_.terminal ? 130 : 0;
    }

    void command(const std::string& line) {
        const size_t blank = line.find_first_of(" \t\n");
        const std::string name = line.substr(0, blank);
        std::string rest = blank == std::string::npos ? "" : line.substr(blank + 1);
        rest.erase(0, rest.find_first_not_of(" \t"));
        while (name != "/system" && !rest.empty() && (rest.back() == ' ' || rest.back() == '\t'))
            rest.pop_back();
        if (name == "/help" || name == "/?") {
            std::fputs(kHelp, style_.terminal ? stdout : stderr);
        } else if (name == "/bye" || name == "/exit" || name == "/quit") {
            left_ = true;
        } else if (name == "/reset") {
            session_.reset();
            note("a new conversation");
        } else if (name == "/system") {
            if (!rest.empty()) session_.set_system(rest == "-" ? "" : rest);
            note(session_.system().empty() ? "there is no system message"
                                           : "the system message is: " + session_.system());
        } else if (name == "/save" || name == "/load") {
            file(name, rest);
        } else if (name == "/set") {
            set(rest);
        } else {
            failed(fmt::format("there is no command '{}'; /help lists them", name));
        }
    }

    void file(const std::string& name, const std::string& path) {
        if (path.empty()) {
            failed(name + " needs the name of a file");
            return;
        }
        const bool save = name == "/save";
        Result<bool> whole = true;
        if (save)
            whole = session_.save(path);
        else if (Status loaded = session_.load(path); !loaded)
            whole = propagate(loaded);
        if (!whole) {
            failed(whole.error().message);
            return;
        }
        const size_t turns = session_.turns();
        note(fmt::format("{} turn{} {} {}", turns, turns == 1 ? "" : "s",
                         save ? "saved to" : "loaded from", path));
        if (!*whole)
            note("bytes that are no UTF-8, which the file cannot hold, were saved as U+FFFD");
    }

    void set(const std::string& what) {
        SamplerOptions& o = args_.sampling.options;
        const size_t blank = what.find(' ');
        const std::string name = what.substr(0, blank);
        const std::string value = blank == std::string::npos ? "" : what.substr(blank + 1);
        if (name == "think" && (value == "on" || value == "off")) {
            session_.variables()["enable_thinking"] = value == "on";
            session_.variables()["thinking"] = value == "on";
        } else if (!name.empty()) {
            double number = 0;
            const char* last = value.data() + value.size();
            const auto end = std::from_chars(value.data(), last, number);
            const bool good = end.ec == std::errc() && end.ptr == last && !value.empty();
            SamplingArgs changed = args_.sampling;
            int64_t n = args_.n;
            bool known = true;
            if (name == "temp")
                changed.options.temperature = static_cast<float>(number);
            else if (name == "top-p")
                changed.options.top_p = static_cast<float>(number);
            else if (name == "min-p")
                changed.options.min_p = static_cast<float>(number);
            else if (name == "top-k" && std::abs(number) < 1e9)
                changed.options.top_k = static_cast<int32_t>(number);
            else if (name == "seed" && std::abs(number) < 9e15)
                changed.seed = static_cast<int64_t>(number);
            else if (name == "n" && number >= -1 && number < 4e9)
                n = static_cast<int64_t>(number);
            else
                known = false;
            if (!known || !good) {
                failed(
                    "/set takes temp, top-k, top-p, min-p, seed or n and a number, or think and "
                    "on or off");
                return;
            }
            if (const Status s = check_sampler_options(changed.options, UINT32_MAX); !s) {
                failed(s.error().message);
                return;
            }
            args_.sampling = changed;
            args_.n = n;
        }
        const auto& variables = session_.variables();
        note(fmt::format("temp {:g}, top-k {}, top-p {:g}, min-p {:g}, seed {}, n {}, think {}",
                         o.temperature, o.top_k, o.top_p, o.min_p, args_.sampling.seed, args_.n,
                         !variables.contains("enable_thinking")     ? "as the model has it"
                         : variables["enable_thinking"].get<bool>() ? "on"
                                                                    : "off"));
    }

    void note(const std::string& text) { chat_note(style_, text); }
    void failed(const std::string& text) {
        note(text);
        any_failed_ = true;
    }

    ChatArgs& args_;
    ChatSession& session_;
    const ChatStyle& style_;
    bool left_ = false;
    bool any_failed_ = false;  // a command: what a script wanted saved is not
};

int chat(ChatArgs& args) {
    auto options = model_options(args.engine);
    if (!options) return complain(options.error());
    std::string source;
    if (!args.template_file.empty()) {
        auto text = read_text(args.template_file);
        if (!text) return complain(text.error());
        if (text->empty()) return complain("the template '" + args.template_file + "' is empty");
        source = std::move(*text);
    }
    auto model = load_model(args.engine, std::move(*options));
    if (!model) return complain(model.error());
    Model& m = **model;
    if (source.empty() && m.tokenizer().chat_template().empty())
        return complain("'" + m.file().path() +
                        "' has no chat template (a base model?); give one by --template FILE, or "
                        "continue text with 'ridge run'");
    auto prompt = ChatPrompt::create(m.tokenizer(), source);
    if (!prompt) return complain(prompt.error());
    ThreadProfile profile = ThreadProfile::load();
    auto context = open_context(args.engine, m, profile);
    if (!context) return complain(context.error());
    if (const auto chooser = make_chooser(args.sampling, m); !chooser)
        return complain(chooser.error());
    ChatSession session(m, **context, std::move(*prompt));
    if (!args.load.empty())
        if (const Status loaded = session.load(args.load); !loaded) return complain(loaded.error());
    if (!args.system.empty()) session.set_system(args.system);
    struct sigaction action = {};  // without SA_RESTART: reading a line ends, too
    action.sa_handler = on_stop;
    sigaction(SIGINT, &action, nullptr);
    const ChatStyle style = chat_style();
    return Chat(args, session, style).run();
}

}  // namespace

void add_chat(CLI::App& app, int& code) {
    auto a = std::make_shared<ChatArgs>();
    CLI::App* v = app.add_subcommand("chat", "Talk with a model");
    add_engine_options(*v, a->engine);
    v->add_option("--system", a->system, "system message");
    v->add_option("--load", a->load, "go on with a conversation that /save wrote");
    v->add_option("--template", a->template_file,
                  "a file with a chat template (Jinja) instead of the model's");
    v->add_option("-n,--tokens", a->n, "tokens of an answer at most; 0 or -1 = all that fit")
        ->check(CLI::Range(-1, 1 << 24));
    v->add_flag("--stats", a->stats, "tokens and speed of each answer, on standard error");
    a->sampling.seed = -1;  // as llama.cpp: another answer each time
    add_sampling_options(*v, a->sampling, false);
    v->callback([a, &code] { code = chat(*a); });
}

}  // namespace ridge::cli
