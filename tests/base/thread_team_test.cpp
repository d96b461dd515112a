#include "base/thread_team.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "base/cpu.hpp"

namespace ridge {
namespace {

constexpr unsigned rounds = 4000;

// Every thread adds to its own plain cell, meets the others, and then reads all cells: a barrier
// that lets one through early shows as a wrong sum (and as a race under TSan).
struct SumJob {
    ThreadTeam* team;
    unsigned n;
    std::vector<uint64_t> cells;
    std::vector<uint64_t> wrong;

    static void body(void* ctx, unsigned thread) {
        SumJob& job = *static_cast<SumJob*>(ctx);
        for (unsigned round = 1; round <= rounds; ++round) {
            job.cells[thread * 8] = round * (thread + 1);
            job.team->barrier(thread);
            uint64_t sum = 0;
            for (unsigned i = 0; i < job.n; ++i) sum += job.cells[i * 8];
            if (sum != uint64_t{round} * job.n * (job.n + 1) / 2) ++job.wrong[thread * 8];
            job.team->barrier(thread);
        }
    }
};

void check_sums(ThreadTeam& team, unsigned n) {
    SumJob job{&team, n, std::vector<uint64_t>(n * 8), std::vector<uint64_t>(n * 8)};
    team.run(SumJob::body, &job, n);
    for (unsigned i = 0; i < n; ++i) EXPECT_EQ(job.wrong[i * 8], 0u) << "thread " << i;
}

class Rounds : public testing::TestWithParam<unsigned> {};

TEST_P(Rounds, BarrierHoldsEverybody) {
    ThreadTeam team(GetParam());
    ASSERT_EQ(team.size(), GetParam());
    check_sums(team, GetParam());
}

// What threads claim from a counter adds up, and `last` resets it exactly once a step.
struct TileJob {
    ThreadTeam* team;
    std::atomic<uint32_t> counter{0};
    std::vector<uint8_t> taken;
    uint64_t resets = 0;  // plain on purpose: only the last arriver may touch it
    uint64_t wrong = 0;
    static constexpr uint32_t tiles = 37;

    static void last(void* arg) {
        TileJob& job = *static_cast<TileJob*>(arg);
        job.counter.store(0, std::memory_order_relaxed);
        ++job.resets;
        for (uint8_t& times : job.taken) {
            if (times != 1) ++job.wrong;
            times = 0;
        }
    }
    static void body(void* ctx, unsigned thread) {
        TileJob& job = *static_cast<TileJob*>(ctx);
        for (unsigned round = 0; round < rounds; ++round) {
            for (uint32_t tile;
                 (tile = job.counter.fetch_add(1, std::memory_order_relaxed)) < tiles;)
                ++job.taken[tile];
            job.team->barrier(thread, last, &job);
        }
    }
};

TEST_P(Rounds, TilesAreClaimedOnceAndResetOnce) {
    ThreadTeam team(GetParam());
    TileJob job{&team, {}, std::vector<uint8_t>(TileJob::tiles)};
    team.run(TileJob::body, &job, team.size());
    EXPECT_EQ(job.resets, rounds);
    EXPECT_EQ(job.wrong, 0u);
}

// Many short runs of changing width: start and end of a run must order memory as barriers do.
TEST_P(Rounds, RunsStartAndEnd) {
    ThreadTeam team(GetParam());
    struct Job {
        std::vector<uint64_t> cells;
        uint64_t input = 0;
    } job;
    job.cells.resize(team.size());
    std::vector<uint64_t> expected(team.size());
    for (unsigned round = 0; round < rounds; ++round) {
        const unsigned n = 1 + round % team.size();
        job.input = round;
        team.run(
            [](void* ctx, unsigned thread) {
                Job& j = *static_cast<Job*>(ctx);
                j.cells[thread] += j.input;
            },
            &job, n);
        for (unsigned i = 0; i < n; ++i) expected[i] += round;
        ASSERT_EQ(job.cells, expected) << "round " << round;
    }
}

INSTANTIATE_TEST_SUITE_P(Threads, Rounds, testing::Values(1u, 2u, 3u, 5u));

TEST(ThreadTeam, ZeroThreadsCountAsOneAndWidthIsClamped) {
    ThreadTeam team(0);
    EXPECT_EQ(team.size(), 1u);
    std::atomic<unsigned> calls{0};
    const auto count = [](void* ctx, unsigned) { ++*static_cast<std::atomic<unsigned>*>(ctx); };
    team.run(count, &calls, 0);
    team.run(count, &calls, 9);
    EXPECT_EQ(calls, 2u);
}

TEST(ThreadTeam, LastIsCalledWithOneThread) {
    ThreadTeam team(1);
    TileJob job{&team, {}, std::vector<uint8_t>(TileJob::tiles)};
    team.run(TileJob::body, &job, 1);
    EXPECT_EQ(job.resets, rounds);
}

// On one core (taskset), with more threads than CPUs, waiting must not spin: the rounds end in
// reasonable time. A thread that spun until its time slice ended would take half a minute.
TEST(ThreadTeam, OneCoreForAllThreads) {
    cpu_set_t before;
    ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE; ++i) {
        if (CPU_ISSET(i, &before)) {
            CPU_SET(i, &one);
            break;
        }
    }
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(allowed_cpus(), 1u);
    EXPECT_EQ(physical_cores(), 1u);
    {
        ThreadTeam team(3);  // workers inherit the mask
        const auto start = std::chrono::steady_clock::now();
        check_sums(team, 3);
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
        EXPECT_LT(took.count(), 25.0);
        EXPECT_GT(team.parks(0) + team.parks(1) + team.parks(2), rounds / 2);
    }
    ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

// A busy loop on every CPU beside the team: barriers still end, sums are right.
TEST(ThreadTeam, BusyNeighbours) {
    std::atomic<bool> stop{false};
    std::vector<std::thread> hogs;
    for (unsigned i = 0; i < allowed_cpus() && i < 4; ++i) {
        hogs.emplace_back([&stop] {
            while (!stop.load(std::memory_order_relaxed)) {
            }
        });
    }
    {
        ThreadTeam team(2);
        struct Job {
            ThreadTeam* team;
            uint64_t total = 0;
        } job{&team, 0};
        team.run(
            [](void* ctx, unsigned thread) {
                Job& j = *static_cast<Job*>(ctx);
                for (unsigned i = 0; i < 1000; ++i)
                    j.team->barrier(thread, [](void* arg) { ++static_cast<Job*>(arg)->total; }, &j);
            },
            &job, 2);
        EXPECT_EQ(job.total, 1000u);
    }
    stop = true;
    for (std::thread& hog : hogs) hog.join();
}

TEST(ThreadTeam, TimingCountsTheWait) {
    ThreadTeam team(2);
    struct Job {
        ThreadTeam* team;
        uint64_t returned = 0;
    } job{&team, 0};
    const auto body = [](void* ctx, unsigned thread) {
        Job& j = *static_cast<Job*>(ctx);
        if (thread == 1) std::this_thread::sleep_for(std::chrono::milliseconds(100));
        const uint64_t waited = j.team->barrier(thread);
        if (thread == 0) j.returned = waited;
    };
    team.run(body, &job, 2);
    EXPECT_EQ(job.returned, 0u) << "timing is off";
    EXPECT_EQ(team.wait_ns(0), 0u);
    team.set_timing(true);
    team.run(body, &job, 2);
    EXPECT_GT(job.returned, 10'000'000u);
    EXPECT_EQ(team.wait_ns(0), job.returned);
    EXPECT_LT(team.wait_ns(1), team.wait_ns(0));
    EXPECT_GE(team.parks(0), 1u) << "so long a wait must sleep";
    team.set_timing(true);
    EXPECT_EQ(team.wait_ns(0), 0u) << "totals start anew";
}

}  // namespace
}  // namespace ridge
