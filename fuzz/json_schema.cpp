// Any bytes as a JSON schema. Whatever it is ends in a status; where a grammar comes out it parses
// (or is refused for what a schema can ask: a text without end, itself before anything else, too
// much), and a text made from it is JSON.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "sample/grammar_matcher.hpp"
#include "sample/json_schema.hpp"

namespace {

using namespace ridge;

void require(bool held) {
    if (!held) std::abort();
}

std::shared_ptr<const TokenTrie> bytes_trie() {
    std::vector<std::string> bytes;
    for (int i = 0; i < 256; ++i) bytes.emplace_back(1, static_cast<char>(i));
    const std::vector<std::string_view> views(bytes.begin(), bytes.end());
    return TokenTrie::of(views);
}

// What closes comes first, so that most texts end.
int pick(std::span<const uint64_t> mask, std::mt19937& random) {
    const auto allowed = [&](int b) {
        return (mask[static_cast<size_t>(b) / 64] >> (b % 64) & 1) != 0;
    };
    if (random() % 4 != 0)
        for (const int b : {'"', '}', ']'})
            if (allowed(b)) return b;
    const auto start = static_cast<int>(random() % 256);
    for (int i = 0; i < 256; ++i)
        if (allowed((start + i) % 256)) return (start + i) % 256;
    return -1;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const std::shared_ptr<const TokenTrie> trie = bytes_trie();
    const auto text = json_schema_to_gbnf({reinterpret_cast<const char*>(data), size});
    if (!text) {
        require(!text.error().message.empty());
        return 0;
    }
    const auto grammar = Grammar::parse(*text);
    if (!grammar) {
        const std::string& why = grammar.error().message;
        require(why.find("never end") != std::string::npos ||
                why.find("left-recursive") != std::string::npos ||
                why.find("states") != std::string::npos ||
                why.find("nested") != std::string::npos || why.find("bytes") != std::string::npos);
        return 0;
    }
    GrammarMatcher matcher(*grammar, trie);
    std::mt19937 random(static_cast<uint32_t>(size));
    std::string out;
    while (out.size() < 500) {
        if (matcher.complete() && random() % 2 == 0) break;
        const auto mask = matcher.mask();
        if (!mask) return 0;
        const int byte = pick(*mask, random);
        if (byte < 0) break;
        require(matcher.accept(byte).has_value());
        out += static_cast<char>(byte);
    }
    if (matcher.complete()) require(nlohmann::json::accept(out));
    return 0;
}
