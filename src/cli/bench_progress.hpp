// One line on a terminal, rewritten as the bench goes on; nothing anywhere else.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "cli/common.hpp"

namespace ridge::cli {

class Progress {
  public:
    // Cut to the terminal's width: a line that wraps could not be rewritten.
    void show(const std::string& text) {
        if (!error_is_terminal()) return;
        const int columns = std::max(terminal_columns(STDERR_FILENO) - 1, 1);
        fmt::print(stderr, "\r{}\033[K", text.substr(0, static_cast<size_t>(columns)));
        std::fflush(stderr);
        shown_ = true;
    }
    void clear() {
        if (shown_) fmt::print(stderr, "\r\033[K");
        shown_ = false;
    }
    ~Progress() { clear(); }

  private:
    bool shown_ = false;
};

}  // namespace ridge::cli
