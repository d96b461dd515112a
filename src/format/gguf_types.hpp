// What the GGUF specification numbers: metadata value types, tensor types, and ridge's limits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/types.hpp"

namespace ridge::gguf {

enum class ValueType : uint32_t {
    u8 = 0,
    i8,
    u16,
    i16,
    u32,
    i32,
    f32,
    boolean,
    string,
    array,
    u64,
    i64,
    f64,
    count_,
};

// Bytes of one value; 0 for strings and arrays, whose size is in the file.
constexpr uint32_t value_bytes(ValueType t) {
    constexpr uint32_t bytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    return bytes[static_cast<uint32_t>(t)];
}

// Limits beyond those that the file's own size sets.
inline constexpr uint32_t magic = 0x46554747;  // "GGUF"
inline constexpr uint32_t default_alignment = 32;
inline constexpr uint32_t min_alignment = 8;  // the specification's; keeps f32 data aligned
inline constexpr uint32_t max_alignment = 1u << 20;
inline constexpr uint64_t max_key_bytes = 65535;
inline constexpr uint64_t max_tensor_name_bytes = 64;
inline constexpr uint64_t max_keys = 1u << 16;
inline constexpr uint64_t max_tensors = 1u << 18;
inline constexpr uint64_t max_parts = 4096;

// The DType of a type number in a file, or nothing when ridge does not read it.
std::optional<DType> dtype_from_ggml(uint32_t ggml_type);
// The DType of a name such as "Q4_K" (any case).
std::optional<DType> dtype_from_name(std::string_view name);
// The name of any type number that some GGUF tool wrote ("IQ2_XXS"), or "unknown".
const char* ggml_type_name(uint32_t ggml_type);
// "F32, F16, BF16, ..."
std::string supported_types();

// `text` in quotes for a message: at most 64 bytes of it, unprintable bytes as \xNN.
std::string quoted(std::string_view text);

}  // namespace ridge::gguf
