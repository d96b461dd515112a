#include "support/temp_dir.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace ridge::test {

TempDir::TempDir() {
    std::string name = (std::filesystem::temp_directory_path() / "ridge-test-XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) path_ = name;
}

TempDir::~TempDir() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

std::string TempDir::write(const std::string& name, std::string_view bytes) const {
    // a new file rather than a truncated one, which some file systems write to the disk at once
    std::error_code ignored;
    std::filesystem::remove(file(name), ignored);
    std::ofstream out(file(name), std::ios::binary);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return file(name);
}

std::string read_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace ridge::test
