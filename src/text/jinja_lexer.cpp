#include "text/jinja_lexer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "text/jinja_ast.hpp"
#include "text/jinja_text.hpp"
#include "text/unicode.hpp"

namespace ridge::jinja {
namespace {

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool is_name_start(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_name(char c) {
    return is_name_start(c) || is_digit(c);
}

class Lexer {
  public:
    explicit Lexer(std::string_view source) : source_(source) {}

    Result<std::vector<Token>> run() {
        while (at_ < source_.size()) RIDGE_TRY(next_text());
        tokens_.push_back({TokenKind::end, static_cast<uint32_t>(source_.size()), {}});
        return std::move(tokens_);
    }

  private:
    tl::unexpected<Error> error(size_t offset, std::string_view what) const {
        return fail(ErrorCode::unsupported,
                    fmt::format("chat template, {}: {}", position_text(source_, offset), what));
    }
    bool starts(std::string_view s) const { return source_.substr(at_, s.size()) == s; }
    void push(TokenKind kind, size_t begin, size_t end) {
        tokens_.push_back({kind, static_cast<uint32_t>(begin), source_.substr(begin, end - begin)});
    }
    void skip_space() { at_ += stripped(source_.substr(at_), true, false).begin; }

    // Text up to the next tag, and that tag.
    Status next_text() {
        const size_t begin = at_;
        size_t tag = begin;
        for (;; ++tag) {
            tag = source_.find('{', tag);
            if (tag == std::string_view::npos || tag + 1 >= source_.size()) {
                push_text(begin, source_.size());
                at_ = source_.size();
                return {};
            }
            const char c = source_[tag + 1];
            if (c == '{' || c == '%' || c == '#') break;
        }
        const char kind = source_[tag + 1];
        at_ = tag + 2;
        char sign = 0;
        if (at_ < source_.size() && (source_[at_] == '-' || source_[at_] == '+'))
            sign = source_[at_++];
        push_text(begin, trimmed_end(begin, tag, sign, kind != '{'));
        if (kind == '#') return comment(tag);
        if (kind == '%' && raw_begins()) return raw(tag);
        push(kind == '{' ? TokenKind::variable_begin : TokenKind::block_begin, tag, at_);
        return tag_body(tag, kind == '{' ? '}' : '%');
    }

    void push_text(size_t begin, size_t end) {
        if (end > begin) push(TokenKind::text, begin, end);
    }

    // Where the text [begin, tag) ends once the tag's sign and lstrip_blocks took their share.
    size_t trimmed_end(size_t begin, size_t tag, char sign, bool strips) const {
        const std::string_view text = source_.substr(begin, tag - begin);
        if (sign == '-') return begin + stripped(text, false, true).end;
        if (sign == '+' || !strips) return tag;
        const size_t newline = text.rfind('\n');
        const size_t line = newline == std::string_view::npos ? 0 : newline + 1;
        // A text that follows a tag begins a line only where that tag took its line end along.
        if (line == 0 && begin > 0 && source_[begin - 1] != '\n') return tag;
        const Span rest = stripped(text.substr(line), true, false);
        return rest.begin == text.size() - line && line < text.size() ? begin + line : tag;
    }

    // After the closing delimiter: what `-` and trim_blocks take.
    void after_tag(char sign, bool trims) {
        if (sign == '-')
            skip_space();
        else if (sign != '+' && trims && at_ < source_.size() && source_[at_] == '\n')
            ++at_;
    }

    Status comment(size_t tag) {
        const size_t end = source_.find("#}", at_);
        if (end == std::string_view::npos)
            return error(tag, "this comment has no end; close it with #}");
        const char before = end > at_ ? source_[end - 1] : '\0';
        const char sign = before == '-' || before == '+' ? before : '\0';
        at_ = end + 2;
        after_tag(sign, true);
        return {};
    }

    bool raw_begins() {
        const size_t back = at_;
        skip_space();
        if (starts("raw")) {
            at_ += 3;
            skip_space();
            const bool minus = starts("-%}");
            if (minus || starts("%}")) {
                at_ += minus ? 3 : 2;
                if (minus) skip_space();
                return true;
            }
        }
        at_ = back;
        return false;
    }

    // Text up to {% endraw %}.
    Status raw(size_t tag) {
        const size_t begin = at_;
        for (size_t end = source_.find("{%", at_); end != std::string_view::npos;
             end = source_.find("{%", end + 1)) {
            at_ = end + 2;
            char sign = 0;
            if (starts("-") || starts("+")) sign = source_[at_++];
            skip_space();
            if (!starts("endraw")) continue;
            at_ += 6;
            skip_space();
            char closing = 0;
            if (starts("-%}") || starts("+%}")) closing = source_[at_++];
            if (!starts("%}")) continue;
            at_ += 2;
            push_text(begin, trimmed_end(begin, end, sign, true));
            after_tag(closing, true);
            return {};
        }
        return error(tag, "{% raw %} has no {% endraw %}");
    }

    // The tokens of a tag up to its end: "}}" or "%}", outside of brackets, maybe with a sign.
    Status tag_body(size_t tag, char closing) {
        std::string open;  // brackets that wait for their end
        for (;;) {
            skip_space();
            if (at_ >= source_.size())
                return error(tag, closing == '}' ? "this {{ has no }}" : "this {% has no %}");
            if (open.empty()) {
                const bool signed_end =
                    starts("-") || (closing == '%' && starts("+"));  // +}} is no end
                const size_t end = at_ + (signed_end ? 1 : 0);
                const std::string_view close = closing == '}' ? "}}" : "%}";
                if (source_.substr(end, 2) == close) {
                    const char sign = signed_end ? source_[at_] : '\0';
                    push(closing == '}' ? TokenKind::variable_end : TokenKind::block_end, at_,
                         end + 2);
                    at_ = end + 2;
                    after_tag(sign, closing == '%');
                    return {};
                }
            }
            RIDGE_TRY(expression_token(open));
        }
    }

    Status expression_token(std::string& open) {
        const size_t begin = at_;
        const char c = source_[at_];
        if (is_name_start(c)) {
            while (at_ < source_.size() && is_name(source_[at_])) ++at_;
            push(TokenKind::name, begin, at_);
        } else if (is_digit(c)) {
            number();
        } else if (c == '\'' || c == '"') {
            ++at_;
            while (at_ < source_.size() && source_[at_] != c) at_ += source_[at_] == '\\' ? 2 : 1;
            if (at_ >= source_.size()) return error(begin, "this string has no end");
            ++at_;
            push(TokenKind::string, begin, at_);
        } else {
            constexpr std::string_view operators[] = {"**", "//", "==", "!=", ">=", "<="};
            size_t length = 1;
            for (const std::string_view op : operators)
                if (starts(op)) length = 2;
            constexpr std::string_view singles = "+-*/%~[](){}<>=.:|,;";
            if (length == 1 && singles.find(c) == std::string_view::npos)
                return error(begin, "this character has no meaning inside a tag");
            if (c == '(' || c == '[' || c == '{') {
                if (open.size() == kMaxTreeDepth)
                    return error(begin,
                                 fmt::format("this is nested more than {} deep", kMaxTreeDepth));
                open.push_back(c == '(' ? ')' : c == '[' ? ']' : '}');
            } else if (c == ')' || c == ']' || c == '}') {
                if (open.empty()) return error(begin, fmt::format("this '{}' closes nothing", c));
                if (open.back() != c)
                    return error(begin, fmt::format("'{}' is missing here", open.back()));
                open.pop_back();
            }
            at_ += length;
            push(TokenKind::op, begin, at_);
        }
        return {};
    }

    void digits() {
        while (at_ < source_.size() &&
               (is_digit(source_[at_]) ||
                (source_[at_] == '_' && at_ + 1 < source_.size() && is_digit(source_[at_ + 1]))))
            ++at_;
    }
    // 12, 1_000, 1.5, 1e9, 1.5e-3, 0x1f, 0o17, 0b1; "1.x" is an integer and a dot.
    void number() {
        const size_t begin = at_;
        const bool after_dot = begin > 0 && source_[begin - 1] == '.';  // a.0.1 holds no 0.1
        const auto peek = [&](size_t i) { return i < source_.size() ? source_[i] : '\0'; };
        const char base = static_cast<char>(peek(at_ + 1) | 0x20);
        const auto of_base = [&](char c) {
            const char lower = static_cast<char>(c | 0x20);
            return base == 'b'   ? c == '0' || c == '1'
                   : base == 'o' ? c >= '0' && c <= '7'
                                 : is_digit(c) || (lower >= 'a' && lower <= 'f');
        };
        const size_t first = peek(at_ + 2) == '_' ? at_ + 3 : at_ + 2;
        if (source_[at_] == '0' && (base == 'x' || base == 'o' || base == 'b') &&
            of_base(peek(first))) {  // "0xfor" is 0xf and "or"
            at_ = first;
            while (of_base(peek(at_)) || (peek(at_) == '_' && of_base(peek(at_ + 1)))) ++at_;
            push(TokenKind::integer, begin, at_);
            return;
        }
        digits();
        bool real = false;
        if (!after_dot) {
            if (peek(at_) == '.' && is_digit(peek(at_ + 1))) {
                ++at_;
                digits();
                real = true;
            }
            const size_t sign = peek(at_ + 1) == '+' || peek(at_ + 1) == '-' ? 1 : 0;
            if ((peek(at_) | 0x20) == 'e' && is_digit(peek(at_ + 1 + sign))) {
                at_ += 1 + sign;
                digits();
                real = true;
            }
        }
        push(real ? TokenKind::real : TokenKind::integer, begin, at_);
    }

    std::string_view source_;
    size_t at_ = 0;
    std::vector<Token> tokens_;
};

}  // namespace

Result<std::vector<Token>> tokenize_template(std::string_view source) {
    return Lexer(source).run();
}

std::string normalize_newlines(std::string_view source) {
    std::string out;
    out.reserve(source.size());
    for (size_t from = 0; from < source.size();) {
        const size_t cr = std::min(source.find('\r', from), source.size());
        out.append(source, from, cr - from);
        if (cr < source.size()) out.push_back('\n');
        from = cr + 1 + (source.substr(cr, 2) == "\r\n" ? 1 : 0);
    }
    if (!out.empty() && out.back() == '\n') out.pop_back();
    return out;
}

std::string position_text(std::string_view source, size_t offset) {
    const std::string_view before = source.substr(0, offset);
    const auto lines = std::count(before.begin(), before.end(), '\n');
    const size_t newline = before.rfind('\n');
    const size_t line = newline == std::string_view::npos ? 0 : newline + 1;
    return fmt::format("line {}, column {}", lines + 1, count_code_points(before.substr(line)) + 1);
}

Result<std::string> unescape(std::string_view token) {
    const std::string_view s = token.substr(1, token.size() - 2);
    std::string out;
    for (size_t i = 0; i < s.size(); ++i) {
        if (s[i] != '\\') {
            out.push_back(s[i]);
            continue;
        }
        const char c = s[++i];
        constexpr std::string_view from = "\\'\"abfnrtv";
        constexpr std::string_view to = "\\'\"\a\b\f\n\r\t\v";
        if (const size_t known = from.find(c); known != std::string_view::npos) {
            out.push_back(to[known]);
            continue;
        }
        if (c == '\n') continue;  // a line goes on
        size_t length = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
        uint32_t value = 0;
        if (length > 0) {
            for (size_t k = 0; k < length; ++k) {
                const char h = i + 1 < s.size() ? s[++i] : '\0';
                const char lower = static_cast<char>(h | 0x20);
                if (!is_digit(h) && !(lower >= 'a' && lower <= 'f'))
                    return fail(ErrorCode::unsupported, "this string has a broken escape");
                value =
                    value * 16 + static_cast<uint32_t>(is_digit(h) ? h - '0' : lower - 'a' + 10);
            }
        } else if (c >= '0' && c <= '7') {
            for (size_t k = 0; k < 3 && i < s.size() && s[i] >= '0' && s[i] <= '7'; ++k, ++i)
                value = value * 8 + static_cast<uint32_t>(s[i] - '0');
            --i;
        } else if (c == 'N') {
            return fail(ErrorCode::unsupported, "\\N{...} is not supported");
        } else {  // unknown escapes stay as they are; what is not ASCII, as Python escapes it
            out.push_back('\\');
            if (static_cast<unsigned char>(c) < 0x80) {
                out.push_back(c);
                continue;
            }
            const text::CodePoint point = text::decode_utf8(s, i);
            out += point.value < 0x100     ? fmt::format("x{:02x}", point.value)
                   : point.value < 0x10000 ? fmt::format("u{:04x}", point.value)
                                           : fmt::format("U{:08x}", point.value);
            i += point.length - 1;
            continue;
        }
        if (value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF))
            return fail(ErrorCode::unsupported, "this string has an escape that is no character");
        text::append_utf8(out, value);
    }
    return out;
}

}  // namespace ridge::jinja
