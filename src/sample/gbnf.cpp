#include "sample/gbnf.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "text/unicode.hpp"

namespace ridge::gbnf {
namespace {

bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
}
bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

class Parser {
  public:
    explicit Parser(std::string_view text) : text_(text) {}

    Result<Tree> run() {
        if (text_.size() > kMaxText)
            return fail(ErrorCode::invalid_argument,
                        fmt::format("the grammar has {} bytes; ridge takes at most {}",
                                    text_.size(), kMaxText));
        skip(true);
        while (pos_ < text_.size()) {
            RIDGE_TRY(rule());
            skip(true);
        }
        for (const Rule& r : tree_.rules)
            if (r.body == kNone)
                return error(r.at, fmt::format("the rule '{}' is not defined", r.name));
        const auto root = ids_.find("root");
        if (root == ids_.end())
            return fail(ErrorCode::invalid_argument,
                        "the grammar has no rule 'root', where every answer begins");
        tree_.root = root->second;
        return std::move(tree_);
    }

  private:
    tl::unexpected<Error> error(size_t at, std::string what) const {
        return fail(ErrorCode::invalid_argument, place(text_, at) + std::move(what));
    }
    char peek(size_t ahead = 0) const {
        return pos_ + ahead < text_.size() ? text_[pos_ + ahead] : '\0';
    }
    bool done() const { return pos_ >= text_.size(); }

    // Blanks, comments and, where they do not end a rule, line ends.
    void skip(bool lines) {
        while (!done()) {
            const char c = text_[pos_];
            if (c == '#') {
                while (!done() && text_[pos_] != '\n' && text_[pos_] != '\r') ++pos_;
            } else if (c == ' ' || c == '\t' || (lines && (c == '\n' || c == '\r'))) {
                ++pos_;
            } else {
                return;
            }
        }
    }

    uint32_t add(Kind kind, size_t at, uint32_t a = 0, uint32_t b = 0) {
        tree_.nodes.push_back({kind, a, b, kNone, kNone, static_cast<uint32_t>(at)});
        return static_cast<uint32_t>(tree_.nodes.size() - 1);
    }

    uint32_t rule_id(std::string_view name, size_t at) {
        const auto [it, fresh] =
            ids_.emplace(std::string(name), static_cast<uint32_t>(tree_.rules.size()));
        if (fresh) tree_.rules.push_back({std::string(name), kNone, static_cast<uint32_t>(at)});
        return it->second;
    }

    std::string_view word() {
        const size_t begin = pos_;
        while (!done() && is_word(text_[pos_])) ++pos_;
        return text_.substr(begin, pos_ - begin);
    }

    Status rule() {
        const size_t at = pos_;
        const std::string_view name = word();
        if (name.empty()) return error(at, "expected the name of a rule (letters, digits and -)");
        skip(false);
        if (text_.substr(pos_, 3) != "::=")
            return error(pos_, fmt::format("expected ::= after '{}'", name));
        pos_ += 3;
        const uint32_t id = rule_id(name, at);
        if (tree_.rules[id].body != kNone)
            return error(at, fmt::format("the rule '{}' is defined twice", name));
        skip(true);
        RIDGE_ASSIGN(const uint32_t body, choice(0));
        tree_.rules[id].body = body;
        tree_.rules[id].at = static_cast<uint32_t>(at);
        if (done()) return {};
        if (peek() == '\n' || peek() == '\r') return {};
        if (peek() == ')') return error(pos_, "this ) closes no (");
        return error(pos_, "expected a string, a class, a rule, a group or the end of the line");
    }

    Result<uint32_t> choice(uint32_t depth) {
        const size_t at = pos_;
        RIDGE_ASSIGN(const uint32_t first, sequence(depth));
        if (peek() != '|' || done()) return first;
        const uint32_t node = add(Kind::choice, at);
        tree_.nodes[node].child = first;
        uint32_t last = first;
        while (!done() && peek() == '|') {
            ++pos_;
            skip(true);
            RIDGE_ASSIGN(const uint32_t other, sequence(depth));
            tree_.nodes[last].next = other;
            last = other;
        }
        return node;
    }

    Result<uint32_t> sequence(uint32_t depth) {
        const uint32_t node = add(Kind::sequence, pos_);
        uint32_t last = kNone;
        const auto link = [&](uint32_t item) {
            (last == kNone ? tree_.nodes[node].child : tree_.nodes[last].next) = item;
        };
        uint32_t before = kNone;  // the sibling before `last`
        uint32_t stacked = 0;
        while (!done()) {
            const char c = peek();
            if (c == '*' || c == '+' || c == '?' || c == '{') {
                if (last == kNone)
                    return error(pos_, fmt::format("nothing stands before this {}", c));
                if (++stacked > kMaxStacked)
                    return error(
                        pos_, fmt::format("more than {} repetitions of one another", kMaxStacked));
                RIDGE_ASSIGN(const uint32_t repeat, repetition(last));
                (before == kNone ? tree_.nodes[node].child : tree_.nodes[before].next) = repeat;
                last = repeat;
            } else {
                uint32_t item = kNone;
                if (c == '"') {
                    RIDGE_ASSIGN(item, text());
                } else if (c == '[') {
                    RIDGE_ASSIGN(item, chars());
                } else if (c == '.') {
                    item = add(Kind::chars, pos_++);
                    close_class(item, {}, true);
                } else if (c == '(') {
                    RIDGE_ASSIGN(item, group(depth));
                } else if (is_word(c)) {
                    const size_t at = pos_;
                    item = add(Kind::rule, at, rule_id(word(), at));
                } else if (c == '<' || c == '!') {
                    return error(pos_,
                                 "tokens in grammars (<name>, <[id]>, !<name>) are not supported");
                } else {
                    break;
                }
                link(item);
                stacked = 0;
                before = last;
                last = item;
            }
            skip(depth > 0);
        }
        return node;
    }

    Result<uint32_t> group(uint32_t depth) {
        const size_t at = pos_++;
        if (depth + 1 > kMaxDepth)
            return error(at, fmt::format("groups are nested more than {} deep", kMaxDepth));
        skip(true);
        RIDGE_ASSIGN(const uint32_t inside, choice(depth + 1));
        if (done() || peek() != ')') {
            if (done()) return error(at, "this ( is not closed");
            return error(pos_, "expected a string, a class, a rule, a group, | or )");
        }
        ++pos_;
        // A node of its own: its siblings are not those of what is inside.
        const uint32_t node = add(Kind::sequence, at);
        tree_.nodes[node].child = inside;
        return node;
    }

    Result<uint32_t> number() {
        const size_t at = pos_;
        if (!is_digit(peek())) return error(at, "expected a number");
        uint32_t value = 0;
        while (is_digit(peek())) {
            value = value * 10 + static_cast<uint32_t>(peek() - '0');
            ++pos_;
            if (value > kMaxRepeat)
                return error(at, fmt::format("more than {} repetitions", kMaxRepeat));
        }
        return value;
    }

    Result<uint32_t> repetition(uint32_t item) {
        const size_t at = pos_;
        const char c = text_[pos_++];
        uint32_t least = c == '+' ? 1 : 0, most = c == '?' ? 1 : kNone;
        if (c == '{') {
            skip(true);
            RIDGE_ASSIGN(least, number());
            skip(true);
            most = least;
            if (peek() == ',') {
                ++pos_;
                skip(true);
                most = kNone;
                if (peek() != '}') {
                    RIDGE_ASSIGN(most, number());
                    skip(true);
                }
            }
            if (done() || peek() != '}') return error(pos_, "expected , or } in this repetition");
            ++pos_;
            if (least > most)
                return error(at,
                             fmt::format("{{{},{}}} asks for more than it allows", least, most));
        }
        const uint32_t node = add(Kind::repeat, at, least, most);
        tree_.nodes[node].child = item;
        return node;
    }

    Result<uint32_t> hex(size_t digits, size_t at) {
        uint32_t value = 0;
        for (size_t i = 0; i < digits; ++i) {
            const char c = peek();
            uint32_t digit = 0;
            if (c >= '0' && c <= '9')
                digit = static_cast<uint32_t>(c - '0');
            else if (c >= 'a' && c <= 'f')
                digit = static_cast<uint32_t>(c - 'a' + 10);
            else if (c >= 'A' && c <= 'F')
                digit = static_cast<uint32_t>(c - 'A' + 10);
            else
                return error(at, fmt::format("expected {} hexadecimal digits", digits));
            value = value << 4 | digit;
            ++pos_;
        }
        if (value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF))
            return error(at, fmt::format("U+{:X} is no code point of text", value));
        return value;
    }

    // One code point, plain or escaped.
    Result<uint32_t> character() {
        const size_t at = pos_;
        if (peek() != '\\') {
            const text::CodePoint c = text::decode_utf8(text_, pos_);
            if (c.value == text::kInvalid) return error(at, "this byte is no UTF-8");
            pos_ += c.length;
            return c.value;
        }
        ++pos_;
        const char c = peek();
        if (done()) return error(at, "the grammar ends in an escape");
        ++pos_;
        switch (c) {
            case 'n':
                return uint32_t{'\n'};
            case 't':
                return uint32_t{'\t'};
            case 'r':
                return uint32_t{'\r'};
            case '\\':
            case '"':
            case '[':
            case ']':
                return static_cast<uint32_t>(c);
            case 'x':
                return hex(2, at);
            case 'u':
                return hex(4, at);
            case 'U':
                return hex(8, at);
            default:
                return error(at,
                             "there is no such escape; there are \\n \\t \\r \\\\ \\\" \\[ \\] "
                             "\\xHH \\uHHHH and \\UHHHHHHHH");
        }
    }

    Result<uint32_t> text() {
        const size_t at = pos_++;
        const auto begin = static_cast<uint32_t>(tree_.bytes.size());
        while (true) {
            if (done()) return error(at, "this string is not closed");
            if (peek() == '"') break;
            RIDGE_ASSIGN(const uint32_t c, character());
            text::append_utf8(tree_.bytes, c);
        }
        ++pos_;
        return add(Kind::text, at, begin, static_cast<uint32_t>(tree_.bytes.size()) - begin);
    }

    Result<uint32_t> chars() {
        const size_t at = pos_++;
        bool negated = false;
        if (peek() == '^') {
            negated = true;
            ++pos_;
        }
        std::vector<CodeRange> ranges;
        while (true) {
            if (done()) return error(at, "this [ is not closed");
            if (peek() == ']') break;
            const size_t begin = pos_;
            RIDGE_ASSIGN(const uint32_t low, character());
            uint32_t high = low;
            if (peek() == '-' && peek(1) != ']') {
                ++pos_;
                if (done()) return error(at, "this [ is not closed");
                RIDGE_ASSIGN(high, character());
                if (high < low) return error(begin, "this range ends before it begins");
            }
            ranges.push_back({low, high});
        }
        ++pos_;
        const uint32_t node = add(Kind::chars, at);
        close_class(node, std::move(ranges), negated);
        if (tree_.nodes[node].b == 0) return error(at, "this class has no character");
        return node;
    }

    // Stores a class's ranges: sorted and joined, without surrogates.
    void close_class(uint32_t node, std::vector<CodeRange> ranges, bool negated) {
        std::sort(ranges.begin(), ranges.end(),
                  [](const CodeRange& x, const CodeRange& y) { return x.low < y.low; });
        std::vector<CodeRange> joined;
        for (const CodeRange& r : ranges) {
            if (!joined.empty() && r.low <= joined.back().high + 1)
                joined.back().high = std::max(joined.back().high, r.high);
            else
                joined.push_back(r);
        }
        if (negated) {
            std::vector<CodeRange> others;
            uint32_t low = 1;  // not U+0000
            for (const CodeRange& r : joined) {
                if (r.low > low) others.push_back({low, r.low - 1});
                low = std::max(low, r.high + 1);
            }
            if (low <= 0x10FFFF) others.push_back({low, 0x10FFFF});
            joined = std::move(others);
        }
        tree_.nodes[node].a = static_cast<uint32_t>(tree_.ranges.size());
        for (const CodeRange& r : joined) {
            const CodeRange parts[] = {{r.low, std::min(r.high, 0xD7FFu)},
                                       {std::max(r.low, 0xE000u), r.high}};
            for (const CodeRange& part : parts)
                if (part.low <= part.high) tree_.ranges.push_back(part);
        }
        tree_.nodes[node].b = static_cast<uint32_t>(tree_.ranges.size()) - tree_.nodes[node].a;
    }

    std::string_view text_;
    size_t pos_ = 0;
    Tree tree_;
    std::unordered_map<std::string, uint32_t> ids_;
};

}  // namespace

std::string place(std::string_view text, size_t at) {
    size_t line = 1, column = 1;
    for (size_t i = 0; i < std::min(at, text.size()); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        if (byte == '\n') {
            ++line;
            column = 1;
        } else if ((byte & 0xC0) != 0x80) {
            ++column;
        }
    }
    return fmt::format("grammar, line {}, column {}: ", line, column);
}

Result<Tree> parse(std::string_view text) {
    return Parser(text).run();
}

}  // namespace ridge::gbnf
