// The roofs of this machine at a given number of threads, measured: what percentages are of.
//
// A machine shared with others is not the same from one minute to the next (clock, neighbours on
// the memory bus), so the bench measures right before and right after each row. One look takes
// about a quarter of a second; buffers and what was learnt about streams stay in the RoofMeter.
//
// Bandwidth: each thread reads a buffer of its own, far larger than any cache, as 1, 2, 4 or 8
// linear streams, with and without a prefetch ahead; which is best differs by machine (Zen 5: four
// streams with prefetch, 1.4 times a plain scan; on Zen 4 prefetch hurts). The roof is the best
// pass of the best combination. Peaks: the best of several slices of some milliseconds. A thread's
// rate is its work over its own wall time, and the threads' rates are added, so time that another
// process took counts against the machine, as it does in the row that is measured.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <string>
#include <vector>

#include "base/aligned.hpp"
#include "base/thread_team.hpp"
#include "kernels/roof/roof.hpp"

namespace ridge {

// Sums over all threads. One multiply-add is two operations; GB and G are 1e9.
struct Roofs {
    double read_gb_s = 0;    // 0 if there was no memory for the buffers
    int read_streams = 0;    // streams a thread of the best pass
    int prefetch_bytes = 0;  // its prefetch distance
    double int8_gop_s = 0;
    double bf16_gflop_s = 0;  // equals f32_gflop_s where bf16 has no instruction
    double f32_gflop_s = 0;
    std::string set;  // instruction set of the loops: "avx512", "avx2", "scalar"
};

// Largest relative difference between two measurements over the four rates: 0.05 means that one
// of them moved by 5 %.
double difference(const Roofs& a, const Roofs& b);

class RoofMeter {
  public:
    // Takes the buffers: 256 MiB a thread up to four threads, less with more, never above a quarter
    // of the memory available; halved down to 16 MiB where the system refuses, then none.
    RoofMeter(ThreadTeam& team, unsigned threads, const RoofKernels& kernels);
    RoofMeter(ThreadTeam& team, unsigned threads) : RoofMeter(team, threads, best_roof_kernels()) {}

    // Measures for about `seconds` (at least one pass over each kind; the first call also fills
    // the buffers and tries every combination). Not while the team runs something else.
    Roofs measure(double seconds);

    unsigned threads() const { return threads_; }
    size_t buffer_bytes() const { return bytes_; }  // a thread

  private:
    struct Job;
    struct Combination {
        unsigned streams;
        size_t prefetch;
        double best = 0;  // GB/s, over all calls
    };

    void fill();
    double read_pass(const Combination& combination);
    double peak(uint32_t kind, double seconds);
    void measure_read(double seconds, Roofs& roofs);

    ThreadTeam& team_;
    unsigned threads_;
    const RoofKernels& kernels_;
    size_t bytes_ = 0;  // of each thread's buffer
    std::vector<AlignedBuffer> buffers_;
    std::vector<Combination> combinations_;  // best first once measured
    size_t next_other_ = 0;                  // which of the others has its turn
    bool filled_ = false;
};

// One measurement with buffers of its own.
Roofs measure_roofs(ThreadTeam& team, unsigned threads, double seconds_budget);

}  // namespace ridge
