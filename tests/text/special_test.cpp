#include "text/special.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "text/text_util.hpp"

namespace ridge::text {
namespace {

struct Found {
    size_t begin;
    size_t end;
    std::string token;
    bool operator==(const Found&) const = default;
};

std::vector<Found> find_in(const std::vector<std::string>& tokens, const std::string& text) {
    StringPool pool;
    std::vector<int32_t> ids;
    for (const std::string& token : tokens) {
        ids.push_back(static_cast<int32_t>(pool.size()));
        pool.push_back(token);
    }
    SpecialMatcher matcher;
    matcher.build(pool, ids);
    std::vector<Found> found;
    for (const auto& match : matcher.find(pool, text)) {
        found.push_back({match.begin, match.end, std::string(pool[static_cast<size_t>(match.id)])});
    }
    return found;
}

// By the definition: for each length, longest first, takes what is free from left to right.
std::vector<Found> find_naively(const std::vector<std::string>& tokens, const std::string& text) {
    size_t longest = 0;
    for (const std::string& token : tokens) longest = std::max(longest, token.size());
    std::vector<bool> taken(text.size());
    std::vector<Found> found;
    for (size_t length = longest; length > 0; --length) {
        for (size_t i = 0; i + length <= text.size(); ++i) {
            const std::string part = text.substr(i, length);
            if (std::find(tokens.begin(), tokens.end(), part) == tokens.end()) continue;
            bool is_free = true;
            for (size_t k = i; k < i + length; ++k) is_free = is_free && !taken[k];
            if (!is_free) continue;
            for (size_t k = i; k < i + length; ++k) taken[k] = true;
            found.push_back({i, i + length, part});
        }
    }
    std::sort(found.begin(), found.end(),
              [](const Found& a, const Found& b) { return a.begin < b.begin; });
    return found;
}

TEST(Special, TheLongestTokenWins) {
    EXPECT_EQ(find_in({"<a>", "<a><b>", "<b>"}, "x<a><b><b>"),
              (std::vector<Found>{{1, 7, "<a><b>"}, {7, 10, "<b>"}}));
    // Longer beats further left.
    EXPECT_EQ(find_in({"ab", "bcd"}, "abcd"), (std::vector<Found>{{1, 4, "bcd"}}));
    // What runs into a longer one falls back on a shorter one.
    EXPECT_EQ(find_in({"a", "ab", "bcd"}, "abcd"),
              (std::vector<Found>{{0, 1, "a"}, {1, 4, "bcd"}}));
    EXPECT_EQ(find_in({"\n", "\n\n", "\n\n\n\n"}, std::string(7, '\n')),
              (std::vector<Found>{{0, 4, "\n\n\n\n"}, {4, 6, "\n\n"}, {6, 7, "\n"}}));
}

TEST(Special, FindsNothingWhereThereIsNothing) {
    EXPECT_TRUE(find_in({}, "abc").empty());
    EXPECT_TRUE(find_in({"abcd"}, "abc").empty());
    EXPECT_TRUE(find_in({"a"}, "").empty());
}

TEST(Special, EqualsTheDefinitionOnRandomTokens) {
    std::mt19937 random(5);
    const auto word = [&](size_t most, unsigned letters) {
        std::string s;
        const size_t n = 1 + random() % most;
        for (size_t i = 0; i < n; ++i) s.push_back(static_cast<char>(0xFE + random() % letters));
        return s;
    };
    for (int round = 0; round < 3000; ++round) {
        std::vector<std::string> tokens;
        const auto letters = static_cast<unsigned>(1 + random() % 3);
        for (unsigned i = 0; i < 1 + random() % 8; ++i) tokens.push_back(word(6, letters));
        const std::string text = word(40, letters);
        ASSERT_EQ(find_in(tokens, text), find_naively(tokens, text));
    }
}

TEST(Special, AMegabyteOfOneLetterIsQuick) {
    std::vector<std::string> runs;
    for (size_t n = 1; n <= 31; ++n) runs.emplace_back(n, '\n');
    StringPool pool;
    std::vector<int32_t> ids;
    for (const std::string& run : runs) {
        ids.push_back(static_cast<int32_t>(pool.size()));
        pool.push_back(run);
    }
    SpecialMatcher matcher;
    matcher.build(pool, ids);
    const std::string text = test::megabyte_of("\n");
    std::vector<SpecialMatcher::Match> matches;
    const double seconds =
        test::cpu_seconds_on_small_stack([&] { matches = matcher.find(pool, text); });
    EXPECT_LT(seconds, test::kSecondsForAMegabyte);
    EXPECT_EQ(matches.size(), (text.size() + 30) / 31);
}

}  // namespace
}  // namespace ridge::text
