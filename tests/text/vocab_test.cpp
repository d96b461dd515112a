// Reading a vocabulary from a file, and refusing what makes no sense.
#include "text/vocab.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "support/temp_dir.hpp"
#include "text/tokenizer.hpp"
#include "text/vocab_util.hpp"

namespace ridge {
namespace {

using test::byte_level_vocab;
using test::MetadataFile;
using test::sentencepiece_vocab;
using testing::HasSubstr;

// The error that create() gives, as "code: message".
std::string refusal(const test::VocabMaker& vocab, ErrorCode code = ErrorCode::bad_file) {
    const auto made = Tokenizer::create(vocab.data);
    if (made) return "accepted";
    EXPECT_EQ(made.error().code, code) << made.error().message;
    return made.error().message;
}

TEST(Vocabulary, UnknownKindsAreNamedBesideTheKnown) {
    auto vocab = byte_level_vocab("kimi-k2");
    vocab.data.source = "/models/x.gguf";
    std::string text = refusal(vocab, ErrorCode::unsupported);
    EXPECT_THAT(text, HasSubstr("/models/x.gguf"));
    EXPECT_THAT(text, HasSubstr("kimi-k2"));
    EXPECT_THAT(text, HasSubstr("default, gpt-2, "));
    vocab.data.model = "t5";
    text = refusal(vocab, ErrorCode::unsupported);
    EXPECT_THAT(text, HasSubstr("t5"));
    EXPECT_THAT(text, HasSubstr("gpt2"));
    EXPECT_THAT(text, HasSubstr("llama"));
}

TEST(Vocabulary, IdsOutsideAreRefused) {
    for (const int64_t id : {int64_t{256}, int64_t{2147483647}, int64_t{1} << 40}) {
        auto vocab = byte_level_vocab("gpt-2");
        vocab.data.bos = id;
        EXPECT_THAT(refusal(vocab), HasSubstr("BOS token is " + std::to_string(id)));
        vocab = byte_level_vocab("gpt-2");
        vocab.data.eos = id;
        EXPECT_THAT(refusal(vocab), HasSubstr("EOS token is " + std::to_string(id)));
        vocab = byte_level_vocab("gpt-2");
        vocab.data.eot = id;
        EXPECT_THAT(refusal(vocab), HasSubstr("end-of-turn token is"));
        vocab = sentencepiece_vocab(true);
        vocab.data.unk = id + 256;
        EXPECT_THAT(refusal(vocab), HasSubstr("unknown token is"));
        vocab = byte_level_vocab("gpt-2");
        vocab.data.other_ends = {id};
        EXPECT_THAT(refusal(vocab), HasSubstr("end-of-generation token is"));
    }
}

TEST(Vocabulary, ContradictionsAreRefused) {
    test::VocabMaker empty("gpt2");
    EXPECT_THAT(refusal(empty), HasSubstr("empty list of tokens"));
    auto vocab = sentencepiece_vocab(true);
    vocab.data.scores.pop_back();
    EXPECT_THAT(refusal(vocab), HasSubstr("260 tokens, but 259 scores"));
    vocab = sentencepiece_vocab(true);
    vocab.data.types.push_back(TokenType::normal);
    EXPECT_THAT(refusal(vocab), HasSubstr("260 tokens, but 261 types"));
    vocab = sentencepiece_vocab(true);
    vocab.data.scores[7] = std::nanf("");
    EXPECT_THAT(refusal(vocab), HasSubstr("token 7"));
    vocab = sentencepiece_vocab(true);
    vocab.data.bos = -1;
    EXPECT_THAT(refusal(vocab), HasSubstr("adds a BOS token"));
    vocab = sentencepiece_vocab(true);
    vocab.data.eos = -1;
    vocab.data.add_eos = true;
    EXPECT_THAT(refusal(vocab), HasSubstr("adds an EOS token"));
    vocab = sentencepiece_vocab(true);
    vocab.data.unk = -1;
    EXPECT_EQ(refusal(vocab), "accepted");  // every byte has a token
    vocab.data.types[40] = TokenType::control;
    EXPECT_THAT(refusal(vocab), HasSubstr("neither an unknown token"));
    vocab = sentencepiece_vocab(true);
    vocab.add(std::string(1025, 'x'), TokenType::control);
    EXPECT_THAT(refusal(vocab), HasSubstr("1025 bytes"));
}

TEST(Vocabulary, MalformedByteTokensAreRefused) {
    for (const char* token :
         {"<0x-1>", "<0xGG>", "<0x100>", "<0x1>", "0x41", "<0x41", "", "<0X41>"}) {
        auto vocab = sentencepiece_vocab(true);
        vocab.add(token, TokenType::byte);
        EXPECT_THAT(refusal(vocab), HasSubstr("types token 260 as a byte")) << token;
    }
    auto vocab = sentencepiece_vocab(true);
    vocab.add("<0xaf>", TokenType::byte);
    EXPECT_EQ(refusal(vocab), "accepted");
}

TEST(Vocabulary, OddTokensAreTaken) {
    auto vocab = sentencepiece_vocab(true);
    vocab.add("");
    vocab.add("", TokenType::control);
    vocab.add("", TokenType::user_defined);
    vocab.add("twice");
    vocab.add("twice");
    vocab.add(std::string("nul\0nul", 7));
    vocab.add("\xFF\xC0");
    vocab.add(std::string(100'000, 'x'));
    const auto made = Tokenizer::create(vocab.data);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(made->find("twice"), 263);
    EXPECT_EQ(made->bytes(265), std::string("nul\0nul", 7));
    const std::string text = "\xFF\xC0 nul";
    EXPECT_EQ(made->decode(made->encode(text, false, true)), text);
}

TEST(Vocabulary, WithoutTypesAllAreNormalButWhatTheIdsSay) {
    test::VocabMaker vocab("llama");
    for (const char* token : {"<unk>", "<s>", "</s>", "a"}) vocab.add(token);
    vocab.data.types.clear();
    vocab.data.scores.clear();
    vocab.data.unk = 0;
    vocab.data.bos = 1;
    vocab.data.eos = 2;
    const auto made = Tokenizer::create(vocab.data);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_TRUE(made->is_control(1));
    EXPECT_TRUE(made->is_control(2));
    EXPECT_FALSE(made->is_control(3));
}

class ReadVocab : public testing::Test {
  protected:
    Result<VocabData> read(const MetadataFile& metadata) {
        const std::string path = dir_.path() + "/vocab.gguf";
        metadata.write(path);
        auto file = GgufFile::open(path);
        if (!file) throw std::runtime_error(file.error().message);
        file_.emplace(std::move(*file));
        return read_vocab(*file_);
    }
    test::TempDir dir_;
    std::optional<GgufFile> file_;
};

TEST_F(ReadVocab, DefaultsOfSentencePiece) {
    MetadataFile file;
    file.put_string("tokenizer.ggml.model", "llama");
    file.put_strings("tokenizer.ggml.tokens", {"<unk>", "<s>", "</s>", "a"});
    const auto vocab = read(file);
    ASSERT_TRUE(vocab) << vocab.error().message;
    EXPECT_EQ(vocab->bos, 1);
    EXPECT_EQ(vocab->eos, 2);
    EXPECT_EQ(vocab->unk, 0);
    EXPECT_TRUE(vocab->add_bos);
    EXPECT_FALSE(vocab->add_eos);
    EXPECT_TRUE(vocab->add_space_prefix);
    EXPECT_TRUE(Tokenizer::create(*vocab));
}

TEST_F(ReadVocab, DefaultsOfByteLevelBpe) {
    MetadataFile file;
    file.put_string("tokenizer.ggml.model", "gpt2");
    file.put_strings("tokenizer.ggml.tokens", {"a", "b", "ab"});
    file.put_strings("tokenizer.ggml.merges", {"a b"});
    const auto vocab = read(file);
    ASSERT_TRUE(vocab) << vocab.error().message;
    EXPECT_EQ(vocab->bos, -1);
    EXPECT_EQ(vocab->eos, -1);
    EXPECT_FALSE(vocab->add_bos);
    EXPECT_FALSE(vocab->add_space_prefix);
    const auto made = Tokenizer::create(*vocab);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(made->encode("ab", true, true), std::vector<int32_t>{2});
}

// The pre-tokenizers that add BOS where the file is silent, and Gemma 4, whose files say false.
TEST_F(ReadVocab, BosByPreTokenizer) {
    struct Case {
        const char* model;
        const char* pre;
        int said;  // add_bos_token: -1 not there
        bool adds;
    };
    for (const Case& c : {Case{"gpt2", "llama-bpe", -1, true}, Case{"gpt2", "llama-bpe", 0, false},
                          Case{"gpt2", "tekken", -1, true}, Case{"gpt2", "qwen2", -1, false},
                          Case{"gpt2", "qwen2", 1, true}, Case{"gpt2", "gpt-4o", -1, false},
                          Case{"gemma4", "", -1, true}, Case{"gemma4", "", 0, true}}) {
        MetadataFile file;
        file.put_string("tokenizer.ggml.model", c.model);
        if (*c.pre != '\0') file.put_string("tokenizer.ggml.pre", c.pre);
        file.put_strings("tokenizer.ggml.tokens", {"<b>", "a"});
        file.put_strings("tokenizer.ggml.merges", {"a a"});
        file.put_u32("tokenizer.ggml.bos_token_id", 0);
        if (c.said >= 0) file.put_bool("tokenizer.ggml.add_bos_token", c.said == 1);
        const auto vocab = read(file);
        ASSERT_TRUE(vocab) << vocab.error().message;
        EXPECT_EQ(vocab->add_bos, c.adds) << c.model << " " << c.pre << " " << c.said;
        const auto made = Tokenizer::create(*vocab);
        ASSERT_TRUE(made) << made.error().message;
        EXPECT_EQ(made->encode("a", true, false).size(), c.adds ? 2u : 1u);
    }
    // Without a BOS token there is none to add.
    MetadataFile file;
    file.put_string("tokenizer.ggml.model", "gpt2");
    file.put_string("tokenizer.ggml.pre", "llama-bpe");
    file.put_strings("tokenizer.ggml.tokens", {"a"});
    const auto vocab = read(file);
    ASSERT_TRUE(vocab) << vocab.error().message;
    EXPECT_FALSE(vocab->add_bos);
}

TEST_F(ReadVocab, ReadsEveryField) {
    MetadataFile file;
    file.put_string("tokenizer.ggml.model", "llama");
    file.put_string("tokenizer.ggml.pre", "default");
    file.put_strings("tokenizer.ggml.tokens", {"<u>", "<b>", "<e>", "<t>", "<m>", "a"});
    file.put_floats("tokenizer.ggml.scores", {0, 0, 0, 0, 0, -1.5f});
    file.put_ints("tokenizer.ggml.token_type", {2, 3, 3, 3, 4, 77});
    file.put_u32("tokenizer.ggml.bos_token_id", 1);
    file.put_i32("tokenizer.ggml.eos_token_id", 2);
    file.put_u32("tokenizer.ggml.eot_token_id", 3);
    file.put_u32("tokenizer.ggml.eom_token_id", 4);
    file.put_bool("tokenizer.ggml.add_bos_token", false);
    file.put_bool("tokenizer.ggml.add_eos_token", true);
    file.put_bool("tokenizer.ggml.add_space_prefix", false);
    file.put_string("tokenizer.chat_template", "{{ x }}");
    const auto vocab = read(file);
    ASSERT_TRUE(vocab) << vocab.error().message;
    EXPECT_EQ(vocab->pre, "default");
    EXPECT_EQ(vocab->tokens.size(), 6u);
    EXPECT_EQ(vocab->scores[5], -1.5f);
    EXPECT_EQ(vocab->types[4], TokenType::user_defined);
    EXPECT_EQ(vocab->types[5], TokenType::undefined);
    EXPECT_EQ(vocab->bos, 1);
    EXPECT_EQ(vocab->eos, 2);
    EXPECT_EQ(vocab->eot, 3);
    EXPECT_EQ(vocab->other_ends, std::vector<int64_t>{4});
    EXPECT_FALSE(vocab->add_bos);
    EXPECT_TRUE(vocab->add_eos);
    EXPECT_FALSE(vocab->add_space_prefix);
    EXPECT_EQ(vocab->chat_template, "{{ x }}");
    EXPECT_EQ(vocab->source, file_->path());
}

TEST_F(ReadVocab, MinusOneMeansNone) {
    MetadataFile file;
    file.put_string("tokenizer.ggml.model", "llama");
    file.put_strings("tokenizer.ggml.tokens", {"<unk>", "<s>", "</s>", "a"});
    file.put_i32("tokenizer.ggml.bos_token_id", -1);
    file.put_u32("tokenizer.ggml.eos_token_id", 0xFFFFFFFF);
    file.put_u32("tokenizer.ggml.eot_token_id", 2147483647);
    const auto vocab = read(file);
    ASSERT_TRUE(vocab) << vocab.error().message;
    EXPECT_EQ(vocab->bos, -1);
    EXPECT_EQ(vocab->eos, -1);
    EXPECT_EQ(vocab->eot, 2147483647);
    EXPECT_FALSE(Tokenizer::create(*vocab));
}

TEST_F(ReadVocab, WrongTypesAreRefused) {
    const auto refused = [&](const auto& spoil) {
        MetadataFile file;
        spoil(file);
        const auto vocab = read(file);
        return vocab ? std::string("accepted") : vocab.error().message;
    };
    const auto model = [](MetadataFile& f) { f.put_string("tokenizer.ggml.model", "llama"); };
    const auto tokens = [](MetadataFile& f) { f.put_strings("tokenizer.ggml.tokens", {"a"}); };
    EXPECT_THAT(refused([](MetadataFile&) {}), HasSubstr("has no tokenizer"));
    EXPECT_THAT(refused(model), HasSubstr("tokenizer.ggml.tokens"));
    EXPECT_THAT(refused([&](MetadataFile& f) {
                    model(f);
                    f.put_ints("tokenizer.ggml.tokens", {1, 2});
                }),
                HasSubstr("tokenizer.ggml.tokens"));
    for (const char* key : {"tokenizer.ggml.scores", "tokenizer.ggml.token_type"}) {
        EXPECT_THAT(refused([&](MetadataFile& f) {
                        model(f);
                        tokens(f);
                        f.put_strings(key, {"x"});
                    }),
                    HasSubstr(key));
    }
    for (const char* key : {"tokenizer.ggml.merges", "tokenizer.ggml.bos_token_id",
                            "tokenizer.ggml.add_bos_token", "tokenizer.ggml.add_space_prefix"}) {
        EXPECT_THAT(refused([&](MetadataFile& f) {
                        model(f);
                        tokens(f);
                        f.put_string(key, "x");
                    }),
                    HasSubstr(key));
    }
}

}  // namespace
}  // namespace ridge
