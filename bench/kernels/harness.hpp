// Measures a kernel beside the roofs that bind it, in turn, in one process.
//
// A sample is a slice of the kernel followed by a slice of each roof that can bind it, so that
// clock and neighbours, which move within seconds, are the same for both. The share of a roof is
// the median over samples of kernel rate / roof rate. What binds is the roof whose share, divided
// by the cap that the kernel's header states for it (caps.hpp), is the largest.
#pragma once

#include <benchmark/benchmark.h>
#include <stddef.h>
#include <stdint.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/aligned.hpp"
#include "base/thread_team.hpp"
#include "kernels/registry.hpp"
#include "kernels/roof/roof.hpp"

namespace ridge::bench {

enum class Roof : uint8_t {
    int8,    // operations a second of the roof loops, two a multiply-add
    bf16,    //
    f32,     //
    pipes,   // vector operations a second: twice as many as FMA
    cached,  // bytes a second read from a buffer as large as the kernel's
    memory,  // bytes a second read from memory, by the best combination of streams and prefetch
};

// What a call takes of a roof: `amount` operations or bytes, of which the kernel can reach the
// share `cap` (0 where its header derives none: then only the share of the roof is printed).
struct Bound {
    Roof roof;
    double amount;
    double cap;
};

struct Case {
    std::string name;
    unsigned threads = 1;
    size_t cached_bytes = 0;  // what Roof::cached reads
    std::vector<Bound> bounds;
    double operations = 0;  // a call: printed as GOP/s
    double bytes = 0;       // a call: printed as GB/s
    // Made when the benchmark's turn has come; call n of a thread, n = 0, 1, 2, ...
    std::function<std::function<void(unsigned thread, size_t n)>()> prepare;
};

// What all benchmarks of a process share.
struct Setup {
    KernelChoice kernels;
    const RoofKernels* roofs;
    bool has_caps;  // caps.hpp is about this set
    int samples = 21;
    double slice_seconds = 0.001;  // of memory three times as long
    unsigned cores = 1;            // threads of benchmarks of memory
};
Setup& setup();

// Memory that benchmarks share: one part a thread, read from end to end and around again.
constexpr size_t memory_part = size_t{192} << 20;
struct Memory {
    AlignedBuffer buffer;
    std::string content;  // what it holds: made anew where another is wanted
    uint8_t* part(unsigned thread) { return buffer.data() + thread * memory_part; }
    size_t parts = 0;
};
// Null where the system has no memory for it.
Memory* memory();

void add(Case c);
// True where a benchmark ended in an error.
bool failed();

// Pseudo-random floats in -1..1, the same every time.
std::vector<float> random_floats(size_t n, uint32_t seed);
AlignedBuffer buffer(size_t bytes);

void add_products();
void add_attention();
void add_rows();
void add_packing();

}  // namespace ridge::bench
