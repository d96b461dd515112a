// Code points of UTF-8 text and their general categories, as the pre-tokenizers need them.
//
// The categories are those of Unicode 15.1 (unicode_tables.inc, made by
// tools/make_unicode_tables.py).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ridge::text {

// The first letter of the general category: L, M, N, P, S, Z; C for all others (control, format,
// surrogate, private use, unassigned).
enum class Category : char {
    letter = 'L',
    mark = 'M',
    number = 'N',
    punctuation = 'P',
    symbol = 'S',
    separator = 'Z',
    other = 'C',
};

Category category(uint32_t code_point);

// Which letters are capitals, for patterns that tell words by case.
enum class Letter : char {
    none,
    upper,     // Lu, Lt
    lower,     // Ll
    caseless,  // Lm, Lo
};

struct Properties {
    Category category;
    Letter letter;
};

Properties properties(uint32_t code_point);

// Unicode's White_Space property: what \s matches in the tokenizers' patterns.
bool is_white_space(uint32_t code_point);

constexpr uint32_t kInvalid = 0xFFFFFFFF;
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

struct CodePoint {
    uint32_t value = kInvalid;  // kInvalid: the byte does not begin a well-formed sequence
    uint32_t length = 1;        // in bytes; 1 for an invalid byte
};

// Reads the code point at text[pos]; pos < text.size(). Well-formed is what the Unicode standard
// calls so (table 3-7): no overlong forms, no surrogates, nothing above U+10FFFF.
CodePoint decode_utf8(std::string_view text, size_t pos);

// Appends the sequence of a code point: at most U+10FFFF, no surrogate.
void append_utf8(std::string& out, uint32_t code_point);

// `text` with U+FFFD for each byte that is not part of a well-formed sequence; nullopt when there
// is no such byte.
std::optional<std::string> replace_ill_formed(std::string_view text);

// Bytes of the sequence that a lead byte announces (1 to 4), or 0 for a byte that leads none; for
// the second byte of a sequence the bounds narrow: [low, high].
struct LeadByte {
    uint8_t length = 0;
    uint8_t low = 0x80;
    uint8_t high = 0xBF;
};
LeadByte lead_byte(uint8_t byte);

}  // namespace ridge::text
