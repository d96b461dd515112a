// Files for tests: a temporary folder, and reading and writing whole files.
#pragma once

#include <string>
#include <string_view>

namespace ridge::test {

// A fresh folder under the system's temporary one, removed with its contents at the end.
class TempDir {
  public:
    TempDir();
    TempDir(const TempDir&) = delete;
    TempDir& operator=(const TempDir&) = delete;
    ~TempDir();

    const std::string& path() const { return path_; }
    // The path of `name` in the folder; the file need not exist.
    std::string file(const std::string& name) const { return path_ + "/" + name; }
    // Writes a file into the folder and returns its path.
    std::string write(const std::string& name, std::string_view bytes) const;

  private:
    std::string path_;
};

// The bytes of a file; empty when it cannot be read.
std::string read_file(const std::string& path);

}  // namespace ridge::test
