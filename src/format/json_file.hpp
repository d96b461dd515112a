// Small JSON files beside a model (config.json, tokenizer.json), bounded in size and depth, and
// reads that do not throw. Internal to convert*.cpp.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/status.hpp"

namespace ridge::convert {

inline constexpr uint64_t max_json_bytes = 128u << 20;
inline constexpr size_t max_json_depth = 64;

// Errors: not_found, io, bad_file (no JSON, too deep), unsupported (too large).
Result<nlohmann::json> read_json(const std::string& path);
// The same; null where there is no file.
Result<nlohmann::json> read_json_if_any(const std::string& path);
// A whole text file; nothing where there is none.
std::optional<std::string> read_text_if_any(const std::string& path);

// The member, or null where `object` is no object or has none.
const nlohmann::json& member(const nlohmann::json& object, const char* name);
std::optional<int64_t> to_int(const nlohmann::json& value);
std::optional<double> to_float(const nlohmann::json& value);
std::optional<std::string> to_text(const nlohmann::json& value);
bool is_true(const nlohmann::json& value);

}  // namespace ridge::convert
