// Packing: blocks of a GGUF tensor to one packed column group (packed.hpp). Freestanding.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/types.hpp"

namespace ridge {

// Writes all group_planes(t, k).bytes of `group` (any alignment), so that equal weights give equal
// bytes. `rows` holds the file rows of the group's columns, n_columns pointers (1..16) to
// row_bytes(t, k) bytes each, of any alignment; the other columns get zero codes and zero scales.
// k is a multiple of the type's block. Touches no state: groups may be packed by many threads.
void pack_group(DType t, const uint8_t* const* rows, size_t n_columns, size_t k, uint8_t* group);

}  // namespace ridge
