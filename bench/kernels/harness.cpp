#include "bench/kernels/harness.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>

#include "runtime/roofs.hpp"

namespace ridge::bench {
namespace {

constexpr size_t mib = size_t{1} << 20;
bool any_failed = false;

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

double median(std::vector<double> v) {
    if (v.empty()) return 0;
    const size_t middle = v.size() / 2;
    std::nth_element(v.begin(), v.begin() + static_cast<ptrdiff_t>(middle), v.end());
    return v[middle];
}

ThreadTeam& team() {
    static ThreadTeam t(setup().cores);
    return t;
}

// Calls `step` on `threads` threads until the first has spent `seconds`; steps a second, summed
// over the threads' own rates, so that a thread that lost its core counts as what it did.
class Slice {
  public:
    using Step = std::function<void(unsigned thread, size_t n)>;
    explicit Slice(Step step) : step_(std::move(step)), next_(64) {}

    double rate(unsigned threads, double seconds) {
        seconds_ = seconds;
        stop_.store(false, std::memory_order_relaxed);
        std::vector<double> rates(threads);
        rates_ = rates.data();
        if (threads == 1)
            run(this, 0);
        else
            team().run(run, this, threads);
        double sum = 0;
        for (const double r : rates) sum += r;
        return sum;
    }

  private:
    static void run(void* self, unsigned thread) {
        Slice& s = *static_cast<Slice*>(self);
        // Clocks are read every few steps: a step may take a hundred nanoseconds.
        size_t n = s.next_[thread];
        const size_t first = n;
        const double start = now();
        double end = start;
        size_t batch = 1;
        do {
            for (const size_t until = n + batch; n < until; ++n) s.step_(thread, n);
            const double before = end;
            end = now();
            if (end - before < s.seconds_ / 64) batch *= 2;
        } while (end - start < s.seconds_ && !s.stop_.load(std::memory_order_relaxed));
        s.stop_.store(true, std::memory_order_relaxed);
        s.next_[thread] = n;
        s.rates_[thread] = static_cast<double>(n - first) / (end - start);
    }

    Step step_;
    std::vector<size_t> next_;  // a thread's next step
    std::atomic<bool> stop_{false};
    double seconds_ = 0;
    double* rates_ = nullptr;
};

struct ReadPlan {
    unsigned streams;
    size_t prefetch;
};

// 256 KiB a step, each stream's share of it, through the thread's part of the memory.
Slice::Step memory_reader(ReadPlan plan) {
    return [plan](unsigned thread, size_t n) {
        constexpr size_t step = 256 * 1024;
        constexpr size_t stagger = 17 * 256 + 64;  // other cache sets and banks for each stream
        const size_t share = step / plan.streams;
        const size_t part = (memory_part - plan.streams * stagger) / plan.streams / share * share;
        benchmark::DoNotOptimize(setup().roofs->read(memory()->part(thread) + n * share % part,
                                                     share, part + stagger, plan.streams,
                                                     plan.prefetch));
    };
}

// The combination that reads fastest, by a few rounds over all.
ReadPlan best_plan(unsigned threads) {
    static std::map<unsigned, ReadPlan> known;
    if (const auto it = known.find(threads); it != known.end()) return it->second;
    std::map<std::pair<unsigned, size_t>, double> best;
    for (int round = 0; round < 3; ++round)
        for (const unsigned streams : {1u, 2u, 4u, 8u})
            for (const size_t prefetch : {size_t{0}, size_t{1024}}) {
                Slice slice(memory_reader({streams, prefetch}));
                double& b = best[{streams, prefetch}];
                b = std::max(b, slice.rate(threads, 2 * setup().slice_seconds));
            }
    const auto top = std::max_element(
        best.begin(), best.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    return known[threads] = {top->first.first, top->first.second};
}

// What one sample of a roof is: units a second.
struct RoofLoop {
    std::unique_ptr<Slice> slice;
    double units = 0;  // a step
    AlignedBuffer bytes;
};

RoofLoop roof_loop(Roof roof, const Case& c) {
    const RoofKernels& k = *setup().roofs;
    constexpr uint32_t rounds = 500;
    RoofLoop loop;
    Slice::Step step;
    if (roof == Roof::memory) {
        const ReadPlan plan = best_plan(c.threads);
        step = memory_reader(plan);
        loop.units = 256 * 1024;
    } else if (roof == Roof::cached) {
        const size_t bytes = std::max<size_t>(c.cached_bytes / 1024 * 1024, 4096);
        loop.bytes = buffer(bytes);
        const uint8_t* data = loop.bytes.data();
        step = [data, bytes, &k](unsigned, size_t) {
            benchmark::DoNotOptimize(k.read(data, bytes / 4, bytes / 4, 4, 0));
        };
        loop.units = static_cast<double>(bytes);
    } else if (roof == Roof::int8) {
        step = [&k](unsigned, size_t) { benchmark::DoNotOptimize(k.int8(rounds)); };
        loop.units = 2.0 * k.int8_macs * rounds;
    } else {
        const bool bf16 = roof == Roof::bf16 && k.bf16_macs != 0;
        step = [&k, bf16](unsigned, size_t) {
            benchmark::DoNotOptimize(bf16 ? k.bf16(rounds) : k.f32(rounds));
        };
        loop.units = 2.0 * (bf16 ? k.bf16_macs : k.f32_macs) * rounds;
        // 16 lanes of an FMA are 32 operations of f32 and one of a pipe; there are twice as many.
        if (roof == Roof::pipes) loop.units = 2.0 * k.f32_macs / 16 * rounds;
    }
    loop.slice = std::make_unique<Slice>(std::move(step));
    return loop;
}

const char* roof_name(Roof roof) {
    switch (roof) {
        case Roof::int8:
            return "int8";
        case Roof::bf16:
            return "bf16";
        case Roof::f32:
            return "f32";
        case Roof::pipes:
            return "pipes";
        case Roof::cached:
            return "cache read";
        default:
            return "read";
    }
}

void measure(benchmark::State& state, const Case& c) {
    Slice kernel(c.prepare());
    std::vector<RoofLoop> roofs;
    for (const Bound& b : c.bounds) roofs.push_back(roof_loop(b.roof, c));
    const bool far = std::any_of(c.bounds.begin(), c.bounds.end(),
                                 [](const Bound& b) { return b.roof == Roof::memory; });
    const double seconds = (far ? 3 : 1) * setup().slice_seconds;
    // Once unmeasured: pages, clock, caches.
    kernel.rate(c.threads, seconds / 2);
    std::vector<double> calls;
    std::vector<std::vector<double>> roof_rates(roofs.size()), shares(roofs.size());
    for (auto _ : state) {
        (void)_;
        const double rate = kernel.rate(c.threads, seconds);
        calls.push_back(rate);
        for (size_t i = 0; i < roofs.size(); ++i) {
            const double roof = roofs[i].units * roofs[i].slice->rate(c.threads, seconds / 2);
            roof_rates[i].push_back(roof);
            shares[i].push_back(rate * c.bounds[i].amount / roof);
        }
        state.SetIterationTime(1 / rate);
    }
    size_t binding = 0;
    double most = 0;
    for (size_t i = 0; i < roofs.size(); ++i) {
        const double cap = c.bounds[i].cap != 0 ? c.bounds[i].cap : 1;
        if (median(shares[i]) / cap > most) {
            most = median(shares[i]) / cap;
            binding = i;
        }
    }
    if (!(most > 0)) {
        state.SkipWithError("the kernel's rate is not a number above zero");
        any_failed = true;
        return;
    }
    const double rate = median(calls);
    const Bound& b = c.bounds[binding];
    if (c.operations > 0) state.counters["GOP/s"] = rate * c.operations / 1e9;
    if (c.bytes > 0) state.counters["GB/s"] = rate * c.bytes / 1e9;
    state.counters["roof"] = median(roof_rates[binding]) / 1e9;
    state.counters["%roof"] = 100 * median(shares[binding]);
    if (b.cap > 0) {
        state.counters["cap"] = 100 * b.cap;
        state.counters["%cap"] = 100 * median(shares[binding]) / b.cap;
    }
    state.SetLabel(roof_name(b.roof));
}

}  // namespace

Setup& setup() {
    static Setup s;
    return s;
}

Memory* memory() {
    static Memory m = [] {
        Memory made;
        const size_t parts = setup().cores;
        auto bytes = AlignedBuffer::allocate(parts * memory_part + mib, true);
        if (bytes) {
            made.buffer = std::move(*bytes);
            made.parts = parts;
            // Pages that are not the shared zero page, even where nothing is packed.
            for (size_t i = 0; i < made.buffer.size(); i += 64)
                made.buffer.data()[i] = static_cast<uint8_t>(i >> 12);
        }
        return made;
    }();
    return m.parts != 0 ? &m : nullptr;
}

bool failed() {
    return any_failed;
}

std::vector<float> random_floats(size_t n, uint32_t seed) {
    std::vector<float> v(n);
    uint32_t x = seed * 2654435761u + 1;
    for (float& f : v) {
        x = x * 1664525u + 1013904223u;
        f = static_cast<float>(static_cast<int32_t>(x)) / 2147483648.0f;
    }
    return v;
}

AlignedBuffer buffer(size_t bytes) {
    auto b = AlignedBuffer::allocate(bytes + 4096, bytes >= mib);
    if (!b) {
        any_failed = true;
        return {};
    }
    for (size_t i = 0; i < b->size(); i += 64) b->data()[i] = 0;
    return std::move(*b);
}

void add(Case c) {
    const std::string name = c.name;
    const bool needs_memory = std::any_of(c.bounds.begin(), c.bounds.end(),
                                          [](const Bound& b) { return b.roof == Roof::memory; });
    if (!setup().has_caps)
        for (Bound& b : c.bounds) b.cap = 0;
    benchmark::RegisterBenchmark(name.c_str(),
                                 [c = std::move(c), needs_memory](benchmark::State& state) {
                                     if (needs_memory && memory() == nullptr) {
                                         state.SkipWithError("no memory for the buffers");
                                         any_failed = true;
                                         return;
                                     }
                                     measure(state, c);
                                 })
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond)
        ->Iterations(setup().samples);
}

}  // namespace ridge::bench
