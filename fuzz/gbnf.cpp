// Any bytes as a grammar and, behind a zero byte, a text. Whatever the grammar is ends in a status;
// where it parses, reading the text at once and byte by byte must agree, and a token mask must
// allow exactly the tokens that can be read.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

#include "sample/grammar_matcher.hpp"

namespace {

using namespace ridge;

void require(bool held) {
    if (!held) std::abort();
}

constexpr std::string_view kTokens[] = {"a",
                                        "b",
                                        "\"",
                                        "{",
                                        "}",
                                        "[",
                                        "]",
                                        ",",
                                        ":",
                                        " ",
                                        "\n",
                                        "0",
                                        "12",
                                        "ab",
                                        "true",
                                        "\xC3",
                                        "\xA9",
                                        "\xC3\xA9",
                                        "\xE3\x81",
                                        "e4",
                                        "\":",
                                        "\\",
                                        "aaaaaaaaaaaaaaaa",
                                        "1.",
                                        "- ",
                                        "x",
                                        "\xFF"};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const std::shared_ptr<const TokenTrie> trie = TokenTrie::of(kTokens);
    const std::string_view all(reinterpret_cast<const char*>(data), size);
    const size_t cut = std::min(all.find('\0'), all.size());
    const auto grammar = Grammar::parse(all.substr(0, cut));
    if (!grammar) {
        require(!grammar.error().message.empty());
        return 0;
    }
    const std::string_view text = all.substr(std::min(cut + 1, all.size())).substr(0, 100);
    GrammarMatcher whole(*grammar, trie), stepwise(*grammar, trie);
    size_t read = 0;
    while (read < text.size() && stepwise.accept_text(text.substr(read, 1))) ++read;
    const Status at_once = whole.accept_text(text.substr(0, read));
    if (!at_once) {  // a limit was passed on the way; that it does not match would be a fault
        require(at_once.error().code == ErrorCode::unsupported);
        return 0;
    }
    require(whole.complete() == stepwise.complete());
    const auto mask = stepwise.mask();
    if (!mask) return 0;
    const std::vector<uint64_t> bits(mask->begin(), mask->end());
    for (int32_t id = 0; id < static_cast<int32_t>(std::size(kTokens)); ++id) {
        whole.reset();  // what it has computed stays
        if (!whole.accept_text(text.substr(0, read))) return 0;
        const bool allowed = (bits[static_cast<size_t>(id) / 64] >> (id % 64) & 1) != 0;
        require(whole.accept(id).has_value() == allowed);
    }
    return 0;
}
