// A regular file mapped read-only and privately.
//
// A file that another process shortens while it is mapped makes the kernel raise SIGBUS on the
// pages that are gone; the library does not catch it, the program ends with a sentence
// (cli/main.cpp). Replace model files by renaming, not in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.hpp"

namespace ridge {

class MappedFile {
  public:
    // Errors name the path: not_found, io (directory, device, pipe, no permission), bad_file
    // (empty).
    static Result<MappedFile> open(const std::string& path);

    MappedFile(MappedFile&& other) noexcept;
    MappedFile& operator=(MappedFile&& other) noexcept;
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;
    ~MappedFile();

    const uint8_t* data() const { return data_; }  // page aligned; stays put when moved
    size_t size() const { return size_; }
    const std::string& path() const { return path_; }
    bool contains(const uint8_t* p) const { return p >= data_ && p < data_ + size_; }

    // Copies [data, data + bytes) of the mapping to `to` without mapping it: reads the file, which
    // for bytes that are needed once is cheaper than a page fault for every few pages and, on
    // several threads, much cheaper than giving the pages back. Any thread. Errors: io (the file
    // ends earlier by now, or the device fails).
    Status read(const uint8_t* data, size_t bytes, uint8_t* to) const;

  private:
    MappedFile(std::string path, int file, const uint8_t* data, size_t size)
        : path_(std::move(path)), file_(file), data_(data), size_(size) {}
    void close();

    std::string path_;
    int file_ = -1;
    const uint8_t* data_ = nullptr;
    size_t size_ = 0;
};

}  // namespace ridge
