// What a chat shows: answers with their reasoning dimmed, and notes that fit the terminal.
#pragma once

#include <string>
#include <string_view>

namespace ridge::cli {

struct ChatStyle {
    bool terminal = false;  // prompts and notes among the answers; else notes go to standard error
    bool color = false;
};
// From the standard streams, NO_COLOR (https://no-color.org) and TERM.
ChatStyle chat_style();

// Columns that a line of the chat may take (word_wrap.hpp); 0 where it is no terminal.
size_t chat_columns(const ChatStyle& style);

// A note of ridge's own: in brackets among the answers, or as "ridge: ..." on standard error.
void chat_note(const ChatStyle& style, std::string_view text);

// Dims what stands between <think> and </think>, tags included, however the text is cut.
class ReasoningFilter {
  public:
    // `inside`: the prompt has opened the reasoning already.
    ReasoningFilter(bool color, bool inside);
    std::string push(std::string_view text);
    std::string finish();  // what was held back, and the end of dimming

  private:
    bool color_;
    bool inside_;
    bool dimmed_ = false;
    std::string held_;
};

}  // namespace ridge::cli
