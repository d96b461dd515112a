// Grammars beyond what the matcher follows: an error each time, never a mask that allows more, nor
// one that silently allows less.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sample/gbnf.hpp"
#include "sample/grammar_matcher.hpp"

namespace ridge {
namespace {

std::shared_ptr<const TokenTrie> trie() {
    static const std::string_view tokens[] = {"s", "x", "x2", "x24999", "t", "st"};
    return TokenTrie::of(tokens);
}

// More alternatives that begin alike than one configuration holds.
std::string alternatives() {
    static const std::string text = [] {
        std::string out;
        for (size_t i = 0; i < GrammarMatcher::kMaxItems + 5000; ++i)
            out += fmt::format("{}\"x{}\"", i > 0 ? " | " : "", i);
        return out;
    }();
    return text;
}

void expect_too_ambiguous(const Error& error) {
    EXPECT_EQ(error.code, ErrorCode::unsupported);
    EXPECT_NE(error.message.find("too ambiguous"), std::string::npos) << error.message;
}

TEST(GrammarLimits, ABeginningThatIsTooLargeIsAnErrorEachTime) {
    const auto g = Grammar::parse("root ::= " + alternatives());
    ASSERT_TRUE(g) << g.error().message;
    GrammarMatcher m(*g, trie());
    for (int i = 0; i < 3; ++i) {
        const auto mask = m.mask();
        ASSERT_FALSE(mask) << i;
        expect_too_ambiguous(mask.error());
        const auto taken = m.accept_text(i == 0 ? "x1" : "x24999");
        ASSERT_FALSE(taken) << i;
        expect_too_ambiguous(taken.error());
        const auto token = m.accept(1);
        ASSERT_FALSE(token) << i;
        expect_too_ambiguous(token.error());
        m.reset();
    }
}

TEST(GrammarLimits, APlaceThatIsTooLargeLeavesTheOneBefore) {
    const auto g = Grammar::parse("root ::= \"s\" (" + alternatives() + ") | \"t\"");
    ASSERT_TRUE(g) << g.error().message;
    GrammarMatcher m(*g, trie());
    const auto mask = m.mask();  // whether "s" may be followed cannot be told
    ASSERT_FALSE(mask);
    expect_too_ambiguous(mask.error());
    for (int i = 0; i < 2; ++i) {
        const auto taken = m.accept_text("sx1");
        ASSERT_FALSE(taken);
        expect_too_ambiguous(taken.error());
        EXPECT_FALSE(m.complete());
    }
    EXPECT_FALSE(m.accept_text("x"));
    ASSERT_TRUE(m.accept_text("t"));
    EXPECT_TRUE(m.complete());
    m.reset();
    EXPECT_FALSE(m.complete());
    EXPECT_TRUE(m.accept_text("t"));
}

// The limit itself: what fits is followed to its last alternative.
TEST(GrammarLimits, WhatFitsIsFollowedToItsEnd) {
    std::string text = "root ::= ";
    for (int i = 0; i < 9000; ++i) text += fmt::format("{}\"x{}\"", i > 0 ? " | " : "", i);
    const auto g = Grammar::parse(text);
    ASSERT_TRUE(g) << g.error().message;
    for (const char* last : {"x0", "x8999", "x4321"}) {
        GrammarMatcher m(*g, trie());
        ASSERT_TRUE(m.mask());
        EXPECT_TRUE(m.accept_text(last)) << last;
        EXPECT_TRUE(m.complete()) << last;
    }
    GrammarMatcher m(*g, trie());
    EXPECT_FALSE(m.accept_text("x9000"));
    EXPECT_EQ((*m.mask())[0], 0b110u) << "x and x2, not x24999";
}

TEST(GrammarLimits, TreesThatGrowTooLarge) {
    const auto refusal = [](const std::string& text) {
        const auto g = Grammar::parse(text);
        return g ? std::string("accepted") : g.error().message;
    };
    const auto states = fmt::format("more than {} states", Grammar::kMaxStates);
    EXPECT_NE(refusal("root ::= [a-z]{1000000}{1000000}").find("states"), std::string::npos);
    EXPECT_NE(refusal("root ::= \"ab\" {1000000}").find(states), std::string::npos);
    EXPECT_NE(refusal("root ::= \"a\"{2,").find("expected"), std::string::npos);
    EXPECT_NE(refusal("root ::= \"a\"{2,x}").find("expected a number"), std::string::npos);
    EXPECT_NE(refusal("root ::= \"a\"{2;}").find("expected , or }"), std::string::npos);
    EXPECT_NE(refusal("::= \"a\"").find("name of a rule"), std::string::npos);
    EXPECT_NE(refusal("root ::= (\"a\" ~)").find("expected a string"), std::string::npos);
    EXPECT_NE(refusal("root ::= [a\\").find("ends in an escape"), std::string::npos);
    EXPECT_NE(refusal("root ::= [\\x4g]").find("2 hexadecimal"), std::string::npos);
    EXPECT_NE(refusal("root ::= (x").find("not closed"), std::string::npos);
    EXPECT_NE(refusal("root ::= x\r# a remark\rx ::= \"a\"\tb").find("'b' is not defined"),
              std::string::npos);
}

}  // namespace
}  // namespace ridge
