#include "text/token_text.hpp"

#include <algorithm>
#include <array>

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

// Names that begin a turn in the chat formats, or a part of a fill-in-the-middle prompt. Like the
// ends they are control tokens even where a file types them otherwise: a user's text must not be
// able to spell them.
constexpr std::string_view kTurnNames[] = {"<|im_start|>",
                                           "<start_of_turn>",
                                           "<fim-prefix>",
                                           "<fim_prefix>",
                                           "<fim-suffix>",
                                           "<fim_suffix>",
                                           "<fim-middle>",
                                           "<fim_middle>",
                                           "<PRE>",
                                           "<SUF>",
                                           "<MID>",
                                           "\xE2\x96\x81<PRE>",
                                           "\xE2\x96\x81<SUF>",
                                           "\xE2\x96\x81<MID>"};

// Asked for every token of a vocabulary: most are told by their first byte.
template <size_t N>
bool is_one_of(std::string_view name, const std::string_view (&names)[N]) {
    static const auto begins = [&names] {
        std::array<bool, 256> b{};
        for (const std::string_view n : names) b[static_cast<uint8_t>(n[0])] = true;
        return b;
    }();
    if (name.empty() || !begins[static_cast<uint8_t>(name[0])]) return false;
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

void decode_byte_level(std::string_view raw, std::vector<char>& out) {
    const size_t begin = out.size();
    out.resize(begin + raw.size());
    char* to = out.data() + begin;
    for (size_t i = 0; i < raw.size();) {
        const auto lead = static_cast<uint8_t>(raw[i]);
        if (lead < 0x80) {  // of these, the table's stand for themselves
            *to++ = raw[i++];
            continue;
        }
        // All others of the table have two bytes in UTF-8.
        const auto next = static_cast<uint8_t>(i + 1 < raw.size() ? raw[i + 1] : 0);
        if (lead >= 0xC2 && lead < 0xE0 && (next & 0xC0) == 0x80) {
            const int byte = byte_of((lead & 0x1Fu) << 6 | (next & 0x3Fu));
            if (byte >= 0) {
                *to++ = static_cast<char>(byte);
            } else {
                *to++ = raw[i];
                *to++ = raw[i + 1];
            }
            i += 2;
            continue;
        }
        *to++ = raw[i++];
    }
    out.resize(static_cast<size_t>(to - out.data()));
}

void append_byte_level(std::string_view bytes, std::string& out) {
    struct Written {
        char bytes[2];
        size_t size;
    };
    static const auto table = [] {
        std::array<Written, 256> t{};
        uint32_t next = 256;
        for (uint32_t b = 0; b < 256; ++b) {
            const uint32_t c = writes_itself(b) ? b : next++;
            t[b] = c < 0x80 ? Written{{static_cast<char>(c), 0}, 1}
                            : Written{{static_cast<char>(0xC0 | c >> 6),
                                       static_cast<char>(0x80 | (c & 0x3F))},
                                      2};
        }
        return t;
    }();
    for (const char c : bytes) {
        const Written& w = table[static_cast<uint8_t>(c)];
        out.append(w.bytes, w.size);
    }
}

void decode_spaces(std::string_view raw, std::vector<char>& out) {
    const size_t begin = out.size();
    out.resize(begin + raw.size());
    char* to = out.data() + begin;
    for (size_t i = 0; i < raw.size();) {
        if (raw[i] == kSpaceMark[0] && raw.substr(i, kSpaceMark.size()) == kSpaceMark) {
            *to++ = ' ';
            i += kSpaceMark.size();
        } else {
            *to++ = raw[i++];
        }
    }
    out.resize(static_cast<size_t>(to - out.data()));
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

bool looks_like_control(std::string_view name) {
    constexpr std::string_view wide = "\xEF\xBD\x9C";
    if (name.size() < 4 || name.front() != '<' || name.back() != '>') return false;
    const std::string_view inner = name.substr(1, name.size() - 2);
    return inner.front() == '|' || inner.back() == '|' || inner.starts_with(wide) ||
           inner.ends_with(wide);
}

bool is_turn_name(std::string_view name) {
    return is_one_of(name, kTurnNames);
}

}  // namespace ridge::text
