// Scanners of the patterns that are a run of one set of characters.
#include <algorithm>
#include <iterator>

#include "text/pretokenize_scan.hpp"

namespace ridge::text {
namespace {

struct CodeRange {
    uint32_t first;
    uint32_t last;
};

// DeepSeek LLM's list of cased letters, as its pattern has it: [A-Za-z\xB5...].
constexpr CodeRange kCasedLetters[] = {
    {0x41, 0x5A},       {0x61, 0x7A},       {0xB5, 0xB5},       {0xC0, 0xD6},
    {0xD8, 0xF6},       {0xF8, 0x1BA},      {0x1BC, 0x1BF},     {0x1C4, 0x293},
    {0x295, 0x2AF},     {0x370, 0x373},     {0x376, 0x377},     {0x37B, 0x37D},
    {0x37F, 0x37F},     {0x386, 0x386},     {0x388, 0x38A},     {0x38C, 0x38C},
    {0x38E, 0x3A1},     {0x3A3, 0x3F5},     {0x3F7, 0x481},     {0x48A, 0x52F},
    {0x531, 0x556},     {0x10A0, 0x10C5},   {0x13A0, 0x13F5},   {0x13F8, 0x13FD},
    {0x1C90, 0x1CBA},   {0x1CBD, 0x1CBF},   {0x1D00, 0x1D2B},   {0x1D6B, 0x1D77},
    {0x1D79, 0x1D9A},   {0x1E00, 0x1F15},   {0x1F18, 0x1F1D},   {0x1F20, 0x1F45},
    {0x1F48, 0x1F4D},   {0x1F50, 0x1F57},   {0x1F59, 0x1F59},   {0x1F5B, 0x1F5B},
    {0x1F5D, 0x1F5D},   {0x1F5F, 0x1F7D},   {0x1F80, 0x1FB4},   {0x1FB6, 0x1FBC},
    {0x1FBE, 0x1FBE},   {0x1FC2, 0x1FC4},   {0x1FC6, 0x1FCC},   {0x1FD0, 0x1FD3},
    {0x1FD6, 0x1FDB},   {0x1FE0, 0x1FEC},   {0x1FF2, 0x1FF4},   {0x1FF6, 0x1FFC},
    {0x2102, 0x2102},   {0x2107, 0x2107},   {0x210A, 0x2113},   {0x2115, 0x2115},
    {0x2119, 0x211D},   {0x2124, 0x2124},   {0x2126, 0x2126},   {0x2128, 0x2128},
    {0x212A, 0x212D},   {0x212F, 0x2134},   {0x2139, 0x2139},   {0x213C, 0x213F},
    {0x2145, 0x2149},   {0x214E, 0x214E},   {0x2183, 0x2184},   {0x2C00, 0x2C7B},
    {0x2C7E, 0x2CE4},   {0x2CEB, 0x2CEE},   {0x2CF2, 0x2CF3},   {0xA640, 0xA66D},
    {0xA680, 0xA69B},   {0xA722, 0xA76F},   {0xA771, 0xA787},   {0xA78B, 0xA78E},
    {0xAB70, 0xABBF},   {0xFB00, 0xFB06},   {0xFB13, 0xFB17},   {0xFF21, 0xFF3A},
    {0xFF41, 0xFF5A},   {0x10400, 0x1044F}, {0x104B0, 0x104D3}, {0x104D8, 0x104FB},
    {0x10C80, 0x10CB2}, {0x10CC0, 0x10CF2}, {0x118A0, 0x118DF}, {0x1E900, 0x1E943},
};

// Its list of punctuation: [!-/:-~\uFF01-\uFF0F\uFF1A-\uFF5E\u2018-\u201F\u3000-\u3002]. (The ASCII
// part takes letters too; those that are words of their own have been cut off before.)
constexpr CodeRange kWidePunctuation[] = {
    {0x21, 0x2F},     {0x3A, 0x7E},     {0x2018, 0x201F},
    {0x3000, 0x3002}, {0xFF01, 0xFF0F}, {0xFF1A, 0xFF5E},
};

// [\u4E00-\u9FA5\u0800-\u4E00\uAC00-\uD7FF]
constexpr CodeRange kCjk[] = {{0x800, 0x9FA5}, {0xAC00, 0xD7FF}};

// [\u4E00-\u9FA5\u3040-\u309F\u30A0-\u30FF]
constexpr CodeRange kChineseAndKana[] = {{0x3040, 0x30FF}, {0x4E00, 0x9FA5}};

template <size_t N>
bool is_in(const CodeRange (&ranges)[N], uint32_t c) {
    const auto* after = std::upper_bound(
        std::begin(ranges), std::end(ranges), c,
        [](uint32_t value, const CodeRange& range) { return value < range.first; });
    return after != std::begin(ranges) && c <= std::prev(after)->last;
}

bool is_number(const Cursor& at) {
    return at.is(kNumber);
}

bool is_ascii_digit(char c) {
    return c >= '0' && c <= '9';
}

}  // namespace

// [\p{P}$+<=>^~|]+
void scan_fallback_punctuation(std::string_view piece, PartSink out) {
    scan_runs(piece, out, 0, [](const Cursor& at) {
        return at.is(kPunct) || (at.is(kSymbol) && at.value() < 0x80 && at.value() != '`');
    });
}

void scan_number(std::string_view piece, PartSink out) {
    scan_runs(piece, out, 1, is_number);
}

void scan_numbers(std::string_view piece, PartSink out) {
    scan_runs(piece, out, 0, is_number);
}

void scan_number_triples(std::string_view piece, PartSink out) {
    scan_runs(piece, out, 3, is_number);
}

// [0-9][0-9][0-9]
void scan_digit_triples(std::string_view piece, PartSink out) {
    size_t rest = 0;
    for (size_t at = 0; at + 3 <= piece.size();) {
        if (!is_ascii_digit(piece[at]) || !is_ascii_digit(piece[at + 1]) ||
            !is_ascii_digit(piece[at + 2])) {
            ++at;
            continue;
        }
        if (at > rest) out(at);
        rest = at += 3;
        out(rest);
    }
    if (piece.size() > rest) out(piece.size());
}

// [\r\n]
void scan_line_ends(std::string_view piece, PartSink out) {
    scan_runs(piece, out, 1, [](const Cursor& at) { return at.is(kLineEnd); });
}

// [^\n]+|[\n]+
void scan_lines(std::string_view piece, PartSink out) {
    scan_runs(piece, out, 0, [](const Cursor& at) { return at.value() == '\n'; });
}

void scan_cjk(std::string_view piece, PartSink out) {
    scan_runs(piece, out, 0, [](const Cursor& at) { return is_in(kCjk, at.value()); });
}

void scan_chinese_and_kana(std::string_view piece, PartSink out) {
    scan_runs(piece, out, 0, [](const Cursor& at) { return is_in(kChineseAndKana, at.value()); });
}

// \s?\p{L}+
void scan_spaced_letters(std::string_view piece, PartSink out) {
    scan_spaced_runs(piece, out, [](const Cursor& at) { return at.is(kLetter); });
}

// \s?\p{P}+
void scan_spaced_punctuation(std::string_view piece, PartSink out) {
    scan_spaced_runs(piece, out, [](const Cursor& at) { return at.is(kPunct); });
}

// \s? and a run of kCasedLetters
void scan_latin_words(std::string_view piece, PartSink out) {
    scan_spaced_runs(piece, out, [](const Cursor& at) { return is_in(kCasedLetters, at.value()); });
}

// \s? and a run of kWidePunctuation
void scan_wide_punctuation(std::string_view piece, PartSink out) {
    scan_spaced_runs(piece, out,
                     [](const Cursor& at) { return is_in(kWidePunctuation, at.value()); });
}

// \s+$
void scan_trailing_space(std::string_view piece, PartSink out) {
    size_t rest = 0;  // one past the last code point that is no space
    for (Cursor at(piece); !at.done();) {
        const bool space = at.is(kSpace);
        at.next();
        if (!space) rest = at.pos();
    }
    if (rest > 0) out(rest);
    if (piece.size() > rest) out(piece.size());
}

}  // namespace ridge::text
