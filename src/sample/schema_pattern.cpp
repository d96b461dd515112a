// Regular expressions of "pattern" as GBNF over the JSON text of a string.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "sample/schema_parts.hpp"
#include "text/unicode.hpp"

namespace ridge::schema {
namespace {

struct Range {
    uint32_t low, high;
};
using Set = std::vector<Range>;  // sorted, apart

Set joined(Set set) {
    std::sort(set.begin(), set.end(), [](const Range& a, const Range& b) { return a.low < b.low; });
    Set out;
    for (const Range& r : set) {
        if (!out.empty() && r.low <= out.back().high + 1)
            out.back().high = std::max(out.back().high, r.high);
        else
            out.push_back(r);
    }
    return out;
}
Set without(const Set& from, const Set& what) {
    Set out;
    for (Range r : from) {
        for (const Range& w : what) {
            if (w.high < r.low || w.low > r.high) continue;
            if (w.low > r.low) out.push_back({r.low, w.low - 1});
            if (w.high >= r.high) {
                r.low = 1;
                r.high = 0;
                break;
            }
            r.low = w.high + 1;
        }
        if (r.low <= r.high) out.push_back(r);
    }
    return out;
}
bool contains(const Set& set, uint32_t c) {
    return std::any_of(set.begin(), set.end(),
                       [&](const Range& r) { return r.low <= c && c <= r.high; });
}

const Set kDigit = {{'0', '9'}};
const Set kWord = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
const Set kSpace = {{'\t', '\r'}, {' ', ' '}};
const Set kAscii = {{0x00, 0x7F}};
const Set kAll = {{0x00, 0xD7FF}, {0xE000, 0x10FFFF}};

// How the characters of a set stand in JSON: as they are, or escaped. Control characters that have
// no short escape are written \u00XX.
std::string in_json(const Set& set) {
    const Set raw = without(set, {{0x00, 0x1F}, {'"', '"'}, {'\\', '\\'}, {0x7F, 0x7F}});
    std::string out;
    const auto add = [&](const std::string& part) { out += (out.empty() ? "" : " | ") + part; };
    if (!raw.empty()) {
        std::string inside;
        for (const Range& r : raw) inside += fmt::format("\\U{:08X}-\\U{:08X}", r.low, r.high);
        add("[" + inside + "]");
    }
    constexpr std::pair<uint32_t, char> escapes[] = {
        {'"', '"'}, {'\\', '\\'}, {'\b', 'b'}, {'\f', 'f'}, {'\n', 'n'}, {'\r', 'r'}, {'\t', 't'}};
    for (const auto& [c, letter] : escapes)
        if (contains(set, c)) add(gbnf_text(std::string("\\") + letter));
    for (uint32_t c = 0; c < 0x20; ++c)
        if (contains(set, c) && c != '\b' && c != '\f' && c != '\n' && c != '\r' && c != '\t')
            add(gbnf_text(fmt::format("\\u{:04x}", c)));
    return out.empty() ? "" : "(" + out + ")";
}

class PatternParser {
  public:
    explicit PatternParser(std::string_view text) : text_(text) {}

    Result<std::string> run() {
        std::string out;
        while (true) {
            bool from_start = false, to_end = false;
            if (peek() == '^') {
                from_start = true;
                ++pos_;
            }
            RIDGE_ASSIGN(const std::string body, sequence(0, &to_end));
            out += (out.empty() ? "" : " | ") + std::string(from_start ? "" : "char* ") + "(" +
                   body + ")" + (to_end ? "" : " char*");
            if (done()) break;
            if (peek() != '|') return refuse("a ) that closes nothing");
            ++pos_;
        }
        return "\"\\\"\" (" + out + ") \"\\\"\"";
    }

  private:
    bool done() const { return pos_ >= text_.size(); }
    char peek(size_t ahead = 0) const {
        return pos_ + ahead < text_.size() ? text_[pos_ + ahead] : '\0';
    }
    tl::unexpected<Error> refuse(std::string_view what) const {
        return unsupported(
            fmt::format("{} at offset {} of the pattern is outside what ridge reads", what, pos_));
    }

    // `to_end`: the place to note a $ at the end; null inside groups, where it is refused.
    Result<std::string> sequence(int depth, bool* to_end) {
        std::string out;
        while (!done() && peek() != '|' && peek() != ')') {
            if (peek() == '$') {
                if (to_end == nullptr || (pos_ + 1 < text_.size() && peek(1) != '|'))
                    return refuse("a $ that is not at the end");
                *to_end = true;
                ++pos_;
                break;
            }
            RIDGE_ASSIGN(const std::string item, atom(depth));
            RIDGE_ASSIGN(const std::string times, quantifier());
            out += (out.empty() ? "" : " ") + item + times;
        }
        return out.empty() ? std::string("\"\"") : out;
    }

    Result<std::string> atom(int depth) {
        const char c = peek();
        switch (c) {
            case '(':
                return group(depth);
            case '[':
                return character_class();
            case '.':
                ++pos_;
                return in_json(without(kAll, {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}}));
            case '^':
                return refuse("a ^ that is not at the beginning");
            case '*':
            case '+':
            case '?':
            case '{':
                return refuse("a quantifier with nothing before it");
            case '\\': {
                RIDGE_ASSIGN(const Set set, escape());
                return shown(set);
            }
            default:
                break;
        }
        RIDGE_ASSIGN(const uint32_t plain, code_point());
        return shown({{plain, plain}});
    }

    Result<std::string> shown(const Set& set) {
        const std::string out = in_json(set);
        if (out.empty()) return refuse("a class without characters");
        return out;
    }

    Result<std::string> group(int depth) {
        if (depth >= 40) return refuse("a group nested more than 40 deep");
        ++pos_;
        if (peek() == '?') {
            if (peek(1) != ':') return refuse("look-around or a named group");
            pos_ += 2;
        }
        std::string out;
        while (true) {
            RIDGE_ASSIGN(const std::string one, sequence(depth + 1, nullptr));
            out += (out.empty() ? "" : " | ") + one;
            if (done()) return refuse("a ( that is not closed");
            if (text_[pos_++] == ')') break;
        }
        return "(" + out + ")";
    }

    Result<uint32_t> number() {
        uint32_t value = 0;
        const size_t begin = pos_;
        while (peek() >= '0' && peek() <= '9' && value < 100000)
            value = value * 10 + static_cast<uint32_t>(text_[pos_++] - '0');
        if (pos_ == begin || value >= 100000)
            return refuse("a { that is no quantifier up to 99999");
        return value;
    }

    Result<std::string> quantifier() {
        std::string out;
        const char c = peek();
        if (c == '*' || c == '+' || c == '?') {
            out = c;
            ++pos_;
        } else if (c == '{') {
            ++pos_;
            RIDGE_ASSIGN(const uint32_t least, number());
            out = fmt::format("{{{}", least);
            if (peek() == ',') {
                ++pos_;
                out += ",";
                if (peek() != '}') {
                    RIDGE_ASSIGN(const uint32_t most, number());
                    if (most < least)
                        return refuse("a quantifier that asks for more than it allows");
                    out += std::to_string(most);
                }
            }
            if (peek() != '}') return refuse("a { that is no quantifier");
            ++pos_;
            out += "}";
        } else {
            return out;
        }
        if (peek() == '?') ++pos_;  // lazy: the same texts
        if (peek() == '*' || peek() == '+' || peek() == '?' || peek() == '{')
            return refuse("a quantifier of a quantifier");
        return out;
    }

    Result<uint32_t> code_point() {
        const text::CodePoint c = text::decode_utf8(text_, pos_);
        if (c.value == text::kInvalid) return refuse("a byte that is no UTF-8");
        pos_ += c.length;
        return c.value;
    }

    Result<Set> escape() {
        ++pos_;
        const char c = peek();
        if (done()) return refuse("a \\ with nothing behind it");
        ++pos_;
        switch (c) {
            case 'd':
                return kDigit;
            case 'w':
                return kWord;
            case 's':
                return kSpace;
            case 'D':
                return without(kAscii, kDigit);
            case 'W':
                return without(kAscii, kWord);
            case 'S':
                return without(kAscii, kSpace);
            case 'n':
                return Set{{'\n', '\n'}};
            case 't':
                return Set{{'\t', '\t'}};
            case 'r':
                return Set{{'\r', '\r'}};
            case 'f':
                return Set{{'\f', '\f'}};
            case 'v':
                return Set{{'\v', '\v'}};
            case 'x':
                return hex(2);
            case 'u':
                return hex(4);
            default:
                break;
        }
        const auto byte = static_cast<unsigned char>(c);
        const bool letter =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (letter || byte >= 0x80) {
            --pos_;
            return refuse(fmt::format("the escape \\{}", letter ? std::string(1, c) : "?"));
        }
        return Set{{byte, byte}};
    }

    Result<Set> hex(size_t digits) {
        uint32_t value = 0;
        for (size_t i = 0; i < digits; ++i) {
            const char c = peek();
            if (c >= '0' && c <= '9')
                value = value << 4 | static_cast<uint32_t>(c - '0');
            else if ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'))
                value = value << 4 | static_cast<uint32_t>((c | 0x20) - 'a' + 10);
            else
                return refuse(fmt::format("an escape without {} hexadecimal digits", digits));
            ++pos_;
        }
        if (value >= 0xD800 && value <= 0xDFFF) return refuse("half a surrogate pair");
        return Set{{value, value}};
    }

    Result<std::string> character_class() {
        ++pos_;
        bool negated = false;
        if (peek() == '^') {
            negated = true;
            ++pos_;
        }
        Set set;
        bool wide = false;  // \d, \w or \s: engines differ on what they are beyond ASCII
        while (true) {
            if (done()) return refuse("a [ that is not closed");
            if (peek() == ']') break;
            if (peek() == '\\' &&
                std::string_view("dwsDWS").find(peek(1)) != std::string_view::npos)
                wide = true;
            RIDGE_ASSIGN(const Set first, class_item());
            if (peek() == '-' && peek(1) != ']') {
                ++pos_;
                if (done()) return refuse("a [ that is not closed");
                RIDGE_ASSIGN(const Set last, class_item());
                const bool single = first.size() == 1 && first[0].low == first[0].high &&
                                    last.size() == 1 && last[0].low == last[0].high;
                if (!single || last[0].low < first[0].low)
                    return refuse("a range without two ends");
                set.push_back({first[0].low, last[0].low});
            } else {
                set.insert(set.end(), first.begin(), first.end());
            }
        }
        ++pos_;
        set = joined(set);
        return shown(negated ? without(wide ? kAscii : kAll, set) : set);
    }

    Result<Set> class_item() {
        if (peek() == '\\') {
            if (peek(1) == 'b') {
                pos_ += 2;
                return Set{{'\b', '\b'}};
            }
            return escape();
        }
        if (peek() == '[' && (peek(1) == ':' || peek(1) == '['))
            return refuse("a class inside a class");
        RIDGE_ASSIGN(const uint32_t c, code_point());
        return Set{{c, c}};
    }

    std::string_view text_;
    size_t pos_ = 0;
};

}  // namespace

Result<std::string> pattern_gbnf(std::string_view pattern) {
    return PatternParser(pattern).run();
}

}  // namespace ridge::schema
