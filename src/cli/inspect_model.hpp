// What ridge inspect knows about a model without loading its weights: the same program, lowering
// and size formulas as a load, so that what is listed is what a run takes.
#pragma once

#include <string>
#include <vector>

#include "cli/common.hpp"
#include "lower/lower.hpp"
#include "model/builder.hpp"

namespace ridge::cli {

struct MemoryItem {
    const char* key;   // of JSON
    std::string what;  // for people
    uint64_t bytes;
};

struct Inspection {
    GgufFile file;
    ModelProgram program;
    KernelChoice kernels;
    LoweredModel lowered;

    uint32_t context = 0, threads = 0;
    KvType kv = KvType::bf16;
    bool f32_activations = false;
    uint64_t packed_bytes = 0, packed_tensor_bytes = 0;
    std::vector<MemoryItem> memory;

    uint64_t total_bytes() const;
    explicit Inspection(GgufFile f) : file(std::move(f)) {}
};

// Opens and lowers the model of `args` as Model::load and Context::create would. Errors: theirs.
Result<Inspection> inspect_model(const EngineArgs& args);

}  // namespace ridge::cli
