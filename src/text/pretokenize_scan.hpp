// What the pre-tokenizers' scanners share: a cursor over code points by kind, and scanners of one
// pattern. Internal to pretokenize*.cpp.
//
// A scanner cuts one piece of text: it calls out(end) for the end of each part, ascending, the last
// one being the piece's. What a pattern matches and what lies between the matches both are parts.
// Look-ahead sees the end of the piece, not what follows it: patterns are applied one after the
// other, each to the pieces that the one before left.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "text/unicode.hpp"

namespace ridge::text {

// Sets of kinds of code points, one bit each.
using Kinds = unsigned;
constexpr Kinds kUpper = 1;     // \p{Lu}\p{Lt}
constexpr Kinds kLower = 2;     // \p{Ll}
constexpr Kinds kCaseless = 4;  // \p{Lm}\p{Lo}
constexpr Kinds kMark = 8;      // \p{M}
constexpr Kinds kNumber = 16;   // \p{N}
constexpr Kinds kLineEnd = 32;  // [\r\n]
constexpr Kinds kBlank = 64;    // [^\S\r\n]
constexpr Kinds kPunct = 128;   // \p{P}
constexpr Kinds kSymbol = 256;  // \p{S}
constexpr Kinds kOther = 512;   // the rest, and bytes that are no UTF-8
constexpr Kinds kAll = 1023;
constexpr Kinds kLetter = kUpper | kLower | kCaseless;
constexpr Kinds kSpace = kLineEnd | kBlank;  // \s

inline Kinds kind_of_wide(uint32_t c) {
    if (is_white_space(c)) return c == '\r' || c == '\n' ? kLineEnd : kBlank;
    if (c == kInvalid) return kOther;
    const Properties p = properties(c);
    switch (p.category) {
        case Category::letter:
            return p.letter == Letter::upper ? kUpper
                                             : (p.letter == Letter::lower ? kLower : kCaseless);
        case Category::mark:
            return kMark;
        case Category::number:
            return kNumber;
        case Category::punctuation:
            return kPunct;
        case Category::symbol:
            return kSymbol;
        default:
            return kOther;
    }
}

inline Kinds kind_of(uint32_t c) {
    static const auto ascii = [] {
        std::array<Kinds, 128> table{};
        for (uint32_t i = 0; i < table.size(); ++i) table[i] = kind_of_wide(i);
        return table;
    }();
    return c < ascii.size() ? ascii[c] : kind_of_wide(c);
}

// A position in a piece, with the code point there; kind() is 0 at the end.
class Cursor {
  public:
    explicit Cursor(std::string_view piece, size_t pos = 0) : piece_(piece), pos_(pos) { load(); }
    bool done() const { return pos_ >= piece_.size(); }
    size_t pos() const { return pos_; }
    uint32_t value() const { return here_.value; }
    Kinds kind() const { return kind_; }
    bool is(Kinds kinds) const { return (kind_ & kinds) != 0; }
    std::string_view rest() const { return piece_.substr(pos_); }
    void next() {
        pos_ += here_.length;
        load();
    }
    void skip(Kinds kinds) {
        while (is(kinds)) next();
    }

  private:
    void load() {
        if (done()) {
            here_ = {};
            kind_ = 0;
            return;
        }
        here_ = decode_utf8(piece_, pos_);
        kind_ = kind_of(here_.value);
    }

    std::string_view piece_;
    size_t pos_;
    CodePoint here_;
    Kinds kind_ = 0;
};

// Where a scanner's parts go.
struct PartSink {
    std::vector<size_t>& ends;
    size_t offset;  // of the piece
    void operator()(size_t end) const { ends.push_back(offset + end); }
};

using Scanner = void (*)(std::string_view piece, PartSink out);

// X{1,most} where matches(cursor) tells X; most = 0: X+.
template <typename Matches>
void scan_runs(std::string_view piece, PartSink out, size_t most, Matches matches) {
    Cursor at(piece);
    size_t rest = 0;
    while (!at.done()) {
        if (!matches(at)) {
            at.next();
            continue;
        }
        if (at.pos() > rest) out(at.pos());
        size_t n = 0;
        do {
            at.next();
            ++n;
        } while (n != most && !at.done() && matches(at));
        rest = at.pos();
        out(rest);
    }
    if (piece.size() > rest) out(piece.size());
}

// \s?X+
template <typename Matches>
void scan_spaced_runs(std::string_view piece, PartSink out, Matches matches) {
    Cursor at(piece);
    size_t rest = 0;
    while (!at.done()) {
        Cursor run = at;
        if (!matches(run)) {
            if (run.is(kSpace)) run.next();
            if (run.pos() == at.pos() || run.done() || !matches(run)) {
                at.next();
                continue;
            }
        }
        if (at.pos() > rest) out(at.pos());
        while (!run.done() && matches(run)) run.next();
        rest = run.pos();
        out(rest);
        at = run;
    }
    if (piece.size() > rest) out(piece.size());
}

// The end of \s*[\r\n]+|\s+(?!\S)|\s+ at a cursor that is at white space: up to the last line end
// if there is one (and the pattern has that alternative), else all but what a word may begin with.
inline size_t space_end(Cursor at, bool line_ends) {
    const size_t start = at.pos();
    size_t last = start;    // of the run's code points
    size_t after_line = 0;  // one past the last line end
    for (; at.is(kSpace); at.next()) {
        last = at.pos();
        if (at.is(kLineEnd)) after_line = last + 1;
    }
    if (line_ends && after_line != 0) return after_line;
    return at.done() || last == start ? at.pos() : last;
}

// pretokenize_words.cpp
void scan_gpt2(std::string_view piece, PartSink out);
void scan_llama3(std::string_view piece, PartSink out);
void scan_qwen2(std::string_view piece, PartSink out);
void scan_qwen35(std::string_view piece, PartSink out);
void scan_gpt4o(std::string_view piece, PartSink out);
void scan_tekken(std::string_view piece, PartSink out);
void scan_deepseek3(std::string_view piece, PartSink out);

// pretokenize_classes.cpp
void scan_fallback_punctuation(std::string_view piece, PartSink out);
void scan_number(std::string_view piece, PartSink out);
void scan_numbers(std::string_view piece, PartSink out);
void scan_number_triples(std::string_view piece, PartSink out);
void scan_digit_triples(std::string_view piece, PartSink out);
void scan_line_ends(std::string_view piece, PartSink out);
void scan_lines(std::string_view piece, PartSink out);
void scan_cjk(std::string_view piece, PartSink out);
void scan_chinese_and_kana(std::string_view piece, PartSink out);
void scan_spaced_letters(std::string_view piece, PartSink out);
void scan_spaced_punctuation(std::string_view piece, PartSink out);
void scan_latin_words(std::string_view piece, PartSink out);
void scan_wide_punctuation(std::string_view piece, PartSink out);
void scan_trailing_space(std::string_view piece, PartSink out);

}  // namespace ridge::text
