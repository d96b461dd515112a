// Cosines and sines of every position a sequence has come to, for each of a program's RoPE tables.
//
// A context of 32768 tokens has 17 million of them in Gemma 3: a third of a second, and memory that
// a short conversation never reads. So the tables grow with the longest sequence, some positions
// at a time, shared among the threads of a team. A value depends on its position only, so it is the
// same whenever it is computed.
#pragma once

#include <stdint.h>

#include <vector>

#include "base/aligned.hpp"
#include "base/thread_team.hpp"
#include "program/program.hpp"

namespace ridge {

class RopeTables {
  public:
    // Room for positions 0 .. context - 1, none of them filled in. The context decides between a
    // table's two sets of factors, once: rotated keys stay in the cache. Error: out_of_memory.
    static Result<RopeTables> create(const Program& program, uint32_t context);

    // Fills in positions 0 .. end - 1 (end <= context) where they are not, and some more, on
    // `threads` threads of the team. Does not allocate.
    void fill(ThreadTeam& team, uint32_t threads, uint32_t end);

    // Of table t: [position][n_rot], cosines, then sines.
    const float* const* tables() const { return tables_.data(); }
    uint64_t bytes() const { return memory_.size(); }

  private:
    struct Table {
        float* values;
        uint32_t n_rot;
        size_t first_frequency;
        double magnitude;
    };
    struct Job;
    static void fill_block(void* job, unsigned thread);

    AlignedBuffer memory_;
    std::vector<Table> layout_;
    std::vector<const float*> tables_;
    std::vector<double> frequencies_;  // n_rot / 2 a table
    uint32_t context_ = 0;
    uint32_t filled_ = 0;
};

}  // namespace ridge
