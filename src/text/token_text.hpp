// How tokens are written in a vocabulary, and what they stand for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ridge::text {

constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // U+2581, SentencePiece's space

// Appends the bytes of a byte-level BPE token. Code points outside the byte table (tokens added by
// hand) stay as they are.
void decode_byte_level(std::string_view raw, std::vector<char>& out);

// The inverse, for any bytes.
void append_byte_level(std::string_view bytes, std::string& out);

// Appends the bytes of a SentencePiece token: U+2581 becomes a space.
void decode_spaces(std::string_view raw, std::vector<char>& out);

// The byte of "<0x0A>", or -1.
int parse_byte_token(std::string_view raw);

// Whether a token of this name ends a generation, whatever the file's ids say.
bool is_end_name(std::string_view name);

// Whether a token of this name begins a turn in a chat format, or a part of a fill-in-the-middle
// prompt.
bool is_turn_name(std::string_view name);

// Whether a name is written as control tokens are: <|...|>, <|...>, <...|>, and these with U+FF5C.
bool looks_like_control(std::string_view name);

}  // namespace ridge::text
