// How many threads of a team to use while somebody else holds a core.
//
// With two threads and one core taken, the kernel puts both threads on the core that is left: they
// run one at a time, and every barrier is a sleep and a change of threads (of all threads but one).
// The work is then done by one core either way, and faster by one thread that never waits. The sign
// is plain: in a run with a barrier for each of some 150 steps, about every barrier sent somebody
// to sleep, where on a quiet machine one in a hundred does. Two busy neighbours on two cores do not
// show it, and there the team keeps its fair share.
//
// So after several such runs in succession one thread is left out, and every so often it is tried
// again: a single run that is crowded again ends the trial. Only runs whose barriers are close
// together (decode) may be judged: in a long step a sleep is no sign of anything.
// tools/contention.py measures what comes of it.
#pragma once

#include <stdint.h>

#include <algorithm>

namespace ridge {

class Crowding {
  public:
    static constexpr uint32_t fewest_barriers = 16;  // runs with fewer tell nothing
    static constexpr uint32_t runs_to_leave = 4;     // crowded ones in succession
    static constexpr uint32_t runs_to_retry = 64;
    static constexpr uint32_t trial_runs = 16;  // after a retry, one crowded run is enough

    // Threads to use for the next run, 1..wanted (wanted >= 1).
    unsigned advise(unsigned wanted) {
        if (left_out_ > 0 && ++runs_ > runs_to_retry) {
            --left_out_;
            runs_ = 0;
            trial_ = trial_runs;
            crowded_ = 0;
        }
        left_out_ = std::min(left_out_, wanted - 1);
        return wanted - left_out_;
    }

    // After that run: how many threads it had, barriers passed, and sleeps of all threads in them.
    void note(unsigned threads, uint32_t barriers, uint64_t sleeps) {
        if (threads < 2 || barriers < fewest_barriers) return;
        crowded_ = sleeps * 2 >= uint64_t{barriers} * (threads - 1) ? crowded_ + 1 : 0;
        const uint32_t enough = trial_ > 0 ? 1 : runs_to_leave;
        if (trial_ > 0) --trial_;
        if (crowded_ < enough) return;
        ++left_out_;
        crowded_ = trial_ = runs_ = 0;
    }

  private:
    unsigned left_out_ = 0;
    uint32_t crowded_ = 0;  // crowded runs in succession
    uint32_t runs_ = 0;     // since a thread was left out
    uint32_t trial_ = 0;    // runs that are left of a trial
};

}  // namespace ridge
