#include "text/pretokenize.hpp"

#include <span>

#include "text/pretokenize_scan.hpp"

namespace ridge {
namespace {

struct Name {
    std::string_view name;
    PreTokenizerRule rule;
};

// llama.cpp's names, and the settings it takes from them. Vocabularies with more names than these
// share a pattern with one of them.
constexpr Name kNames[] = {
    {"default", {PreTokenizer::fallback}},
    {"gpt-2", {PreTokenizer::gpt2}},
    {"phi-2", {PreTokenizer::gpt2}},
    {"mpt", {PreTokenizer::gpt2}},
    {"olmo", {PreTokenizer::gpt2}},
    {"exaone4", {PreTokenizer::gpt2}},
    {"trillion", {PreTokenizer::gpt2}},
    {"granite-docling", {PreTokenizer::gpt2}},
    {"gigachat", {PreTokenizer::gpt2}},
    {"mellum", {PreTokenizer::gpt2}},
    {"smollm", {PreTokenizer::smollm}},
    {"starcoder", {PreTokenizer::smollm}},
    {"refact", {PreTokenizer::smollm}},
    {"command-r", {PreTokenizer::smollm}},
    {"codeshell", {PreTokenizer::smollm}},
    {"exaone", {PreTokenizer::smollm}},
    {"minerva-7b", {PreTokenizer::smollm}},
    {"llama-bpe", {PreTokenizer::llama3, true, true}},
    {"llama3", {PreTokenizer::llama3, true, true}},
    {"llama-v3", {PreTokenizer::llama3, true, true}},
    {"falcon3", {PreTokenizer::llama3, true, true}},
    {"falcon-h1", {PreTokenizer::llama3, true, true}},
    {"pixtral", {PreTokenizer::llama3, true, true}},
    {"lfm2", {PreTokenizer::llama3, true, true}},
    {"dbrx", {PreTokenizer::llama3}},
    {"smaug-bpe", {PreTokenizer::llama3}},
    {"glm4", {PreTokenizer::llama3}},
    {"chatglm-bpe", {PreTokenizer::llama3}},
    {"qwen2", {PreTokenizer::qwen2}},
    {"deepseek-r1-qwen", {PreTokenizer::qwen2}},
    {"stablelm2", {PreTokenizer::qwen2}},
    {"hunyuan", {PreTokenizer::qwen2}},
    {"megrez", {PreTokenizer::qwen2}},
    {"qwen35", {PreTokenizer::qwen35}},
    {"gpt-4o", {PreTokenizer::gpt4o}},
    {"llama4", {PreTokenizer::gpt4o}},
    {"kanana2", {PreTokenizer::gpt4o}},
    {"tekken", {PreTokenizer::tekken, true, true}},
    {"deepseek-llm", {PreTokenizer::deepseek_llm}},
    {"deepseek-coder", {PreTokenizer::deepseek_coder}},
    {"deepseek-v3", {PreTokenizer::deepseek3}},
    {"hunyuan-dense", {PreTokenizer::deepseek3}},
    {"gemma4", {PreTokenizer::gemma4, false, true}},
};

using text::Scanner;

constexpr Scanner kGpt2[] = {text::scan_gpt2};
constexpr Scanner kSmollm[] = {text::scan_number, text::scan_gpt2};
constexpr Scanner kFallback[] = {text::scan_fallback_punctuation, text::scan_gpt2,
                                 text::scan_numbers, text::scan_digit_triples};
constexpr Scanner kLlama3[] = {text::scan_llama3};
constexpr Scanner kQwen2[] = {text::scan_qwen2};
constexpr Scanner kQwen35[] = {text::scan_qwen35};
constexpr Scanner kGpt4o[] = {text::scan_gpt4o};
constexpr Scanner kTekken[] = {text::scan_tekken};
constexpr Scanner kDeepseekLlm[] = {
    text::scan_line_ends,      text::scan_latin_words, text::scan_wide_punctuation,
    text::scan_trailing_space, text::scan_cjk,         text::scan_numbers};
constexpr Scanner kDeepseekCoder[] = {text::scan_line_ends, text::scan_spaced_letters,
                                      text::scan_spaced_punctuation, text::scan_cjk,
                                      text::scan_number};
constexpr Scanner kDeepseek3[] = {text::scan_number_triples, text::scan_chinese_and_kana,
                                  text::scan_deepseek3};
constexpr Scanner kGemma4[] = {text::scan_lines};

std::span<const Scanner> scanners_of(PreTokenizer kind) {
    switch (kind) {
        case PreTokenizer::gpt2:
            return kGpt2;
        case PreTokenizer::smollm:
            return kSmollm;
        case PreTokenizer::fallback:
            return kFallback;
        case PreTokenizer::llama3:
            return kLlama3;
        case PreTokenizer::qwen2:
            return kQwen2;
        case PreTokenizer::qwen35:
            return kQwen35;
        case PreTokenizer::gpt4o:
            return kGpt4o;
        case PreTokenizer::tekken:
            return kTekken;
        case PreTokenizer::deepseek_llm:
            return kDeepseekLlm;
        case PreTokenizer::deepseek_coder:
            return kDeepseekCoder;
        case PreTokenizer::deepseek3:
            return kDeepseek3;
        case PreTokenizer::gemma4:
            return kGemma4;
    }
    return kFallback;
}

}  // namespace

std::optional<PreTokenizerRule> find_pre_tokenizer(std::string_view name) {
    if (name.empty()) return PreTokenizerRule{};
    for (const Name& known : kNames) {
        if (known.name == name) return known.rule;
    }
    return std::nullopt;
}

std::string pre_tokenizer_names() {
    std::string all;
    for (const Name& known : kNames) {
        if (!all.empty()) all += ", ";
        all += known.name;
    }
    return all;
}

void pre_tokenize(PreTokenizer kind, std::string_view text, std::vector<size_t>& ends) {
    if (text.empty()) return;
    const auto scanners = scanners_of(kind);
    if (scanners.size() == 1) {
        scanners[0](text, {ends, 0});
        return;
    }
    std::vector<size_t> pieces = {text.size()};
    std::vector<size_t> parts;
    for (size_t i = 0; i < scanners.size(); ++i) {
        std::vector<size_t>& out = i + 1 == scanners.size() ? ends : parts;
        size_t begin = 0;
        for (const size_t end : pieces) {
            scanners[i](text.substr(begin, end - begin), {out, begin});
            begin = end;
        }
        pieces.swap(parts);
        parts.clear();
    }
}

}  // namespace ridge
