// Numbers, strings and arrays of a JSON schema.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sample/schema_compiler.hpp"

namespace ridge::schema {
namespace {

std::string times(uint64_t least, uint64_t most) {
    return most == kEndless ? fmt::format("{{{},}}", least) : fmt::format("{{{},{}}}", least, most);
}

}  // namespace

Result<std::string> SchemaCompiler::number(bool integer, const Json& s, const std::string& at) {
    if (s.contains("multipleOf") && !(integer && s.at("multipleOf") == 1))
        return unsupported(fmt::format("the keyword 'multipleOf' at {} is not supported", at));
    Bounds b;
    const auto read = [&](const char* key, bool low, bool open) -> Status {
        if (!s.contains(key) || s.at(key).is_boolean()) return {};
        const Json& v = s.at(key);
        if (!v.is_number()) return invalid(fmt::format("{} at {} is no number", key, at));
        const double d = v.get<double>();
        if (std::abs(d) > static_cast<double>(kMaxBound))
            return unsupported(fmt::format("{} at {} lies beyond 10^18", key, at));
        int64_t bound = 0;
        if (v.is_number_integer()) {
            bound = v.get<int64_t>();
        } else if (std::floor(d) == d) {
            bound = static_cast<int64_t>(d);
        } else if (integer) {
            bound = static_cast<int64_t>(low ? std::ceil(d) : std::floor(d));
            open = false;
        } else {
            return unsupported(fmt::format(
                "{} at {} is no whole number, which ridge cannot bound numbers by", key, at));
        }
        auto& mine = low ? b.low : b.high;
        bool& mine_open = low ? b.low_open : b.high_open;
        if (mine && (low ? bound < *mine : bound > *mine)) return {};
        mine_open = (mine && bound == *mine) ? (mine_open || open) : open;
        mine = bound;
        return {};
    };
    const auto is_true = [&](const char* key) {
        return s.contains(key) && s.at(key).is_boolean() && s.at(key).get<bool>();
    };
    RIDGE_TRY(read("minimum", true, is_true("exclusiveMinimum")));  // a flag in draft 4
    RIDGE_TRY(read("maximum", false, is_true("exclusiveMaximum")));
    RIDGE_TRY(read("exclusiveMinimum", true, true));
    RIDGE_TRY(read("exclusiveMaximum", false, true));
    const auto out = integer ? integer_gbnf(b) : number_gbnf(b);
    if (!out) return nothing_fits(at);
    return *out;
}

Result<uint64_t> SchemaCompiler::count(const Json& s, const char* key, uint64_t otherwise,
                                       const std::string& at) {
    if (!s.contains(key)) return otherwise;
    const Json& v = s.at(key);
    if (!v.is_number() || v.get<double>() < 0 || v.get<double>() > 1e6 ||
        std::floor(v.get<double>()) != v.get<double>())
        return unsupported(fmt::format("{} at {} is no whole number from 0 to a million", key, at));
    return static_cast<uint64_t>(v.get<double>());
}

Result<std::string> SchemaCompiler::text(const Json& s, const std::string& at) {
    RIDGE_ASSIGN(const uint64_t least, count(s, "minLength", 0, at));
    RIDGE_ASSIGN(const uint64_t most, count(s, "maxLength", kEndless, at));
    const bool bounded = least > 0 || most != kEndless;
    if ((s.contains("pattern") ? 1 : 0) + (s.contains("format") ? 1 : 0) + (bounded ? 1 : 0) > 1)
        return unsupported(
            fmt::format("pattern, format and length at {} stand together; ridge "
                        "takes one of them",
                        at));
    if (s.contains("pattern")) {
        if (!s.at("pattern").is_string()) return invalid("the pattern at " + at + " is no text");
        auto out = pattern_gbnf(s.at("pattern").get<std::string>());
        if (!out) return fail(out.error().code, out.error().message + " (at " + at + "/pattern)");
        return out;
    }
    if (s.contains("format")) {
        if (!s.at("format").is_string()) return invalid("the format at " + at + " is no text");
        const auto out = format_gbnf(s.at("format").get<std::string>());
        if (!out)
            return unsupported(fmt::format(
                "the format {} at {} is not supported; there are date, time, date-time, uuid, "
                "ipv4, ipv6, hostname, email and uri",
                s.at("format").dump(), at));
        return *out;
    }
    if (!bounded) return std::string("string");
    if (least > most) return nothing_fits(at);
    return "\"\\\"\" char" + times(least, most) + " \"\\\"\"";
}

Result<std::string> SchemaCompiler::array(const Json& s, const std::string& at) {
    RIDGE_ASSIGN(const uint64_t least, count(s, "minItems", 0, at));
    RIDGE_ASSIGN(uint64_t most, count(s, "maxItems", kEndless, at));
    if (s.contains("uniqueItems") && s.at("uniqueItems") != false && most > 1)
        return unsupported(fmt::format("the keyword 'uniqueItems' at {} is not supported", at));
    // Draft 7: a list of items is what later is prefixItems, additionalItems what is items.
    const bool old = s.contains("items") && s.at("items").is_array();
    const Json prefix = old ? s.at("items") : s.value("prefixItems", Json::array());
    const Json rest = old ? s.value("additionalItems", Json(true)) : s.value("items", Json(true));
    if (!prefix.is_array()) return invalid("prefixItems at " + at + " is no list");
    if (rest == Json(false)) most = std::min<uint64_t>(most, prefix.size());
    if (least > most) return nothing_fits(at);
    if (most == 0) return std::string("\"[\" ws \"]\"");
    // From the last item back: each is followed by those behind it, or by nothing.
    std::string tail;
    const uint64_t fixed = std::min<uint64_t>(prefix.size(), most);
    if (most > fixed) {
        RIDGE_ASSIGN(const std::string item,
                     rule_for(rest, at + (old ? "/additionalItems" : "/items")));
        const uint64_t more = most == kEndless ? kEndless : most - fixed;
        const uint64_t needed = least > fixed ? least - fixed : 0;
        if (fixed > 0) {
            tail = " (\",\" ws " + item + ")" + times(needed, more);
        } else {
            const std::string list =
                item + " (\",\" ws " + item + ")" +
                times(needed > 0 ? needed - 1 : 0, more == kEndless ? kEndless : more - 1);
            return "\"[\" ws " + (needed > 0 ? list + " ws" : "(" + list + " ws)?") + " \"]\"";
        }
    }
    for (uint64_t i = fixed; i-- > 0;) {
        RIDGE_ASSIGN(
            const std::string item,
            rule_for(prefix[i], fmt::format("{}/{}/{}", at, old ? "items" : "prefixItems", i)));
        const std::string name = helper((i > 0 ? "\",\" ws " : "") + item + tail);
        tail = " " + name + (i < least ? "" : "?");
    }
    return "\"[\" ws" + tail + " ws \"]\"";
}

}  // namespace ridge::schema
