// What the JSON schema compiler is made of: pieces of GBNF for numbers, strings and literals, and
// the merging of schemas. Internal to src/sample.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.hpp"

namespace ridge::schema {

using Json = nlohmann::ordered_json;

inline tl::unexpected<Error> invalid(std::string what) {
    return fail(ErrorCode::invalid_argument, std::move(what));
}
inline tl::unexpected<Error> unsupported(std::string what) {
    return fail(ErrorCode::unsupported, std::move(what));
}
inline tl::unexpected<Error> nothing_fits(const std::string& at) {
    return invalid("no value fits the schema at " + at);
}

// Bounds of a number; what is absent is unbounded.
struct Bounds {
    std::optional<int64_t> low, high;
    bool low_open = false, high_open = false;  // the bound itself is excluded
};
inline constexpr int64_t kMaxBound = 1'000'000'000'000'000'000;  // 10^18

// GBNF of the JSON integers / numbers within the bounds; nothing where there are none. Integers
// have at most 18 digits, numbers at most 16 after the point and, without bounds, an exponent.
std::optional<std::string> integer_gbnf(const Bounds& bounds);
std::optional<std::string> number_gbnf(const Bounds& bounds);

// A string of GBNF that stands for these bytes (well-formed UTF-8).
std::string gbnf_text(std::string_view bytes);

// The value as JSON, with white space (rule ws) where JSON allows it and people write it.
std::string literal_gbnf(const Json& value);

// GBNF of the JSON strings, quotes included, that contain a match of the regular expression: a
// subset of ECMA 262 without look-around, references, word boundaries and properties. \d, \w and \s
// are ASCII, and so are their complements. Errors (unsupported): what is outside, named.
Result<std::string> pattern_gbnf(std::string_view pattern);

// GBNF of the strings of a "format", quotes included; nothing for one that ridge does not have.
std::optional<std::string> format_gbnf(std::string_view format);

// The rules that the pieces refer to: ws, char, plain, string, number, value, ...
extern const char* const kCommonRules;

// Keywords that say nothing about what is valid.
bool is_annotation(std::string_view keyword);

// The schema that stands behind a $ref "#..." of `root`. Errors: not_found, unsupported (outside of
// the schema), each with the reference.
Result<const Json*> resolve(const Json& root, const std::string& ref, const std::string& at);

// One schema that accepts what both do; `false` where that is nothing for all to see. References
// and allOf are taken apart. `at`: JSON pointer for errors. Errors: what ridge cannot merge, by
// name.
Result<Json> merged(const Json& root, const Json& a, const Json& b, const std::string& at);

// Is there certainly no value that both accept?
bool exclude_each_other(const Json& root, const Json& a, const Json& b);

// A key as a step of a JSON pointer.
std::string pointer_step(std::string_view key);

}  // namespace ridge::schema
