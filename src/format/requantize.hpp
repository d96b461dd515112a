// Copies of GGUF models with their matrices in another type.
#pragma once

#include <string>

#include "base/status.hpp"
#include "base/types.hpp"

namespace ridge {

// Reads `in` (all its parts) and writes one file `out` in which every tensor of two or more
// dimensions is of `type`, by plain rounding of its dequantized values. Matrices whose rows the
// type's block does not divide, and vectors, are copied; so is the metadata, but for the alignment
// and what concerns parts. Errors: those of opening `in`; io, invalid_argument (`out` is read).
Status requantize(const std::string& in, const std::string& out, DType type, unsigned threads = 1);

}  // namespace ridge
