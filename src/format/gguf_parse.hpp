// The parsing half of the GGUF reader: one mapped file in, its checked contents out. Internal.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "base/mapped_file.hpp"
#include "format/gguf.hpp"
#include "format/gguf_types.hpp"

namespace ridge::gguf {

// A metadata value, still in the mapping and already bounds-checked.
struct Value {
    ValueType type = ValueType::u8;
    ValueType element = ValueType::u8;  // of an array
    uint64_t count = 1;                 // elements of an array, bytes of a string
    const uint8_t* encoded = nullptr;   // as in the file, from the type number on
    uint64_t encoded_bytes = 0;
    const uint8_t* data = nullptr;  // first value, string byte, or (string arrays) first length
};

struct Contents {
    uint32_t version = 0;
    std::vector<std::pair<std::string_view, Value>> values;  // keys are unique
    std::vector<TensorInfo> tensors;                         // names are unique
};

Result<Contents> parse(const MappedFile& file);

// Scalars: nullopt when the value is not of a fitting type or does not convert exactly.
std::optional<int64_t> to_int(const Value& value);
std::optional<uint64_t> to_uint(const Value& value);
std::optional<double> to_float(const Value& value);

// The scalar at index `i` of an array of numbers or booleans.
Value element(const Value& array, uint64_t i);
// Calls f(std::string_view) for each string of an array of strings, at most `limit` times.
template <typename F>
void for_each_string(const Value& array, uint64_t limit, F&& f) {
    const uint8_t* at = array.data;
    for (uint64_t i = 0; i < array.count && i < limit; ++i) {
        uint64_t length;
        __builtin_memcpy(&length, at, 8);
        f(std::string_view(reinterpret_cast<const char*>(at + 8), length));
        at += 8 + length;
    }
}

}  // namespace ridge::gguf
