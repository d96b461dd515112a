#include "text/pretokenize.hpp"

#include "text/unicode.hpp"

namespace ridge {
namespace {

using text::Category;
using text::CodePoint;

// What the GPT-2 pattern distinguishes.
enum class Kind { letter, number, space, other };

Kind kind_of(uint32_t c) {
    if (c == text::kInvalid) return Kind::other;
    const Category category = text::category(c);
    if (category == Category::letter) return Kind::letter;
    if (category == Category::number) return Kind::number;
    return text::is_white_space(c) ? Kind::space : Kind::other;
}

// A position in a piece, with the code point there.
class Cursor {
  public:
    Cursor(std::string_view text, size_t pos, size_t end) : text_(text.substr(0, end)), pos_(pos) {
        load();
    }
    bool done() const { return pos_ >= text_.size(); }
    size_t pos() const { return pos_; }
    uint32_t value() const { return here_.value; }
    Kind kind() const { return kind_; }
    void next() {
        pos_ += here_.length;
        load();
    }

  private:
    void load() {
        if (done()) return;
        here_ = text::decode_utf8(text_, pos_);
        kind_ = kind_of(here_.value);
    }

    std::string_view text_;
    size_t pos_;
    CodePoint here_;
    Kind kind_ = Kind::other;
};

// Length of 's, 't, 'm, 'd, 're, 've or 'll at the start of `rest`, else 0.
size_t contraction(std::string_view rest) {
    if (rest.size() < 2 || rest[0] != '\'') return 0;
    const char a = rest[1];
    if (a == 's' || a == 't' || a == 'm' || a == 'd') return 2;
    if (rest.size() < 3) return 0;
    const char b = rest[2];
    return ((a == 'r' || a == 'v') && b == 'e') || (a == 'l' && b == 'l') ? 3 : 0;
}

// The GPT-2 pattern on text[begin, end); calls piece(begin, end) for each piece.
template <typename Piece>
void scan_gpt2(std::string_view text, size_t begin, size_t end, Piece piece) {
    Cursor at(text, begin, end);
    while (!at.done()) {
        const size_t start = at.pos();
        if (const size_t n = contraction(text.substr(start, end - start)); n != 0) {
            for (size_t i = 0; i < n; ++i) at.next();
            piece(start, at.pos());
            continue;
        }
        const bool blank = at.value() == ' ';
        Cursor run = at;
        if (blank) run.next();
        if (!run.done() && run.kind() != Kind::space) {
            // " ?" and a run of one kind
            const Kind kind = run.kind();
            while (!run.done() && run.kind() == kind) run.next();
        } else {
            // \s+(?!\S)|\s+: all the space, but its last code point goes with a word that follows
            size_t last = start;
            run = at;
            while (!run.done() && run.kind() == Kind::space) {
                last = run.pos();
                run.next();
            }
            if (!run.done() && last > start) run = Cursor(text, last, end);
        }
        piece(start, run.pos());
        at = run;
    }
}

// Cuts text[begin, end) into code points for which `matches` holds and what lies between them;
// calls match(begin, end) and between(begin, end). `longest` joins neighbouring matches.
template <typename Matches, typename Match, typename Between>
void isolate(std::string_view text, size_t begin, size_t end, bool longest, Matches matches,
             Match match, Between between) {
    Cursor at(text, begin, end);
    size_t rest = begin;
    while (!at.done()) {
        if (!matches(at)) {
            at.next();
            continue;
        }
        const size_t start = at.pos();
        if (start > rest) between(rest, start);
        do at.next();
        while (longest && !at.done() && matches(at));
        match(start, at.pos());
        rest = at.pos();
    }
    if (end > rest) between(rest, end);
}

bool is_number(const Cursor& at) {
    return at.kind() == Kind::number;
}

// [\p{P}$+<=>^~|]
bool is_fallback_punctuation(const Cursor& at) {
    switch (at.value()) {
        case '$':
        case '+':
        case '<':
        case '=':
        case '>':
        case '^':
        case '~':
        case '|':
            return true;
        default:
            return at.value() != text::kInvalid &&
                   text::category(at.value()) == Category::punctuation;
    }
}

bool is_ascii_digit(char c) {
    return c >= '0' && c <= '9';
}

// [0-9][0-9][0-9] within a run of numbers
template <typename Piece>
void scan_digit_triples(std::string_view text, size_t begin, size_t end, Piece piece) {
    size_t rest = begin;
    for (size_t at = begin; at + 3 <= end;) {
        if (!is_ascii_digit(text[at]) || !is_ascii_digit(text[at + 1]) ||
            !is_ascii_digit(text[at + 2])) {
            ++at;
            continue;
        }
        if (at > rest) piece(rest, at);
        piece(at, at + 3);
        at += 3;
        rest = at;
    }
    if (end > rest) piece(rest, end);
}

struct Name {
    std::string_view name;
    PreTokenizer kind;
};

constexpr Name kNames[] = {
    {"default", PreTokenizer::fallback},
    {"gpt-2", PreTokenizer::gpt2},
    {"smollm", PreTokenizer::smollm},
};

}  // namespace

std::optional<PreTokenizer> find_pre_tokenizer(std::string_view name) {
    if (name.empty()) return PreTokenizer::fallback;
    for (const Name& known : kNames) {
        if (known.name == name) return known.kind;
    }
    return std::nullopt;
}

std::string pre_tokenizer_names() {
    std::string all;
    for (const Name& known : kNames) {
        if (!all.empty()) all += ", ";
        all += known.name;
    }
    return all;
}

void pre_tokenize(PreTokenizer kind, std::string_view text, std::vector<size_t>& ends) {
    const auto piece = [&](size_t, size_t end) { ends.push_back(end); };
    const auto words = [&](size_t begin, size_t end) { scan_gpt2(text, begin, end, piece); };
    const auto triples = [&](size_t begin, size_t end) {
        scan_digit_triples(text, begin, end, piece);
    };
    const auto words_without_numbers = [&](size_t from, size_t to) {
        scan_gpt2(text, from, to, [&](size_t begin, size_t end) {
            isolate(text, begin, end, true, is_number, triples, piece);
        });
    };
    switch (kind) {
        case PreTokenizer::gpt2:
            words(0, text.size());
            break;
        case PreTokenizer::smollm:
            isolate(text, 0, text.size(), false, is_number, words, words);
            break;
        case PreTokenizer::fallback:
            isolate(text, 0, text.size(), true, is_fallback_punctuation, words_without_numbers,
                    words_without_numbers);
            break;
    }
}

}  // namespace ridge
