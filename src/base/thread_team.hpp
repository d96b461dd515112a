// A team of threads that run one function together and meet at barriers.
//
// Decode of a small model crosses some 150 barriers a token, tens of microseconds apart, so
// a barrier must cost well under a microsecond while every thread has a core. It must also not
// collapse when one of the cores is shared with somebody else: a thread that spins there takes the
// very time that the thread it waits for needs. So a waiting thread spins for a bounded time only,
// then sleeps on a futex:
//
// - the spin is counted in pause instructions, calibrated when the team starts, at most 10 us
// (about
//   what a sleep and its wake-up cost);
// - a wait that ended in sleep halves the thread's next spin (down to about 0.5 us), one that ended
//   while spinning doubles it; every 32nd sleep tries the full spin again, so that a quiet machine
//   is noticed;
// - a team with more threads than CPUs in the affinity mask does not spin at all (the mask is read
//   at the start and at every 64th run, so a later taskset is honoured).
//
// Measured on two cores (steps of 40 us of work, 150 a token): with a busy loop beside the team it
// keeps half of its quiet speed with one loop as with two; spinning without bound keeps a third and
// a fifth, sleeping at once costs a fifth on the quiet machine.
//
// Threads are not pinned: on a shared machine the scheduler may move one away from a busy core.
// Work should be claimed in tiles (runtime/core) instead of being split in fixed shares, so that a
// thread that lost its core only delays the tile that it holds.
//
// Memory order: everything written before a barrier by any thread is visible after it to all, and
// likewise from the caller into run() and back out of it.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <atomic>
#include <memory>

#include "base/crowding.hpp"

namespace ridge {

inline constexpr size_t cache_line = 64;

class ThreadTeam {
  public:
    // The thread that calls run() is thread 0; threads - 1 workers are started, fewer where the
    // operating system refuses (size() tells). 0 counts as 1. Workers block all signals.
    explicit ThreadTeam(unsigned threads);
    ~ThreadTeam();
    ThreadTeam(const ThreadTeam&) = delete;
    ThreadTeam& operator=(const ThreadTeam&) = delete;

    unsigned size() const { return size_; }

    // Runs fn(ctx, thread) for thread = 0..n-1, each on its own thread, and returns when all are
    // done. n is clamped to 1..size(). fn must not throw and must not call run(); one caller at
    // a time. Does not allocate.
    void run(void (*fn)(void* ctx, unsigned thread), void* ctx, unsigned n);

    // Waits until all n threads of the running call have come here; every one of them must come.
    // `last`, if given, is called exactly once, by the thread that came last, before anybody is
    // released: the place to reset what the next step shares. Returns the nanoseconds this thread
    // waited where timing is on, else 0.
    uint64_t barrier(unsigned thread) { return barrier(thread, nullptr, nullptr); }
    uint64_t barrier(unsigned thread, void (*last)(void* arg), void* arg);

    // Between runs only. Threads to use for the next run of a kind that passes many barriers close
    // together, 1..n: fewer than n while another program holds a core (crowding.hpp). After that
    // run, note_crowding() takes its sleeps into account.
    unsigned advise(unsigned n) { return crowding_.advise(n == 0 ? 1 : n); }
    void note_crowding() { crowding_.note(n_, run_barriers_, run_parks_); }

    // Between runs only: turns timing on or off and zeroes the totals.
    void set_timing(bool on);
    // Total time the thread waited in barriers since set_timing(true). Read between runs.
    uint64_t wait_ns(unsigned thread) const;
    // How often the thread went to sleep in a barrier since the team started. Read between runs.
    uint64_t parks(unsigned thread) const;

  private:
    struct Shared;
    struct Slot;

    void work(unsigned thread);
    void finish();
    uint32_t spins(uint32_t budget) const { return oversubscribed_ ? 0 : budget; }
    void check_affinity();
    uint64_t all_parks() const;

    std::unique_ptr<Shared> shared_;
    std::unique_ptr<Slot[]> slots_;
    unsigned size_ = 1;

    // The running job. Written by the caller of run() before the workers are started.
    void (*fn_)(void*, unsigned) = nullptr;
    void* ctx_ = nullptr;
    unsigned n_ = 1;
    unsigned allowed_ = 1;  // CPUs in the affinity mask when last looked at
    bool oversubscribed_ = false;
    bool timing_ = false;
    uint32_t full_spin_ = 0;   // pauses in the longest spin
    uint32_t short_spin_ = 0;  // pauses in the shortest
    uint32_t runs_ = 0;
    uint32_t run_barriers_ = 0;  // of the last run
    uint64_t run_parks_ = 0;     // and the sleeps of its threads in them
    Crowding crowding_;
};

}  // namespace ridge
