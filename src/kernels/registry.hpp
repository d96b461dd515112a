// Registry: which kernels exist, which this machine can run, and which one wins.
//
// Each set's kernels.inc names its products once; declarations, records, tests, micro-benchmarks
// and the planner's costs are generated from it. Selection is a chain: avx512, avx2, ref.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "kernels/contract.hpp"

namespace ridge {

struct KernelSet {
    const char* name;
    const char* needs;  // instruction sets, for people
    bool (*supported)();
    std::span<const ProductKernel> products;
    const RowKernels* row;
    const AttendKernels* attend;
};

// All sets of this build, best first; the last is ref.
std::span<const KernelSet> kernel_sets();

// The kernels one engine uses. Chosen once at load.
struct KernelChoice {
    const KernelSet* set = nullptr;  // row and attention kernels
    // The product for a weight type and activation format: the first of the chain that has it.
    const ProductKernel* product(DType weight, ActFormat act) const;
};

// Best supported set, or the one named by `force` (a set's name; empty = the environment variable
// RIDGE_KERNELS, else the best). Errors: unknown name, or a set this machine cannot run.
Result<KernelChoice> choose_kernels(std::string_view force = {});

// Activation format that products of this weight type take by default on `choice`.
ActFormat preferred_act(DType weight);

}  // namespace ridge
