#include "base/thread_team.hpp"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <string>
#include <system_error>
#include <thread>

#include "base/cpu.hpp"

namespace ridge {
namespace {

constexpr double full_spin_ns = 10000;
constexpr double short_spin_ns = 500;
constexpr uint32_t probe_every = 32;     // sleeps between two tries of the full spin
constexpr uint32_t affinity_every = 64;  // runs between two looks at the affinity mask

uint64_t now_ns() {
    return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                     std::chrono::steady_clock::now().time_since_epoch())
                                     .count());
}

void pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#elif defined(__riscv)
    __asm__ volatile(".word 0x0100000f");  // pause (Zihintpause), a hint: no effect where absent
#endif
}

// Nanoseconds of one pause: 15 to 60 by processor. The least of several rounds, because a round
// may be interrupted.
double pause_ns() {
    constexpr int rounds = 8, pauses = 256;
    double best = 1e9;
    for (int r = 0; r < rounds; ++r) {
        const uint64_t start = now_ns();
        for (int i = 0; i < pauses; ++i) pause();
        best = std::min(best, static_cast<double>(now_ns() - start) / pauses);
    }
    return std::clamp(best, 0.2, 1000.0);
}

// A counter that one thread advances and others wait on. Bit 0 is set while somebody sleeps (or is
// about to), the bits above count. Both are one word, so the advancing exchange sees either the
// sleeper's bit, and wakes it, or came before it, and then the sleeper's compare-exchange, or the
// kernel's comparison in FUTEX_WAIT, sees that the count has moved: no wake-up can be lost.
class Gate {
  public:
    uint32_t now() const { return word_.load(std::memory_order_relaxed) & ~1u; }

    void open() {
        const uint32_t next = now() + 2;
        if ((word_.exchange(next, std::memory_order_acq_rel) & 1u) != 0)
            futex(FUTEX_WAKE_PRIVATE, INT_MAX);
    }

    // Returns once the count differs from `seen` (a value of now()): true if it had to sleep.
    bool wait(uint32_t seen, uint32_t spins) {
        for (uint32_t i = 0; i < spins; ++i) {
            if ((word_.load(std::memory_order_acquire) & ~1u) != seen) return false;
            pause();
        }
        for (bool slept = false;; slept = true) {
            uint32_t value = word_.load(std::memory_order_acquire);
            if ((value & ~1u) != seen) return slept;
            if (value == seen &&
                !word_.compare_exchange_strong(value, seen | 1u, std::memory_order_acq_rel))
                continue;
            futex(FUTEX_WAIT_PRIVATE, static_cast<int>(seen | 1u));
        }
    }

  private:
    // Errors need no handling: EAGAIN and EINTR are what the loop in wait() is for.
    void futex(int operation, int value) {
        static_assert(sizeof(word_) == 4 && std::atomic<uint32_t>::is_always_lock_free);
        syscall(SYS_futex, &word_, operation, value, nullptr, nullptr, 0);
    }

    std::atomic<uint32_t> word_{0};
};

// How long one thread spins at one kind of wait (header comment).
struct Patience {
    uint32_t budget = 0;  // pauses
    uint64_t parks = 0;

    void note(bool slept, uint32_t shortest, uint32_t longest) {
        if (!slept) {
            budget = std::min(longest, budget * 2);
        } else {
            ++parks;
            budget = parks % probe_every == 0 ? longest : std::max(shortest, budget / 2);
        }
    }
};

}  // namespace

struct ThreadTeam::Shared {
    // Arrivals and gate share a line: the last arriver needs both, and takes the line once.
    alignas(cache_line) std::atomic<uint32_t> arrived{0};
    Gate released;
    alignas(cache_line) std::atomic<uint32_t> unfinished{0};
    Gate finished;
};

struct alignas(2 * cache_line) ThreadTeam::Slot {
    Gate start;
    alignas(cache_line) Patience at_barrier;
    Patience at_rest;  // a worker between runs; thread 0 at the end of a run
    uint64_t wait_ns = 0;
    std::thread thread;
};

ThreadTeam::ThreadTeam(unsigned threads) : shared_(std::make_unique<Shared>()) {
    threads = std::max(1u, threads);
    slots_ = std::make_unique<Slot[]>(threads);
    const double one = pause_ns();
    full_spin_ = static_cast<uint32_t>(full_spin_ns / one) + 1;
    short_spin_ = static_cast<uint32_t>(short_spin_ns / one) + 1;
    for (unsigned i = 0; i < threads; ++i)
        slots_[i].at_barrier.budget = slots_[i].at_rest.budget = full_spin_;

    // Workers inherit the mask: signals go to the program's own threads.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (size_ < threads) {
        const unsigned index = size_;
        try {
            slots_[index].thread = std::thread([this, index] { work(index); });
        } catch (const std::system_error&) {
            break;  // the limit of threads is reached: work with those there are
        }
        const std::string name = "ridge-" + std::to_string(index);
        pthread_setname_np(slots_[index].thread.native_handle(), name.c_str());
        ++size_;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

ThreadTeam::~ThreadTeam() {
    fn_ = nullptr;
    for (unsigned i = 1; i < size_; ++i) slots_[i].start.open();
    for (unsigned i = 1; i < size_; ++i) slots_[i].thread.join();
}

void ThreadTeam::check_affinity() {
    if (runs_++ % affinity_every == 0) allowed_ = allowed_cpus();
    oversubscribed_ = n_ > allowed_;
}

void ThreadTeam::run(void (*fn)(void* ctx, unsigned thread), void* ctx, unsigned n) {
    n = std::clamp(n, 1u, size_);
    fn_ = fn;
    ctx_ = ctx;
    n_ = n;
    if (n == 1) {
        fn(ctx, 0);
        return;
    }
    check_affinity();
    shared_->unfinished.store(n, std::memory_order_relaxed);
    const uint32_t barriers_before = shared_->released.now();
    const uint64_t parks_before = all_parks();
    const uint32_t seen = shared_->finished.now();
    for (unsigned i = 1; i < n; ++i) slots_[i].start.open();
    fn(ctx, 0);
    if (shared_->unfinished.fetch_sub(1, std::memory_order_acq_rel) != 1) {
        Patience& patience = slots_[0].at_rest;
        const bool slept = shared_->finished.wait(seen, spins(patience.budget));
        patience.note(slept, short_spin_, full_spin_);
    }
    run_barriers_ = (shared_->released.now() - barriers_before) / 2;
    run_parks_ = all_parks() - parks_before;
}

uint64_t ThreadTeam::all_parks() const {
    uint64_t all = 0;
    for (unsigned i = 0; i < n_; ++i) all += slots_[i].at_barrier.parks;
    return all;
}

void ThreadTeam::finish() {
    if (shared_->unfinished.fetch_sub(1, std::memory_order_acq_rel) == 1) shared_->finished.open();
}

void ThreadTeam::work(unsigned thread) {
    Slot& slot = slots_[thread];
    bool oversubscribed = false;
    for (uint32_t seen = 0;; seen += 2) {
        const bool slept = slot.start.wait(seen, oversubscribed ? 0 : slot.at_rest.budget);
        slot.at_rest.note(slept, short_spin_, full_spin_);
        if (fn_ == nullptr) return;
        oversubscribed = oversubscribed_;
        fn_(ctx_, thread);
        finish();
    }
}

uint64_t ThreadTeam::barrier(unsigned thread, void (*last)(void* arg), void* arg) {
    if (n_ == 1) {
        if (last != nullptr) last(arg);
        return 0;
    }
    Shared& shared = *shared_;
    const uint32_t seen = shared.released.now();
    if (shared.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == n_) {
        if (last != nullptr) last(arg);
        shared.arrived.store(0, std::memory_order_relaxed);
        shared.released.open();
        return 0;
    }
    Slot& slot = slots_[thread];
    const uint64_t start = timing_ ? now_ns() : 0;
    const bool slept = shared.released.wait(seen, spins(slot.at_barrier.budget));
    slot.at_barrier.note(slept, short_spin_, full_spin_);
    if (!timing_) return 0;
    const uint64_t waited = now_ns() - start;
    slot.wait_ns += waited;
    return waited;
}

void ThreadTeam::set_timing(bool on) {
    timing_ = on;
    for (unsigned i = 0; i < size_; ++i) slots_[i].wait_ns = 0;
}

uint64_t ThreadTeam::wait_ns(unsigned thread) const {
    return thread < size_ ? slots_[thread].wait_ns : 0;
}

uint64_t ThreadTeam::parks(unsigned thread) const {
    return thread < size_ ? slots_[thread].at_barrier.parks : 0;
}

}  // namespace ridge
