// Pre-tokenizers: cut text into the pieces inside which BPE may merge.
//
// Tokenizers publish these cuts as regular expressions with look-ahead. Here each is a scanner
// written by hand: it reads every code point a constant number of times and uses no recursion, so a
// megabyte of one letter costs what a megabyte of prose costs. The patterns, applied one after the
// other, each within the pieces that the one before left (what matches and what lies between the
// matches both become pieces; C stands for (?i:'s|'t|'re|'ve|'m|'ll|'d), U for
// \p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}, l for \p{Ll}\p{Lm}\p{Lo}\p{M}, S for \s*[\r\n]+|\s+(?!\S)|\s+):
//
//   gpt2     's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//   smollm   \p{N}   then gpt2
//   fallback [\p{P}$+<=>^~|]+   then gpt2   then \p{N}+   then [0-9][0-9][0-9]
//   llama3   C|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|S
//   qwen2    C|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|S
//   qwen35   C|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|S
//   gpt4o    [^\r\n\p{L}\p{N}]?[U]*[l]+C?|[^\r\n\p{L}\p{N}]?[U]+[l]*C?|\p{N}{1,3}
//            | ?[^\s\p{L}\p{N}]+[\r\n/]*|S
//   tekken   [^\r\n\p{L}\p{N}]?[U]*[l]+|[^\r\n\p{L}\p{N}]?[U]+[l]*|\p{N}
//            | ?[^\s\p{L}\p{N}]+[\r\n/]*|S
//   deepseek_llm    [\r\n]   then \s?[cased letters]+   then \s?[punctuation]+   then \s+$
//                   then [\u4E00-\u9FA5\u0800-\u4E00\uAC00-\uD7FF]+   then \p{N}+
//                   (both lists: pretokenize_classes.cpp)
//   deepseek_coder  [\r\n]   then \s?\p{L}+   then \s?\p{P}+
//                   then [\u4E00-\u9FA5\u0800-\u4E00\uAC00-\uD7FF]+   then \p{N}
//   deepseek3       \p{N}{1,3}   then [\u4E00-\u9FA5\u3040-\u309F\u30A0-\u30FF]+
//                   then [ASCII punctuation][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+
//                   | ?[\p{P}\p{S}]+[\r\n]*|S
//   gemma4   [^\n]+|[\n]+
//
// ("fallback" is what llama.cpp calls "default".) They are those of the models' own tokenizer.json
// files; llama.cpp's differ from these in gpt-4o and tekken, where it takes a letter's case from
// a-z and A-Z alone and no marks for letters. Bytes that are not well-formed UTF-8 count as a code
// point each that is neither letter, number nor space.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ridge {

enum class PreTokenizer {
    gpt2,
    smollm,
    fallback,
    llama3,
    qwen2,
    qwen35,
    gpt4o,
    tekken,
    deepseek_llm,
    deepseek_coder,
    deepseek3,
    gemma4,
};

// What a name in a file ("tokenizer.ggml.pre") stands for.
struct PreTokenizerRule {
    PreTokenizer kind = PreTokenizer::fallback;
    bool ignore_merges =
        false;              // a piece that is a token is that token, whatever merges would give
    bool adds_bos = false;  // unless the file says otherwise
};

// nullopt when ridge has none of that name. An absent name (empty) means "default".
std::optional<PreTokenizerRule> find_pre_tokenizer(std::string_view name);

// "default, gpt-2, ...": for error texts; every name that find_pre_tokenizer knows.
std::string pre_tokenizer_names();

// Appends the end (one past the last byte) of each piece of `text` to `ends`: ascending, the last
// one text.size(); nothing for an empty text.
void pre_tokenize(PreTokenizer kind, std::string_view text, std::vector<size_t>& ends);

}  // namespace ridge
