// Filters of strings and numbers, as jinja2 has them (tojson as transformers does).
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "text/jinja_filters.hpp"
#include "text/jinja_json.hpp"
#include "text/unicode.hpp"

namespace ridge::jinja {

Result<int64_t> integer_or(Renderer& r, std::string_view what, const Value* given,
                           int64_t standard) {
    if (!given || given->none()) return standard;
    const auto value = given->integer();
    if (!value)
        return r.error(fmt::format("'{}' takes an integer here, not a value of type {}", what,
                                   type_name(*given)));
    return *value;
}

namespace {

using Bound = Renderer::Bound;

template <Case to>
Result<Value> cased(Renderer& r, const Value& value, Args& args) {
    RIDGE_TRY(r.bind("this filter", args, {}).map([](const auto&) {}));
    return make_text(change_case(r.text(value), to));
}

// jinja2's title: unlike str.title() only these begin a word.
Result<Value> title(Renderer& r, const Value& value, Args& args) {
    RIDGE_TRY(r.bind("title", args, {}).map([](const auto&) {}));
    const Text text = r.text(value);
    const std::string& s = text.bytes();
    r.budget().spend(s.size() / 8);
    RIDGE_TRY(r.afford());
    Text out;
    bool begins = true;
    for (size_t i = 0; i < s.size();) {
        const text::CodePoint c = text::decode_utf8(s, i);
        const Text one = text.slice(i, i + c.length);
        const bool separator = is_python_space(c.value) ||
                               std::string_view("-({[<").find(s[i]) != std::string_view::npos;
        out.append(change_case(one, begins && !separator ? Case::upper : Case::lower));
        begins = separator;
        i += c.length;
    }
    return make_text(std::move(out));
}

Result<Value> trim(Renderer& r, const Value& value, Args& args) {
    RIDGE_ASSIGN(const Bound bound, r.bind("trim", args, {"chars"}));
    const Text text = r.text(value);
    Span span{};
    if (bound[0] && !bound[0]->none()) {
        const Text* chars = bound[0]->text();
        if (chars == nullptr) return r.error("'trim' takes a string");
        r.budget().spend(1 + text.size() * chars->size() / 64);
        span = stripped(text.bytes(), chars->bytes(), true, true);
    } else {
        span = stripped(text.bytes(), true, true);
    }
    return make_text(text.slice(span.begin, span.end));
}

Result<Value> string(Renderer& r, const Value& value, Args& args) {
    RIDGE_TRY(r.bind("string", args, {}).map([](const auto&) {}));
    return make_text(r.text(value));
}

Result<Value> replace(Renderer& r, const Value& value, Args& args) {
    RIDGE_ASSIGN(const Bound bound, r.bind("replace", args, {"old", "new", "count"}, 2));
    RIDGE_ASSIGN(const int64_t most, integer_or(r, "replace", bound[2], -1));
    RIDGE_ASSIGN(Text out,
                 replace_text(r, r.text(value), r.text(*bound[0]), r.text(*bound[1]), most));
    return make_text(std::move(out));
}

// The text of one level of indentation: so many blanks, or a string.
Result<std::string> indentation(Renderer& r, const Value& width) {
    if (const Text* text = width.text()) return text->bytes();
    const auto n = width.integer();
    if (!n || *n > 1000) return r.error("an indentation is a string or a number up to 1000");
    return std::string(static_cast<size_t>(std::max<int64_t>(0, *n)), ' ');
}

Result<Value> indent(Renderer& r, const Value& value, Args& args) {
    RIDGE_ASSIGN(const Bound bound, r.bind("indent", args, {"width", "first", "blank"}));
    const Text* text = value.text();
    if (text == nullptr)
        return r.error(
            fmt::format("'indent' takes a string, not a value of type {}", type_name(value)));
    RIDGE_ASSIGN(const std::string by, indentation(r, bound.value_or(0, Value{int64_t{4}})));
    const bool first = bound[1] && truthy(*bound[1]);
    const bool blank = bound[2] && truthy(*bound[2]);
    Args none;
    Text ended = *text;
    ended.append("\n", false);
    RIDGE_ASSIGN(const Value split,
                 call_method(r, make_text(std::move(ended)), "splitlines", none));
    const auto& lines = split.list()->items;
    r.budget().spend(lines.size() * (1 + by.size() / 64));
    RIDGE_TRY(r.afford());
    Text out;
    if (first) out.append(by, false);
    for (size_t i = 0; i < lines.size(); ++i) {
        const Text& line = *lines[i].text();
        if (i > 0) out.append("\n", false);
        if (i > 0 && (blank || !line.empty())) out.append(by, false);
        out.append(line);
    }
    return make_text(std::move(out));
}

Result<Value> tojson(Renderer& r, const Value& value, Args& args) {
    RIDGE_ASSIGN(const Bound bound,
                 r.bind("tojson", args, {"ensure_ascii", "indent", "separators", "sort_keys"}));
    JsonStyle style;
    style.ascii = bound[0] && truthy(*bound[0]);
    style.sort_keys = bound[3] && truthy(*bound[3]);
    // Python's json does not look at the indentation of a string.
    if (bound[1] && !bound[1]->none() && value.text() == nullptr) {
        RIDGE_ASSIGN(style.indent, indentation(r, *bound[1]));
        style.item_separator = std::string(1, ',');
    }
    if (bound[2] && !bound[2]->none()) {
        RIDGE_ASSIGN(const std::vector<Value> pair, r.elements(*bound[2]));
        if (pair.size() != 2 || pair[0].text() == nullptr || pair[1].text() == nullptr)
            return r.error("'tojson' takes two strings as separators");
        style.item_separator = pair[0].text()->bytes();
        style.key_separator = pair[1].text()->bytes();
    }
    auto text = to_json(value, style, r.budget());
    if (!text) return r.error(text.error().message);
    RIDGE_TRY(r.afford());
    return make_text(std::move(*text));
}

// What Python's int() and float() read: blanks around, underscores between digits, digits of any
// script.
std::string number_text(const std::string& s) {
    const Span span = stripped(s, true, true);
    std::string plain;
    for (size_t i = span.begin; i < span.end;) {
        const text::CodePoint c = text::decode_utf8(s, i);
        const int digit = decimal_value(c.value);
        if (digit >= 0)
            plain.push_back(static_cast<char>('0' + digit));
        else
            plain.append(s, i, c.length);
        i += c.length;
    }
    std::string out;
    for (size_t i = 0; i < plain.size(); ++i) {
        const auto digit = [&](size_t k) {
            return k < plain.size() && plain[k] >= '0' && plain[k] <= '9';
        };
        if (plain[i] == '_' && i > 0 && digit(i - 1) && digit(i + 1)) continue;
        out.push_back(plain[i]);
    }
    if (out.size() > 1 && out[0] == '+' && out[1] != '-') out.erase(0, 1);
    return out;
}

std::optional<double> parse_double(const std::string& s) {
    std::string text = number_text(s);
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (text.find_first_of("x(") != std::string::npos) return std::nullopt;
    double value = 0;
    const char* last = text.data() + text.size();
    const auto end = std::from_chars(text.data(), last, value);
    if (end.ptr != last || text.empty()) return std::nullopt;
    if (end.ec == std::errc::result_out_of_range) {
        const bool tiny = text.find("e-") != std::string::npos;
        return tiny ? 0.0 : text[0] == '-' ? -HUGE_VAL : HUGE_VAL;
    }
    if (end.ec != std::errc()) return std::nullopt;
    return value;
}

std::optional<int64_t> truncated(double value) {
    if (!(std::abs(value) < 9.2e18)) return std::nullopt;
    return static_cast<int64_t>(value);
}

Result<Value> to_int(Renderer& r, const Value& value, Args& args) {
    RIDGE_ASSIGN(const Bound bound, r.bind("int", args, {"default", "base"}));
    Value standard = bound.value_or(0, Value{int64_t{0}});
    if (bound[1] && bound[1]->integer() != 10) return r.error("'int' with a base is not supported");
    if (value.undefined()) return r.attribute(value, "");  // says what is undefined
    if (const auto i = value.integer()) return Value{*i};
    std::optional<double> real = value.number();
    if (const Text* text = value.text()) {
        const std::string digits = number_text(text->bytes());
        int64_t i = 0;
        const char* last = digits.data() + digits.size();
        const auto end = std::from_chars(digits.data(), last, i);
        if (end.ptr == last && end.ec == std::errc()) return Value{i};
        real = parse_double(text->bytes());
    }
    if (!real || !std::isfinite(*real)) return standard;
    const auto i = truncated(*real);
    if (!i) return r.error("integers beyond 64 bits are not supported");
    return Value{*i};
}

Result<Value> to_float(Renderer& r, const Value& value, Args& args) {
    RIDGE_ASSIGN(const Bound bound, r.bind("float", args, {"default"}));
    if (value.undefined()) return r.attribute(value, "");  // says what is undefined
    if (const auto n = value.number()) return Value{*n};
    if (const Text* text = value.text())
        if (const auto n = parse_double(text->bytes())) return Value{*n};
    return bound.value_or(0, Value{0.0});
}

Result<Value> absolute(Renderer& r, const Value& value, Args& args) {
    RIDGE_TRY(r.bind("abs", args, {}).map([](const auto&) {}));
    if (const auto i = value.integer())
        return *i < 0 ? r.binary(Op::subtract, Value{int64_t{0}}, Value{*i}) : Value{*i};
    if (const auto* d = value.get<double>()) return Value{std::abs(*d)};
    return r.error(fmt::format("'abs' takes a number, not a value of type {}", type_name(value)));
}

Result<Value> round(Renderer& r, const Value& value, Args& args) {
    RIDGE_ASSIGN(const Bound bound, r.bind("round", args, {"precision", "method"}));
    const std::string method = bound[1] ? r.text(*bound[1]).bytes() : "common";
    if (method != "common" && method != "ceil" && method != "floor")
        return r.error("'round' knows common, ceil and floor");
    const auto number = value.number();
    if (!number)
        return r.error(
            fmt::format("'round' takes a number, not a value of type {}", type_name(value)));
    const Value given = bound.value_or(0, Value{int64_t{0}});
    const auto digits = given.integer();
    if (!digits)
        return r.error(fmt::format("'round' takes an integer as precision, not a value of type {}",
                                   type_name(given)));
    const int64_t precision = *digits;
    if (precision < 0 || precision > 15)
        return r.error("'round' to a precision that is not from 0 to 15 is not supported");
    if (method != "common" && !std::isfinite(*number))
        return r.error("'round' takes no infinite numbers");
    const double scale = std::pow(10.0, static_cast<double>(precision));
    // Python's floor and ceil give integers, which know no -0.
    if (method == "ceil") return Value{(std::ceil(*number * scale) + 0.0) / scale};
    if (method == "floor") return Value{(std::floor(*number * scale) + 0.0) / scale};
    if (const auto i = value.integer()) return Value{*i};
    if (!std::isfinite(*number)) return value;
    // Decimal digits of the exact value, ties to even: what Python's round does.
    return Value{std::stod(fmt::format("{:.{}f}", *number, precision))};
}

constexpr NamedFilter kFilters[] = {
    {"abs", absolute},
    {"capitalize", cased<Case::capitalize>},
    {"float", to_float},
    {"indent", indent},
    {"int", to_int},
    {"lower", cased<Case::lower>},
    {"replace", replace},
    {"round", round},
    {"safe", string},  // nothing is escaped here
    {"string", string},
    {"title", title},
    {"tojson", tojson},
    {"trim", trim},
    {"upper", cased<Case::upper>},
};

}  // namespace

std::span<const NamedFilter> text_filters() {
    return kFilters;
}

}  // namespace ridge::jinja
