// The loop over a program's steps, for hosts and chips alike. Freestanding.
#pragma once

#include <stdint.h>

namespace ridge {

// What a step leaves to do.
enum class StepOutcome : uint8_t {
    skipped,  // nothing to do, or nobody waits for it: no barrier
    done,     // barrier
};

// Runs steps 0 .. n-1. `Steps` has
//     StepOutcome run(uint32_t step);  // this thread's part of it
//     bool finish(uint32_t step);      // barrier, time, question whether to stop: true goes on
// Returns false where finish stopped the pass.
template <class Steps>
inline bool walk_steps(Steps& steps, uint32_t n) {
    for (uint32_t i = 0; i < n; ++i)
        if (steps.run(i) == StepOutcome::done && !steps.finish(i)) return false;
    return true;
}

}  // namespace ridge
