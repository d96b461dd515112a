// What JSON text would become, before anything is built from it: a parser's memory and a reader's
// recursion are bounded by these.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace ridge {

struct JsonOutline {
    size_t depth = 0;       // brackets and braces inside each other, outside of strings
    size_t separators = 0;  // commas and colons outside of strings
};

// One pass; the text need not be JSON.
inline JsonOutline json_outline(std::string_view text) {
    JsonOutline o;
    size_t depth = 0;
    bool in_string = false;
    for (size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (in_string) {
            if (c == '\\') ++i;
            if (c == '"') in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            o.depth = std::max(o.depth, ++depth);
        } else if (c == '}' || c == ']') {
            depth -= depth > 0 ? 1 : 0;
        } else if (c == ':' || c == ',') {
            ++o.separators;
        }
    }
    return o;
}

}  // namespace ridge
