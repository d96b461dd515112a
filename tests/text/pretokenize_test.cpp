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

// (?i: ...) as it is published; without regard to case, PCRE2 as Oniguruma takes U+017F for an s.
const std::string kContraction = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
const std::string kTail =
    "[" + kSpaces + "]*[\\r\\n]+|[" + kSpaces + "]+(?![^" + kSpaces + "])|[" + kSpaces + "]+";

// The patterns after GPT-2's: words of `word`, numbers of at most `digits`, `not_marks` besides
// space.
std::string words_pattern(const std::string& word, const std::string& digits,
                          const std::string& not_marks) {
    return kContraction + "|[^\\r\\n\\p{L}\\p{N}]?" + word + "+|\\p{N}" + digits + "| ?[^" +
           kSpaces + not_marks + "]+[\\r\\n]*|" + kTail;
}

std::string cased_pattern(const std::string& suffix, const std::string& digits) {
    const std::string upper = "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]";
    const std::string lower = "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]";
    const std::string prefix = "[^\\r\\n\\p{L}\\p{N}]?";
    return prefix + upper + "*" + lower + "+" + suffix + "|" + prefix + upper + "+" + lower + "*" +
           suffix + "|\\p{N}" + digits + "| ?[^" + kSpaces + "\\p{L}\\p{N}]+[\\r\\n/]*|" + kTail;
}

const std::string kCjk = "[\\x{4E00}-\\x{9FA5}\\x{800}-\\x{4E00}\\x{AC00}-\\x{D7FF}]+";
const std::string kLatin =
    "A-Za-z\\x{B5}\\x{C0}-\\x{D6}\\x{D8}-\\x{F6}\\x{F8}-\\x{1BA}\\x{1BC}-\\x{1BF}\\x{1C4}-"
    "\\x{293}\\x{295}-\\x{2AF}\\x{370}-\\x{373}\\x{376}\\x{377}\\x{37B}-\\x{37D}\\x{37F}"
    "\\x{386}\\x{388}-\\x{38A}\\x{38C}\\x{38E}-\\x{3A1}\\x{3A3}-\\x{3F5}\\x{3F7}-\\x{481}"
    "\\x{48A}-\\x{52F}\\x{531}-\\x{556}\\x{10A0}-\\x{10C5}\\x{13A0}-\\x{13F5}\\x{13F8}-"
    "\\x{13FD}\\x{1C90}-\\x{1CBA}\\x{1CBD}-\\x{1CBF}\\x{1D00}-\\x{1D2B}\\x{1D6B}-\\x{1D77}"
    "\\x{1D79}-\\x{1D9A}\\x{1E00}-\\x{1F15}\\x{1F18}-\\x{1F1D}\\x{1F20}-\\x{1F45}\\x{1F48}-"
    "\\x{1F4D}\\x{1F50}-\\x{1F57}\\x{1F59}\\x{1F5B}\\x{1F5D}\\x{1F5F}-\\x{1F7D}\\x{1F80}-"
    "\\x{1FB4}\\x{1FB6}-\\x{1FBC}\\x{1FBE}\\x{1FC2}-\\x{1FC4}\\x{1FC6}-\\x{1FCC}\\x{1FD0}-"
    "\\x{1FD3}\\x{1FD6}-\\x{1FDB}\\x{1FE0}-\\x{1FEC}\\x{1FF2}-\\x{1FF4}\\x{1FF6}-\\x{1FFC}"
    "\\x{2102}\\x{2107}\\x{210A}-\\x{2113}\\x{2115}\\x{2119}-\\x{211D}\\x{2124}\\x{2126}"
    "\\x{2128}\\x{212A}-\\x{212D}\\x{212F}-\\x{2134}\\x{2139}\\x{213C}-\\x{213F}\\x{2145}-"
    "\\x{2149}\\x{214E}\\x{2183}\\x{2184}\\x{2C00}-\\x{2C7B}\\x{2C7E}-\\x{2CE4}\\x{2CEB}-"
    "\\x{2CEE}\\x{2CF2}\\x{2CF3}\\x{A640}-\\x{A66D}\\x{A680}-\\x{A69B}\\x{A722}-\\x{A76F}"
    "\\x{A771}-\\x{A787}\\x{A78B}-\\x{A78E}\\x{AB70}-\\x{ABBF}\\x{FB00}-\\x{FB06}\\x{FB13}-"
    "\\x{FB17}\\x{FF21}-\\x{FF3A}\\x{FF41}-\\x{FF5A}\\x{10400}-\\x{1044F}\\x{104B0}-"
    "\\x{104D3}\\x{104D8}-\\x{104FB}\\x{10C80}-\\x{10CB2}\\x{10CC0}-\\x{10CF2}\\x{118A0}-"
    "\\x{118DF}\\x{1E900}-\\x{1E943}";

std::vector<std::string> patterns(PreTokenizer kind) {
    const std::string space = "[" + kSpaces + "]";
    switch (kind) {
        case PreTokenizer::gpt2:
            return {kGpt2};
        case PreTokenizer::smollm:
            return {"\\p{N}", kGpt2};
        case PreTokenizer::fallback:
            return {"[\\p{P}\\$\\+<=>\\^~\\|]+", kGpt2, "\\p{N}+", "[0-9][0-9][0-9]"};
        case PreTokenizer::llama3:
            return {words_pattern("\\p{L}", "{1,3}", "\\p{L}\\p{N}")};
        case PreTokenizer::qwen2:
            return {words_pattern("\\p{L}", "", "\\p{L}\\p{N}")};
        case PreTokenizer::qwen35:
            return {words_pattern("[\\p{L}\\p{M}]", "", "\\p{L}\\p{M}\\p{N}")};
        case PreTokenizer::gpt4o:
            return {cased_pattern(kContraction + "?", "{1,3}")};
        case PreTokenizer::tekken:
            return {cased_pattern("", "")};
        case PreTokenizer::deepseek_llm:
            return {"[\\r\\n]",
                    space + "?[" + kLatin + "]+",
                    space +
                        "?[!-/:-~\\x{FF01}-\\x{FF0F}\\x{FF1A}-\\x{FF5E}\\x{2018}-\\x{201F}"
                        "\\x{3000}-\\x{3002}]+",
                    space + "+$",
                    kCjk,
                    "\\p{N}+"};
        case PreTokenizer::deepseek_coder:
            return {"[\\r\\n]", space + "?\\p{L}+", space + "?\\p{P}+", kCjk, "\\p{N}"};
        case PreTokenizer::deepseek3:
            return {
                "\\p{N}{1,3}", "[\\x{4E00}-\\x{9FA5}\\x{3040}-\\x{309F}\\x{30A0}-\\x{30FF}]+",
                "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?"
                "[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|" +
                    kTail};
        case PreTokenizer::gemma4:
            return {"[^\\n]+|[\\n]+"};
    }
    return {};
}

class Oracle {
  public:
    explicit Oracle(PreTokenizer kind) {
        for (const std::string& pattern : patterns(kind)) steps_.emplace_back(pattern);
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
