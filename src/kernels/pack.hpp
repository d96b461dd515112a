// Packing: blocks of a GGUF tensor to one pair of column groups (packed.hpp). Freestanding.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/types.hpp"

namespace ridge {

// Writes all pair_bytes(t, k) of `pair` (any alignment), so that equal weights give equal bytes.
// `rows` holds the file rows of the columns, n_first pointers (0..16) for the first group, then
// n_second for the second, each to row_bytes(t, k) bytes of any alignment; the other columns get
// zero codes and zero scales. k is a multiple of the type's block. Touches no state: pairs may be
// packed by many threads.
void pack_pair(DType t, const uint8_t* const* rows, size_t n_first, size_t n_second, size_t k,
               uint8_t* pair);

}  // namespace ridge
