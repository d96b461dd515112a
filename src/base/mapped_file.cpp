#include "base/mapped_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace ridge {

namespace {

class Descriptor {
  public:
    explicit Descriptor(int fd) : fd_(fd) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() {
        if (fd_ >= 0) ::close(fd_);
    }
    int get() const { return fd_; }
    int release() { return std::exchange(fd_, -1); }

  private:
    int fd_;
};

}  // namespace

Result<MappedFile> MappedFile::open(const std::string& path) {
    std::string name = path;  // now, while nothing is open that running out of memory would leak
    // O_NONBLOCK: opening a pipe that nobody writes to must not wait
    Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (file.get() < 0) {
        const int error = errno;
        if (error == ENOENT || error == ENOTDIR)
            return fail(ErrorCode::not_found,
                        fmt::format("There is no file '{}'; check the path.", path));
        return fail(ErrorCode::io,
                    fmt::format("Cannot open '{}': {}.", path, std::strerror(error)));
    }
    struct stat status{};
    if (::fstat(file.get(), &status) != 0)
        return fail(ErrorCode::io,
                    fmt::format("Cannot look at '{}': {}.", path, std::strerror(errno)));
    if (S_ISDIR(status.st_mode))
        return fail(ErrorCode::io,
                    fmt::format("'{}' is a directory; give the path of a file in it.", path));
    if (!S_ISREG(status.st_mode))
        return fail(ErrorCode::io, fmt::format("'{}' is not a regular file.", path));
    if (status.st_size <= 0)
        return fail(ErrorCode::bad_file, fmt::format("'{}' is empty; get it again.", path));
    const auto size = static_cast<size_t>(status.st_size);
    void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (data == MAP_FAILED)
        return fail(ErrorCode::io, fmt::format("Cannot map '{}' ({} bytes): {}.", path, size,
                                               std::strerror(errno)));
    return MappedFile(std::move(name), file.release(), static_cast<const uint8_t*>(data), size);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, -1)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
    if (this != &other) {
        close();
        path_ = std::move(other.path_);
        file_ = std::exchange(other.file_, -1);
        data_ = std::exchange(other.data_, nullptr);
        size_ = std::exchange(other.size_, 0);
    }
    return *this;
}

MappedFile::~MappedFile() {
    close();
}

void MappedFile::close() {
    if (data_ != nullptr) ::munmap(const_cast<uint8_t*>(data_), size_);
    data_ = nullptr;
    if (file_ >= 0) ::close(file_);
    file_ = -1;
}

Status MappedFile::read(const uint8_t* data, size_t bytes, uint8_t* to) const {
    const auto error = [&](const char* what) {
        return fail(ErrorCode::io, fmt::format("Cannot read {} bytes at {} of '{}': {}.", bytes,
                                               data - data_, path_, what));
    };
    if (bytes == 0) return {};
    if (!contains(data) || bytes > size_ - static_cast<size_t>(data - data_))
        return error("they are not in the file");
    auto at = static_cast<off_t>(data - data_);
    for (size_t done = 0; done < bytes;) {
        const ssize_t n = ::pread(file_, to + done, bytes - done, at);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return error(std::strerror(errno));
        if (n == 0) return error("it has become shorter");
        done += static_cast<size_t>(n);
        at += n;
    }
    return {};
}

}  // namespace ridge
