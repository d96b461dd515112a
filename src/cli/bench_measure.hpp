// One row of ridge bench: what is run, in which order, and what is kept of it.
#pragma once

#include <functional>
#include <span>
#include <string>
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
    uint64_t hash = 0;              // logits_hash of the last token computed

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

    // Steps, barriers and waiting. Rows without decode read the clock at every step in each
    // repetition, and keep those of the median one; others have a repetition more for it, because
    // there the clock is felt.
    double timed_s = 0;
    double barriers = 0;  // a token (of the row, all sequences together: a pass)
    double wait_us = 0;   // a pass and thread
    std::vector<StepGroup> steps;

    uint64_t tokens() const { return uint64_t{what.batch} * (uint64_t{what.prompt} + what.gen); }
    double seconds() const;  // median of the samples

    // A decode step of all sequences; 0 where the row has a prompt in it.
    double step_s() const { return what.prompt == 0 ? seconds() / what.gen : 0; }
    // What a decode step of `batch` sequences is measured by: the time of a step of one, or that of
    // as many tokens in a prompt, whichever is longer; 0 where this run has not measured both.
    double batch_bound_s = 0;
};

// Sets row.batch_bound_s from the rows before it (same model, cache type and threads).
void bound_batch(BenchRow& row, std::span<const BenchRow> before);

struct MeanDeviation {
    double mean, deviation;  // of the sample (n - 1); 0 for one value
};
MeanDeviation mean_deviation(const std::vector<double>& values);
double median(std::vector<double> values);  // 0 for none

// Runs the row: a warm-up, then in each attempt roofs, repetitions, one timed repetition, roofs.
// `meter` may be null (no roofs). `progress` gets what is being done. Errors: the context's.
Result<BenchRow> measure_row(Model& model, RoofMeter* meter, const BenchCase& what,
                             uint32_t threads, const BenchArgs& args,
                             const std::function<void(const std::string&)>& progress);

// Loading a model, beside one read of its file from the page cache.
struct LoadTimes {
    std::vector<double> load_s;  // Model::load with `options`, each destroyed again
    std::vector<double> read_s;  // read(2) of every byte into 1 MiB, by one thread
};

// In turn, `repetitions` times, after one read that is not timed. Errors: those of Model::load; io.
Result<LoadTimes> measure_load(const std::string& path, const ModelOptions& options,
                               uint32_t repetitions,
                               const std::function<void(const std::string&)>& progress);

}  // namespace ridge::cli
