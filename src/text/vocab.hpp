// The vocabulary of a model as its file states it, before anything is built from it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "format/gguf.hpp"

namespace ridge {

// tokenizer.ggml.token_type
enum class TokenType : uint8_t {
    undefined = 0,
    normal = 1,
    unknown = 2,
    control = 3,
    user_defined = 4,
    unused = 5,
    byte = 6,
};

// Plain data, so that tests and converters can fill one by hand. Tokens and merges are views: into
// the mapped file when read_vocab made them, which must then stay open until Tokenizer::create has
// returned (the tokenizer keeps copies). Ids are as in the file, unchecked; -1: none.
struct VocabData {
    std::string model;  // "gpt2" (byte-level BPE), "gemma4" (BPE) or "llama" (SentencePiece)
    std::string pre;    // pre-tokenizer of "gpt2"; empty: "default"
    std::vector<std::string_view> tokens;
    std::vector<float> scores;     // one a token, or empty (all 0)
    std::vector<TokenType> types;  // one a token, or empty (all normal)
    std::vector<std::string_view> merges;
    int64_t bos = -1;
    int64_t eos = -1;
    int64_t eot = -1;
    int64_t unk = -1;
    std::vector<int64_t> other_ends;  // more ids that end a generation (eom, fim_pad, fim_rep, ...)
    bool add_bos = false;
    bool add_eos = false;
    bool add_space_prefix = false;
    std::string chat_template;          // empty: none
    std::string source = "vocabulary";  // path of the file, for error texts
};

// Reads "tokenizer.*" with llama.cpp's defaults for what is absent: a "llama" vocabulary has BOS 1,
// EOS 2, unknown 0, adds BOS and the leading space; the others have none of these, but add a BOS
// that the file names where their pre-tokenizer does (pretokenize.hpp). Errors:
// not_found (no tokenizer in the file), bad_file.
Result<VocabData> read_vocab(const GgufFile& file);

}  // namespace ridge
