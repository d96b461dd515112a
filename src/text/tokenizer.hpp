// Text to token ids and back, from the vocabulary in a model file.
//
// Three families: byte-level BPE ("gpt2": pre-tokenizer, then merges by rank), BPE of characters
// ("gemma4": spaces as U+2581, merges by rank, byte fall-back) and SentencePiece's BPE ("llama":
// merges by score, byte fall-back, with or without a leading space). Ids are llama.cpp's
// for well-formed text, except that text can never spell a control, unknown or byte token (there,
// merges may build "<s>" from its letters).
//
// Time is O(n log n) in the length of the text whatever it holds, and the stack is constant.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "text/vocab.hpp"

namespace ridge {

// Immutable once created and safe to use from many threads; copies share one vocabulary.
class Tokenizer {
  public:
    // Errors: unsupported (model or pre-tokenizer, named beside those that ridge has), bad_file
    // (ids outside the vocabulary, lengths that contradict each other, malformed byte tokens, ...).
    // Merges whose parts or result are no normal tokens are ignored.
    static Result<Tokenizer> create(const VocabData& vocab);

    // add_special: BOS and EOS where the file asks for them. parse_special: control tokens written
    // out in the text become their ids; only for text that is a template's own, never for a user's.
    // User-defined tokens are always found, unless they look like control tokens (<|...|>), which
    // then they are. Bytes that are no UTF-8 are kept as bytes by "llama" and "gemma4" and read as
    // U+FFFD by "gpt2". A byte for which the vocabulary has no token becomes the unknown token
    // ("llama") or nothing ("gpt2").
    std::vector<int32_t> encode(std::string_view text, bool add_special, bool parse_special) const;

    // The bytes a token stands for in text: possibly part of a code point; empty for control tokens
    // and for ids outside the vocabulary. Valid as long as the tokenizer.
    std::string_view bytes(int32_t id) const;

    // The text of a whole sequence: bytes() of each, without the leading space that encode() adds.
    std::string decode(std::span<const int32_t> ids) const;

    std::string_view raw(int32_t id) const;  // as the file writes it; empty outside the vocabulary
    int32_t find(std::string_view raw) const;  // the first token written so, or -1

    bool is_control(int32_t id) const;
    // Ends a generation: EOS, end of turn and the like, by the file's ids and by llama.cpp's list
    // of names (which, in Gemma's vocabulary, takes in "</s>").
    bool is_end(int32_t id) const;

    int32_t bos() const;  // -1: none
    int32_t eos() const;
    bool adds_bos() const;
    // Whether a sequence begins with the BOS that encode() adds and another one: the text or the
    // template had one of its own, and the model sees two.
    bool doubles_bos(std::span<const int32_t> ids) const;
    int32_t size() const;

    std::string_view chat_template() const;  // the file's; empty: none
    std::string_view source() const;         // path of the file

    size_t memory_bytes() const;  // what the tables hold

  private:
    struct Impl;
    explicit Tokenizer(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
    std::shared_ptr<const Impl> impl_;
};

}  // namespace ridge
