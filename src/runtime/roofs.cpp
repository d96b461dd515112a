#include "runtime/roofs.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>

namespace ridge {
namespace {

constexpr size_t mib = size_t{1} << 20;
constexpr size_t tile_bytes = mib;         // read between two looks at the clock
constexpr size_t stagger = 17 * 256 + 64;  // streams begin on different cache sets and DRAM banks
constexpr size_t likely = 3;               // combinations measured at every later call
constexpr double slice_seconds = 0.003;    // of one peak sample
enum Kind : uint32_t { int8, bf16, f32 };

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

// Bytes the system says it can give without swapping; 0 if it does not say.
size_t available_memory() {
    std::ifstream in("/proc/meminfo");
    for (std::string line; std::getline(in, line);) {
        if (line.rfind("MemAvailable:", 0) == 0)
            return static_cast<size_t>(std::strtoull(line.c_str() + 13, nullptr, 10)) << 10;
    }
    return 0;
}

size_t wanted_bytes(unsigned threads) {
    size_t bytes = threads <= 4 ? 256 * mib : threads <= 16 ? 128 * mib : 64 * mib;
    const size_t available = available_memory();
    while (available != 0 && bytes > 16 * mib && bytes * threads > available / 4) bytes /= 2;
    return bytes;
}

// A result nobody needs, kept so that the loop that made it is.
void keep(uint64_t value) {
    static std::atomic<uint64_t> sink{0};
    sink.fetch_xor(value, std::memory_order_relaxed);
}

}  // namespace

// What one call of the team does, and each thread's rate.
struct RoofMeter::Job {
    RoofMeter* meter;
    std::vector<double> rate;
    // reading
    unsigned streams = 1;
    size_t prefetch = 0;
    std::atomic<bool> stop{false};  // the first thread at its end stops all
    // peaks
    uint32_t kind = int8;
    double macs = 0;
    double seconds = 0;

    static void fill(void* ctx, unsigned thread);
    static void read(void* ctx, unsigned thread);
    static void count(void* ctx, unsigned thread);
};

double difference(const Roofs& a, const Roofs& b) {
    const double pairs[][2] = {{a.read_gb_s, b.read_gb_s},
                               {a.int8_gop_s, b.int8_gop_s},
                               {a.bf16_gflop_s, b.bf16_gflop_s},
                               {a.f32_gflop_s, b.f32_gflop_s}};
    double worst = 0;
    for (const auto& [x, y] : pairs) {
        const double larger = std::max(x, y);
        if (larger > 0) worst = std::max(worst, std::fabs(x - y) / larger);
    }
    return worst;
}

RoofMeter::RoofMeter(ThreadTeam& team, unsigned threads, const RoofKernels& kernels)
    : team_(team), threads_(std::clamp(threads, 1u, team.size())), kernels_(kernels) {
    for (const unsigned streams : {1u, 2u, 4u, 8u}) {
        for (const size_t prefetch : {size_t{0}, size_t{1024}})
            combinations_.push_back({streams, prefetch});
    }
    for (size_t bytes = wanted_bytes(threads_); bytes >= 16 * mib; bytes /= 2) {
        for (unsigned i = 0; i < threads_; ++i) {
            Result<AlignedBuffer> buffer = AlignedBuffer::allocate(bytes, true);
            if (!buffer) break;
            buffers_.push_back(std::move(*buffer));
        }
        if (buffers_.size() == threads_) {
            bytes_ = bytes;
            break;
        }
        buffers_.clear();
    }
}

// Each thread writes its own buffer, so that the pages exist, differ from the shared zero page,
// and lie near the thread.
void RoofMeter::Job::fill(void* ctx, unsigned thread) {
    Job& job = *static_cast<Job*>(ctx);
    AlignedBuffer& buffer = job.meter->buffers_[thread];
    for (size_t i = 0; i < buffer.size(); i += cache_line)
        buffer.data()[i] = static_cast<uint8_t>(i >> 12);
}

void RoofMeter::Job::read(void* ctx, unsigned thread) {
    Job& job = *static_cast<Job*>(ctx);
    const RoofMeter& meter = *job.meter;
    const uint8_t* data = meter.buffers_[thread].data();
    // Every stream gets a part; a part is cut so that the staggered last one ends in the buffer.
    const size_t part = (meter.bytes_ - job.streams * stagger) / job.streams / 256 * 256;
    const size_t stride = part + stagger;
    const size_t step = tile_bytes / job.streams;
    size_t done = 0;
    meter.team_.barrier(thread);
    const double start = now();
    for (size_t at = 0; at < part && !job.stop.load(std::memory_order_relaxed); at += step) {
        const size_t bytes = std::min(step, part - at);
        keep(meter.kernels_.read(data + at, bytes, stride, job.streams, job.prefetch));
        done += bytes * job.streams;
    }
    const double seconds = now() - start;
    job.stop.store(true, std::memory_order_relaxed);
    job.rate[thread] = static_cast<double>(done) / seconds;
}

void RoofMeter::Job::count(void* ctx, unsigned thread) {
    Job& job = *static_cast<Job*>(ctx);
    const RoofMeter& meter = *job.meter;
    const RoofKernels& kernels = meter.kernels_;
    constexpr uint32_t rounds = 2000;  // some tens of microseconds between looks at the clock
    double done = 0;
    meter.team_.barrier(thread);
    const double start = now();
    double end;
    do {
        if (job.kind == int8) {
            keep(kernels.int8(rounds));
        } else {
            const float sum = (job.kind == bf16 ? kernels.bf16 : kernels.f32)(rounds);
            keep(static_cast<uint64_t>(sum));
        }
        done += rounds;
        end = now();
    } while (end - start < job.seconds);
    job.rate[thread] = 2 * job.macs * done / (end - start);
}

double RoofMeter::read_pass(const Combination& combination) {
    Job job{this, std::vector<double>(threads_), combination.streams, combination.prefetch};
    team_.run(Job::read, &job, threads_);
    double sum = 0;
    for (const double rate : job.rate) sum += rate;
    return sum / 1e9;
}

// Operations per second / 1e9: the best of as many slices as fit, after one to warm up (clock).
double RoofMeter::peak(uint32_t kind, double seconds) {
    const double end = now() + seconds;
    double best = 0;
    for (int slice = 0; slice < 2 || now() + slice_seconds < end; ++slice) {
        Job job{this, std::vector<double>(threads_)};
        job.kind = kind;
        job.macs = kind == int8   ? kernels_.int8_macs
                   : kind == bf16 ? kernels_.bf16_macs
                                  : kernels_.f32_macs;
        job.seconds = slice_seconds;
        team_.run(Job::count, &job, threads_);
        double sum = 0;
        for (const double rate : job.rate) sum += rate;
        if (slice != 0) best = std::max(best, sum / 1e9);
    }
    return best;
}

// The first call tries all combinations. Later ones try those that were best, and each time one
// of the others in turn, until the time is over: a machine's best combination hardly changes.
void RoofMeter::measure_read(double seconds, Roofs& roofs) {
    if (bytes_ == 0) return;
    size_t count = likely;
    if (!filled_) {
        Job job{this, {}};
        team_.run(Job::fill, &job, threads_);
        filled_ = true;
        count = combinations_.size();
    } else {
        const size_t others = combinations_.size() - likely;
        std::swap(combinations_[likely], combinations_[likely + next_other_++ % others]);
        count = likely + 1;
    }
    const double end = now() + seconds;
    double pass_seconds = 0;
    do {
        for (size_t i = 0; i < count; ++i) {
            const double start = now();
            const double rate = read_pass(combinations_[i]);
            pass_seconds = now() - start;
            combinations_[i].best = std::max(combinations_[i].best, rate);
            if (rate > roofs.read_gb_s) {
                roofs.read_gb_s = rate;
                roofs.read_streams = static_cast<int>(combinations_[i].streams);
                roofs.prefetch_bytes = static_cast<int>(combinations_[i].prefetch);
            }
        }
        // Once all have been tried the best few share the rest of the time.
        std::sort(combinations_.begin(), combinations_.end(),
                  [](const Combination& a, const Combination& b) { return a.best > b.best; });
        count = likely;
    } while (now() + static_cast<double>(count) * pass_seconds < end);
}

Roofs RoofMeter::measure(double seconds) {
    Roofs roofs;
    roofs.set = kernels_.set;
    measure_read(0.6 * seconds, roofs);
    const double share = 0.4 * seconds / 3;
    roofs.int8_gop_s = peak(int8, share);
    roofs.f32_gflop_s = peak(f32, share);
    roofs.bf16_gflop_s = kernels_.bf16_macs != 0 ? peak(bf16, share) : roofs.f32_gflop_s;
    return roofs;
}

Roofs measure_roofs(ThreadTeam& team, unsigned threads, double seconds_budget) {
    return RoofMeter(team, threads).measure(seconds_budget);
}

}  // namespace ridge
