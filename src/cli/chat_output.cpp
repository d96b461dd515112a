#include "cli/chat_output.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "cli/common.hpp"
#include "cli/word_wrap.hpp"

namespace ridge::cli {
namespace {

constexpr std::string_view kDim = "\033[2m";
constexpr std::string_view kPlain = "\033[0m";

}  // namespace

ChatStyle chat_style() {
    ChatStyle style;
    style.terminal = isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1;
    const char* no_color = std::getenv("NO_COLOR");
    const char* term = std::getenv("TERM");
    style.color = isatty(STDOUT_FILENO) == 1 && (no_color == nullptr || *no_color == '\0') &&
                  term != nullptr && std::string_view(term) != "dumb";
    return style;
}

size_t chat_columns(const ChatStyle& style) {
    if (!style.terminal) return 0;
    const int columns = terminal_columns(STDOUT_FILENO);
    // too few to wrap to count as unknown; the last one would make the terminal wrap by itself
    return columns < 10 ? 79 : static_cast<size_t>(columns) - 1;
}

void chat_note(const ChatStyle& style, std::string_view text) {
    if (!style.terminal) {
        std::fflush(stdout);
        fmt::print(stderr, "ridge: {}\n", harmless(text));
        return;
    }
    WordWrap wrap(chat_columns(style));
    std::string lines = wrap.push(fmt::format("[{}]", harmless(text)));
    lines += wrap.finish();
    fmt::print("{}{}{}\n", style.color ? kDim : "", lines, style.color ? kPlain : "");
    std::fflush(stdout);
}

ReasoningFilter::ReasoningFilter(bool color, bool inside) : color_(color), inside_(inside) {}

std::string ReasoningFilter::push(std::string_view text) {
    if (!color_) return std::string(text);
    held_ += text;
    std::string out;
    for (;;) {
        const std::string_view tag = inside_ ? "</think>" : "<think>";
        const size_t at = held_.find(tag);
        const auto show = [&](size_t n) {
            if (n == 0) return;
            if (inside_ && !dimmed_) out += kDim;
            dimmed_ = inside_;
            out.append(held_, 0, n);
            held_.erase(0, n);
        };
        if (at == std::string::npos) {
            // A tag may be complete with the next piece.
            size_t keep = std::min(tag.size() - 1, held_.size());
            while (keep > 0 &&
                   !tag.starts_with(std::string_view(held_).substr(held_.size() - keep)))
                --keep;
            show(held_.size() - keep);
            return out;
        }
        if (inside_) {
            show(at + tag.size());
            out += kPlain;
            dimmed_ = false;
            inside_ = false;
        } else {
            show(at);
            inside_ = true;
        }
    }
}

std::string ReasoningFilter::finish() {
    std::string out;
    if (!held_.empty() && inside_ && !dimmed_) out += kDim;
    dimmed_ |= inside_ && !held_.empty();
    out += held_;
    held_.clear();
    if (dimmed_) out += kPlain;
    dimmed_ = false;
    return out;
}

}  // namespace ridge::cli
