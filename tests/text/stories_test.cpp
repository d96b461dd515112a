// The vocabulary of stories260K (Llama 2's kind, 512 tokens), as llama2.c stores it.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <sstream>

#include "text/tokenizer.hpp"
#include "text/vocab_util.hpp"

namespace ridge {
namespace {

// tok512.bin: int32 longest token, then for each token float score, int32 length, bytes. Ids 0 to 2
// are <unk>, <s>, </s>, the next 256 the bytes; spaces stand for U+2581.
Result<Tokenizer> stories_tokenizer() {
    std::ifstream file(std::string(RIDGE_TEST_DATA) + "/stories260K/tok512.bin", std::ios::binary);
    std::stringstream stream;
    stream << file.rdbuf();
    const std::string bytes = stream.str();
    test::VocabMaker vocab("llama");
    for (size_t at = 4; at + 8 <= bytes.size();) {
        float score = 0;
        uint32_t length = 0;
        std::memcpy(&score, &bytes[at], 4);
        std::memcpy(&length, &bytes[at + 4], 4);
        at += 8;
        std::string token;
        for (const char c : bytes.substr(at, length)) {
            token += c == ' ' ? "\xE2\x96\x81" : std::string(1, c);
        }
        at += length;
        const size_t id = vocab.data.tokens.size();
        const TokenType type = id == 0    ? TokenType::unknown
                               : id < 3   ? TokenType::control
                               : id < 259 ? TokenType::byte
                                          : TokenType::normal;
        vocab.add(id == 1 ? "<s>" : id == 2 ? "</s>" : token, type, score);
    }
    vocab.data.unk = 0;
    vocab.data.bos = 1;
    vocab.data.eos = 2;
    vocab.data.add_bos = true;
    vocab.data.add_space_prefix = true;
    return Tokenizer::create(vocab.data);
}

struct Case {
    const char* text;
    std::vector<int32_t> ids;
};

// Ids of llama.cpp (npm node-llama-cpp 3.21.1) for the same vocabulary in a GGUF file, without BOS.
TEST(Stories260K, IdsAreLlamaCpps) {
    const auto t = stories_tokenizer();
    ASSERT_TRUE(t) << t.error().message;
    ASSERT_EQ(t->size(), 512);
    const Case cases[] = {
        {"", {}},
        {"Once upon a time", {403, 407, 261, 378}},
        {" Once upon a time, there was a little girl named Lily.",
         {410, 403, 407, 261, 378, 432, 383, 286, 261, 376, 298, 315, 421, 395, 317, 426}},
        {"One day, she said: \"Hello!\"\n\nThe end.",
         {385, 328, 432, 358, 336, 467, 313, 440, 411, 306,
          414, 443, 436, 13,  13,  434, 260, 344, 264, 426}},
        {"Zo\xC3\xAB's caf\xC3\xA9 costs 12 \xE2\x82\xAC",
         {410, 469, 414, 198, 174, 439, 419, 280, 412, 431,
          485, 280, 414, 356, 419, 410, 475, 479, 410, 503}},
        {"</s>a", {410, 504, 492, 419, 505, 412}},
        {"aaaaaaaa  b", {261, 412, 412, 412, 412, 412, 412, 412, 410, 268}},
        {"I can't, don't & won't: 100%\tdone",
         {359, 280, 303, 439, 413, 432, 279, 289, 439, 413, 410, 499, 263,
          289, 439, 413, 467, 410, 475, 477, 477, 501, 12,  418, 289, 411}},
    };
    for (const Case& one : cases) {
        EXPECT_EQ(t->encode(one.text, false, false), one.ids) << one.text;
        std::vector<int32_t> with_bos = {1};
        with_bos.insert(with_bos.end(), one.ids.begin(), one.ids.end());
        const auto special = t->encode(one.text, true, false);
        EXPECT_EQ(special, with_bos) << one.text;
        EXPECT_EQ(t->decode(special), one.text);
    }
    EXPECT_EQ(t->encode("</s>a", false, true), (std::vector<int32_t>{2, 261}));
}

}  // namespace
}  // namespace ridge
