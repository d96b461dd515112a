// A file that appears under its name when it is complete: written beside that name and renamed
// onto it. Until then, and after any failure, what had the name before is as it was. Until then it
// has a name that nothing had before (NAME.PID.part), so that two programs may write the same file:
// it becomes what the last one wrote, whole.
//
// Renaming onto a device or a pipe (/dev/null, /dev/full) would put a plain file in its place:
// these are refused, or written into where the writer asks for that. A symbolic link stays one; the
// file that it names is replaced. A replaced file's permissions are kept.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace ridge {

class OutputFile {
  public:
    enum class Special { refuse, write };  // what to do with a device or a pipe

    // Begins what will be `path`. Errors: io (a directory, a device, a folder that is not there or
    // not writable).
    static Result<OutputFile> create(const std::string& path, Special special = Special::refuse);
    OutputFile(OutputFile&& other) noexcept;
    OutputFile& operator=(OutputFile&&) = delete;
    ~OutputFile();  // removes what was not committed

    // Errors of all four: io, naming the path. write() appends; write_at() is for any number of
    // threads, and with resize() for plain files only.
    Status write(std::string_view bytes);
    Status write_at(const void* data, uint64_t bytes, uint64_t offset) const;
    Status resize(uint64_t bytes) const;
    Status commit();

  private:
    OutputFile(std::string path, std::string target, std::string part, int fd);
    tl::unexpected<Error> failed(const char* what) const;

    std::string path_;    // as the user wrote it
    std::string target_;  // where links lead
    std::string part_;    // the name until then; empty: the device itself
    int fd_;              // -1: committed
};

// Bytes under a name, whole or not at all; devices and pipes are written into. Error: io.
Status write_file(const std::string& path, std::string_view bytes,
                  OutputFile::Special special = OutputFile::Special::write);

// Is `out` none of the files that are read, by whatever names and links? Inputs that are not there
// do not matter. Error: invalid_argument.
Status no_input(const std::string& out, const std::vector<std::string>& inputs);

// The two halves of that, for who writes the part in another way. May a file take the name `path`?
// Errors: io (a directory, a device, a pipe).
Status may_replace(const std::string& path);
// Gives the file `part` the name `path`. Error: io.
Status move_over(const std::string& part, const std::string& path);

}  // namespace ridge
