#include "text/pretokenize.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "text/pretokenize_patterns.hpp"
#include "text/text_util.hpp"
#include "text/unicode.hpp"

namespace ridge {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> split(PreTokenizer kind, const std::string& text) {
    std::vector<size_t> ends;
    pre_tokenize(kind, text, ends);
    std::vector<std::string> pieces;
    size_t begin = 0;
    for (const size_t end : ends) {
        EXPECT_GT(end, begin);
        pieces.push_back(text.substr(begin, end - begin));
        begin = end;
    }
    EXPECT_EQ(begin, text.size());
    return pieces;
}

using test::Oracle;

class PreTokenize : public testing::TestWithParam<PreTokenizer> {};

std::string name_of(const testing::TestParamInfo<PreTokenizer>& info) {
    const char* names[] = {"gpt2",         "smollm",         "fallback",  "llama3",
                           "qwen2",        "qwen35",         "gpt4o",     "tekken",
                           "deepseek_llm", "deepseek_coder", "deepseek3", "gemma4"};
    return names[static_cast<int>(info.param)];
}

INSTANTIATE_TEST_SUITE_P(All, PreTokenize,
                         testing::Values(PreTokenizer::gpt2, PreTokenizer::smollm,
                                         PreTokenizer::fallback, PreTokenizer::llama3,
                                         PreTokenizer::qwen2, PreTokenizer::qwen35,
                                         PreTokenizer::gpt4o, PreTokenizer::tekken,
                                         PreTokenizer::deepseek_llm, PreTokenizer::deepseek_coder,
                                         PreTokenizer::deepseek3, PreTokenizer::gemma4),
                         name_of);

// Code points that PCRE2's Unicode knows, by the scanners' own kinds, so that every kind is common.
// (Both have the same categories: unicode_test.cpp.)
const std::vector<std::vector<uint32_t>>& code_points_by_kind() {
    static const auto kinds = [] {
        test::Regex unassigned("(\\p{Cn})");
        std::vector<std::vector<uint32_t>> by_kind(12);
        for (uint32_t c = 1; c <= 0x10FFFF; ++c) {
            if (c >= 0xD800 && c <= 0xDFFF) continue;
            if (c >= 0x20000 && c % 97 != 0) continue;  // of the large blocks a few are enough
            if (unassigned.group(test::utf8(c)) == 1) continue;
            const text::Properties p = text::properties(c);
            const std::string_view letters = "LMNPSZC";
            by_kind[letters.find(static_cast<char>(p.category))].push_back(c);
            if (text::is_white_space(c)) by_kind[7].push_back(c);
            if (p.letter == text::Letter::upper) by_kind[8].push_back(c);
            if (p.letter == text::Letter::lower) by_kind[9].push_back(c);
            if (c >= 0x3000 && c < 0x3100) by_kind[10].push_back(c);   // kana
            if (c >= 0x2018 && c <= 0x201F) by_kind[11].push_back(c);  // quotes
        }
        return by_kind;
    }();
    return kinds;
}

TEST_P(PreTokenize, EqualsThePublishedPatternsOnRandomText) {
    const auto& kinds = code_points_by_kind();
    const std::string_view common = "  \n\t'''sStTrRevEmlLdD01239aZ.,!$+<=>^~|`_-\"\r//";
    Oracle oracle(GetParam());
    std::mt19937 random(20261129);
    const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
    for (int round = 0; round < 20'000; ++round) {
        std::string text;
        const size_t length = round % 100 == 0 ? 400 : 1 + below(24);
        const bool ascii = round % 3 == 0;
        for (size_t i = 0; i < length; ++i) {
            if (ascii || below(3) == 0) {
                text.push_back(common[below(common.size())]);
            } else if (below(40) == 0) {
                text += "'\xC5\xBF";  // the long s
            } else {
                const auto& kind = kinds[below(kinds.size())];
                text += test::utf8(kind[below(kind.size())]);
            }
        }
        ASSERT_EQ(split(GetParam(), text), oracle.split(text)) << testing::PrintToString(text);
    }
}

TEST_P(PreTokenize, AMegabyteOfOneLetterTakesUnderASecondAndLittleStack) {
    for (const std::string unit : {"a", "Z", " ", "\n", "1", "'", "!", "\xC3\xA9", "\xE6\xBC\xA2",
                                   " a", "'s", "a ", "12 ", "\xFF", "\xE2\x80\x83"}) {
        const std::string text = test::megabyte_of(unit);
        std::vector<size_t> ends;
        const double seconds =
            test::cpu_seconds_on_small_stack([&] { pre_tokenize(GetParam(), text, ends); });
        EXPECT_LT(seconds, test::kSecondsForAMegabyte) << unit;
        ASSERT_FALSE(ends.empty());
        EXPECT_EQ(ends.back(), text.size());
    }
}

TEST_P(PreTokenize, TakesBytesThatAreNoUtf8) {
    std::mt19937 random(7);
    for (int round = 0; round < 2000; ++round) {
        std::string text;
        for (size_t i = 0; i < 30; ++i) text.push_back(static_cast<char>(random() % 256));
        split(GetParam(), text);  // pieces are not empty and add up to the text
    }
}

TEST_P(PreTokenize, AppendsNothingForAnEmptyText) {
    EXPECT_THAT(split(GetParam(), ""), IsEmpty());
}

TEST(PreTokenizeCases, Gpt2) {
    const auto got = [](const std::string& s) { return split(PreTokenizer::gpt2, s); };
    EXPECT_THAT(got("I'm sure they'll"), ElementsAre("I", "'m", " sure", " they", "'ll"));
    EXPECT_THAT(got("a  b"), ElementsAre("a", " ", " b"));
    EXPECT_THAT(got("a \n b"), ElementsAre("a", " \n", " b"));
    EXPECT_THAT(got("a\n\nb  "), ElementsAre("a", "\n", "\n", "b", "  "));
    EXPECT_THAT(got("x1234!? y"), ElementsAre("x", "1234", "!?", " y"));
    EXPECT_THAT(got("'S 's"), ElementsAre("'", "S", " '", "s"));
}

TEST(PreTokenizeCases, SmolLmTakesDigitsOneByOne) {
    const auto got = [](const std::string& s) { return split(PreTokenizer::smollm, s); };
    EXPECT_THAT(got("in 2026"), ElementsAre("in", " ", "2", "0", "2", "6"));
    // The blanks before a digit see the end of their piece, not the digit.
    EXPECT_THAT(got("a  5  b"), ElementsAre("a", "  ", "5", " ", " b"));
}

TEST(PreTokenizeCases, FallbackIsolatesPunctuationAndTriples) {
    const auto got = [](const std::string& s) { return split(PreTokenizer::fallback, s); };
    EXPECT_THAT(got("it's"), ElementsAre("it", "'", "s"));
    EXPECT_THAT(got("a 1234567 $+b"), ElementsAre("a", " ", "123", "456", "7", " ", "$+", "b"));
    EXPECT_THAT(got(" `x"), ElementsAre(" `", "x"));
    // Triples are of ASCII digits; other numbers stay together.
    EXPECT_THAT(got("12\xD9\xA3"
                    "456"),
                ElementsAre("12\xD9\xA3", "456"));
}

TEST(PreTokenizeCases, WordsByCase) {
    const auto got = [](const std::string& s) { return split(PreTokenizer::gpt4o, s); };
    EXPECT_THAT(got("HTTPServer isn't CamelCase"),
                ElementsAre("HTTPServer", " isn't", " Camel", "Case"));
    EXPECT_THAT(got("I'LL 12345//\n/x"), ElementsAre("I'LL", " ", "123", "45", "//\n/", "x"));
    EXPECT_THAT(split(PreTokenizer::tekken, "aB's 12"), ElementsAre("a", "B", "'s", " ", "1", "2"));
}

TEST(PreTokenizeCases, LineEndsAndBlanks) {
    for (const PreTokenizer kind : {PreTokenizer::llama3, PreTokenizer::qwen2, PreTokenizer::qwen35,
                                    PreTokenizer::gpt4o, PreTokenizer::tekken}) {
        EXPECT_THAT(split(kind, "a \r\n\n  b!\n\n c  "),
                    ElementsAre("a", " \r\n\n", " ", " b", "!\n\n", " c", "  "));
    }
}

TEST(PreTokenizeCases, Names) {
    const auto kind = [](std::string_view name) { return find_pre_tokenizer(name)->kind; };
    EXPECT_EQ(kind("smollm"), PreTokenizer::smollm);
    EXPECT_EQ(kind("gpt-2"), PreTokenizer::gpt2);
    EXPECT_EQ(kind("default"), PreTokenizer::fallback);
    EXPECT_EQ(kind(""), PreTokenizer::fallback);
    EXPECT_EQ(kind("llama-bpe"), PreTokenizer::llama3);
    EXPECT_EQ(kind("qwen2"), PreTokenizer::qwen2);
    EXPECT_EQ(kind("deepseek-r1-qwen"), PreTokenizer::qwen2);
    EXPECT_EQ(kind("qwen35"), PreTokenizer::qwen35);
    EXPECT_EQ(kind("gpt-4o"), PreTokenizer::gpt4o);
    EXPECT_EQ(kind("tekken"), PreTokenizer::tekken);
    EXPECT_EQ(kind("deepseek-llm"), PreTokenizer::deepseek_llm);
    EXPECT_EQ(kind("deepseek-coder"), PreTokenizer::deepseek_coder);
    EXPECT_EQ(kind("deepseek-v3"), PreTokenizer::deepseek3);
    EXPECT_EQ(kind("gemma4"), PreTokenizer::gemma4);
    for (const char* name : {"llama-bpe", "tekken"}) {
        EXPECT_TRUE(find_pre_tokenizer(name)->ignore_merges) << name;
        EXPECT_TRUE(find_pre_tokenizer(name)->adds_bos) << name;
    }
    EXPECT_FALSE(find_pre_tokenizer("qwen2")->ignore_merges);
    EXPECT_FALSE(find_pre_tokenizer("qwen2")->adds_bos);
    EXPECT_FALSE(find_pre_tokenizer("kimi-k2"));
    EXPECT_THAT(pre_tokenizer_names(), testing::StartsWith("default, gpt-2, "));
}

}  // namespace
}  // namespace ridge
