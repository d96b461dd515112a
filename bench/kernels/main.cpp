// kernel_bench: each kernel's share of the roof that its header derives
// (docs/performance-kernels.md).
//
// Options of Google Benchmark (--benchmark_filter=REGEX, --benchmark_out=FILE,
// --benchmark_list_tests) and two of its own: --samples=N a benchmark (21), --slice_us=N a sample
// (1000; three times as long where memory is read). RIDGE_KERNELS names the set of kernels. Exit
// code 1 where a benchmark could not run.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/cpu.hpp"
#include "bench/kernels/harness.hpp"

namespace {

using namespace ridge;

// Takes --NAME=VALUE out of the arguments; 0 if it is not there, -1 if it is no positive number.
long take(int* argc, char** argv, const char* option) {
    const size_t length = std::strlen(option);
    for (int i = 1; i < *argc; ++i) {
        if (std::strncmp(argv[i], option, length) != 0) continue;
        char* end = nullptr;
        const long value = std::strtol(argv[i] + length, &end, 10);
        for (int j = i; j + 1 < *argc; ++j) argv[j] = argv[j + 1];
        --*argc;
        return *end == '\0' && value > 0 && value < 1000000 ? value : -1;
    }
    return 0;
}

const RoofKernels& roofs_of(const std::string& set) {
#if defined(__x86_64__)
    if (set == "avx512") return avx512::roof;
    if (set == "avx2") return avx2::roof;
#endif
    return scalar_roof;
}

}  // namespace

int main(int argc, char** argv) {
    const long samples = take(&argc, argv, "--samples=");
    const long slice = take(&argc, argv, "--slice_us=");
    if (samples < 0 || slice < 0) {
        std::fprintf(stderr, "kernel_bench: --samples and --slice_us take a number from 1 on\n");
        return 2;
    }
    auto kernels = choose_kernels();
    if (!kernels) {
        std::fprintf(stderr, "kernel_bench: %s\n", kernels.error().message.c_str());
        return 2;
    }
    bench::Setup& setup = bench::setup();
    setup.kernels = *kernels;
    const std::string set = setup.kernels.set->name;
    setup.roofs = &roofs_of(set);
    setup.has_caps = set == "avx512";
    setup.cores = std::min(physical_cores(), 16u);
    if (samples > 0) setup.samples = static_cast<int>(samples);
    if (slice > 0) setup.slice_seconds = static_cast<double>(slice) * 1e-6;

    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
    benchmark::AddCustomContext("kernels", set);
    benchmark::AddCustomContext("cpu", cpu().model);
    benchmark::AddCustomContext("threads", std::to_string(setup.cores));
    benchmark::AddCustomContext("samples", std::to_string(setup.samples));
    bench::add_products();
    bench::add_attention();
    bench::add_rows();
    bench::add_packing();
    const size_t run = benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return run == 0 || bench::failed() ? 1 : 0;
}
