// A model folder as Hugging Face transformers saves it: config.json, one or several safetensors
// files, the tokenizer's files.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "format/safetensors.hpp"

namespace ridge::convert {

struct FolderTensor {
    const SafeTensor* tensor;
    const SafetensorsFile* file;
};

struct HfFolder {
    std::string path;
    nlohmann::json config;  // config.json; of a model with images its text_config, completed
    std::vector<SafetensorsFile> files;
    std::map<std::string, FolderTensor, std::less<>> tensors;

    std::string file(const char* name) const { return path + "/" + name; }
    // Every file that a conversion may read, there or not.
    std::vector<std::string> inputs() const;

    // Errors: not_found (no folder, no config.json, no safetensors), bad_file (an index that names
    // files outside the folder, a tensor twice), those of reading JSON and safetensors.
    static Result<HfFolder> open(const std::string& path);
};

}  // namespace ridge::convert
