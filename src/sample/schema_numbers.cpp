// Numbers within bounds as GBNF: digit by digit.
#include <fmt/format.h>

#include "sample/schema_parts.hpp"

namespace ridge::schema {
namespace {

std::string digit_class(char low, char high) {
    return low == high ? fmt::format("\"{}\"", low) : fmt::format("[{}-{}]", low, high);
}
std::string any_digits(size_t n) {
    return n == 0 ? "" : fmt::format(" [0-9]{{{}}}", n);
}

// Numbers of one length between two of that length, both included. Recurses once a digit (18).
std::string same_length(std::string_view low, std::string_view high) {
    if (low.empty()) return "";
    const size_t rest = low.size() - 1;
    const bool all = low.find_first_not_of('0', 1) == std::string_view::npos &&
                     high.find_first_not_of('9', 1) == std::string_view::npos;
    if (all) return digit_class(low[0], high[0]) + any_digits(rest);
    if (low[0] == high[0])
        return digit_class(low[0], low[0]) + " (" + same_length(low.substr(1), high.substr(1)) +
               ")";
    std::string out = digit_class(low[0], low[0]) + " (" +
                      same_length(low.substr(1), std::string(rest, '9')) + ")";
    if (low[0] + 1 < high[0])
        out += " | " + digit_class(static_cast<char>(low[0] + 1), static_cast<char>(high[0] - 1)) +
               any_digits(rest);
    return out + " | " + digit_class(high[0], high[0]) + " (" +
           same_length(std::string(rest, '0'), high.substr(1)) + ")";
}

// Non-negative integers from low on, up to high or to 18 digits; empty where there are none.
std::string magnitude(int64_t low, std::optional<int64_t> high) {
    std::string out;
    const auto add = [&](const std::string& part) { out += (out.empty() ? "" : " | ") + part; };
    const std::string first = std::to_string(low);
    if (high && *high < low) return "";
    if (!high && first.size() <= 18) {
        if (low <= 1) {
            if (low == 0) add("\"0\"");
            add("[1-9] [0-9]{0,17}");
        } else {
            add(same_length(first, std::string(first.size(), '9')));
            if (first.size() < 18) add(fmt::format("[1-9] [0-9]{{{},17}}", first.size()));
        }
        return "(" + out + ")";
    }
    const std::string last = std::to_string(high.value_or(kMaxBound));
    for (size_t n = first.size(); n <= last.size(); ++n) {
        const std::string from = n == first.size() ? first : "1" + std::string(n - 1, '0');
        add(same_length(from, n == last.size() ? last : std::string(n, '9')));
    }
    return "(" + out + ")";
}

// Decimal numbers from low to high, without a sign; empty where there are none.
std::string decimal(int64_t low, bool low_open, std::optional<int64_t> high, bool high_open) {
    constexpr const char* fraction = " (\".\" [0-9]{1,16})?";
    std::string out;
    const auto add = [&](const std::string& part) { out += (out.empty() ? "" : " | ") + part; };
    if (high && (*high < low || (*high == low && (low_open || high_open)))) return "";
    if (high && *high == low) return fmt::format("(\"{}\" (\".\" \"0\"{{1,16}})?)", low);
    if (low_open) add(fmt::format("\"{}.\" [0-9]{{0,15}} [1-9]", low));
    const std::string whole =
        magnitude(low_open ? low + 1 : low, high ? std::optional(*high - 1) : std::nullopt);
    if (!whole.empty()) add(whole + fraction);
    if (high && !high_open) add(fmt::format("\"{}\" (\".\" \"0\"{{1,16}})?", *high));
    return out.empty() ? "" : "(" + out + ")";
}

std::string signs(const std::string& negative, const std::string& positive) {
    if (negative.empty()) return positive;
    return "(\"-\" " + negative + (positive.empty() ? ")" : " | " + positive + ")");
}

}  // namespace

std::optional<std::string> integer_gbnf(const Bounds& given) {
    Bounds b = given;
    if (!b.low && !b.high) return "\"-\"? (\"0\" | [1-9] [0-9]{0,17})";
    if (b.low && b.low_open) ++*b.low;
    if (b.high && b.high_open) --*b.high;
    std::string negative, positive;
    if (!b.low || *b.low < 0)
        negative = magnitude(b.high && *b.high < -1 ? -*b.high : 1,
                             b.low ? std::optional(-*b.low) : std::nullopt);
    if (!b.high || *b.high >= 0)
        positive = magnitude(b.low ? std::max<int64_t>(*b.low, 0) : 0, b.high);
    const std::string all = signs(negative, positive);
    return all.empty() ? std::nullopt : std::optional(all);
}

std::optional<std::string> number_gbnf(const Bounds& b) {
    if (!b.low && !b.high) return "number";
    std::string negative, positive;
    if (!b.low || *b.low < 0) {
        const bool below = b.high && *b.high < 0;
        negative = decimal(below ? -*b.high : 0, below ? b.high_open : true,
                           b.low ? std::optional(-*b.low) : std::nullopt, b.low_open);
    }
    if (!b.high || *b.high >= 0) {
        const bool above = b.low && *b.low >= 0;
        positive = decimal(above ? *b.low : 0, above && b.low_open, b.high, b.high_open);
    }
    const std::string all = signs(negative, positive);
    return all.empty() ? std::nullopt : std::optional(all);
}

}  // namespace ridge::schema
