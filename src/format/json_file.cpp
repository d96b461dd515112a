#include "format/json_file.hpp"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>

#include "base/json_outline.hpp"
#include "base/mapped_file.hpp"

namespace ridge::convert {

using nlohmann::json;

Result<json> read_json(const std::string& path) {
    RIDGE_ASSIGN(const auto file, MappedFile::open(path));
    if (file.size() > max_json_bytes)
        return fail(ErrorCode::unsupported,
                    fmt::format("'{}' has {} bytes; ridge reads at most {} of JSON.", path,
                                file.size(), max_json_bytes));
    const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
    if (json_outline(text).depth > max_json_depth)
        return fail(
            ErrorCode::bad_file,
            fmt::format("'{}' nests deeper than {} levels; get it again.", path, max_json_depth));
    json parsed = json::parse(text, nullptr, false);
    if (parsed.is_discarded() || !parsed.is_object())
        return fail(ErrorCode::bad_file,
                    fmt::format("'{}' is no JSON object; get it again.", path));
    return parsed;
}

Result<json> read_json_if_any(const std::string& path) {
    std::error_code error;
    if (!std::filesystem::exists(path, error)) return json();
    return read_json(path);
}

std::optional<std::string> read_text_if_any(const std::string& path) {
    const auto file = MappedFile::open(path);
    if (!file || file->size() > max_json_bytes) return std::nullopt;
    return std::string(reinterpret_cast<const char*>(file->data()), file->size());
}

const json& member(const json& object, const char* name) {
    static const json none;
    if (!object.is_object()) return none;
    const auto it = object.find(name);
    return it == object.end() ? none : *it;
}

std::optional<int64_t> to_int(const json& value) {
    if (value.is_number_unsigned()) {
        const auto n = value.get<uint64_t>();
        if (n > static_cast<uint64_t>(INT64_MAX)) return std::nullopt;
        return static_cast<int64_t>(n);
    }
    if (value.is_number_integer()) return value.get<int64_t>();
    return std::nullopt;
}

std::optional<double> to_float(const json& value) {
    if (!value.is_number()) return std::nullopt;
    const auto f = value.get<double>();
    return std::isfinite(f) ? std::optional(f) : std::nullopt;
}

std::optional<std::string> to_text(const json& value) {
    if (!value.is_string()) return std::nullopt;
    return value.get<std::string>();
}

bool is_true(const json& value) {
    return value.is_boolean() && value.get<bool>();
}

}  // namespace ridge::convert
