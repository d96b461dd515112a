// Case: Python's str.lower(), upper(), capitalize(), title(), islower() and isupper().
#include <algorithm>
#include <cstdint>

#include "text/jinja_text.hpp"
#include "text/unicode.hpp"

namespace ridge::jinja {
namespace {

struct Run {
    uint32_t first, last, step;
    int32_t delta;
};
struct Special {
    uint32_t code_point;
    std::string_view text;
};

#include "text/jinja_case.inc"

template <size_t n, size_t m>
std::string map(uint32_t c, const Run (&runs)[n], const Special (&specials)[m]) {
    for (const Special& special : specials)
        if (special.code_point == c) return std::string(special.text);
    std::string out;
    const Run* run = std::lower_bound(std::begin(runs), std::end(runs), c,
                                      [](const Run& r, uint32_t v) { return r.last < v; });
    const bool mapped =
        run != std::end(runs) && run->first <= c && (c - run->first) % run->step == 0;
    text::append_utf8(out,
                      mapped ? static_cast<uint32_t>(static_cast<int32_t>(c) + run->delta) : c);
    return out;
}

std::string lower(uint32_t c) {
    if (c < 0x80) return std::string(1, static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c));
    return map(c, k_lower, k_lower_special);
}

std::string upper(uint32_t c) {
    if (c < 0x80) return std::string(1, static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c));
    return map(c, k_upper, k_upper_special);
}

std::string title(uint32_t c) {
    for (const Special& special : k_title_special)
        if (special.code_point == c) return std::string(special.text);
    return upper(c);
}

bool has_lower_case(uint32_t c, std::string_view self) {
    return upper(c) != self;
}
bool has_upper_case(uint32_t c, std::string_view self) {
    return lower(c) != self;
}

// Unicode's Case_Ignorable, but for format characters and modifier letters.
bool ignorable(uint32_t c) {
    constexpr std::string_view ascii = "'.:^`";
    if (c < 0x80) return ascii.find(static_cast<char>(c)) != std::string_view::npos;
    return text::category(c) == text::Category::mark || c == 0xAD || c == 0xB7 || c == 0x2019;
}

// Whether the capital sigma at [at, at + 2) ends a word: then its lower case is U+03C2.
bool ends_word(std::string_view s, size_t at) {
    const auto cased_at = [&](size_t i, uint32_t c, size_t length) {
        const std::string_view self = s.substr(i, length);
        return has_lower_case(c, self) || has_upper_case(c, self);
    };
    bool before = false;
    for (size_t i = at; i > 0;) {
        size_t start = i - 1;
        while (start > 0 && (static_cast<uint8_t>(s[start]) & 0xC0) == 0x80) --start;
        const text::CodePoint c = text::decode_utf8(s, start);
        before = cased_at(start, c.value, c.length);
        if (before || !ignorable(c.value)) break;
        i = start;
    }
    if (!before) return false;
    for (size_t i = at + 2; i < s.size();) {
        const text::CodePoint c = text::decode_utf8(s, i);
        if (cased_at(i, c.value, c.length)) return false;
        if (!ignorable(c.value)) break;
        i += c.length;
    }
    return true;
}

constexpr uint32_t kSigma = 0x3A3;

}  // namespace

Text change_case(const Text& text, Case to) {
    const std::string_view s = text.bytes();
    Text out;
    auto run = text.runs().begin();
    bool inside = false;  // of a word, for title; past the first code point, for capitalize
    for (size_t i = 0; i < s.size();) {
        const text::CodePoint c = text::decode_utf8(s, i);
        while (run->end <= i) ++run;
        const std::string_view self = s.substr(i, c.length);
        std::string mapped;
        if (to == Case::upper) {
            mapped = upper(c.value);
        } else if (to != Case::lower && !inside) {
            mapped = title(c.value);
        } else {
            mapped = c.value == kSigma && ends_word(s, i) ? "\xCF\x82" : lower(c.value);
        }
        inside =
            to == Case::capitalize ||
            (to == Case::title && (has_lower_case(c.value, self) || has_upper_case(c.value, self)));
        out.append(mapped, run->user);
        i += c.length;
    }
    return out;
}

bool is_lower(std::string_view s) {
    bool any = false;
    for (size_t i = 0; i < s.size();) {
        const text::CodePoint c = text::decode_utf8(s, i);
        const std::string_view self = s.substr(i, c.length);
        if (has_upper_case(c.value, self)) return false;
        any |= has_lower_case(c.value, self);
        i += c.length;
    }
    return any;
}

bool is_upper(std::string_view s) {
    bool any = false;
    for (size_t i = 0; i < s.size();) {
        const text::CodePoint c = text::decode_utf8(s, i);
        const std::string_view self = s.substr(i, c.length);
        if (has_lower_case(c.value, self)) return false;
        any |= has_upper_case(c.value, self);
        i += c.length;
    }
    return any;
}

}  // namespace ridge::jinja
