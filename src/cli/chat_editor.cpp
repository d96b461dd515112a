#include "cli/chat_editor.hpp"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#ifdef RIDGE_HAVE_LIBEDIT
#include <histedit.h>
#endif

namespace ridge::cli {

namespace fs = std::filesystem;

#ifdef RIDGE_HAVE_LIBEDIT

namespace {

// Where the lines of earlier chats are kept; empty where there is no home.
fs::path history_path() {
    std::error_code error;
    const char* state = std::getenv("XDG_STATE_HOME");
    const char* home = std::getenv("HOME");
    fs::path folder;
    if (state != nullptr && *state != '\0') {
        folder = state;
    } else if (home != nullptr && fs::is_directory(home, error)) {
        folder = fs::path(home) / ".local/state";
    } else {
        return {};
    }
    folder /= "ridge";
    fs::create_directories(folder, error);
    return error ? fs::path() : folder / "chat_history";
}

char* prompt_of(EditLine* editor) {
    void* text = nullptr;
    el_get(editor, EL_CLIENTDATA, &text);
    return static_cast<std::string*>(text)->data();
}

}  // namespace

struct LineEditor::Impl {
    explicit Impl(bool on_terminal) : interactive(on_terminal) {
        if (!interactive) return;
        // libedit reads characters by the locale: UTF-8 even where none is set.
        setlocale(LC_CTYPE, "");
        if (std::string_view(nl_langinfo(CODESET)) != "UTF-8") setlocale(LC_CTYPE, "C.UTF-8");
        editor = el_init("ridge", stdin, stdout, stderr);
        if (editor == nullptr) return;
        el_set(editor, EL_PROMPT, prompt_of);
        el_set(editor, EL_CLIENTDATA, &prompt);
        el_set(editor, EL_EDITOR, "emacs");
        el_set(editor, EL_SIGNAL, 0);
        lines = history_init();
        HistEvent event;
        history(lines, &event, H_SETSIZE, 1000);
        history(lines, &event, H_SETUNIQUE, 1);
        el_set(editor, EL_HIST, history, lines);
        el_set(editor, EL_BIND, "^R", "em-inc-search-prev", nullptr);
        el_source(editor, nullptr);  // ~/.editrc
        path = history_path();
        if (!path.empty()) history(lines, &event, H_LOAD, path.c_str());
    }
    ~Impl() {
        if (editor == nullptr) return;
        history_end(lines);
        el_end(editor);
    }

    // After each line: a terminal that is closed ends the program without a word.
    void save() {
        if (path.empty()) return;
        HistEvent event;
        const mode_t before = umask(077);  // what was typed is the user's alone
        history(lines, &event, H_SAVE, path.c_str());
        umask(before);
    }

    End read(std::string& line) {
        el_resize(editor);
        int length = 0;
        errno = 0;
        const char* text = el_gets(editor, &length);
        if (text == nullptr || length < 0) {
            const bool stopped = length < 0 && errno == EINTR;
            el_reset(editor);
            std::fputs("\n", stdout);
            return stopped ? End::interrupt : End::closed;
        }
        line.assign(text, static_cast<size_t>(length));
        if (line.find_first_not_of(" \t\r\n") != std::string::npos) {
            HistEvent event;
            history(lines, &event, H_ENTER, line.c_str());
            save();
        }
        return End::line;
    }

    bool interactive;
    std::string prompt;
    EditLine* editor = nullptr;
    History* lines = nullptr;
    fs::path path;
};

#else

struct LineEditor::Impl {
    explicit Impl(bool on_terminal) : interactive(on_terminal) {}
    End read(std::string&) { return End::closed; }
    bool interactive;
    std::string prompt;
    void* editor = nullptr;
};

#endif

LineEditor::LineEditor(bool interactive) : impl_(std::make_unique<Impl>(interactive)) {}
LineEditor::~LineEditor() = default;

LineEditor::End LineEditor::read(const std::string& prompt, std::string& line) {
    line.clear();
    if (impl_->editor != nullptr) {
        impl_->prompt = prompt;
        const End end = impl_->read(line);
        while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.pop_back();
        return end;
    }
    if (impl_->interactive) {
        std::fputs(prompt.c_str(), stdout);
        std::fflush(stdout);
    }
    for (;;) {
        errno = 0;
        const int c = std::fgetc(stdin);
        if (c == EOF) {
            if (errno == EINTR) {
                std::clearerr(stdin);
                if (impl_->interactive) std::fputs("\n", stdout);
                return End::interrupt;
            }
            return line.empty() ? End::closed : End::line;
        }
        if (c == '\n') break;
        line.push_back(static_cast<char>(c));
    }
    if (!line.empty() && line.back() == '\r') line.pop_back();
    return End::line;
}

LineEditor::End LineEditor::read_message(std::string& message) {
    constexpr std::string_view quotes = "\"\"\"";
    const std::string more = ". ";
    std::string line;
    End end = read("> ", line);
    if (end != End::line) return end;
    message.clear();
    if (line.starts_with(quotes)) {
        line.erase(0, quotes.size());
        bool any = !line.empty();  // text behind the opening quotes is the first line
        while (!line.ends_with(quotes)) {
            if (any) message += line + '\n';
            any = true;
            end = read(more, line);
            if (end == End::interrupt) return end;
            if (end == End::closed) return End::line;  // what there is
        }
        message.append(line, 0, line.size() - quotes.size());
        if (line == quotes && !message.empty()) message.pop_back();  // the last line's end
        return End::line;
    }
    while (!line.empty() && line.back() == '\\') {
        line.back() = '\n';
        message += line;
        end = read(more, line);
        if (end == End::interrupt) return end;
        if (end == End::closed) return End::line;
    }
    message += line;
    return End::line;
}

}  // namespace ridge::cli
