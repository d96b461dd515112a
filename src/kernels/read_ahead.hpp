// Read-ahead over packed pairs (packed.hpp), shared by the sets' loops. Freestanding.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "kernels/packed.hpp"

namespace ridge {

// Asks for block b's share of its unit's lines, codes and scales, `distance` bytes (a multiple of
// 64) ahead of `pair`; what lies behind a pair is the next one. 0 asks for nothing. Always inlined:
// GCC 12 takes a function that only prefetches for one without effects and drops its calls.
template <DType T>
__attribute__((always_inline)) static inline void read_ahead(const uint8_t* pair, size_t b,
                                                             size_t distance) {
    if (distance == 0) return;
    constexpr PairLayout at = pair_layout(T);
    constexpr size_t unit_lines = at.bytes / 64;
    constexpr size_t lines = unit_lines / at.blocks;
    constexpr size_t first = unit_lines - lines * at.blocks;  // more lines for the first block
    const uint8_t* unit = pair + at.unit(b) + distance;
    const size_t i = b % at.blocks;
    if constexpr (first != 0) {
        if (i == 0)
            for (size_t l = 0; l < first; ++l) __builtin_prefetch(unit + 64 * l);
    }
    const uint8_t* share = unit + (first + i * lines) * 64;
    for (size_t l = 0; l < lines; ++l) __builtin_prefetch(share + 64 * l);
}

}  // namespace ridge
