#include "lower/memory_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace ridge {
namespace {

size_t rounded(size_t n) {
    return (n + 63) / 64 * 64;
}

void check(const std::vector<Lifetime>& lives, const Placement& p) {
    ASSERT_EQ(p.offsets.size(), lives.size());
    size_t end = 0, most_alive = 0;
    for (size_t i = 0; i < lives.size(); ++i) {
        if (lives[i].first > lives[i].last) continue;
        EXPECT_EQ(p.offsets[i] % 64, 0u);
        end = std::max(end, p.offsets[i] + rounded(lives[i].bytes));
        size_t alive = 0;  // bytes alive at the step where i begins
        for (size_t j = 0; j < lives.size(); ++j) {
            if (lives[j].first > lives[j].last) continue;
            if (lives[j].first <= lives[i].first && lives[i].first <= lives[j].last)
                alive += rounded(lives[j].bytes);
            if (j <= i || lives[j].first > lives[i].last || lives[i].first > lives[j].last)
                continue;
            const bool apart = p.offsets[i] + lives[i].bytes <= p.offsets[j] ||
                               p.offsets[j] + lives[j].bytes <= p.offsets[i];
            EXPECT_TRUE(apart || lives[i].bytes == 0 || lives[j].bytes == 0)
                << i << " and " << j << " are alive together and overlap";
        }
        most_alive = std::max(most_alive, alive);
    }
    EXPECT_EQ(p.arena_bytes, end);
    EXPECT_GE(p.arena_bytes, most_alive);
}

TEST(MemoryPlan, LiveBuffersNeverOverlap) {
    std::mt19937 rng(1);
    for (int round = 0; round < 300; ++round) {
        std::vector<Lifetime> lives(1 + rng() % 60);
        for (Lifetime& l : lives) {
            l.bytes = rng() % 10 == 0 ? rng() % 100000 : rng() % 500;
            l.first = static_cast<uint32_t>(rng() % 40);
            l.last = l.first + static_cast<uint32_t>(rng() % 8);
            if (rng() % 20 == 0) l = {l.bytes, UINT32_MAX, 0};  // never used
        }
        check(lives, place_buffers(lives));
        if (HasFailure()) return;
    }
}

TEST(MemoryPlan, SpaceIsUsedAgain) {
    // A chain: only two neighbours are alive at once.
    std::vector<Lifetime> chain;
    for (uint32_t i = 0; i < 20; ++i) chain.push_back({6400, i, i + 1});
    const Placement p = place_buffers(chain);
    check(chain, p);
    EXPECT_EQ(p.arena_bytes, 2u * 6400);
    // Buffers that are never used take nothing.
    EXPECT_EQ(place_buffers({{1000, 5, 4}}).arena_bytes, 0u);
    EXPECT_EQ(place_buffers({}).arena_bytes, 0u);
}

}  // namespace
}  // namespace ridge
