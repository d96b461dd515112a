#include "text/unicode.hpp"

#include <gtest/gtest.h>

#include "text/pcre.hpp"
#include "text/text_util.hpp"

namespace ridge {
namespace {

using test::utf8;
using text::Category;

bool is_surrogate(uint32_t c) {
    return c >= 0xD800 && c <= 0xDFFF;
}

// PCRE2 of Debian 12 knows Unicode 14: what it calls unassigned may be younger than that.
TEST(Unicode, CategoriesAreThoseOfPcre) {
    test::Regex regex(
        "(?:(\\p{L})|(\\p{M})|(\\p{N})|(\\p{P})|(\\p{S})|(\\p{Z})|(\\p{Cn})|(\\p{C}))");
    const Category kinds[] = {Category::letter,      Category::mark,   Category::number,
                              Category::punctuation, Category::symbol, Category::separator};
    uint32_t assigned = 0;
    for (uint32_t c = 0; c <= 0x10FFFF; ++c) {
        if (is_surrogate(c)) continue;
        const uint32_t group = regex.group(utf8(c));
        ASSERT_NE(group, 0u) << std::hex << c;
        if (group == 7) continue;
        ++assigned;
        const Category wanted = group == 8 ? Category::other : kinds[group - 1];
        ASSERT_EQ(text::category(c), wanted) << std::hex << c;
    }
    EXPECT_GT(assigned, 280'000u);
}

TEST(Unicode, KnowsLettersOfUnicode15) {
    EXPECT_EQ(text::category(0x11240), Category::letter);  // Khojki QA, 15.0
    EXPECT_EQ(text::category(0x2EBF0), Category::letter);  // CJK extension I, 15.1
    EXPECT_EQ(text::category(0x2FFC), Category::symbol);   // ideographic description, 15.1
    EXPECT_EQ(text::category(0xD800), Category::other);
    EXPECT_EQ(text::category(0x10FFFF), Category::other);
    EXPECT_EQ(text::category(0x110000), Category::other);
    EXPECT_EQ(text::category(text::kInvalid), Category::other);
}

TEST(Unicode, WhiteSpaceIsTheProperty) {
    // PCRE2's \s with UCP is \p{Z}, \h and \v together, of which only U+180E is no White_Space.
    test::Regex regex("(\\s)");
    for (uint32_t c = 0; c <= 0x10FFFF; ++c) {
        if (is_surrogate(c)) continue;
        ASSERT_EQ(text::is_white_space(c), regex.group(utf8(c)) == 1 && c != 0x180E)
            << std::hex << c;
    }
}

TEST(Unicode, ReadsAndWritesEveryCodePoint) {
    for (uint32_t c = 0; c <= 0x10FFFF; ++c) {
        if (is_surrogate(c)) continue;
        const std::string s = "x" + utf8(c) + "y";
        const text::CodePoint got = text::decode_utf8(s, 1);
        ASSERT_EQ(got.value, c);
        ASSERT_EQ(got.length, s.size() - 2);
        std::string written = "x";
        text::append_utf8(written, c);
        ASSERT_EQ(written + "y", s);
    }
}

TEST(Unicode, RefusesWhatIsNotWellFormed) {
    const std::string_view bad[] = {
        "\x80",
        "\xBF",
        "\xC0\x80",
        "\xC1\xBF",
        "\xC3",
        "\xC3(",
        "\xE0\x9F\xBF",
        "\xED\xA0\x80",
        "\xE4\xBD",
        "\xE4\xBD(",
        "\xF0\x8F\xBF\xBF",
        "\xF4\x90\x80\x80",
        "\xF5\x80\x80\x80",
        "\xFF",
        "\xF0\x9F\x98",
        "\xF0\x9F\x98(",
    };
    for (const std::string_view s : bad) {
        const text::CodePoint got = text::decode_utf8(s, 0);
        EXPECT_EQ(got.value, text::kInvalid);
        EXPECT_EQ(got.length, 1u);
    }
}

TEST(Unicode, ReplacesEachByteThatIsNotWellFormed) {
    EXPECT_FALSE(text::replace_ill_formed("a\xC3\xA9 \xF0\x9F\x98\x80"));
    EXPECT_FALSE(text::replace_ill_formed(""));
    const std::string r(text::kReplacement);
    EXPECT_EQ(text::replace_ill_formed("a\xFF"
                                       "b\xC3\xA9\xE4\xBD"),
              "a" + r + "b\xC3\xA9" + r + r);
}

}  // namespace
}  // namespace ridge
