// JSON in and out of template values.
#pragma once

#include <nlohmann/json.hpp>

#include "text/jinja_value.hpp"

namespace ridge::jinja {

// All strings and keys of `json` as text from outside the template, but for the role of a message,
// which is the template's own where it is one of the names that templates know (some write
// '<|' + role + '|>'). Errors: nested more than kMaxNesting deep; numbers beyond 64 bits.
Result<Value> from_json(const nlohmann::ordered_json& json, bool user);

// The same with the roles of a list of messages made the template's own.
Result<Value> messages_from_json(const nlohmann::ordered_json& messages);

struct JsonStyle {
    std::optional<std::string> indent;  // of one level
    std::string item_separator = ", ";
    std::string key_separator = ": ";
    bool sort_keys = false;
    bool ascii = false;
};

// What Python's json.dumps gives (with ensure_ascii=False unless `ascii`). Errors: a value that
// JSON does not have.
Result<Text> to_json(const Value& value, const JsonStyle& style, Budget& budget);

}  // namespace ridge::jinja
