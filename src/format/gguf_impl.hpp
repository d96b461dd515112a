// What a GgufFile holds; shared by the files that implement it. Internal.
#pragma once

#include <map>
#include <vector>

#include "format/gguf_parse.hpp"

namespace ridge {

struct GgufFile::Impl {
    std::vector<MappedFile> parts;
    gguf::Contents contents;  // metadata of the first part, tensors of all
    // ordered maps: names in a file may be made to collide in any hash that is known
    std::map<std::string_view, size_t> value_index;
    std::map<std::string_view, size_t> tensor_index;

    // The value of `key`, or nullptr.
    const gguf::Value* value(std::string_view key) const {
        const auto it = value_index.find(key);
        return it == value_index.end() ? nullptr : &contents.values[it->second].second;
    }
};

}  // namespace ridge
