#include "sample/utf8_ranges.hpp"

namespace ridge {
namespace {

size_t length_of(uint32_t c) {
    return c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
}

std::array<uint8_t, 4> encode(uint32_t c, size_t length) {
    constexpr uint32_t lead[] = {0, 0x00, 0xC0, 0xE0, 0xF0};
    std::array<uint8_t, 4> out{};
    for (size_t i = length; i > 1; --i) {
        out[i - 1] = static_cast<uint8_t>(0x80 | (c & 0x3F));
        c >>= 6;
    }
    out[0] = static_cast<uint8_t>(lead[length] | c);
    return out;
}

// A range is one piece where, below the first byte that differs, it takes in every continuation.
// Recurses at most three times: each call deals with one byte more.
void split(uint32_t low, uint32_t high, size_t length, std::vector<Utf8Range>& out) {
    for (size_t i = 1; i < length; ++i) {
        const uint32_t tail = (1u << (6 * i)) - 1;
        if ((low & ~tail) == (high & ~tail)) break;
        if ((low & tail) != 0) {
            split(low, low | tail, length, out);
            split((low | tail) + 1, high, length, out);
            return;
        }
        if ((high & tail) != tail) {
            split(low, (high & ~tail) - 1, length, out);
            split(high & ~tail, high, length, out);
            return;
        }
    }
    out.push_back({length, encode(low, length), encode(high, length)});
}

}  // namespace

std::vector<Utf8Range> utf8_ranges(uint32_t low, uint32_t high) {
    constexpr uint32_t last[] = {0x7F, 0x7FF, 0xFFFF, 0x10FFFF};
    std::vector<Utf8Range> out;
    for (const uint32_t end : last) {
        if (low > high) break;
        if (low > end) continue;
        const uint32_t stop = high < end ? high : end;
        split(low, stop, length_of(low), out);
        low = stop + 1;
    }
    return out;
}

}  // namespace ridge
