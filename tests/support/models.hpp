// Models of the cache folder, for tests that need real weights.
#pragma once

#include <optional>
#include <string>

namespace ridge::test {

// Path of a model in $RIDGE_MODELS or ~/.cache/ridge; nothing when it is not there.
std::optional<std::string> cached_model(const std::string& name);

inline constexpr const char* smollm2 = "SmolLM2-135M-Instruct.Q4_1.gguf";
inline constexpr const char* gemma3 = "gemma-3-270m-Q4_K_M.gguf";

}  // namespace ridge::test
