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
    double load_s = 0, read_s = 0;  // medians; 0 where they were not measured
};
BenchModel describe_model(const Model& model);

class BenchWriter {
  public:
    virtual ~BenchWriter() = default;
    virtual void row(const BenchModel& model, const BenchRow& row) = 0;
    virtual void finish() {}
};

// "md", "csv", "json" or "jsonl"; writes to standard output as rows come. `steps`: with the table
// of steps (csv has none). On a terminal too narrow for its table, md is lines of 60 columns.
// Errors: an unknown format, steps in csv.
Result<std::unique_ptr<BenchWriter>> bench_writer(const std::string& format, bool steps);

// Rates and shares of a row, from the median of its times.
struct Rates {
    MeanDeviation tokens_s, ns;  // as llama-bench prints them
    double median_tokens_s, gb_s, gop_s;
    double of_roof, of_int8, of_read;  // 0 to 1
    ProductRoof own;                   // of the products' operations
    double of_own;                     // the whole row by that roof
    double products_of_own;            // product steps alone, by their own time
    double attention_of_bf16;          // attention steps alone; 0 where they use no bf16
};
Rates rates(const BenchRow& row);

std::unique_ptr<BenchWriter> markdown_writer(bool steps);
std::unique_ptr<BenchWriter> narrow_writer(bool steps);
inline constexpr int markdown_columns = 160;

// part / whole, 0 where there is no whole.
inline double share(double part, double whole) {
    return whole > 0 ? part / whole : 0.0;
}

// Commit of the source tree ridge was built from; "unknown" where git could not tell.
const char* build_commit();

}  // namespace ridge::cli
