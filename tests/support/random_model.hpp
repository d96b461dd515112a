// Random-weight models for tests: written to a temporary folder from a shape, opened, removed.
#pragma once

#include <string>

#include "format/gguf.hpp"
#include "format/random_model.hpp"
#include "support/temp_dir.hpp"

namespace ridge::test {

// The configuration tests/data/goldens/NAME.json; fails the calling test when it cannot be read.
ShapeConfig golden_config(const std::string& name);

// About the smallest llama that loads: one layer, 32 wide, 264 tokens, q8_0.
ShapeConfig smallest_llama(const std::string& name);

// Writes the model into `dir` as NAME.gguf and returns its path; fails the test on an error.
std::string write_model(const TempDir& dir, const ShapeConfig& config);

}  // namespace ridge::test
