// One row of ridge bench: what is run, in which order, and what is kept of it.
#pragma once

#include <functional>
#include <vector>

#include "cli/bench_cases.hpp"
#include "cli/bench_cost.hpp"
#include "runtime/model.hpp"
#include "runtime/roofs.hpp"

namespace ridge::cli {

struct BenchRow {
    BenchCase what;
    uint32_t threads = 0;
    std::vector<double> samples_s;  // wall time of each repetition
    bool has_hash = false;
    uint64_t hash = 0;  // logits_hash of the prompt's last token

    // Of one repetition.
    StepTotal cost;
    double model_ops = 0;   // 2 x weights of the products + attention
    double read_bytes = 0;  // weights and cache

    // The roofs: `roofs` is the mean of both sides; nothing is measured with roof_seconds 0.
    bool measured = false;
    Roofs before, after, roofs;
    double roof_difference = 0;
    uint32_t attempts = 0;
    bool noisy = false;  // the roofs differed by more than 5 % in every attempt

    // Of a repetition of its own, with the clock read at every step.
    double timed_s = 0;
    double barriers = 0;  // a token (of the row, all sequences together: a pass)
    double wait_us = 0;   // a pass and thread
    std::vector<StepGroup> steps;

    uint64_t tokens() const { return uint64_t{what.batch} * (uint64_t{what.prompt} + what.gen); }
    double seconds() const;  // mean of the samples
};

struct MeanDeviation {
    double mean, deviation;  // of the sample (n - 1); 0 for one value
};
MeanDeviation mean_deviation(const std::vector<double>& values);

// Runs the row: a warm-up, then in each attempt roofs, repetitions, one timed repetition, roofs.
// `meter` may be null (no roofs). `progress` gets what is being done. Errors: the context's.
Result<BenchRow> measure_row(Model& model, RoofMeter* meter, const BenchCase& what,
                             uint32_t threads, const BenchArgs& args,
                             const std::function<void(const std::string&)>& progress);

// The first step above 1 % of the time that ran scalar code although this machine has vectors and
// nobody asked for it; null where there is none.
const StepGroup* scalar_step(const Model& model, const BenchRow& row);

}  // namespace ridge::cli
