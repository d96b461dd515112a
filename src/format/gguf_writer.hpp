// Writes GGUF files, version 3. Tensors are produced while the file is written, some rows at a time
// and by several threads, so that memory stays small however large the model is.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "base/types.hpp"
#include "format/gguf_types.hpp"

namespace ridge {

class GgufWriter {
  public:
    // Fills `out` with row_bytes(type, dims[0]) * count bytes: rows first to first + count of a
    // tensor. Called from several threads at once when write() has several.
    using RowSource = std::function<Status(uint64_t first, uint64_t count, uint8_t* out)>;

    // Metadata. Setting a key again replaces its value; keys keep the order of their first setting.
    template <typename T>
        requires std::is_arithmetic_v<T>
    void set(std::string_view key, T value) {
        std::string encoded = type_bytes(value_type<T>());
        append(encoded, value);
        set_encoded(key, std::move(encoded));
    }
    void set(std::string_view key, std::string_view value);
    void set(std::string_view key, const char* value) { set(key, std::string_view(value)); }

    // Arrays of numbers; booleans as bytes 0 and 1 through set_bools.
    template <typename T>
        requires std::is_arithmetic_v<T>
    void set_array(std::string_view key, std::span<const T> values) {
        set_encoded(key, array_bytes(value_type<T>(), values.size()) +
                             std::string(reinterpret_cast<const char*>(values.data()),
                                         values.size_bytes()));
    }
    template <typename T>
    void set_array(std::string_view key, const std::vector<T>& values) {
        set_array(key, std::span<const T>(values));
    }
    void set_bools(std::string_view key, std::span<const uint8_t> values);
    void set_strings(std::string_view key, std::span<const std::string> values);

    // A value as files hold it, from the type number on (GgufFile::encoded_value), not checked.
    void set_encoded(std::string_view key, std::string encoded);

    // Adds a tensor of 1 to 4 dimensions, dims[0] the fastest; dims[0] is a multiple of the block.
    Status add_tensor(std::string_view name, DType type, std::vector<uint64_t> dims,
                      RowSource source);
    // The same from memory, which must outlive write().
    Status add_tensor(std::string_view name, DType type, std::vector<uint64_t> dims,
                      const void* data);

    // Writes beside `path` and renames over it at the end, so that no half file ever has that name.
    Status write(const std::string& path, unsigned threads = 1) const;

  private:
    struct Tensor {
        std::string name;
        DType type;
        std::vector<uint64_t> dims;
        uint64_t rows;
        uint64_t bytes;
        RowSource source;
    };

    template <typename T>
    static constexpr gguf::ValueType value_type() {
        using gguf::ValueType;
        if constexpr (std::is_same_v<T, bool>) return ValueType::boolean;
        if constexpr (std::is_floating_point_v<T>)
            return sizeof(T) == 4 ? ValueType::f32 : ValueType::f64;
        constexpr bool is_signed = std::is_signed_v<T>;
        switch (sizeof(T)) {
            case 1:
                return is_signed ? ValueType::i8 : ValueType::u8;
            case 2:
                return is_signed ? ValueType::i16 : ValueType::u16;
            case 4:
                return is_signed ? ValueType::i32 : ValueType::u32;
            default:
                return is_signed ? ValueType::i64 : ValueType::u64;
        }
    }
    template <typename T>
    static void append(std::string& out, T value) {
        out.append(reinterpret_cast<const char*>(&value), sizeof(T));
    }
    static std::string type_bytes(gguf::ValueType type);
    static std::string array_bytes(gguf::ValueType element, uint64_t count);
    std::string header() const;

    std::vector<std::pair<std::string, std::string>> values_;
    std::vector<Tensor> tensors_;
    std::set<std::string, std::less<>> names_;  // of tensors_
};

}  // namespace ridge
