#include "text/pretokenize.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "text/pcre.hpp"
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

// White_Space is spelt out: PCRE2's \s also takes U+180E.
const std::string kSpaces =
    "\\x{9}-\\x{D}\\x{20}\\x{85}\\x{A0}\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}"
    "\\x{205F}\\x{3000}";
const std::string kGpt2 = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^" + kSpaces +
                          "\\p{L}\\p{N}]+|[" + kSpaces + "]+(?![^" + kSpaces + "])|[" + kSpaces +
                          "]+";

class Oracle {
  public:
    explicit Oracle(PreTokenizer kind) {
        if (kind == PreTokenizer::smollm) steps_.emplace_back("\\p{N}");
        if (kind == PreTokenizer::fallback) steps_.emplace_back("[\\p{P}\\$\\+<=>\\^~\\|]+");
        steps_.emplace_back(kGpt2);
        if (kind == PreTokenizer::fallback) {
            steps_.emplace_back("\\p{N}+");
            steps_.emplace_back("[0-9][0-9][0-9]");
        }
    }
    std::vector<std::string> split(const std::string& text) {
        std::vector<std::string> pieces = {text};
        if (text.empty()) return {};
        for (test::Regex& step : steps_) {
            std::vector<std::string> next;
            for (const std::string& piece : pieces) {
                for (std::string& part : step.split(piece)) next.push_back(std::move(part));
            }
            pieces = std::move(next);
        }
        return pieces;
    }

  private:
    std::vector<test::Regex> steps_;
};

class PreTokenize : public testing::TestWithParam<PreTokenizer> {};

std::string name_of(const testing::TestParamInfo<PreTokenizer>& info) {
    const char* names[] = {"gpt2", "smollm", "fallback"};
    return names[static_cast<int>(info.param)];
}

INSTANTIATE_TEST_SUITE_P(All, PreTokenize,
                         testing::Values(PreTokenizer::gpt2, PreTokenizer::smollm,
                                         PreTokenizer::fallback),
                         name_of);

// Code points that PCRE2's Unicode knows, by the scanners' own kinds, so that every kind is common.
std::vector<std::vector<uint32_t>> code_points_by_kind() {
    test::Regex unassigned("(\\p{Cn})");
    std::vector<std::vector<uint32_t>> kinds(8);
    for (uint32_t c = 1; c <= 0x10FFFF; ++c) {
        if (c >= 0xD800 && c <= 0xDFFF) continue;
        if (c >= 0xF0000 && c % 997 != 0) continue;  // private use: a few are enough
        if (unassigned.group(test::utf8(c)) == 1) continue;
        const std::string_view letters = "LMNPSZC";
        const char kind = static_cast<char>(text::category(c));
        kinds[letters.find(kind)].push_back(c);
        if (text::is_white_space(c)) kinds[7].push_back(c);
    }
    return kinds;
}

TEST_P(PreTokenize, EqualsThePublishedPatternsOnRandomText) {
    const auto kinds = code_points_by_kind();
    const std::string_view common = "  \n\t'''strvemld01239aZ.,!$+<=>^~|`_-\"\r";
    Oracle oracle(GetParam());
    std::mt19937 random(20261129);
    const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
    for (int round = 0; round < 30'000; ++round) {
        std::string text;
        const size_t length = round % 100 == 0 ? 500 : 1 + below(24);
        const bool ascii = round % 3 == 0;
        for (size_t i = 0; i < length; ++i) {
            if (ascii || below(3) == 0) {
                text.push_back(common[below(common.size())]);
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

TEST(PreTokenizeCases, Names) {
    EXPECT_EQ(find_pre_tokenizer("smollm"), PreTokenizer::smollm);
    EXPECT_EQ(find_pre_tokenizer("gpt-2"), PreTokenizer::gpt2);
    EXPECT_EQ(find_pre_tokenizer("default"), PreTokenizer::fallback);
    EXPECT_EQ(find_pre_tokenizer(""), PreTokenizer::fallback);
    EXPECT_EQ(find_pre_tokenizer("llama-bpe"), std::nullopt);
    EXPECT_EQ(pre_tokenizer_names(), "default, gpt-2, smollm");
}

}  // namespace
}  // namespace ridge
