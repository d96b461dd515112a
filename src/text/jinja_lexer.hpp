// Splits a chat template into tokens, as jinja2 does with trim_blocks and lstrip_blocks (how
// transformers sets it up): the line end after a block's end and the blanks before a block at the
// beginning of its line are no part of the text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace ridge::jinja {

enum class TokenKind : uint8_t {
    text,            // between tags
    variable_begin,  // {{
    variable_end,
    block_begin,  // {%
    block_end,
    name,
    string,  // with its quotes
    integer,
    real,
    op,
    end,  // of the template
};

struct Token {
    TokenKind kind;
    uint32_t offset;  // of its first byte, for line and column
    std::string_view text;
};

// `source` must outlive the tokens. Errors: unsupported, with line and column.
Result<std::vector<Token>> tokenize_template(std::string_view source);

// Line ends as "\n", without the last one: what jinja2 reads.
std::string normalize_newlines(std::string_view source);

// "line 3, column 7", counted from 1, columns in code points.
std::string position_text(std::string_view source, size_t offset);

// The value of a string token. Error: an escape that ridge does not read (without a position).
Result<std::string> unescape(std::string_view token);

}  // namespace ridge::jinja
