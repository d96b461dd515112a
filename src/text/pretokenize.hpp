// Pre-tokenizers: cut text into the pieces inside which byte-level BPE may merge.
//
// Tokenizers publish these cuts as regular expressions with look-ahead. Here each is a scanner
// written by hand: it reads every code point a constant number of times and uses no recursion, so a
// megabyte of one letter costs what a megabyte of prose costs. The patterns, applied one after the
// other, each within the pieces that the one before left (what matches and what lies between the
// matches both become pieces):
//
//   gpt2     's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//   smollm   \p{N}   then gpt2
//   fallback [\p{P}$+<=>^~|]+   then gpt2   then \p{N}+   then [0-9][0-9][0-9]
//
// ("fallback" is what llama.cpp calls "default".) Bytes that are not well-formed UTF-8 count as a
// code point each that is neither letter, number nor space.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ridge {

enum class PreTokenizer { gpt2, smollm, fallback };

// The pre-tokenizer that a file's "tokenizer.ggml.pre" names; nullopt when ridge has none of that
// name. An absent name (empty) means "default".
std::optional<PreTokenizer> find_pre_tokenizer(std::string_view name);

// "default, gpt-2, smollm": for error texts.
std::string pre_tokenizer_names();

// Appends the end (one past the last byte) of each piece of `text` to `ends`: ascending, the last
// one text.size(); nothing for an empty text.
void pre_tokenize(PreTokenizer kind, std::string_view text, std::vector<size_t>& ends);

}  // namespace ridge
