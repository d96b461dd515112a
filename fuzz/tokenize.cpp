// Any bytes as text: encoded by a small vocabulary of each family and decoded again. Also, the
// UTF-8 stream gives the same text wherever its input is cut.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.hpp"
#include "text/utf8_stream.hpp"
#include "text/vocab.hpp"

namespace {

using namespace ridge;

void require(bool held) {
    if (!held) std::abort();
}

// SentencePiece with every byte token, so that nothing is lost.
Tokenizer sentence_piece() {
    static std::deque<std::string> names;
    VocabData vocab;
    vocab.model = "llama";
    const auto add = [&](std::string name, float score, TokenType type) {
        vocab.tokens.push_back(names.emplace_back(std::move(name)));
        vocab.scores.push_back(score);
        vocab.types.push_back(type);
    };
    add("<unk>", 0.0f, TokenType::unknown);
    add("<s>", 0.0f, TokenType::control);
    add("</s>", 0.0f, TokenType::control);
    for (unsigned byte = 0; byte < 256; ++byte) {
        constexpr char digits[] = "0123456789ABCDEF";
        add(std::string("<0x") + digits[byte >> 4] + digits[byte & 15] + ">", 0.0f,
            TokenType::byte);
    }
    float score = -1.0f;
    for (const char* piece : {"\xe2\x96\x81", "a", "b", "aa", "ab", "aab", "aaaa",
                              "\xe2\x96\x81"
                              "a",
                              "\xc3\xa9", "\xe2\x96\x81\xe2\x96\x81"})
        add(piece, score -= 1.0f, TokenType::normal);
    vocab.unk = 0;
    vocab.bos = 1;
    vocab.eos = 2;
    Result<Tokenizer> tokenizer = Tokenizer::create(vocab);
    require(tokenizer.has_value());
    return *tokenizer;
}

// Byte-level BPE over printable ASCII only: other bytes have no token and are dropped.
Tokenizer byte_level(const char* pre) {
    static std::deque<std::string> names;
    VocabData vocab;
    vocab.model = "gpt2";
    vocab.pre = pre;
    for (char c = '!'; c <= '~'; ++c) vocab.tokens.push_back(names.emplace_back(1, c));
    for (const char* piece :
         {"aa", "ab", "aab", "12", "th", "the", "\xc4\xa0", "\xc4\xa0t", "<|end|>"})
        vocab.tokens.emplace_back(piece);
    vocab.types.assign(vocab.tokens.size(), TokenType::normal);
    vocab.types.back() = TokenType::control;
    vocab.merges = {"a a", "a b", "a ab", "1 2", "t h", "th e", "\xc4\xa0 t"};
    Result<Tokenizer> tokenizer = Tokenizer::create(vocab);
    require(tokenizer.has_value());
    return *tokenizer;
}

void check_ids(const Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
    for (const int32_t id : ids) require(id >= 0 && id < tokenizer.size());
}

std::string streamed(std::string_view text, size_t piece) {
    Utf8Stream stream;
    std::string out;
    for (size_t at = 0; at < text.size(); at += piece) {
        out += stream.push(text.substr(at, piece));
        require(stream.pending() <= 3);
    }
    return out + stream.finish();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const Tokenizer pieces = sentence_piece();
    static const Tokenizer smollm = byte_level("smollm");
    static const Tokenizer plain = byte_level("default");
    const std::string text(reinterpret_cast<const char*>(data), size);

    const std::vector<int32_t> ids = pieces.encode(text, false, false);
    check_ids(pieces, ids);
    for (const int32_t id : ids) require(!pieces.is_control(id));
    if (text.find("\xe2\x96\x81") == std::string::npos)  // which stands for a space in the pieces
        require(pieces.decode(ids) == text);

    for (const Tokenizer* tokenizer : {&smollm, &plain}) {
        const std::vector<int32_t> user = tokenizer->encode(text, true, false);
        check_ids(*tokenizer, user);
        for (const int32_t id : user) require(!tokenizer->is_control(id));
        check_ids(*tokenizer, tokenizer->encode(text, true, true));
    }

    const std::string whole = streamed(text, size == 0 ? 1 : size);
    require(streamed(text, 1) == whole);
    require(streamed(text, 3) == whole);
    return 0;
}
