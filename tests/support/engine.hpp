// Shorthands for tests that run tiny models.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <vector>

#include "runtime/model.hpp"
#include "support/random_model.hpp"

namespace ridge::test {

// Tiny shapes that exercise what the same-bits promise is about.
ShapeConfig tiny_llama(DType type);  // GQA, three spans of context
ShapeConfig tiny_gemma(DType type);  // windows, QK norms, post norms

std::vector<int32_t> random_tokens(size_t n, uint32_t vocab, uint64_t seed);

std::unique_ptr<Model> load(const std::string& path, const ModelOptions& options);
std::unique_ptr<Context> context(Model& model, uint32_t length, uint32_t sequences = 1);

// Logits of every position of `tokens` appended to a sequence, `chunk` rows a pass.
std::vector<float> all_logits(Context& c, std::span<const int32_t> tokens, uint32_t chunk,
                              uint32_t sequence = 0);
// Ids of the largest logits, token by token, from the sequence's last logits on.
std::vector<int32_t> greedy(Context& c, size_t n, uint32_t sequence = 0);

// Bits, not values: equal NaNs are equal, 0 and -0 are not.
bool same_bits(std::span<const float> a, std::span<const float> b);

}  // namespace ridge::test
