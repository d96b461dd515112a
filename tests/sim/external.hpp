// What the tests of the simulator call on the machine: the cross compiler, QEMU, gdb.
#pragma once

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace ridge::test {

// Is a program there to be called?
inline bool have_program(const std::string& name) {
    return std::system(("command -v " + name + " >/dev/null 2>&1").c_str()) == 0;
}

// A folder of a test's own, gone with it.
class Workspace {
  public:
    Workspace() {
        std::string name = (std::filesystem::temp_directory_path() / "ridge-sim-XXXXXX").string();
        path_ = mkdtemp(name.data()) ? name : std::string();
    }
    ~Workspace() {
        std::error_code ignored;
        if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
    }
    Workspace(const Workspace&) = delete;
    Workspace& operator=(const Workspace&) = delete;

    std::string file(const std::string& name) const { return path_ + "/" + name; }
    std::string write(const std::string& name, const std::string& text) const {
        std::ofstream(file(name), std::ios::binary) << text;
        return file(name);
    }
    std::string read(const std::string& name) const {
        std::ifstream in(file(name), std::ios::binary);
        std::stringstream text;
        text << in.rdbuf();
        return text.str();
    }

  private:
    std::string path_;
};

inline constexpr const char* cross_compiler = "riscv64-unknown-elf-gcc";
inline constexpr const char* reference_machine = "qemu-system-riscv32";

// Builds sources with the flags of the boards' firmware; false where the compiler refuses.
inline bool cross_build(const std::string& source, const std::string& elf,
                        const std::string& options) {
    return std::system(fmt::format("{} -march=rv32imafc -mabi=ilp32f -mcmodel=medany -nostdlib "
                                   "-nostartfiles -static -ffreestanding {} {} -o {}",
                                   cross_compiler, options, source, elf)
                           .c_str()) == 0;
}

}  // namespace ridge::test
