#include "cli/bench_cost.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

namespace ridge::cli {
namespace {

// "blk.3.attn_q.weight" -> "attn_q"
std::string tensor_stem(std::string_view name) {
    if (name.starts_with("blk.")) {
        const size_t dot = name.find('.', 4);
        if (dot != std::string_view::npos) name.remove_prefix(dot + 1);
    }
    if (name.ends_with(".weight")) name.remove_suffix(7);
    return std::string(name);
}

// Keys that `rows` rows from `pos0` on see, added up, and how many different ones.
struct Keys {
    uint64_t seen = 0, distinct = 0;
};
Keys visible_keys(const PassRun& run, uint32_t window) {
    Keys k;
    for (uint64_t p = run.pos0; p < run.pos0 + uint64_t{run.rows}; ++p)
        k.seen += window == 0 ? p + 1 : std::min<uint64_t>(p + 1, window);
    const uint64_t first = window != 0 && run.pos0 + 1 > window ? run.pos0 + 1 - window : 0;
    k.distinct = run.pos0 + uint64_t{run.rows} - first;
    return k;
}

std::string layer_ranges(const std::vector<int>& layers) {
    std::string out;
    for (size_t i = 0; i < layers.size();) {
        size_t end = i + 1;
        while (end < layers.size() && layers[end] == layers[end - 1] + 1) ++end;
        if (!out.empty()) out += ',';
        out += end - i == 1 ? fmt::format("{}", layers[i])
                            : fmt::format("{}-{}", layers[i], layers[end - 1]);
        i = end;
    }
    return out;
}

void add(StepTotal& to, const StepTotal& from) {
    to.cost.bytes += from.cost.bytes;
    to.cost.int8_ops += from.cost.int8_ops;
    to.cost.bf16_ops += from.cost.bf16_ops;
    to.cost.f32_ops += from.cost.f32_ops;
    to.ideal_s += from.ideal_s;
}

}  // namespace

double ideal_seconds(const StepCost& c, const Roofs& r) {
    const auto seconds = [](double work, double rate) {
        return rate > 0 ? work / (rate * 1e9) : 0;
    };
    return std::max(seconds(c.bytes, r.read_gb_s), seconds(c.int8_ops, r.int8_gop_s) +
                                                       seconds(c.bf16_ops, r.bf16_gflop_s) +
                                                       seconds(c.f32_ops, r.f32_gflop_s));
}

void CostMeter::add_pass(std::span<const PassRun> runs, const Roofs& roofs) {
    uint32_t rows = 0, logits = 0, longest = 0;
    for (const PassRun& r : runs) {
        rows += r.rows;
        logits += r.logits;
        longest = std::max(longest, r.rows);
    }
    const Lowered& m = model_.lowered();
    for (uint32_t i = 0; i < m.n_steps; ++i) {
        const LoweredStep& s = m.steps[i];
        const uint32_t n = s.head ? logits : rows;
        // Small batches rotate inside the attention step.
        if (s.kind == StepKind::rotate && rows <= partial_rows &&
            longest * (s.heads / s.kv_heads) <= attend_max_queries)
            continue;
        Keys keys;
        if (s.kind == StepKind::attend)
            for (const PassRun& r : runs) {
                const Keys k = visible_keys(r, s.window);
                keys.seen += k.seen;
                keys.distinct += k.distinct;
            }
        const StepCost cost = step_cost(s, n, keys.seen, keys.distinct);
        add(steps_[i], {cost, ideal_seconds(cost, roofs)});
        if (s.kind == StepKind::product) {
            product_ops_ += cost.int8_ops + cost.bf16_ops + cost.f32_ops;
            weight_bytes_ += n > 0 ? static_cast<double>(s.cost.weight_bytes) : 0.0;
        } else if (s.kind == StepKind::attend) {
            attention_ops_ += cost.bf16_ops + cost.f32_ops;
            cache_bytes_ +=
                static_cast<double>(s.cost.key_bytes) * static_cast<double>(keys.distinct);
        }
    }
}

StepTotal CostMeter::total() const {
    StepTotal sum;
    for (const StepTotal& s : steps_) add(sum, s);
    return sum;
}

const char* step_kind_name(StepKind kind) {
    switch (kind) {
        case StepKind::embed:
            return "embed";
        case StepKind::prepare:
            return "prepare";
        case StepKind::product:
            return "product";
        case StepKind::rotate:
            return "rotate";
        case StepKind::attend:
            return "attend";
    }
    return "";
}

std::string step_name(const Program& program, const Lowered& m, uint32_t step) {
    const LoweredStep& s = m.steps[step];
    if (s.kind == StepKind::prepare) {
        for (uint32_t i = step + 1; i < m.n_steps; ++i)
            if (m.steps[i].kind == StepKind::product && m.steps[i].act == s.act)
                return "for " + step_name(program, m, i);
        return "";
    }
    if (s.kind == StepKind::embed) return tensor_stem(program.weights[s.table_weight].name);
    if (s.kind != StepKind::product) return s.window != 0 ? fmt::format("window {}", s.window) : "";
    // The head of a tied model is named for what it is.
    if (s.head) return "output";
    std::string out;
    for (uint32_t i = 0; i < s.n_segments; ++i) {
        const std::string stem = tensor_stem(program.weights[s.segment[i].weight].name);
        const size_t cut = stem.find('_');
        const bool same =
            i > 0 && cut != std::string::npos && out.compare(0, cut + 1, stem, 0, cut + 1) == 0;
        out += (i > 0 ? "+" : "") + (same ? stem.substr(cut + 1) : stem);
    }
    return out;
}

std::string step_kernel(const KernelSet& set, const LoweredStep& s) {
    switch (s.kind) {
        case StepKind::embed:
            return s.table_packed ? "unpack_column" : "dequantize";
        case StepKind::product: {
            std::vector<std::string> names;
            for (uint32_t i = 0; i < s.n_segments; ++i)
                if (std::find(names.begin(), names.end(), s.segment[i].kernel->name) == names.end())
                    names.emplace_back(s.segment[i].kernel->name);
            return fmt::format("{}", fmt::join(names, "+"));
        }
        case StepKind::attend:
            return std::string("attend_") + set.attend->set;
        default:
            return std::string("rows_") + set.row->set;
    }
}

KindTotal kind_total(std::span<const StepGroup> groups, std::string_view kind) {
    KindTotal sum;
    for (const StepGroup& g : groups) {
        if (g.kind != kind) continue;
        const StepCost& c = g.total.cost;
        sum.ops += c.int8_ops + c.bf16_ops + c.f32_ops;
        sum.seconds += g.seconds;
    }
    return sum;
}

ProductRoof product_roof(std::span<const StepGroup> groups, const Roofs& roofs) {
    double int8 = 0, bf16 = 0, f32 = 0;
    for (const StepGroup& g : groups) {
        if (g.kind != step_kind_name(StepKind::product)) continue;
        int8 += g.total.cost.int8_ops;
        bf16 += g.total.cost.bf16_ops;
        f32 += g.total.cost.f32_ops;
    }
    if (bf16 > int8 && bf16 >= f32) return {"bf16", roofs.bf16_gflop_s};
    if (f32 > int8) return {"f32", roofs.f32_gflop_s};
    return {"int8", roofs.int8_gop_s};
}

std::vector<StepGroup> group_steps(const Model& model, std::span<const uint64_t> step_ns,
                                   const std::vector<StepTotal>& totals) {
    const Lowered& m = model.lowered();
    struct Members {
        StepGroup group;
        std::vector<int> layers;
    };
    std::map<std::tuple<std::string, std::string, std::string, uint32_t>, Members> found;
    for (uint32_t i = 0; i < m.n_steps; ++i) {
        const LoweredStep& s = m.steps[i];
        const std::string kind = step_kind_name(s.kind);
        const std::string name = step_name(model.program(), m, i);
        const std::string kernel = step_kernel(*model.kernels().set, s);
        Members& to = found[{kind, name, kernel, s.window}];
        to.group.kind = kind;
        to.group.name = name;
        to.group.kernel = kernel;
        to.group.scalar = is_scalar_kernel(kernel);
        ++to.group.steps;
        to.group.seconds += static_cast<double>(step_ns[i]) / 1e9;
        add(to.group.total, totals[i]);
        if (s.layer >= 0) to.layers.push_back(s.layer);
    }
    std::vector<StepGroup> out;
    for (auto& [key, members] : found) {
        if (members.group.seconds == 0 && members.group.total.cost.bytes == 0) continue;
        members.group.layers = layer_ranges(members.layers);
        out.push_back(std::move(members.group));
    }
    std::sort(out.begin(), out.end(),
              [](const StepGroup& a, const StepGroup& b) { return a.seconds > b.seconds; });
    return out;
}

}  // namespace ridge::cli
