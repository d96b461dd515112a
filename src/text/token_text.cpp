#include "text/token_text.hpp"

#include <algorithm>
#include <array>

#include "text/unicode.hpp"

namespace ridge::text {
namespace {

// Names that end a generation whatever the file's ids say: llama.cpp's list, which models in the
// field rely on.
constexpr std::string_view kEndNames[] = {
    "<|eot_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<|call|>", "<|flush|>", "<|calls|>",
    "<end_of_turn>", "<|endoftext|>", "</s>", "<|eom_id|>", "<EOT>", "_<EOT>", "[EOT]", "[EOS]",
    "<|end_of_text|>", "<end_of_utterance>", "<eos>", "<turn|>", "<|tool_response>",
    "<\xEF\xBD\x9C"
    "end\xE2\x96\x81of\xE2\x96\x81sentence\xEF\xBD\x9C>",
    "[e~[",
    // ends of a file in fill-in-the-middle vocabularies
    "<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]", "<|fim_repo|>", "<|repo_name|>",
    "<fim-repo>", "<REPO>", "<reponame>", "<|file_sep|>"};

// Names that begin a turn in the chat formats. Like the ends they are control tokens even where a
// file types them otherwise: a user's text must not be able to spell them.
constexpr std::string_view kTurnNames[] = {"<|im_start|>", "<start_of_turn>"};

template <size_t N>
bool is_one_of(std::string_view name, const std::string_view (&names)[N]) {
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

// Byte-level BPE writes each byte as one printable code point: 33-126, 161-172 and 174-255 as
// themselves, the rest, in order, as 256, 257, ... (the GPT-2 encoder's table).
constexpr bool writes_itself(uint32_t byte) {
    return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
}

constexpr uint32_t kShifted = 256 + 68;  // one past the last code point of the table

// The inverse: byte of a code point, or -1.
int byte_of(uint32_t code_point) {
    static const auto table = [] {
        std::array<int16_t, kShifted> t{};
        t.fill(-1);
        uint32_t next = 256;
        for (uint32_t b = 0; b < 256; ++b) {
            t[writes_itself(b) ? b : next++] = static_cast<int16_t>(b);
        }
        return t;
    }();
    return code_point < table.size() ? table[code_point] : -1;
}

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
}

}  // namespace

std::string decode_byte_level(std::string_view raw) {
    std::string bytes;
    for (size_t i = 0; i < raw.size();) {
        const CodePoint c = decode_utf8(raw, i);
        const int byte = c.value == kInvalid ? -1 : byte_of(c.value);
        if (byte >= 0) {
            bytes.push_back(static_cast<char>(byte));
        } else {
            bytes += raw.substr(i, c.length);
        }
        i += c.length;
    }
    return bytes;
}

std::string decode_spaces(std::string_view raw) {
    std::string bytes;
    for (size_t i = 0; i < raw.size();) {
        if (raw.substr(i, kSpaceMark.size()) == kSpaceMark) {
            bytes.push_back(' ');
            i += kSpaceMark.size();
        } else {
            bytes.push_back(raw[i++]);
        }
    }
    return bytes;
}

int parse_byte_token(std::string_view raw) {
    if (raw.size() != 6 || raw.substr(0, 3) != "<0x" || raw[5] != '>') return -1;
    const int high = hex_digit(raw[3]);
    const int low = hex_digit(raw[4]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

bool is_end_name(std::string_view name) {
    return is_one_of(name, kEndNames);
}

bool is_turn_name(std::string_view name) {
    return is_one_of(name, kTurnNames);
}

}  // namespace ridge::text
