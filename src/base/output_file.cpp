#include "base/output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace ridge {

namespace {

// The file that a symbolic link names; the path itself where it is none, or leads nowhere.
std::string behind_links(const std::string& path) {
    struct stat info = {};
    if (::lstat(path.c_str(), &info) != 0 || !S_ISLNK(info.st_mode)) return path;
    char* const real = ::realpath(path.c_str(), nullptr);
    std::string target = real != nullptr ? real : path;
    std::free(real);
    return target;
}

// A new file beside `target`, and its name. O_EXCL: another program's part, or a file of the user's
// that has the name, is left alone. -1 and errno where there can be none.
int create_beside(const std::string& target, std::string& part) {
    constexpr int most_names = 1000;  // left by programs that were killed and had this number
    for (int n = 0; n < most_names; ++n) {
        part = n == 0 ? fmt::format("{}.{}.part", target, ::getpid())
                      : fmt::format("{}.{}-{}.part", target, ::getpid(), n);
        const int fd = ::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST) return fd;
    }
    return -1;
}

}  // namespace

Status may_replace(const std::string& path) {
    if (path.empty()) return fail(ErrorCode::io, "The output has no name; give that of a file.");
    struct stat info = {};
    if (::stat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode)) return {};
    return fail(ErrorCode::io,
                fmt::format("'{}' {}; give the name of a file.", path,
                            S_ISDIR(info.st_mode) ? "is a directory" : "is no regular file"));
}

Status no_input(const std::string& out, const std::vector<std::string>& inputs) {
    struct stat written = {}, read = {};
    // a terminal may be both
    if (::stat(out.c_str(), &written) != 0 || !S_ISREG(written.st_mode)) return {};
    for (const std::string& in : inputs)
        if (::stat(in.c_str(), &read) == 0 && read.st_dev == written.st_dev &&
            read.st_ino == written.st_ino)
            return fail(
                ErrorCode::invalid_argument,
                fmt::format("'{}' is a file that is read; give the new one another name.", out));
    return {};
}

Status move_over(const std::string& part, const std::string& path) {
    if (std::rename(part.c_str(), behind_links(path).c_str()) == 0) return {};
    return fail(ErrorCode::io, fmt::format("Cannot write '{}': {}.", path, std::strerror(errno)));
}

Result<OutputFile> OutputFile::create(const std::string& path, Special special) {
    struct stat info = {};
    const bool there = ::stat(path.c_str(), &info) == 0;
    const bool direct = there && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
    if (!direct || special == Special::refuse) RIDGE_TRY(may_replace(path));
    std::string name = path, target = behind_links(path), part;
    // nothing that takes memory follows the opening: running out of it would leak the file
    const int fd = direct ? ::open(target.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK)
                          : create_beside(target, part);
    if (fd < 0) {
        const int why = errno;
        const std::string by = direct ? "" : fmt::format(" by way of '{}'", part);
        return fail(ErrorCode::io,
                    fmt::format("Cannot create '{}'{}: {}.", path, by, std::strerror(why)));
    }
    // O_NONBLOCK was for opening alone: a pipe that nobody reads is an error, not a wait
    if (direct) (void)::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    if (there && !direct) (void)::fchmod(fd, info.st_mode & 07777);
    return OutputFile(std::move(name), std::move(target), std::move(part), fd);
}

OutputFile::OutputFile(std::string path, std::string target, std::string part, int fd)
    : path_(std::move(path)), target_(std::move(target)), part_(std::move(part)), fd_(fd) {}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      part_(std::move(other.part_)),
      fd_(std::exchange(other.fd_, -1)) {}

OutputFile::~OutputFile() {
    if (fd_ < 0) return;
    ::close(fd_);
    if (!part_.empty()) ::unlink(part_.c_str());
}

tl::unexpected<Error> OutputFile::failed(const char* what) const {
    return fail(ErrorCode::io,
                fmt::format("Cannot {} '{}': {}.", what, path_, std::strerror(errno)));
}

Status OutputFile::write(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return failed("write");
        bytes.remove_prefix(static_cast<size_t>(n));
    }
    return {};
}

Status OutputFile::write_at(const void* data, uint64_t bytes, uint64_t offset) const {
    const auto* at = static_cast<const char*>(data);
    while (bytes > 0) {
        const ssize_t n = ::pwrite(fd_, at, bytes, static_cast<off_t>(offset));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return failed("write");
        at += n;
        offset += static_cast<uint64_t>(n);
        bytes -= static_cast<uint64_t>(n);
    }
    return {};
}

Status OutputFile::resize(uint64_t bytes) const {
    if (::ftruncate(fd_, static_cast<off_t>(bytes)) != 0) return failed("write");
    return {};
}

Status OutputFile::commit() {
    const int fd = std::exchange(fd_, -1);
    if (::close(fd) == 0 && (part_.empty() || std::rename(part_.c_str(), target_.c_str()) == 0))
        return {};
    const tl::unexpected<Error> error = failed("write");
    if (!part_.empty()) ::unlink(part_.c_str());
    return error;
}

Status write_file(const std::string& path, std::string_view bytes, OutputFile::Special special) {
    RIDGE_ASSIGN(OutputFile file, OutputFile::create(path, special));
    RIDGE_TRY(file.write(bytes));
    return file.commit();
}

}  // namespace ridge
