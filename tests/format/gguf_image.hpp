// A GGUF file taken apart: values and tensor entries that tests change one at a time, whatever the
// result, and put together again.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gguf_bytes.hpp"

namespace ridge::test {

struct GgufImage {
    struct Tensor {
        std::string name;
        uint32_t n_dims;
        std::vector<uint64_t> dims;  // as many are written, whatever n_dims says
        uint32_t type;
        uint64_t offset;
    };
    uint32_t version = 3;
    std::vector<std::pair<std::string, std::string>> values;  // key, type and value as encoded
    std::vector<Tensor> tensors;
    std::string data;
    size_t alignment = 32;

    // The file at `path`, which must be well formed, in one part.
    static GgufImage read(const std::string& path);
    std::string bytes() const;

    // Replaces a value, or adds it; an empty encoding removes the key.
    void set(const std::string& key, std::string encoded);
    Tensor& tensor(const std::string& name);
};

// Values as files hold them, from the type number on.
template <typename T>
std::string encoded(gguf::ValueType type, T value) {
    return Bytes().type(type).put(value).text();
}
std::string encoded_string(std::string_view text);
std::string encoded_strings(const std::vector<std::string>& strings);

}  // namespace ridge::test
