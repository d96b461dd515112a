// Reads GGUF model files, versions 2 and 3, in one file or split into parts, memory-mapped.
//
// open() checks everything that the rest of the library relies on, so that hostile or damaged files
// end here with one sentence: every count is bounded by the bytes that remain, every tensor lies
// inside its file and has a type that ridge reads. Views and pointers it hands out point into the
// mapping and live as long as the GgufFile (moving it keeps them valid).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "base/types.hpp"

namespace ridge {

struct TensorInfo {
    std::string name;
    DType type = DType::f32;
    uint32_t n_dims = 0;                          // 1 to 4
    std::array<uint64_t, 4> dims = {1, 1, 1, 1};  // dims[0] is the input dimension, fastest
    uint64_t bytes = 0;
    const uint8_t* data = nullptr;  // in the mapping, at least 8-byte aligned
    // Rows of dims[0] weights: the product of the other dimensions.
    uint64_t rows() const { return dims[1] * dims[2] * dims[3]; }
    uint64_t elements() const { return dims[0] * rows(); }
};

class GgufFile {
  public:
    // `path` is the file, or the first part of a split one (name-00001-of-0000N.gguf; the others
    // are opened beside it). Errors: not_found, io, bad_file, unsupported (version, byte order,
    // type), out_of_memory.
    static Result<GgufFile> open(const std::string& path);

    GgufFile(GgufFile&&) noexcept;
    GgufFile& operator=(GgufFile&&) noexcept;
    ~GgufFile();

    std::span<const TensorInfo> tensors() const;          // in file order, parts in order
    const TensorInfo* find(std::string_view name) const;  // nullptr when there is none

    bool has(std::string_view key) const;
    // Typed reads: nullopt when the key is absent, of another type, or not exactly representable.
    std::optional<uint64_t> get_uint(std::string_view key) const;  // any integer type, >= 0
    std::optional<int64_t> get_int(std::string_view key) const;    // any integer type
    std::optional<double> get_float(std::string_view key) const;   // float or integer types
    std::optional<bool> get_bool(std::string_view key) const;
    std::optional<std::string_view> get_string(std::string_view key) const;
    // Arrays. get_ints also takes booleans (0, 1), get_floats also integers.
    std::optional<std::vector<std::string_view>> get_strings(std::string_view key) const;
    std::optional<std::vector<float>> get_floats(std::string_view key) const;
    std::optional<std::vector<int64_t>> get_ints(std::string_view key) const;

    std::vector<std::string> keys() const;             // in file order
    std::string describe(std::string_view key) const;  // printable; long strings, arrays shortened

    // The value as the file holds it, from its type number on; empty when the key is absent.
    std::span<const uint8_t> encoded_value(std::string_view key) const;

    uint32_t version() const;
    uint64_t file_bytes() const;  // of all parts
    const std::string& path() const;
    std::vector<std::string> paths() const;  // of all parts, in order

    // Copies bytes of a tensor to `to` by reading its file, not through the mapping: for what is
    // needed once (MappedFile::read). Any thread. Error: io.
    Status read(const uint8_t* data, uint64_t bytes, uint8_t* to) const;

  private:
    struct Impl;
    explicit GgufFile(std::unique_ptr<Impl> impl);
    static Result<GgufFile> open_parts(const std::string& path);
    std::unique_ptr<Impl> impl_;
};

}  // namespace ridge
