#include "support/models.hpp"

#include <cstdlib>
#include <filesystem>

namespace ridge::test {

std::optional<std::string> cached_model(const std::string& name) {
    std::filesystem::path folder;
    if (const char* models = std::getenv("RIDGE_MODELS"))
        folder = models;
    else if (const char* home = std::getenv("HOME"))
        folder = std::filesystem::path(home) / ".cache" / "ridge";
    else
        return std::nullopt;
    std::error_code error;
    const std::filesystem::path path = folder / name;
    if (!std::filesystem::is_regular_file(path, error)) return std::nullopt;
    return path.string();
}

}  // namespace ridge::test
