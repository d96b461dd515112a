// Breaks a stream of text at blanks, so that a terminal need not break it inside words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "text/unicode.hpp"

namespace ridge::cli {

// Holds back one word at most: the one that is not complete. What lies between lines of ``` is
// left as it is, and so is a word that is longer than a line, which is cut where the line ends.
class WordWrap {
  public:
    // No line gets longer than `columns`; 0: the text passes unchanged and at once.
    explicit WordWrap(size_t columns) : columns_(columns) {}

    // `text` in whole code points and whole escape sequences (which take no column); returns what
    // is to be shown now.
    std::string push(std::string_view text) {
        if (columns_ == 0) return std::string(text);
        std::string out;
        for (size_t i = 0; i < text.size();) {
            const size_t n = unit(text.substr(i));
            take(text.substr(i, n), out);
            i += n;
        }
        return out;
    }
    std::string finish() {
        std::string out;
        end_word(out);
        return out;
    }

  private:
    // Bytes of the escape sequence or code point at the beginning of `text`.
    static size_t unit(std::string_view text) {
        if (!text.starts_with("\033[")) return text::decode_utf8(text, 0).length;
        size_t n = 2;
        while (n < text.size() && (text[n] < '@' || text[n] > '~')) ++n;
        return n < text.size() ? n + 1 : n;
    }
    // Columns of one code point: East Asian wide ones and pictures take two, marks none.
    static size_t width(std::string_view c) {
        const uint32_t u = text::decode_utf8(c, 0).value;
        const auto in = [u](uint32_t first, uint32_t last) { return u >= first && u <= last; };
        if (c[0] == '\033' || u < 0x20 || in(0x300, 0x36F) || in(0x200B, 0x200F) ||
            in(0xFE00, 0xFE0F))
            return 0;
        const bool wide = in(0x1100, 0x115F) || in(0x2E80, 0xA4CF) || in(0xAC00, 0xD7A3) ||
                          in(0xF900, 0xFAFF) || in(0xFE30, 0xFE6F) || in(0xFF00, 0xFF60) ||
                          in(0xFFE0, 0xFFE6) || in(0x1F300, 0x1FAFF) || in(0x20000, 0x3FFFD);
        return wide ? 2 : 1;
    }

    void take(std::string_view c, std::string& out) {
        if (c == "\n") {
            end_word(out);
            out += '\n';
            column_ = 0;
            blanks_.clear();
            line_begins_ = true;
        } else if (c == " " || c == "\t") {
            end_word(out);
            blanks_ += c;
        } else {
            const size_t w = width(c);
            const size_t room = columns_ - (column_ == 0 ? after_blanks() : 0);
            if (w == 2 || word_width_ + w > room) end_word(out);
            word_ += c;
            word_width_ += w;
            if (w == 2) end_word(out);  // such text has no blanks: it may break anywhere
        }
    }
    // The column behind the blanks; those that would fill a line are dropped.
    size_t after_blanks() const {
        size_t after = column_;
        for (const char blank : blanks_) after = blank == '\t' ? (after / 8 + 1) * 8 : after + 1;
        return column_ == 0 && after >= columns_ ? 0 : after;
    }
    void end_word(std::string& out) {
        if (word_.empty()) return;
        if (line_begins_ && word_.starts_with("```")) fenced_ = !fenced_;
        line_begins_ = false;
        size_t after = after_blanks();
        if (!fenced_ && after == 0) blanks_.clear();
        if (!fenced_ && column_ > 0 && after + word_width_ > columns_) {
            out += '\n';
            after = 0;
        } else {
            out += blanks_;
        }
        out += word_;
        column_ = after + word_width_;
        blanks_.clear();
        word_.clear();
        word_width_ = 0;
    }

    size_t columns_;
    size_t column_ = 0;   // that what was shown has reached
    std::string blanks_;  // behind it, not shown yet
    std::string word_;    // and the word behind those
    size_t word_width_ = 0;
    bool line_begins_ = true;  // of the text, not one made here
    bool fenced_ = false;
};

}  // namespace ridge::cli
