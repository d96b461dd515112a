// Reads what a user types: with editing and history on a terminal, line by line otherwise.
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace ridge::cli {

class LineEditor {
  public:
    // `interactive`: prompts, and libedit where ridge was built with it.
    explicit LineEditor(bool interactive);
    ~LineEditor();
    LineEditor(const LineEditor&) = delete;
    LineEditor& operator=(const LineEditor&) = delete;

    enum class End {
        line,
        interrupt,  // Ctrl-C
        closed,     // Ctrl-D, or the input ended
    };
    // One line without its end, into `line`.
    End read(const std::string& prompt, std::string& line);
    // A message: one line; several where a line ends with a backslash; or what stands between """
    // and """. Once a message of several lines has begun, Ctrl-C gives it up.
    End read_message(std::string& message);

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace ridge::cli
