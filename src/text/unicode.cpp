#include "text/unicode.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace ridge::text {
namespace {

struct Range {
    uint32_t first;
    char kind;
};

constexpr Range kRanges[] = {
#include "text/unicode_tables.inc"
};

constexpr Properties properties_of(char kind) {
    switch (kind) {
        case 'U':
            return {Category::letter, Letter::upper};
        case 'l':
            return {Category::letter, Letter::lower};
        case 'L':
            return {Category::letter, Letter::caseless};
        default:
            return {static_cast<Category>(kind), Letter::none};
    }
}

Properties search(uint32_t code_point) {
    const auto* after =
        std::upper_bound(std::begin(kRanges), std::end(kRanges), code_point,
                         [](uint32_t value, const Range& range) { return value < range.first; });
    return properties_of(std::prev(after)->kind);
}

constexpr size_t kAscii = 128;

}  // namespace

Properties properties(uint32_t code_point) {
    static const auto ascii = [] {
        std::array<Properties, kAscii> table{};
        for (uint32_t c = 0; c < kAscii; ++c) table[c] = search(c);
        return table;
    }();
    if (code_point < kAscii) return ascii[code_point];
    if (code_point > 0x10FFFF) return {Category::other, Letter::none};
    return search(code_point);
}

Category category(uint32_t code_point) {
    return properties(code_point).category;
}

bool is_white_space(uint32_t c) {
    if (c < kAscii) return c == ' ' || (c >= 0x09 && c <= 0x0D);
    switch (c) {
        case 0x85:
        case 0xA0:
        case 0x1680:
        case 0x2028:
        case 0x2029:
        case 0x202F:
        case 0x205F:
        case 0x3000:
            return true;
        default:
            return c >= 0x2000 && c <= 0x200A;
    }
}

LeadByte lead_byte(uint8_t b) {
    if (b < 0x80) return {1, 0, 0};
    if (b < 0xC2) return {};
    if (b < 0xE0) return {2, 0x80, 0xBF};
    if (b == 0xE0) return {3, 0xA0, 0xBF};  // below: overlong
    if (b == 0xED) return {3, 0x80, 0x9F};  // above: surrogates
    if (b < 0xF0) return {3, 0x80, 0xBF};
    if (b == 0xF0) return {4, 0x90, 0xBF};  // below: overlong
    if (b < 0xF4) return {4, 0x80, 0xBF};
    if (b == 0xF4) return {4, 0x80, 0x8F};  // above: past U+10FFFF
    return {};
}

CodePoint decode_utf8(std::string_view text, size_t pos) {
    const auto at = [&](size_t i) { return static_cast<uint8_t>(text[pos + i]); };
    const uint8_t first = at(0);
    const LeadByte lead = lead_byte(first);
    if (lead.length == 1) return {first, 1};
    if (lead.length == 0 || text.size() - pos < lead.length) return {};
    if (at(1) < lead.low || at(1) > lead.high) return {};
    uint32_t value = first & (0x7Fu >> lead.length);
    value = value << 6 | (at(1) & 0x3Fu);
    for (size_t i = 2; i < lead.length; ++i) {
        if ((at(i) & 0xC0) != 0x80) return {};
        value = value << 6 | (at(i) & 0x3Fu);
    }
    return {value, lead.length};
}

void append_utf8(std::string& out, uint32_t c) {
    const auto put = [&](uint32_t byte) { out += static_cast<char>(byte); };
    if (c < 0x80) {
        put(c);
    } else if (c < 0x800) {
        put(0xC0 | c >> 6);
        put(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
        put(0xE0 | c >> 12);
        put(0x80 | (c >> 6 & 0x3F));
        put(0x80 | (c & 0x3F));
    } else {
        put(0xF0 | c >> 18);
        put(0x80 | (c >> 12 & 0x3F));
        put(0x80 | (c >> 6 & 0x3F));
        put(0x80 | (c & 0x3F));
    }
}

std::optional<std::string> replace_ill_formed(std::string_view text) {
    std::optional<std::string> fixed;
    const auto foreign = std::find_if(text.begin(), text.end(),
                                      [](char c) { return static_cast<uint8_t>(c) >= 0x80; });
    for (auto i = static_cast<size_t>(foreign - text.begin()); i < text.size();) {
        const CodePoint c = decode_utf8(text, i);
        if (c.value == kInvalid && !fixed) fixed.emplace(text.substr(0, i));
        if (fixed) *fixed += c.value == kInvalid ? kReplacement : text.substr(i, c.length);
        i += c.length;
    }
    return fixed;
}

}  // namespace ridge::text
