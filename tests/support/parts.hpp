// What a writer that failed may leave.
#pragma once

#include <filesystem>
#include <string>

namespace ridge::test {

// Is there a file that begins as `path` does and ends in .part, whoever began it?
inline bool part_is_left(const std::string& path) {
    namespace fs = std::filesystem;
    const fs::path whole(path);
    std::error_code error;  // of a folder that is not there
    for (const auto& entry : fs::directory_iterator(whole.parent_path(), error)) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with(whole.filename().string()) && name.ends_with(".part")) return true;
    }
    return false;
}

}  // namespace ridge::test
