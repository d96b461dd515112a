// ridge bench: which rows the user asked for. Lists, ranges and defaults are llama-bench's.
#pragma once

#include <string>
#include <vector>

#include "base/status.hpp"
#include "kernels/kv_page.hpp"

namespace ridge::cli {

struct BenchArgs {
    std::vector<std::string> models, more_models;  // in place, by -m
    // Each value is a list; an option given twice adds up. Empty: the default.
    std::vector<std::string> prompt, gen, both, depth, threads, batch, type_k, type_v;
    uint32_t repetitions = 5;
    uint32_t chunk = 512;
    double roof_seconds = 0.5;  // of one measurement of the roofs; 0 = none
    uint32_t attempts = 3;      // at most, of a row whose roofs moved
    std::string output = "md";
    std::string kernels, activations = "q8";
    bool steps = false;
    bool no_warmup = false;
    bool load = false;  // measure how long weights take to be ready
};

// One row: `prompt` tokens, then `gen` single ones, behind `depth` tokens that are not timed.
struct BenchCase {
    uint32_t prompt = 0, gen = 0, depth = 0;
    uint32_t batch = 1;  // sequences decoded together
};

struct BenchPlan {
    std::vector<BenchCase> cases;
    std::vector<uint32_t> threads;
    std::vector<KvType> kv;
};

// Values of "1,4-8+2,16-128*2" style lists: first-last counts by 1, +step and *factor as said.
// `what` is the option, for errors: not a number, above `high`, an empty or endless range.
Result<std::vector<uint32_t>> parse_list(const std::string& what,
                                         const std::vector<std::string>& texts, uint32_t low,
                                         uint32_t high);

// Errors: bad lists; cache types that differ between keys and values.
Result<BenchPlan> plan_bench(const BenchArgs& args);

// "pp512", "tg128", "pp512+tg128", with " @ d1024" and " x4" where that applies.
std::string case_name(const BenchCase& c);
const char* kv_type_name(KvType type);

// llama-bench's options of several letters behind one dash (-pg, -ctk, -ctv) to long ones, where
// the verb is bench.
void rename_bench_options(int argc, char** argv);

}  // namespace ridge::cli
