#include "cli/bench_measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>

#include "base/cpu.hpp"
#include "cli/bench_prompt.hpp"
#include "cli/common.hpp"

namespace ridge::cli {
namespace {

constexpr double tolerance = 0.05;
constexpr uint32_t most_attempts = 3;

Roofs mean_of(const Roofs& a, const Roofs& b) {
    Roofs m = a;
    m.read_gb_s = (a.read_gb_s + b.read_gb_s) / 2;
    m.int8_gop_s = (a.int8_gop_s + b.int8_gop_s) / 2;
    m.bf16_gflop_s = (a.bf16_gflop_s + b.bf16_gflop_s) / 2;
    m.f32_gflop_s = (a.f32_gflop_s + b.f32_gflop_s) / 2;
    if (b.read_gb_s > a.read_gb_s) {
        m.read_streams = b.read_streams;
        m.prefetch_bytes = b.prefetch_bytes;
    }
    return m;
}

class Runner {
  public:
    Runner(Model& model, Context& context, const BenchCase& what)
        : model_(model),
          context_(context),
          what_(what),
          ids_(random_prompt(size_t{what.depth} + what.prompt + what.gen, model.program().vocab)),
          rows_(what.batch) {}

    // Leaves every sequence with its first `depth` tokens.
    Status rewind() {
        for (uint32_t s = 0; s < what_.batch; ++s) {
            const uint32_t kept = context_.trim(s, what_.depth);
            if (kept == what_.depth) continue;
            const size_t missing = size_t{what_.depth} - kept;
            RIDGE_TRY(context_.prefill(s, std::span(ids_).subspan(kept, missing)));
        }
        return {};
    }

    // What is timed, and its wall time. With `hash` the prompt's last logits are named, while the
    // clock is stopped.
    Result<double> repetition(uint64_t* hash) {
        const std::span<const int32_t> ids(ids_);
        const double start = seconds_now();
        double paused = 0;
        for (uint32_t s = 0; s < what_.batch && what_.prompt != 0; ++s) {
            RIDGE_TRY(context_.prefill(s, ids.subspan(what_.depth, what_.prompt)));
            if (hash == nullptr) continue;
            const double stop = seconds_now();
            *hash = logits_hash(context_.logits(0));
            paused += seconds_now() - stop;
        }
        const size_t first = size_t{what_.depth} + what_.prompt;
        for (uint32_t i = 0; i < what_.gen; ++i) {
            for (uint32_t s = 0; s < what_.batch; ++s) rows_[s] = {s, ids_[first + i], true};
            RIDGE_TRY(context_.pass(rows_));
        }
        return seconds_now() - start - paused;
    }

    CostMeter cost(const Roofs& roofs) const {
        CostMeter meter(model_);
        const uint32_t chunk = model_.lowered().max_rows;
        const uint32_t end = what_.depth + what_.prompt;
        for (uint32_t s = 0; s < what_.batch; ++s)
            for (uint32_t p = what_.depth; p < end;) {
                const uint32_t n = std::min(chunk, end - p);
                const PassRun run{p, n, p + n == end ? 1u : 0u};
                meter.add_pass({&run, 1}, roofs);
                p += n;
            }
        for (uint32_t i = 0; i < what_.gen; ++i) {
            const std::vector<PassRun> runs(what_.batch, {end + i, 1, 1});
            meter.add_pass(runs, roofs);
        }
        return meter;
    }

    // Passes of one repetition.
    double passes() const {
        const uint32_t chunk = model_.lowered().max_rows;
        return what_.batch * ((what_.prompt + chunk - 1) / chunk) + what_.gen;
    }

  private:
    Model& model_;
    Context& context_;
    BenchCase what_;
    std::vector<int32_t> ids_;
    std::vector<Row> rows_;
};

Result<double> sample(Runner& runner) {
    RIDGE_TRY(runner.rewind());
    return runner.repetition(nullptr);
}

// A repetition that is not among the samples, with the clock read at every step and barrier.
Status time_steps(Model& model, Context& context, Runner& runner, const Roofs& roofs,
                  BenchRow& row) {
    RIDGE_TRY(runner.rewind());
    context.set_timing(true);
    model.team().set_timing(true);
    const auto seconds = runner.repetition(row.has_hash ? &row.hash : nullptr);
    double wait_ns = 0;
    for (unsigned t = 0; t < row.threads; ++t)
        wait_ns += static_cast<double>(model.team().wait_ns(t));
    model.team().set_timing(false);
    if (!seconds) return propagate(seconds);
    row.timed_s = *seconds;
    row.barriers = static_cast<double>(context.barriers()) / runner.passes();
    row.wait_us = wait_ns / 1e3 / row.threads / runner.passes();
    const CostMeter meter = runner.cost(roofs);
    row.steps = group_steps(model, context.step_ns(), meter.steps());
    row.cost = meter.total();
    row.model_ops = meter.model_ops();
    row.read_bytes = meter.read_bytes();
    context.set_timing(false);
    return {};
}

}  // namespace

double BenchRow::seconds() const {
    return mean_deviation(samples_s).mean;
}

MeanDeviation mean_deviation(const std::vector<double>& v) {
    if (v.empty()) return {0, 0};
    const double n = static_cast<double>(v.size());
    const double mean = std::accumulate(v.begin(), v.end(), 0.0) / n;
    double squares = 0;
    for (const double x : v) squares += (x - mean) * (x - mean);
    return {mean, v.size() > 1 ? std::sqrt(squares / (n - 1)) : 0.0};
}

Result<BenchRow> measure_row(Model& model, RoofMeter* meter, const BenchCase& what,
                             uint32_t threads, const BenchArgs& args,
                             const std::function<void(const std::string&)>& progress) {
    ContextOptions options;
    options.context = what.depth + what.prompt + what.gen;
    options.sequences = what.batch;
    options.threads_prefill = options.threads_decode = threads;
    RIDGE_ASSIGN(const std::unique_ptr<Context> context, Context::create(model, options));
    Runner runner(model, *context, what);
    if (!args.no_warmup) {
        progress("warm-up");
        RIDGE_TRY(sample(runner));
    }
    BenchRow best;
    for (uint32_t attempt = 1; attempt <= most_attempts; ++attempt) {
        BenchRow row;
        row.what = what;
        row.threads = threads;
        row.has_hash = what.prompt != 0;
        row.measured = meter != nullptr;
        if (meter != nullptr) {
            progress("roofs");
            row.before = meter->measure(args.roof_seconds);
        }
        for (uint32_t r = 0; r < args.repetitions; ++r) {
            progress(fmt::format("{} of {}", r + 1, args.repetitions));
            RIDGE_ASSIGN(const double seconds, sample(runner));
            row.samples_s.push_back(seconds);
        }
        if (meter != nullptr) {
            progress("roofs");
            row.after = meter->measure(args.roof_seconds);
            row.roofs = mean_of(row.before, row.after);
            row.roof_difference = difference(row.before, row.after);
        }
        if (attempt == 1 || row.roof_difference < best.roof_difference) best = std::move(row);
        best.attempts = attempt;
        if (best.roof_difference <= tolerance) break;
    }
    best.noisy = best.roof_difference > tolerance;
    progress("steps");
    RIDGE_TRY(time_steps(model, *context, runner, best.roofs, best));
    return best;
}

const StepGroup* scalar_step(const Model& model, const BenchRow& row) {
    // The set `ref` as a whole is only ever used where it was asked for, or nothing else runs.
    if (!cpu().has_avx2_set() || std::string_view(model.kernels().set->name) == "ref")
        return nullptr;
    double total = 0;
    for (const StepGroup& g : row.steps) total += g.seconds;
    for (const StepGroup& g : row.steps)
        if (g.scalar && g.seconds > 0.01 * total) return &g;
    return nullptr;
}

}  // namespace ridge::cli
