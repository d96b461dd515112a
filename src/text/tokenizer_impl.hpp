// What a Tokenizer holds. Internal: shared by the file that builds it and the one that encodes.
#pragma once

#include <array>
#include <vector>

#include "text/merge.hpp"
#include "text/pretokenize.hpp"
#include "text/special.hpp"
#include "text/token_map.hpp"
#include "text/tokenizer.hpp"

namespace ridge {

struct Tokenizer::Impl {
    enum class Family {
        byte_bpe,  // "gpt2": bytes, merged by rank
        char_bpe,  // "gemma4": code points with spaces as U+2581, merged by rank
        pieces,    // "llama": code points with spaces as U+2581, merged by score
    };
    Family family = Family::byte_bpe;
    PreTokenizerRule pre;  // byte_bpe and char_bpe
    bool add_bos = false;
    bool add_eos = false;
    bool add_space_prefix = false;
    int32_t bos = -1;
    int32_t eos = -1;
    int32_t unk = -1;

    std::string chat_template;
    std::string source;

    text::StringPool raw;    // as in the file
    text::StringPool bytes;  // what the tokens stand for
    std::vector<TokenType> types;
    std::vector<bool> ends;
    text::TokenMap ids;  // raw text -> id

    std::array<int32_t, 256> byte_ids{};  // token of a single byte, -1: none
    text::MergeMap merges;                // by rank: BPE
    std::vector<uint32_t> priorities;     // pieces: lower for a higher score
    size_t longest = 0;                   // bytes of the longest token that merging may build

    text::SpecialMatcher user_defined;
    text::SpecialMatcher all_special;  // and control and unknown

    bool byte_level() const { return family == Family::byte_bpe; }
    size_t count() const { return types.size(); }
    bool contains(int32_t id) const { return id >= 0 && static_cast<size_t>(id) < count(); }
    TokenType type(int32_t id) const { return types[static_cast<size_t>(id)]; }

    // Whether merging may yield the token. Text never becomes a control token.
    bool mergeable(int32_t id) const {
        const TokenType t = type(id);
        return t != TokenType::control && t != TokenType::unknown && t != TokenType::byte;
    }

    // tokenizer.cpp: steps of create(), in this order (scores or merges).
    Status set_specials(const VocabData& vocab);
    Status set_tokens(const VocabData& vocab);
    Status set_scores(const VocabData& vocab);
    Status set_merges(const VocabData& vocab);

    // tokenizer_encode.cpp
    void encode_byte_bpe(std::string_view fragment, std::vector<int32_t>& out) const;
    void encode_char_bpe(std::string_view fragment, std::vector<int32_t>& out) const;
    void encode_pieces(std::string_view fragment, bool space_prefix,
                       std::vector<int32_t>& out) const;
    int32_t whole_token(std::string_view piece, std::string& buffer) const;
    bool find_merge(const text::Symbol& left, const text::Symbol& right, uint32_t& rank,
                    int32_t& id) const;
    void push_bytes(std::string_view of, std::vector<int32_t>& out) const;
};

}  // namespace ridge
