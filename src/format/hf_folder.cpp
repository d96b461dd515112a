#include "format/hf_folder.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "format/gguf_types.hpp"
#include "format/json_file.hpp"

namespace ridge::convert {

namespace {

using nlohmann::json;

constexpr size_t max_shards = 4096;

// The safetensors files of the folder, by its index or the one name without an index.
Result<std::set<std::string>> shard_names(const HfFolder& folder) {
    const std::string index_path = folder.file("model.safetensors.index.json");
    RIDGE_ASSIGN(const json index, read_json_if_any(index_path));
    std::error_code error;
    if (index.is_null()) {
        if (std::filesystem::exists(folder.file("model.safetensors"), error))
            return std::set<std::string>{"model.safetensors"};
        return fail(ErrorCode::not_found,
                    fmt::format("'{}' has no model.safetensors and no index of several; ridge "
                                "reads no other weights (.bin, .pth).",
                                folder.path));
    }
    std::set<std::string> names;
    for (const json& value : member(index, "weight_map")) {
        const auto name = to_text(value);
        if (!name || name->empty() || name->find('/') != std::string::npos ||
            name->find('\0') != std::string::npos || !name->ends_with(".safetensors"))
            return fail(ErrorCode::bad_file,
                        fmt::format("'{}' names {}, which is no safetensors file of the folder.",
                                    index_path, gguf::quoted(name.value_or("something else"))));
        names.insert(*name);
        if (names.size() > max_shards)
            return fail(ErrorCode::unsupported,
                        fmt::format("'{}' names more than {} files.", index_path, max_shards));
    }
    if (names.empty())
        return fail(ErrorCode::bad_file,
                    fmt::format("'{}' has no weight_map; get it again.", index_path));
    return names;
}

}  // namespace

std::vector<std::string> HfFolder::inputs() const {
    std::vector<std::string> out;
    for (const char* name :
         {"config.json", "generation_config.json", "model.safetensors.index.json", "tokenizer.json",
          "tokenizer.model", "tokenizer_config.json", "added_tokens.json", "chat_template.json",
          "chat_template.jinja"})
        out.push_back(file(name));
    for (const SafetensorsFile& weights : files) out.push_back(weights.path());
    return out;
}

Result<HfFolder> HfFolder::open(const std::string& path) {
    std::error_code error;
    if (!std::filesystem::is_directory(path, error))
        return fail(ErrorCode::not_found,
                    fmt::format("There is no folder '{}'; give one with config.json and "
                                "safetensors files.",
                                path));
    HfFolder folder;
    folder.path = path;
    RIDGE_ASSIGN(folder.config, read_json(folder.file("config.json")));
    if (const json& text = member(folder.config, "text_config"); text.is_object()) {
        json whole = text;
        for (const auto& [key, value] : folder.config.items())
            if (!whole.contains(key)) whole[key] = value;
        folder.config = std::move(whole);
    }
    RIDGE_ASSIGN(const auto names, shard_names(folder));
    folder.files.reserve(names.size());  // tensors point into them
    for (const std::string& name : names) {
        RIDGE_ASSIGN(auto file, SafetensorsFile::open(path + "/" + name));
        folder.files.push_back(std::move(file));
        for (const SafeTensor& tensor : folder.files.back().tensors())
            if (!folder.tensors.emplace(tensor.name, FolderTensor{&tensor, &folder.files.back()})
                     .second)
                return fail(ErrorCode::bad_file, fmt::format("'{}' holds {} in two of its files.",
                                                             path, gguf::quoted(tensor.name)));
    }
    return folder;
}

}  // namespace ridge::convert
