#include "text/utf8_stream.hpp"

#include <gtest/gtest.h>

#include <random>

#include "text/text_util.hpp"
#include "text/unicode.hpp"

namespace ridge {
namespace {

const std::string kR(text::kReplacement);

std::string whole(std::string_view bytes) {
    Utf8Stream stream;
    std::string text = stream.push(bytes);
    return text + stream.finish();
}

bool well_formed(std::string_view s) {
    return !text::replace_ill_formed(s).has_value();
}

TEST(Utf8Stream, HoldsACodePointBackUntilItIsWhole) {
    Utf8Stream stream;
    EXPECT_EQ(stream.push("a\xF0"), "a");
    EXPECT_EQ(stream.push("\x9F"), "");
    EXPECT_EQ(stream.push("\x98"), "");
    EXPECT_EQ(stream.pending(), 3u);
    EXPECT_EQ(stream.push("\x80z"), "\xF0\x9F\x98\x80z");
    EXPECT_EQ(stream.pending(), 0u);
    EXPECT_EQ(stream.finish(), "");
}

TEST(Utf8Stream, ReplacesAsSoonAsItIsCertain) {
    Utf8Stream stream;
    EXPECT_EQ(stream.push("\xFF"), kR);           // never begins anything
    EXPECT_EQ(stream.push("\x80"), kR);           // continues nothing
    EXPECT_EQ(stream.push("\xE0"), "");           // may still become something
    EXPECT_EQ(stream.push("\x9F"), kR + kR);      // overlong: neither does
    EXPECT_EQ(stream.push("\xED\xA0"), kR + kR);  // a surrogate
    EXPECT_EQ(stream.push("\xF4\x90"), kR + kR);  // past U+10FFFF
    EXPECT_EQ(stream.push("\xE4\xBD"
                          "a"),
              kR + "a");
    EXPECT_EQ(stream.push("\xE4\xBD\xC3"), kR);  // a new lead byte: the old one is over
    EXPECT_EQ(stream.push("\xA9"), "\xC3\xA9");
    EXPECT_EQ(stream.push("\xE4\xBD"), "");
    EXPECT_EQ(stream.finish(), kR);
    EXPECT_EQ(stream.push("\xBD"), kR);  // as new
}

// The examples of the Unicode standard, tables 3-8 to 3-11.
TEST(Utf8Stream, ReplacesMaximalSubparts) {
    EXPECT_EQ(whole("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"),
              kR + kR + kR + kR + kR + kR + kR + kR + "A");
    EXPECT_EQ(whole("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41"),
              kR + kR + kR + kR + kR + kR + kR + kR + "A");
    EXPECT_EQ(whole("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42"),
              kR + kR + kR + kR + kR + "A" + kR + kR + "B");
    EXPECT_EQ(whole("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"), kR + kR + kR + kR + "A");
}

TEST(Utf8Stream, TheResultDoesNotDependOnTheCuts) {
    std::mt19937 random(3);
    const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
    for (int round = 0; round < 5000; ++round) {
        std::string bytes;
        for (size_t i = 0; i < 12; ++i) {
            switch (below(4)) {
                case 0:
                    bytes.push_back(static_cast<char>(below(256)));
                    break;
                case 1:
                    bytes += test::utf8(static_cast<uint32_t>(0x10000 + below(0x100000)));
                    break;
                case 2:
                    bytes += test::utf8(static_cast<uint32_t>(0x800 + below(0xD000)));
                    break;
                default:
                    bytes += "a";
            }
        }
        const std::string wanted = whole(bytes);
        ASSERT_TRUE(well_formed(wanted));
        ASSERT_EQ(well_formed(bytes), wanted == bytes);
        Utf8Stream stream;
        std::string got;
        for (size_t at = 0; at < bytes.size();) {
            const size_t n = below(4);
            const std::string piece = stream.push(std::string_view(bytes).substr(at, n));
            ASSERT_TRUE(well_formed(piece));
            ASSERT_LE(stream.pending(), 3u);
            got += piece;
            at += n;
        }
        got += stream.finish();
        ASSERT_EQ(got, wanted);
    }
}

}  // namespace
}  // namespace ridge
