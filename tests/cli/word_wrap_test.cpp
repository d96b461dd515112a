// Breaking a stream of text between words, however it arrives.
#include "cli/word_wrap.hpp"

#include <gtest/gtest.h>

#include <random>
#include <sstream>

namespace ridge::cli {
namespace {

std::string whole(std::string_view text, size_t columns) {
    WordWrap wrap(columns);
    std::string out = wrap.push(text);
    return out + wrap.finish();
}

TEST(WordWrap, BreaksBetweenWords) {
    EXPECT_EQ(whole("one two three", 20), "one two three");
    EXPECT_EQ(whole("one two three", 13), "one two three");
    EXPECT_EQ(whole("one two three", 12), "one two\nthree");
    EXPECT_EQ(whole("one two three", 7), "one two\nthree");
    EXPECT_EQ(whole("one two three", 6), "one\ntwo\nthree");
    EXPECT_EQ(whole("a  b", 3), "a\nb") << "blanks at a break go";
    EXPECT_EQ(whole("a\n\nb\n", 3), "a\n\nb\n");
    EXPECT_EQ(whole("  indented text", 12), "  indented\ntext");
    EXPECT_EQ(whole("a\tb", 8), "a\nb") << "a tab goes to column 8";
    EXPECT_EQ(whole("a\tb", 9), "a\tb");
    EXPECT_EQ(whole("", 9), "");
}

TEST(WordWrap, LongWordsAreCutWhereTheLineEnds) {
    EXPECT_EQ(whole("abcdefgh", 3), "abc\ndef\ngh");
    EXPECT_EQ(whole("x abcdefgh y", 4), "x\nabcd\nefgh\ny");
}

TEST(WordWrap, ColumnsAreNotBytes) {
    EXPECT_EQ(whole("\xc3\xa4\xc3\xb6 \xc3\xbc\xc3\x9f", 5), "\xc3\xa4\xc3\xb6 \xc3\xbc\xc3\x9f");
    EXPECT_EQ(whole("\xc3\xa4\xc3\xb6 \xc3\xbc\xc3\x9f", 4), "\xc3\xa4\xc3\xb6\n\xc3\xbc\xc3\x9f");
    // two columns each, and no blanks: it may break anywhere
    EXPECT_EQ(whole("\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2", 4),
              "\xe6\xbc\xa2\xe5\xad\x97\n\xe6\xbc\xa2");
    // a combining accent takes none, an escape sequence neither
    EXPECT_EQ(whole("e\xcc\x81t\xcc\x81 a", 4), "e\xcc\x81t\xcc\x81 a");
    EXPECT_EQ(whole("\033[2mab\033[0m cd", 5), "\033[2mab\033[0m cd");
    EXPECT_EQ(whole("\033[2mab\033[0m cd", 4), "\033[2mab\033[0m\ncd");
}

TEST(WordWrap, CodeIsLeftAsItIs) {
    const std::string code = "```c\nint a_long_name = another_name + 1;\n```\n";
    EXPECT_EQ(whole(code + "one two three", 8), code + "one two\nthree");
    EXPECT_EQ(whole("a ``` b c d", 5), "a ```\nb c d") << "a fence begins a line";
}

TEST(WordWrap, WithoutColumnsAllPassesAtOnce) {
    WordWrap wrap(0);
    EXPECT_EQ(wrap.push("half a wo"), "half a wo");
    EXPECT_EQ(wrap.push("rd"), "rd");
    EXPECT_EQ(wrap.finish(), "");
}

TEST(WordWrap, HoldsBackOneWordAtMost) {
    WordWrap wrap(40);
    EXPECT_EQ(wrap.push("one tw"), "one");
    EXPECT_EQ(wrap.push("o three "), " two three");
    EXPECT_EQ(wrap.push("end"), "");
    EXPECT_EQ(wrap.finish(), " end");
}

// However the text is cut into pieces, the lines are the same, none too long, and the words all
// there.
TEST(WordWrap, PiecesDoNotMatter) {
    std::mt19937 random(7);
    const char* const parts[] = {"a",  "word", "somewhat-longer", " ", " ", "\n", "\xc3\xa4",
                                 "  ", ".",    "\033[2m"};
    for (int round = 0; round < 500; ++round) {
        std::string text;
        std::vector<std::string> pieces;
        for (int i = 0; i < 40; ++i) {
            pieces.emplace_back(parts[random() % std::size(parts)]);
            text += pieces.back();
        }
        const size_t columns = 4 + random() % 30;
        WordWrap wrap(columns);
        std::string out;
        for (const std::string& p : pieces) out += wrap.push(p);
        out += wrap.finish();
        ASSERT_EQ(out, whole(text, columns)) << text;
        std::istringstream lines(out);
        for (std::string line; std::getline(lines, line);) {
            size_t columns_used = 0;
            for (size_t i = 0; i < line.size(); ++i)
                if (line.compare(i, 4, "\033[2m") == 0)
                    i += 3;
                else if ((static_cast<unsigned char>(line[i]) & 0xC0) != 0x80)
                    ++columns_used;
            ASSERT_LE(columns_used, columns) << line;
        }
        const auto letters = [](const std::string& s) {
            std::string kept;
            for (const char c : s)
                if (c != ' ' && c != '\n') kept += c;
            return kept;
        };
        ASSERT_EQ(letters(out), letters(text));
    }
}

}  // namespace
}  // namespace ridge::cli
