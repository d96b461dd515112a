#include "cli/bench_measure.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <numeric>

#include "cli/bench_prompt.hpp"
#include "cli/common.hpp"

namespace ridge::cli {
namespace {

constexpr double tolerance = 0.05;

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

    // What is timed, and its wall time.
    Result<double> repetition() {
        const std::span<const int32_t> ids(ids_);
        const double start = seconds_now();
        for (uint32_t s = 0; s < what_.batch && what_.prompt != 0; ++s)
            RIDGE_TRY(context_.prefill(s, ids.subspan(what_.depth, what_.prompt)));
        const size_t first = size_t{what_.depth} + what_.prompt;
        for (uint32_t i = 0; i < what_.gen; ++i) {
            for (uint32_t s = 0; s < what_.batch; ++s) rows_[s] = {s, ids_[first + i], true};
            RIDGE_TRY(context_.pass(rows_));
        }
        return seconds_now() - start;
    }

    // Of the last token computed; every sequence of a batch has the same.
    uint64_t hash() { return logits_hash(context_.logits(what_.gen != 0 ? what_.batch - 1 : 0)); }

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

// A repetition, and what the clock showed at its steps where it was read there.
struct Sample {
    double seconds = 0;
    std::vector<uint64_t> step_ns;
    double barriers = 0, wait_ns = 0;
};

Result<Sample> take_sample(Model& model, Context& context, Runner& runner, uint32_t threads,
                           bool timed) {
    RIDGE_TRY(runner.rewind());
    context.set_timing(timed);
    model.team().set_timing(timed);
    const auto seconds = runner.repetition();
    Sample s;
    if (timed) {
        s.step_ns.assign(context.step_ns().begin(), context.step_ns().end());
        s.barriers = static_cast<double>(context.barriers());
        for (unsigned t = 0; t < threads; ++t)
            s.wait_ns += static_cast<double>(model.team().wait_ns(t));
        context.set_timing(false);
        model.team().set_timing(false);
    }
    if (!seconds) return propagate(seconds);
    s.seconds = *seconds;
    return s;
}

// The repetition in the middle, the faster one of two.
const Sample& middle(const std::vector<Sample>& samples) {
    std::vector<const Sample*> order;
    for (const Sample& s : samples) order.push_back(&s);
    std::sort(order.begin(), order.end(),
              [](const Sample* a, const Sample* b) { return a->seconds < b->seconds; });
    return *order[(order.size() - 1) / 2];
}

void fill_steps(Model& model, const Runner& runner, const Sample& sample, BenchRow& row) {
    row.timed_s = sample.seconds;
    row.barriers = sample.barriers / runner.passes();
    row.wait_us = sample.wait_ns / 1e3 / row.threads / runner.passes();
    const CostMeter meter = runner.cost(row.roofs);
    row.steps = group_steps(model, sample.step_ns, meter.steps());
    row.cost = meter.total();
    row.model_ops = meter.model_ops();
    row.read_bytes = meter.read_bytes();
}

}  // namespace

double BenchRow::seconds() const {
    return median(samples_s);
}

double median(std::vector<double> v) {
    if (v.empty()) return 0;
    std::sort(v.begin(), v.end());
    const size_t half = v.size() / 2;
    return v.size() % 2 == 1 ? v[half] : (v[half - 1] + v[half]) / 2;
}

void bound_batch(BenchRow& row, std::span<const BenchRow> before) {
    if (row.what.prompt != 0 || row.what.batch == 1) return;
    double one = 0, prefill = 0;  // seconds a step, tokens per second
    for (const BenchRow& b : before) {
        if (b.what.depth != row.what.depth || b.what.batch != 1) continue;
        if (b.what.prompt == 0) one = b.step_s();
        if (b.what.gen == 0 && b.seconds() > 0)
            prefill = std::max(prefill, static_cast<double>(b.tokens()) / b.seconds());
    }
    if (one > 0 && prefill > 0) row.batch_bound_s = std::max(one, row.what.batch / prefill);
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
    const bool timed = what.gen == 0;
    if (!args.no_warmup) {
        progress("warm-up");
        RIDGE_TRY(take_sample(model, *context, runner, threads, false));
    }
    BenchRow best;
    std::vector<Sample> kept;
    for (uint32_t attempt = 1; attempt <= args.attempts; ++attempt) {
        BenchRow row;
        std::vector<Sample> samples;
        row.what = what;
        row.threads = threads;
        row.measured = meter != nullptr;
        if (meter != nullptr) {
            progress("roofs");
            row.before = meter->measure(args.roof_seconds);
        }
        for (uint32_t r = 0; r < args.repetitions; ++r) {
            progress(fmt::format("{} of {}", r + 1, args.repetitions));
            RIDGE_ASSIGN(Sample s, take_sample(model, *context, runner, threads, timed));
            row.samples_s.push_back(s.seconds);
            samples.push_back(std::move(s));
        }
        row.hash = runner.hash();
        if (meter != nullptr) {
            progress("roofs");
            row.after = meter->measure(args.roof_seconds);
            row.roofs = mean_of(row.before, row.after);
            row.roof_difference = difference(row.before, row.after);
        }
        if (attempt == 1 || row.roof_difference < best.roof_difference) {
            best = std::move(row);
            kept = std::move(samples);
        }
        best.attempts = attempt;
        if (best.roof_difference <= tolerance) break;
    }
    best.noisy = best.roof_difference > tolerance;
    if (!timed) {
        progress("steps");
        RIDGE_ASSIGN(Sample s, take_sample(model, *context, runner, threads, true));
        kept.assign(1, std::move(s));
    }
    fill_steps(model, runner, middle(kept), best);
    return best;
}

namespace {

// Reads the file once; its seconds.
Result<double> read_file(const std::string& path) {
    static constexpr size_t block = size_t{1} << 20;
    const auto buffer = std::make_unique<char[]>(block);
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : 1;
    const double start = seconds_now();
    while (got > 0) got = read(fd, buffer.get(), block);
    const double seconds = seconds_now() - start;
    const int error = errno;
    if (fd >= 0) close(fd);
    if (got < 0)
        return fail(ErrorCode::io,
                    fmt::format("{} could not be read: {}", path, std::strerror(error)));
    return seconds;
}

}  // namespace

Result<LoadTimes> measure_load(const std::string& path, const ModelOptions& options,
                               uint32_t repetitions,
                               const std::function<void(const std::string&)>& progress) {
    LoadTimes times;
    RIDGE_TRY(read_file(path));
    for (uint32_t r = 0; r < repetitions; ++r) {
        progress(fmt::format("loading, {} of {}", r + 1, repetitions));
        RIDGE_ASSIGN(const double read_s, read_file(path));
        const double start = seconds_now();
        RIDGE_TRY(Model::load(path, options));
        times.load_s.push_back(seconds_now() - start);
        times.read_s.push_back(read_s);
    }
    return times;
}

}  // namespace ridge::cli
