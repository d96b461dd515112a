// Reads safetensors files, memory-mapped: eight bytes with the header's length, a JSON header that
// gives each tensor's type, shape and place, then the data.
//
// open() checks all that the rest relies on: the header is read without building a document of it
// and to no depth that the file controls; every tensor lies inside the file and has the bytes that
// its shape asks for.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.hpp"
#include "base/status.hpp"
#include "base/types.hpp"

namespace ridge {

struct SafeTensor {
    std::string name;
    std::string type_name;          // as the file has it: "BF16"
    std::optional<DType> type;      // F32, F16, BF16; nothing for others
    std::vector<uint64_t> shape;    // rows first: the last is the fastest
    const uint8_t* data = nullptr;  // in the mapping, not aligned
    uint64_t bytes = 0;
};

class SafetensorsFile {
  public:
    // Errors: not_found, io, bad_file, unsupported (a header over the limit), out_of_memory.
    static Result<SafetensorsFile> open(const std::string& path);

    std::span<const SafeTensor> tensors() const { return tensors_; }
    const std::string& path() const { return file_.path(); }
    // Copies bytes of a tensor by reading the file. Any thread.
    Status read(const uint8_t* data, uint64_t bytes, uint8_t* to) const {
        return file_.read(data, bytes, to);
    }

  private:
    explicit SafetensorsFile(MappedFile file) : file_(std::move(file)) {}
    static Result<SafetensorsFile> open_checked(const std::string& path);
    MappedFile file_;
    std::vector<SafeTensor> tensors_;
};

inline constexpr uint64_t max_safetensors_header = 64u << 20;
inline constexpr uint64_t max_safetensors_dims = 8;

}  // namespace ridge
