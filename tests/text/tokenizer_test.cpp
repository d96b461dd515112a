// Vocabularies made by hand: what each rule of encoding and decoding does.
#include "text/tokenizer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "text/text_util.hpp"
#include "text/vocab_util.hpp"

namespace ridge {
namespace {

using test::byte_level_vocab;
using test::kFirstByte;
using test::sentencepiece_vocab;
using testing::ElementsAre;
using testing::IsEmpty;

Tokenizer make(const test::VocabMaker& vocab) {
    auto made = Tokenizer::create(vocab.data);
    if (!made) throw std::runtime_error(made.error().message);
    return std::move(*made);
}

const std::string kMark = "\xE2\x96\x81";  // U+2581

TEST(ByteLevelBpe, MergesByRank) {
    auto vocab = byte_level_vocab("gpt-2");
    const int32_t ab = vocab.add("ab");
    const int32_t bc = vocab.add("bc");
    const int32_t abc = vocab.add("abc");
    vocab.merge("b c");
    vocab.merge("a b");
    vocab.merge("a bc");
    const Tokenizer t = make(vocab);
    EXPECT_THAT(t.encode("abc", true, false), ElementsAre(abc));  // b c first, then a bc
    EXPECT_THAT(t.encode("ab", true, false), ElementsAre(ab));
    EXPECT_THAT(t.encode("bcab", true, false), ElementsAre(bc, ab));
    EXPECT_THAT(t.encode("abbc", true, false), ElementsAre(ab, bc));
    EXPECT_THAT(t.encode("", true, true), IsEmpty());
    EXPECT_EQ(t.decode(std::vector<int32_t>{abc, ' ', ab}), "abc ab");
}

TEST(ByteLevelBpe, NeverMergesAcrossPieces) {
    auto vocab = byte_level_vocab("gpt-2");
    const int32_t blank_a = vocab.add(
        "\xC4\xA0"
        "a");  // a space is written U+0120
    vocab.add("a1");
    vocab.merge("\xC4\xA0 a");
    vocab.merge("a 1");
    const Tokenizer t = make(vocab);
    EXPECT_THAT(t.encode("a a1", false, false), ElementsAre('a', blank_a, '1'));
    EXPECT_EQ(t.bytes(blank_a), " a");
    EXPECT_EQ(t.raw(blank_a),
              "\xC4\xA0"
              "a");
}

TEST(ByteLevelBpe, EveryByteHasItsToken) {
    const Tokenizer t = make(byte_level_vocab("default"));
    for (int b = 0; b < 256; ++b) {
        EXPECT_EQ(t.bytes(b), std::string(1, static_cast<char>(b)));
    }
    std::vector<int32_t> wanted;
    const std::string text = "\x01 \xC2\xAD\xF0\x9F\x98\x80\x7F";
    for (const char c : text) wanted.push_back(static_cast<uint8_t>(c));
    EXPECT_EQ(t.encode(text, false, false), wanted);
    EXPECT_THAT(t.encode("a\xFF", false, false), ElementsAre('a', 0xEF, 0xBF, 0xBD));
}

TEST(ByteLevelBpe, HasNoLeadingSpaceWhateverTheFileSays) {
    auto vocab = byte_level_vocab("gpt-2");
    vocab.data.add_space_prefix = true;
    const Tokenizer t = make(vocab);
    EXPECT_THAT(t.encode("a", true, false), ElementsAre('a'));
    EXPECT_EQ(t.decode(t.encode(" a", true, false)), " a");
}

TEST(ByteLevelBpe, AByteWithoutATokenIsLeftOut) {
    test::VocabMaker vocab("gpt2");
    vocab.add("a");
    vocab.add("b", TokenType::control);  // control tokens stand for no byte
    const Tokenizer t = make(vocab);
    EXPECT_THAT(t.encode("a?a", false, false), ElementsAre(0, 0));
    EXPECT_THAT(t.encode("ab", false, false), ElementsAre(0));
    EXPECT_THAT(t.encode("ab", false, true), ElementsAre(0, 1));
}

TEST(ByteLevelBpe, IgnoresMergesOfWhatIsNoNormalToken) {
    auto vocab = byte_level_vocab("gpt-2");
    const int32_t control = vocab.add("<|>", TokenType::control);
    const int32_t open = vocab.add("<|");
    vocab.merge("< |");
    vocab.merge("<| >");  // would spell a control token
    vocab.merge("q zz");  // no such part
    vocab.merge("a b");   // no such result
    vocab.merge("ab");    // no space
    vocab.merge(" ");
    vocab.merge("");
    const Tokenizer t = make(vocab);
    EXPECT_THAT(t.encode("<|>", false, false), ElementsAre(open, '>'));
    EXPECT_THAT(t.encode("<|>", false, true), ElementsAre(control));
    EXPECT_THAT(t.encode("ab", false, false), ElementsAre('a', 'b'));
}

TEST(ByteLevelBpe, EqualsTheDefinitionOnRandomVocabularies) {
    std::mt19937 random(31);
    for (int round = 0; round < 200; ++round) {
        auto vocab = byte_level_vocab("gpt-2");
        std::vector<std::string> known = {"a", "b", "c"};
        std::vector<std::pair<std::string, std::string>> rules;
        for (int i = 0; i < 25; ++i) {
            const std::string left = known[random() % known.size()];
            const std::string right = known[random() % known.size()];
            if (std::find(known.begin(), known.end(), left + right) != known.end()) continue;
            known.push_back(left + right);
            rules.emplace_back(left, right);
            vocab.add(left + right);
            vocab.merge(left + " " + right);
        }
        const Tokenizer t = make(vocab);
        std::string text;
        const size_t n = round % 20 == 0 ? 1200 : 1 + random() % 60;
        for (size_t i = 0; i < n; ++i) text.push_back(static_cast<char>('a' + random() % 3));
        // One rule after the other, everywhere, from left to right: for rules in the order in which
        // they were learned this is what merging by rank comes to.
        std::vector<std::string> parts;
        for (const char c : text) parts.emplace_back(1, c);
        for (const auto& [left, right] : rules) {
            std::vector<std::string> next;
            for (size_t i = 0; i < parts.size(); ++i) {
                if (i + 1 < parts.size() && parts[i] == left && parts[i + 1] == right) {
                    next.push_back(left + right);
                    ++i;
                } else {
                    next.push_back(parts[i]);
                }
            }
            parts = std::move(next);
        }
        std::vector<std::string> got;
        for (const int32_t id : t.encode(text, false, false)) got.emplace_back(t.bytes(id));
        ASSERT_EQ(got, parts);
    }
}

TEST(ByteLevelBpe, SomePreTokenizersTakeWholePiecesFirst) {
    for (const char* pre : {"llama-bpe", "tekken", "qwen2"}) {
        auto vocab = byte_level_vocab(pre);
        const int32_t ab = vocab.add("ab");
        const int32_t abc = vocab.add("abc");                     // no merge builds it
        const int32_t e = vocab.add("\xC4\xA0\xC3\x83\xC2\xA9");  // " e acute"
        const int32_t control = vocab.add("abab", TokenType::control);
        vocab.merge("a b");
        const Tokenizer t = make(vocab);
        const bool whole = std::string_view(pre) != "qwen2";
        if (whole) {
            EXPECT_THAT(t.encode("abc \xC3\xA9", false, false), ElementsAre(abc, e)) << pre;
        } else {
            EXPECT_THAT(t.encode("abc \xC3\xA9", false, false),
                        ElementsAre(ab, 'c', ' ', 0xC3, 0xA9));
        }
        EXPECT_THAT(t.encode("abab", false, false), ElementsAre(ab, ab)) << pre;
        EXPECT_THAT(t.encode("abab", false, true), ElementsAre(control)) << pre;
    }
}

// "gemma4": as Gemma 4's tokenizer.json, small.
test::VocabMaker char_bpe_vocab() {
    auto vocab = sentencepiece_vocab(false);
    vocab.data.model = "gemma4";
    return vocab;
}

TEST(CharacterBpe, MergesCodePointsByRankWithinLines) {
    auto vocab = char_bpe_vocab();
    for (const char* letter : {"a", "b", "\n", "\xC3\xA9"}) vocab.add(letter);
    const int32_t marked = vocab.add(kMark + "a");
    const int32_t two_words = vocab.add(kMark + "a" + kMark + "a");
    const int32_t accented = vocab.add("a\xC3\xA9");
    const int32_t lines = vocab.add("\n\n");
    vocab.add("b\n");
    vocab.merge(kMark + " a");
    vocab.merge("a \xC3\xA9");
    vocab.merge("b \n");  // a line's end never joins what stands before it
    vocab.merge("\n \n");
    vocab.merge(kMark + "a " + kMark + "a");
    const Tokenizer t = make(vocab);
    const int32_t b = t.find("b");
    EXPECT_THAT(t.encode(" a a", false, false), ElementsAre(two_words));  // words may join
    EXPECT_THAT(t.encode("a\xC3\xA9 a", false, false), ElementsAre(accented, marked));
    EXPECT_THAT(t.encode("b\n\n\nb", false, false), ElementsAre(b, lines, t.find("\n"), b));
    EXPECT_EQ(t.decode(t.encode(" a\xC3\xA9\n b", false, false)), " a\xC3\xA9\n b");
}

TEST(CharacterBpe, FallsBackOnBytesAndKeepsThem) {
    auto vocab = char_bpe_vocab();
    const int32_t a = vocab.add("a");
    const Tokenizer t = make(vocab);
    const std::string text = "a\xFF\xE4 \xC3\xA9";
    EXPECT_THAT(t.encode(text, false, false),
                ElementsAre(a, kFirstByte + 0xFF, kFirstByte + 0xE4, test::kMarkId,
                            kFirstByte + 0xC3, kFirstByte + 0xA9));
    EXPECT_EQ(t.decode(t.encode(text, false, false)), text);
    for (const int32_t id : t.encode("<s></s><unk><0x41>", false, false)) {
        EXPECT_FALSE(t.is_control(id));
        EXPECT_NE(id, kFirstByte + 'A');
    }
    EXPECT_THAT(t.encode("<s>a", false, true), ElementsAre(1, a));
}

TEST(SentencePiece, MergesByScoreAndLeftmostAmongEquals) {
    auto vocab = sentencepiece_vocab(false);
    const int32_t a = vocab.add("a", TokenType::normal, -9);
    const int32_t b = vocab.add("b", TokenType::normal, -9);
    const int32_t ab = vocab.add("ab", TokenType::normal, -2);
    const int32_t ba = vocab.add("ba", TokenType::normal, -1);
    const int32_t aa = vocab.add("aa", TokenType::normal, -3);
    const Tokenizer t = make(vocab);
    EXPECT_THAT(t.encode("aba", false, false), ElementsAre(a, ba));
    EXPECT_THAT(t.encode("abb", false, false), ElementsAre(ab, b));
    EXPECT_THAT(t.encode("aaa", false, false), ElementsAre(aa, a));
}

TEST(SentencePiece, PositiveNegativeAndZeroScoresAreInOrder) {
    auto vocab = sentencepiece_vocab(false);
    for (const char* letter : {"a", "b", "c", "d", "e"}) vocab.add(letter);
    const int32_t ab = vocab.add("ab", TokenType::normal, -0.5f);
    const int32_t bc = vocab.add("bc", TokenType::normal, 0.0f);
    const int32_t cd = vocab.add("cd", TokenType::normal, 1e-3f);
    vocab.add("de", TokenType::normal, -1e30f);
    const Tokenizer t = make(vocab);
    const int32_t a = t.find("a");
    const int32_t e = t.find("e");
    EXPECT_THAT(t.encode("abc", false, false), ElementsAre(a, bc));
    EXPECT_THAT(t.encode("abcd", false, false), ElementsAre(ab, cd));
    EXPECT_THAT(t.encode("cde", false, false), ElementsAre(cd, e));
}

TEST(SentencePiece, LeadingSpace) {
    for (const bool prefix : {true, false}) {
        auto vocab = sentencepiece_vocab(prefix);
        const int32_t mark = test::kMarkId;
        const int32_t a = vocab.add("a", TokenType::normal, -1);
        const int32_t word = vocab.add(kMark + "a", TokenType::normal, -1);
        const Tokenizer t = make(vocab);
        const auto with = [&](std::string_view text) { return t.encode(text, true, true); };
        if (prefix) {
            EXPECT_THAT(with("a"), ElementsAre(1, word));
            EXPECT_THAT(with(" a"), ElementsAre(1, mark, word));
            // After a special token the space comes again.
            EXPECT_THAT(with("a</s>a"), ElementsAre(1, word, 2, word));
            EXPECT_EQ(t.decode(with(" a a")), " a a");
        } else {
            EXPECT_THAT(with("a"), ElementsAre(1, a));
            EXPECT_THAT(with(" a"), ElementsAre(1, word));
            EXPECT_THAT(with("a</s> a"), ElementsAre(1, a, 2, word));
            EXPECT_EQ(t.decode(with(" a a")), " a a");
        }
        EXPECT_THAT(t.encode("", true, true), ElementsAre(1));
        EXPECT_THAT(t.encode("", false, false), IsEmpty());
        EXPECT_EQ(t.bytes(word), " a");
        EXPECT_EQ(t.decode(std::vector<int32_t>{word, word}), prefix ? "a a" : " a a");
    }
}

TEST(SentencePiece, FallsBackOnBytes) {
    auto vocab = sentencepiece_vocab(false);
    const int32_t a = vocab.add("a");
    const Tokenizer t = make(vocab);
    EXPECT_THAT(t.encode("a\xC3\xA9", false, false),
                ElementsAre(a, kFirstByte + 0xC3, kFirstByte + 0xA9));
    EXPECT_THAT(t.encode("\xFF"
                         "a\xE4",
                         false, false),
                ElementsAre(kFirstByte + 0xFF, a, kFirstByte + 0xE4));
    EXPECT_EQ(t.bytes(kFirstByte + 0xFF), "\xFF");
    EXPECT_EQ(t.decode(t.encode("a\xC3\xA9\xFF z", false, false)), "a\xC3\xA9\xFF z");
}

TEST(SentencePiece, UnknownWhereBytesHaveNoTokens) {
    test::VocabMaker vocab("llama");
    vocab.data.unk = vocab.add("<unk>", TokenType::unknown);
    const int32_t a = vocab.add("a");
    const Tokenizer t = make(vocab);
    EXPECT_THAT(t.encode("a\xC3\xA9"
                         "a",
                         false, false),
                ElementsAre(a, 0, a));
    EXPECT_EQ(t.bytes(0), "");
}

TEST(SentencePiece, TextNeverSpellsControlByteOrUnknownTokens) {
    auto vocab = sentencepiece_vocab(false);
    // Pieces by which merging could reach each of them.
    for (const char* piece :
         {"<",  "s",  ">",   "/",  "u",   "n",    "k",  "0",   "x",    "4",    "1",
          "<s", "</", "</s", "<u", "<un", "<unk", "<0", "<0x", "<0x4", "<0x41"}) {
        vocab.add(piece, TokenType::normal, 1);
    }
    const Tokenizer t = make(vocab);
    for (const char* text : {"<s>", "</s>", "<unk>", "<0x41>"}) {
        const auto ids = t.encode(text, false, false);
        EXPECT_GT(ids.size(), 1u) << text;
        EXPECT_EQ(t.decode(ids), text);
    }
    EXPECT_THAT(t.encode("<s></s>", false, true), ElementsAre(1, 2));
    EXPECT_THAT(t.encode("<unk>", false, true), ElementsAre(0));
}

TEST(Special, UserDefinedTokensAreFoundBeforeMerging) {
    auto vocab = sentencepiece_vocab(false);
    const int32_t a = vocab.add("a");
    vocab.add("a\n", TokenType::normal, 5);
    const int32_t two = vocab.add("\n\n", TokenType::user_defined);
    const int32_t one = vocab.add("\n", TokenType::user_defined);
    const int32_t blanks = vocab.add("  ", TokenType::user_defined);
    const Tokenizer t = make(vocab);
    EXPECT_THAT(t.encode("a\n\n\na", false, false), ElementsAre(a, two, one, a));
    EXPECT_THAT(t.encode("a  a", false, false), ElementsAre(a, blanks, a));
    EXPECT_EQ(t.bytes(two), "\n\n");
    EXPECT_FALSE(t.is_control(two));
}

TEST(Special, AddsWhatTheFileAsksFor) {
    auto vocab = byte_level_vocab("gpt-2");
    vocab.data.bos = vocab.add("<b>", TokenType::control);
    vocab.data.eos = vocab.add("<e>", TokenType::control);
    vocab.data.add_eos = true;
    const auto bos = static_cast<int32_t>(vocab.data.bos);
    const auto eos = static_cast<int32_t>(vocab.data.eos);
    EXPECT_THAT(make(vocab).encode("a", true, false), ElementsAre('a', eos));
    vocab.data.add_bos = true;
    const Tokenizer t = make(vocab);
    EXPECT_THAT(t.encode("a", true, false), ElementsAre(bos, 'a', eos));
    EXPECT_THAT(t.encode("a", false, false), ElementsAre('a'));
    EXPECT_THAT(t.encode("<b>a", false, true), ElementsAre(bos, 'a'));
    EXPECT_THAT(t.encode("<b>a", false, false), ElementsAre('<', 'b', '>', 'a'));
    EXPECT_EQ(t.bos(), bos);
    EXPECT_EQ(t.eos(), eos);
    EXPECT_TRUE(t.adds_bos());
}

TEST(Special, TwoBosTokensAreSeen) {
    auto vocab = byte_level_vocab("gpt-2");
    vocab.data.bos = vocab.add("<b>", TokenType::control);
    vocab.data.add_bos = true;
    const Tokenizer t = make(vocab);
    EXPECT_TRUE(t.doubles_bos(t.encode("<b>a", true, true)));
    EXPECT_FALSE(t.doubles_bos(t.encode("<b>a", true, false)));  // a user's text
    EXPECT_FALSE(t.doubles_bos(t.encode("<b>a", false, true)));
    EXPECT_FALSE(t.doubles_bos(t.encode("a<b>", true, true)));
    EXPECT_FALSE(t.doubles_bos({}));
    vocab.data.add_bos = false;
    EXPECT_FALSE(make(vocab).doubles_bos(t.encode("<b><b>", false, true)));
}

TEST(Special, EndsAndControlTokens) {
    auto vocab = byte_level_vocab("gpt-2");
    vocab.data.eos = vocab.add("<e>");  // typed normal: control all the same
    vocab.data.eot = vocab.add("<t>");
    vocab.data.other_ends.push_back(vocab.add("<m>"));
    const int32_t named = vocab.add("<|im_end|>", TokenType::user_defined);
    const int32_t opens = vocab.add("<|im_start|>", TokenType::user_defined);
    const int32_t plain = vocab.add("<p>", TokenType::control);
    const Tokenizer t = make(vocab);
    for (const int64_t id :
         {vocab.data.eos, vocab.data.eot, vocab.data.other_ends[0], static_cast<int64_t>(named)}) {
        EXPECT_TRUE(t.is_end(static_cast<int32_t>(id))) << id;
        EXPECT_TRUE(t.is_control(static_cast<int32_t>(id))) << id;
    }
    EXPECT_FALSE(t.is_end(opens));
    EXPECT_TRUE(t.is_control(opens));
    EXPECT_FALSE(t.is_end(plain));
    EXPECT_FALSE(t.is_end('a'));
    for (const int32_t id : t.encode("<|im_start|><|im_end|><e><t><m>", false, false)) {
        EXPECT_FALSE(t.is_control(id));
    }
}

TEST(Special, WhatLooksLikeAControlTokenIsNotSpelt) {
    auto vocab = byte_level_vocab("gpt-2");
    std::vector<int32_t> control;
    for (const char* name : {"<|user|>", "<\xEF\xBD\x9CUser\xEF\xBD\x9C>", "<|turn>", "<turn|>",
                             "<fim_prefix>", "<|x|>"})
        control.push_back(vocab.add(name, TokenType::user_defined));
    std::vector<int32_t> plain;
    for (const char* name : {"<think>", "</think>", "<table>", "<>"})
        plain.push_back(vocab.add(name, TokenType::user_defined));
    const Tokenizer t = make(vocab);
    for (const int32_t id : control) {
        const std::string name(t.raw(id));
        EXPECT_TRUE(t.is_control(id)) << name;
        for (const int32_t got : t.encode(name, false, false)) EXPECT_LT(got, 256) << name;
        EXPECT_THAT(t.encode(name, false, true), ElementsAre(id));
    }
    for (const int32_t id : plain) {
        EXPECT_FALSE(t.is_control(id)) << t.raw(id);
        EXPECT_THAT(t.encode(t.raw(id), false, false), ElementsAre(id));
    }
}

TEST(Tokenizer, IdsOutsideTheVocabularyAreHarmless) {
    const Tokenizer t = make(byte_level_vocab("gpt-2"));
    for (const int32_t id : {-1, -2147483647 - 1, 256, 2147483647}) {
        EXPECT_EQ(t.bytes(id), "");
        EXPECT_EQ(t.raw(id), "");
        EXPECT_FALSE(t.is_control(id));
        EXPECT_FALSE(t.is_end(id));
    }
    EXPECT_EQ(t.decode(std::vector<int32_t>{'a', 999999, -7, 'b'}), "ab");
    EXPECT_EQ(t.find("no such token"), -1);
    EXPECT_EQ(t.bos(), -1);
    EXPECT_EQ(t.size(), 256);
}

// Tokens of 1, 2, 4, ... letters: the deepest tower of merges a long run can climb.
TEST(Tokenizer, AMegabyteOfOneLetterTakesUnderASecondAndLittleStack) {
    for (const char* pre :
         {"gpt-2", "smollm", "default", "llama-bpe", "qwen2", "qwen35", "gpt-4o", "tekken",
          "deepseek-llm", "deepseek-coder", "deepseek-v3", "gemma4", "llama", "llama with space"}) {
        const std::string_view name = pre;
        const bool pieces = name == "llama" || name == "llama with space" || name == "gemma4";
        auto vocab =
            !pieces ? byte_level_vocab(pre) : sentencepiece_vocab(name == "llama with space");
        if (name == "gemma4") vocab = char_bpe_vocab();
        for (const std::string letter : {"a", "!", "1"}) {
            std::string run = letter;
            if (pieces) vocab.add(run, TokenType::normal, -100);
            for (int i = 0; i < 12; ++i) {
                vocab.merge(run + " " + run);
                run += run;
                vocab.add(run, TokenType::normal, static_cast<float>(i));
            }
        }
        const Tokenizer t = make(vocab);
        for (const std::string letter : {"a", "!", "1", "b", " ", "\xC3\xA9"}) {
            const std::string text = test::megabyte_of(letter);
            std::vector<int32_t> ids;
            const double seconds =
                test::cpu_seconds_on_small_stack([&] { ids = t.encode(text, false, false); });
            EXPECT_LT(seconds, test::kSecondsForAMegabyte) << pre << " " << letter;
            EXPECT_TRUE(t.decode(ids) == text) << pre << " " << letter;
        }
    }
}

}  // namespace
}  // namespace ridge
