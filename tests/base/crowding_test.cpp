#include "base/crowding.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "base/thread_team.hpp"

namespace ridge {
namespace {

constexpr uint32_t barriers = 150;
constexpr uint64_t calm = 3, crowded = barriers;  // sleeps of each thread but one

// One decode pass as Context makes it: asked for, run with what was advised, judged.
unsigned step(Crowding& c, unsigned wanted, uint64_t sleeps) {
    const unsigned threads = c.advise(wanted);
    c.note(threads, barriers, sleeps * (threads - 1));
    return threads;
}

void crowd_out(Crowding& c, unsigned wanted, unsigned from) {
    for (uint32_t i = 0; i < Crowding::runs_to_leave; ++i)
        ASSERT_EQ(step(c, wanted, crowded), from);
}

TEST(Crowding, QuietRunsKeepAllThreads) {
    Crowding c;
    for (int i = 0; i < 1000; ++i) ASSERT_EQ(step(c, 2, calm), 2u);
}

TEST(Crowding, OneBadRunNowAndThenIsNoSign) {
    Crowding c;
    for (uint32_t i = 0; i < 1000; ++i)
        ASSERT_EQ(step(c, 2, i % Crowding::runs_to_leave == 0 ? calm : crowded), 2u);
}

TEST(Crowding, LeavesOneOutAndTriesAgain) {
    Crowding c;
    crowd_out(c, 2, 2);
    for (int round = 0; round < 5; ++round) {
        for (uint32_t i = 0; i < Crowding::runs_to_retry; ++i) ASSERT_EQ(step(c, 2, crowded), 1u);
        ASSERT_EQ(step(c, 2, crowded), 2u) << "the trial, which one crowded run ends";
    }
    for (uint32_t i = 0; i < Crowding::runs_to_retry; ++i) ASSERT_EQ(step(c, 2, calm), 1u);
    for (int i = 0; i < 1000; ++i) ASSERT_EQ(step(c, 2, calm), 2u) << "the neighbour is gone";
}

TEST(Crowding, AfterATrialSeveralRunsAreNeededAgain) {
    Crowding c;
    crowd_out(c, 2, 2);
    for (uint32_t i = 0; i < Crowding::runs_to_retry; ++i) step(c, 2, calm);
    for (uint32_t i = 0; i < Crowding::trial_runs; ++i) ASSERT_EQ(step(c, 2, calm), 2u);
    ASSERT_EQ(step(c, 2, crowded), 2u);
    ASSERT_EQ(step(c, 2, calm), 2u);
}

TEST(Crowding, LeavesOutNoMoreThanItMust) {
    Crowding c;
    crowd_out(c, 8, 8);
    for (int i = 0; i < 50; ++i) ASSERT_EQ(step(c, 8, calm), 7u);
    Crowding two;
    crowd_out(two, 8, 8);
    crowd_out(two, 8, 7);
    EXPECT_EQ(two.advise(8), 6u);
}

TEST(Crowding, AtLeastOneThreadIsLeft) {
    Crowding c;
    for (int i = 0; i < 1000; ++i) ASSERT_GE(step(c, 3, crowded), 1u);
    EXPECT_EQ(c.advise(1), 1u);
}

TEST(Crowding, RunsWithFewBarriersTellNothing) {
    Crowding c;
    for (int i = 0; i < 100; ++i) {
        ASSERT_EQ(c.advise(2), 2u);
        c.note(2, Crowding::fewest_barriers - 1, Crowding::fewest_barriers);
    }
}

// A team advises what its own runs have shown: a thread that comes late to every barrier sends
// the other to sleep.
TEST(Crowding, TeamCountsItsOwnSleeps) {
    ThreadTeam team(2);
    struct Job {
        ThreadTeam* team;
        bool late;
    } job{&team, true};
    const auto body = [](void* ctx, unsigned thread) {
        const Job& j = *static_cast<Job*>(ctx);
        for (int i = 0; i < 20; ++i) {
            if (j.late && thread == 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
            j.team->barrier(thread);
        }
    };
    for (uint32_t i = 0; i < Crowding::runs_to_leave; ++i) {
        ASSERT_EQ(team.advise(2), 2u);
        team.run(body, &job, 2);
        team.note_crowding();
    }
    EXPECT_EQ(team.advise(2), 1u);
    EXPECT_EQ(team.advise(0), 1u);
}

}  // namespace
}  // namespace ridge
