// A folder as Hugging Face transformers saves models, as one GGUF file: `ridge convert`.
#pragma once

#include <functional>
#include <string>

#include "base/status.hpp"
#include "base/types.hpp"

namespace ridge {

struct ConvertOptions {
    // Type of the matrices: F32, F16, BF16 or Q8_0; empty: each as the folder has it.
    std::string type = {};
    std::string pre = {};   // pre-tokenizer's name where the folder's is not known
    std::string name = {};  // general.name; empty: the folder's
    unsigned threads = 1;
    std::function<bool(double share)> progress = {};  // as in QuantizeOptions
};

struct ConvertReport {
    std::string architecture, tokenizer;
    size_t tensors = 0, left_out = 0;
    uint64_t bytes = 0;  // of tensors written
};

// Reads llama, mistral, qwen2, qwen3, gemma2, gemma3 and phi3 folders (config.json, safetensors,
// tokenizer) and writes `out`, which exists only once it is complete. Errors: not_found, io,
// bad_file, unsupported (anything that the written file would compute differently), cancelled,
// out_of_memory, invalid_argument (`out` is a file that is read).
Result<ConvertReport> convert_folder(const std::string& folder, const std::string& out,
                                     const ConvertOptions& options);

}  // namespace ridge
