// Scanners of the patterns that cut text into words: alternatives tried in order at each position,
// written out so that each looks at a code point a constant number of times.
#include <optional>

#include "text/pretokenize_scan.hpp"

namespace ridge::text {
namespace {

// Length of 's, 't, 'm, 'd, 're, 've or 'll at the start of `rest`, else 0. Without regard to case
// the long s (U+017F) is an s too.
size_t contraction(std::string_view rest, bool any_case) {
    if (rest.size() < 2 || rest[0] != '\'') return 0;
    const auto letter = [&](size_t i) {
        const char c = i < rest.size() ? rest[i] : '\0';
        return any_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    };
    const char a = letter(1);
    if (a == 's' || a == 't' || a == 'm' || a == 'd') return 2;
    if (any_case && rest.substr(1, 2) == "\xC5\xBF") return 3;
    const char b = letter(2);
    return ((a == 'r' || a == 'v') && b == 'e') || (a == 'l' && b == 'l') ? 3 : 0;
}

// What the patterns after GPT-2's differ in.
struct Style {
    bool contractions_first;  // (?i:'s|...) as an alternative of its own
    bool contractions_last;   // (?i:'s|...)? at the end of a word
    bool by_case;             // words are U*l+ or U+l*, not a run of one set
    Kinds word;               // what words are of
    Kinds not_prefix;         // [^...]? before a word
    Kinds marks;              // what " ?X+[\r\n]*" takes
    bool slash_after_marks;   // [\r\n/]* there
    size_t digits;            // \p{N}{1,digits}; 0: no such alternative
    bool ascii_marked_words;  // [!-/:-@[-`{-~][A-Za-z]+ first
};

constexpr Kinds kNotWords = kLineEnd | kLetter | kNumber;

constexpr Style kLlama3 = {
    true, false, false, kLetter, kNotWords, kAll & ~(kSpace | kLetter | kNumber), false, 3, false};
constexpr Style kQwen2 = {
    true, false, false, kLetter, kNotWords, kAll & ~(kSpace | kLetter | kNumber), false, 1, false};
constexpr Style kQwen35 = {
    true,  false, false, kLetter | kMark, kNotWords, kAll & ~(kSpace | kLetter | kMark | kNumber),
    false, 1,     false};
constexpr Style kGpt4o = {
    false, true, true, kLetter | kMark, kNotWords, kAll & ~(kSpace | kLetter | kNumber),
    true,  3,    false};
constexpr Style kTekken = {
    false, false, true, kLetter | kMark, kNotWords, kAll & ~(kSpace | kLetter | kNumber),
    true,  1,     false};
constexpr Style kDeepseek3 = {
    false, false, false, kLetter | kMark, kLineEnd | kLetter | kPunct | kSymbol, kPunct | kSymbol,
    false, 0,     true};

// U*l+ at the cursor, U = upper|caseless|mark, l = lower|caseless|mark; nothing: no match. `upper`
// becomes the end of the run of U, which is what U+l* matches where U*l+ does not.
std::optional<size_t> lower_word(Cursor at, size_t& upper) {
    constexpr Kinds both = kCaseless | kMark;
    std::optional<size_t> back;  // one past the last code point of the run that is an l too
    while (at.is(kUpper | both)) {
        const bool is_both = at.is(both);
        at.next();
        if (is_both) back = at.pos();
    }
    upper = at.pos();
    if (!at.is(kLower)) return back;
    at.skip(kLower | both);
    return at.pos();
}

// A word of a style by case at the cursor, with the character before it that the pattern allows;
// at.pos() when there is none.
size_t cased_word_end(const Cursor& at) {
    const bool prefix = !at.is(kNotWords);
    const bool plain = at.is(kLetter | kMark);
    Cursor after = at;
    if (prefix) after.next();
    size_t upper_after = 0;
    size_t upper_plain = 0;
    if (prefix) {
        if (const auto end = lower_word(after, upper_after)) return *end;
    }
    if (plain) {
        if (const auto end = lower_word(at, upper_plain)) return *end;
    }
    if (prefix && upper_after > after.pos()) return upper_after;
    return plain ? upper_plain : at.pos();
}

template <Style style>
size_t word_end(const Cursor& at) {
    if constexpr (style.by_case) {
        const size_t end = cased_word_end(at);
        if (!style.contractions_last || end == at.pos()) return end;
        return end + contraction(at.rest().substr(end - at.pos()), true);
    } else {
        Cursor run = at;
        if (!run.is(style.word)) {
            if (run.is(style.not_prefix)) return at.pos();
            run.next();
            if (!run.is(style.word)) return at.pos();
        }
        run.skip(style.word);
        return run.pos();
    }
}

bool is_ascii_letter(uint32_t c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

// The end of what the pattern matches at the cursor; at.pos() when nothing does.
template <Style style>
size_t match_end(const Cursor& at) {
    if constexpr (style.contractions_first) {
        if (const size_t n = contraction(at.rest(), true); n != 0) return at.pos() + n;
    }
    if constexpr (style.ascii_marked_words) {
        if (at.value() < 0x80 && at.is(kPunct | kSymbol)) {
            Cursor run = at;
            run.next();
            const size_t from = run.pos();
            while (!run.done() && is_ascii_letter(run.value())) run.next();
            if (run.pos() > from) return run.pos();
        }
    }
    if (const size_t end = word_end<style>(at); end > at.pos()) return end;
    Cursor run = at;
    if (style.digits != 0 && run.is(kNumber)) {
        for (size_t n = 0; n < style.digits && run.is(kNumber); ++n) run.next();
        return run.pos();
    }
    if (run.value() == ' ') run.next();
    if (run.is(style.marks)) {
        run.skip(style.marks);
        while (run.is(kLineEnd) || (style.slash_after_marks && run.value() == '/')) run.next();
        return run.pos();
    }
    return at.is(kSpace) ? space_end(at, true) : at.pos();
}

template <Style style>
void scan_words(std::string_view piece, PartSink out) {
    Cursor at(piece);
    size_t rest = 0;
    while (!at.done()) {
        const size_t end = match_end<style>(at);
        if (end == at.pos()) {  // part of what lies between matches
            at.next();
            continue;
        }
        if (at.pos() > rest) out(at.pos());
        out(end);
        rest = end;
        at = Cursor(piece, end);
    }
    if (piece.size() > rest) out(piece.size());
}

}  // namespace

void scan_gpt2(std::string_view piece, PartSink out) {
    constexpr Kinds marks = kAll & ~(kSpace | kLetter | kNumber);
    for (Cursor at(piece); !at.done();) {
        size_t end = at.pos() + contraction(at.rest(), false);
        if (end == at.pos()) {
            Cursor run = at;
            if (run.value() == ' ') run.next();
            if (run.is(kLetter | kNumber | marks)) {  // " ?" and a run of one kind
                run.skip(run.is(kLetter) ? kLetter : (run.is(kNumber) ? kNumber : marks));
                end = run.pos();
            } else {
                end = space_end(at, false);
            }
        }
        out(end);
        at = Cursor(piece, end);
    }
}

void scan_llama3(std::string_view piece, PartSink out) {
    scan_words<kLlama3>(piece, out);
}

void scan_qwen2(std::string_view piece, PartSink out) {
    scan_words<kQwen2>(piece, out);
}

void scan_qwen35(std::string_view piece, PartSink out) {
    scan_words<kQwen35>(piece, out);
}

void scan_gpt4o(std::string_view piece, PartSink out) {
    scan_words<kGpt4o>(piece, out);
}

void scan_tekken(std::string_view piece, PartSink out) {
    scan_words<kTekken>(piece, out);
}

void scan_deepseek3(std::string_view piece, PartSink out) {
    scan_words<kDeepseek3>(piece, out);
}

}  // namespace ridge::text
