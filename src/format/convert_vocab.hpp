// A model folder's tokenizer as GGUF keys. Internal to convert*.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "format/gguf_writer.hpp"
#include "format/hf_folder.hpp"

namespace ridge::convert {

// GGUF's token types.
enum : int32_t { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

// Tokens by id; `size` is that of the embedding: ids without a token become unused [PADn], tokens
// beyond are dropped.
struct Vocabulary {
    std::string model;  // "llama" (SentencePiece) or "gpt2" (byte-level BPE)
    std::string pre;
    std::vector<std::string> tokens, merges;
    std::vector<float> scores;  // llama only
    std::vector<int32_t> types;
    bool space_prefix = true;

    explicit Vocabulary(size_t size);
    // Ignores ids outside.
    void put(uint64_t id, std::string text, float score, int32_t type);
    int64_t find(const std::string& text) const;  // -1: none
};

// Reads tokenizer.model (a SentencePiece model, whose protocol buffer it walks) or tokenizer.json
// (BPE, byte-level or with byte fallback), and the added tokens beside them. `pre` names the
// pre-tokenizer where the folder's own is not one that ridge knows; empty: it is told from the
// folder. Errors: bad_file, unsupported (another kind of tokenizer).
Result<Vocabulary> read_vocabulary(const HfFolder& folder, size_t size, const std::string& pre);

// tokenizer.model alone: pieces, scores, types, and whether a space is put before the text.
Status read_sentencepiece(const std::string& path, Vocabulary& out);

// The name of the pre-tokenizer that tokenizer.json's "pre_tokenizer" describes; empty: unknown.
std::string pre_tokenizer_name(const nlohmann::json& pre_tokenizer);

// Sets the tokenizer's keys: tokens, merges, special ids, whether they are added, chat template.
Status set_tokenizer(const HfFolder& folder, const Vocabulary& vocabulary, GgufWriter& out);

}  // namespace ridge::convert
