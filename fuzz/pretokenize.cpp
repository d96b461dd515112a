// Every pre-tokenizer's scanner against PCRE2 with the published patterns, on any text.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/text/pretokenize_patterns.hpp"
#include "text/unicode.hpp"

namespace {

using namespace ridge;

constexpr size_t longest_text = 2048;  // the patterns take quadratic time on runs of spaces

constexpr PreTokenizer kinds[] = {
    PreTokenizer::gpt2,           PreTokenizer::smollm,    PreTokenizer::fallback,
    PreTokenizer::llama3,         PreTokenizer::qwen2,     PreTokenizer::qwen35,
    PreTokenizer::gpt4o,          PreTokenizer::tekken,    PreTokenizer::deepseek_llm,
    PreTokenizer::deepseek_coder, PreTokenizer::deepseek3, PreTokenizer::gemma4};

// UTF-8 of code points that PCRE2's Unicode, which is older than ridge's, knows as well.
std::string known_text(std::string text) {
    static test::Regex unassigned("\\p{Cn}");
    if (const auto fixed = text::replace_ill_formed(text)) text = *fixed;
    std::string known;
    size_t at = 0;
    size_t begin = 0;
    size_t end = 0;
    while (at < text.size() && unassigned.search(text, at, begin, end)) {
        known += text.substr(at, begin - at) + "\xC3\x89";
        at = end;
    }
    return known + text.substr(at);
}

std::vector<std::string> split(PreTokenizer kind, const std::string& text) {
    std::vector<size_t> ends;
    pre_tokenize(kind, text, ends);
    std::vector<std::string> pieces;
    size_t begin = 0;
    for (const size_t end : ends) {
        if (end <= begin || end > text.size()) std::abort();
        pieces.push_back(text.substr(begin, end - begin));
        begin = end;
    }
    return pieces;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static std::vector<test::Oracle> oracles = [] {
        std::vector<test::Oracle> made;
        for (const PreTokenizer kind : kinds) made.emplace_back(kind);
        return made;
    }();
    // As it is (ill-formed bytes too: pieces add up), then against the patterns.
    const std::string raw(reinterpret_cast<const char*>(data), size);
    for (const PreTokenizer kind : kinds) split(kind, raw);
    const std::string text = known_text(raw.substr(0, longest_text));
    for (size_t i = 0; i < oracles.size(); ++i)
        if (split(kinds[i], text) != oracles[i].split(text)) std::abort();
    return 0;
}
