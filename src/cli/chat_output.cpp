#include "cli/chat_output.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "cli/common.hpp"

namespace ridge::cli {
namespace {

constexpr std::string_view kDim = "\033[2m";
constexpr std::string_view kPlain = "\033[0m";

// Too few to wrap to count as unknown.
size_t note_columns() {
    const int columns = terminal_columns(STDOUT_FILENO);
    return columns < 10 ? 80 : static_cast<size_t>(columns);
}

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

std::string wrapped(std::string_view text, size_t columns) {
    std::string out;
    size_t column = 0;
    for (size_t i = 0; i < text.size();) {
        if (text[i] == '\n') {
            out += '\n';
            column = 0;
            ++i;
            continue;
        }
        size_t end = i;
        while (end < text.size() && text[end] == ' ') ++end;
        const size_t blanks = end - i;
        while (end < text.size() && text[end] != ' ' && text[end] != '\n') ++end;
        const size_t word = end - i - blanks;
        if (column > 0 && column + blanks + word > columns) {
            out += '\n';
            out.append(text, i + blanks, word);
            column = word;
        } else {
            out.append(text, i, end - i);
            column += blanks + word;
        }
        i = end;
    }
    return out;
}

void chat_note(const ChatStyle& style, std::string_view text) {
    if (!style.terminal) {
        std::fflush(stdout);
        fmt::print(stderr, "ridge: {}\n", harmless(text));
        return;
    }
    const std::string lines = wrapped(fmt::format("[{}]", harmless(text)), note_columns() - 1);
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
