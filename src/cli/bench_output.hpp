// How ridge bench writes its rows: llama-bench's fields and formats, and ridge's own after them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "cli/bench_measure.hpp"

namespace ridge::cli {

// What a model's rows have in common.
struct BenchModel {
    std::string file, type;  // "llama 134.52 M Q4_1"
    uint64_t bytes = 0, params = 0;
    std::string kernels, activations;
    uint32_t chunk = 0;
    KvType kv = KvType::bf16;
    uint64_t bytes_per_token = 0;
};
BenchModel describe_model(const Model& model);

class BenchWriter {
  public:
    virtual ~BenchWriter() = default;
    virtual void row(const BenchModel& model, const BenchRow& row) = 0;
    virtual void finish() {}
};

// "md", "csv", "json" or "jsonl"; writes to standard output as rows come. `steps`: with the table
// of steps (csv has none). Errors: an unknown format, steps in csv.
Result<std::unique_ptr<BenchWriter>> bench_writer(const std::string& format, bool steps);

// Commit of the source tree ridge was built from; "unknown" where git could not tell.
const char* build_commit();

}  // namespace ridge::cli
