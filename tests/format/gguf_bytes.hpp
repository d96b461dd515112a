// Builds GGUF files byte by byte, well formed or not, for tests of the reader.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "format/gguf_types.hpp"

namespace ridge::test {

// A string that grows by little-endian fields.
class Bytes {
  public:
    template <typename T>
    Bytes& put(T value) {
        char raw[sizeof(T)];
        std::memcpy(raw, &value, sizeof(T));
        text_.append(raw, sizeof(T));
        return *this;
    }
    Bytes& raw(std::string_view bytes) {
        text_ += bytes;
        return *this;
    }
    Bytes& string(std::string_view s) { return put<uint64_t>(s.size()).raw(s); }
    Bytes& header(uint64_t tensors, uint64_t values, uint32_t version = 3) {
        return put(gguf::magic).put(version).put(tensors).put(values);
    }
    Bytes& type(gguf::ValueType t) { return put(static_cast<uint32_t>(t)); }
    template <typename T>
    Bytes& value(std::string_view key, gguf::ValueType t, T v) {
        return string(key).type(t).put(v);
    }
    // The entry of a two-dimensional F32 tensor unless said otherwise.
    Bytes& tensor(std::string_view name, uint64_t ne0, uint64_t ne1, uint32_t ggml_type = 0,
                  uint64_t offset = 0) {
        return string(name).put<uint32_t>(2).put(ne0).put(ne1).put(ggml_type).put(offset);
    }
    Bytes& pad(size_t alignment = 32) {
        text_.resize((text_.size() + alignment - 1) / alignment * alignment);
        return *this;
    }
    Bytes& zeros(size_t n) {
        text_.append(n, '\0');
        return *this;
    }
    const std::string& text() const { return text_; }
    size_t size() const { return text_.size(); }

  private:
    std::string text_;
};

}  // namespace ridge::test
