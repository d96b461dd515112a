// What a run should have cost: each step's declared bytes and operations, added up over its passes,
// and the time they would take at the machine's roofs.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/model.hpp"
#include "runtime/roofs.hpp"

namespace ridge::cli {

// Consecutive rows of one sequence in a pass.
struct PassRun {
    uint32_t pos0, rows, logits;
};

struct StepTotal {
    StepCost cost{};
    double ideal_s =
        0;  // at the step's own roof: the larger of its bytes' and its operations' time
};

// Seconds that a step of this cost takes at the roofs, the slower of reading and computing; 0 where
// the roofs were not measured.
double ideal_seconds(const StepCost& cost, const Roofs& roofs);

class CostMeter {
  public:
    explicit CostMeter(const Model& model) : model_(model), steps_(model.lowered().n_steps) {}

    void add_pass(std::span<const PassRun> runs, const Roofs& roofs);

    const std::vector<StepTotal>& steps() const { return steps_; }
    StepTotal total() const;
    // 2 x weights used by products, and the attention's operations (4 x head size a head and
    // visible key): what the compute roof of the products is shared among.
    double model_ops() const { return product_ops_ + attention_ops_; }
    // Weight bytes and cache bytes: of the read roof alone.
    double read_bytes() const { return weight_bytes_ + cache_bytes_; }

  private:
    const Model& model_;
    std::vector<StepTotal> steps_;
    double product_ops_ = 0, attention_ops_ = 0, weight_bytes_ = 0, cache_bytes_ = 0;
};

// Steps that do the same work in several layers, added up. A step's time ends when the last thread
// comes to its barrier; replicated prepares have none and are timed on thread 0.
struct StepGroup {
    std::string kind, name, kernel, layers;
    uint32_t steps = 0;  // lowered steps
    double seconds = 0;
    StepTotal total;
    bool scalar = false;  // runs on the `ref` set

    // A time below that of the roofs: the data was in a cache, or the time went to the step before.
    bool above_roof() const { return total.ideal_s > seconds; }
};

// Operations and time of the steps of one kind, where the machine has one roof for them.
struct KindTotal {
    double ops = 0, seconds = 0;
};
KindTotal kind_total(std::span<const StepGroup> groups, std::string_view kind);

// The roof that a model's products are measured by: that of the operations most of theirs are.
struct ProductRoof {
    const char* name;  // "int8", "bf16", "f32"
    double gop_s;
};
ProductRoof product_roof(std::span<const StepGroup> groups, const Roofs& roofs);

// Does a kernel of this name (step_kernel) belong to the set `ref`?
inline bool is_scalar_kernel(std::string_view name) {
    return name.find("_ref") != std::string_view::npos;
}

// The first group above 1 % of the time that ran scalar code although `set` is one of vectors: a
// kernel that somebody forgot. The set `ref` as a whole is only ever used where it was asked for,
// or where nothing else runs. Null where there is none.
inline const StepGroup* scalar_group(std::span<const StepGroup> groups, std::string_view set) {
    if (set == "ref") return nullptr;
    double total = 0;
    for (const StepGroup& g : groups) total += g.seconds;
    for (const StepGroup& g : groups)
        if (g.scalar && g.seconds > 0.01 * total) return &g;
    return nullptr;
}

// Groups by kind, name, kernel and window, those that had nothing to do left out; slowest first.
// `step_ns` of each lowered step.
std::vector<StepGroup> group_steps(const Model& model, std::span<const uint64_t> step_ns,
                                   const std::vector<StepTotal>& totals);

const char* step_kind_name(StepKind kind);
// "attn_q+k+v" for products, "for attn_q+k+v" for what prepares their input.
std::string step_name(const Program& program, const Lowered& lowered, uint32_t step);
// Names of the kernels a step runs, as `ridge inspect` prints them.
std::string step_kernel(const KernelSet& set, const LoweredStep& step);

}  // namespace ridge::cli
