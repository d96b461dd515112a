// Static memory plan: buffers with lifetimes in steps to offsets in one arena.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ridge {

struct Lifetime {
    size_t bytes;          // rounded up to 64 by the planner
    uint32_t first, last;  // steps, inclusive; first > last: never used, gets no space
};

struct Placement {
    std::vector<size_t> offsets;
    size_t arena_bytes;
};

// First fit in order of size, largest first: two buffers alive at the same step never overlap.
Placement place_buffers(const std::vector<Lifetime>& lifetimes);

}  // namespace ridge
