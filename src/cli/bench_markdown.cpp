// ridge bench's tables: for people.
#include <fmt/format.h>

#include <cstdio>

#include "base/cpu.hpp"
#include "cli/bench_output.hpp"

namespace ridge::cli {
namespace {

// A table as llama-bench prints it; what does not fit into one follows below.
class MarkdownWriter : public BenchWriter {
  public:
    explicit MarkdownWriter(bool steps) : steps_(steps) {}

    void row(const BenchModel& m, const BenchRow& r) override {
        const Rates v = rates(r);
        const auto percent = [&](double x) {
            return r.measured ? fmt::format("{:.1f}", 100 * x) : std::string("-");
        };
        if (m.load_s > 0 && load_.find(m.file) == std::string::npos)
            load_ += fmt::format(
                "{}: weights ready in {:.1f} ms, {:.2f} x one read of the file ({:.1f} ms)\n",
                m.file, 1e3 * m.load_s, share(m.load_s, m.read_s), 1e3 * m.read_s);
        if (notes_.empty())
            fmt::print(
                "| {:<26} | {:>10} | {:>8} | {:>2} | {:>4} | {:>15} | {:>18} | {:>6} | {:>7} | "
                "{:>6} | {:>6} | {:>6} |\n"
                "| {:-<26} | {:->9}: | {:->7}: | {:->1}: | {:->4} | {:->14}: | {:->17}: | {:->5}: "
                "| {:->6}: | {:->5}: | {:->5}: | {:->5}: |\n",
                "model", "size", "params", "t", "kv", "test", "t/s", "GB/s", "GOP/s", "% roof",
                "% int8", "% read", "", "", "", "", "", "", "", "", "", "", "", "");
        fmt::print(
            "| {:<26} | {:>10} | {:>8} | {:>2} | {:>4} | {:>15} | {:>18} | {:>6.1f} | {:>7.0f} | "
            "{:>6} | {:>6} | {:>6} |\n",
            m.type, fmt::format("{:.2f} MiB", static_cast<double>(m.bytes) / 1048576.0),
            fmt::format("{:.2f} M", static_cast<double>(m.params) / 1e6), r.threads,
            kv_type_name(m.kv), case_name(r.what),
            fmt::format("{:.2f} +- {:.2f}", v.tokens_s.mean, v.tokens_s.deviation), v.gb_s, v.gop_s,
            percent(v.of_roof), percent(v.of_int8), percent(v.of_read));
        std::fflush(stdout);
        note(m, r);
    }

    void finish() override {
        if (notes_.empty()) return;
        notes_ += load_;
        fmt::print("\n{}build: {}; {}\n", notes_, build_commit(), cpu().model);
    }

  private:
    void note(const BenchModel& m, const BenchRow& r) {
        notes_ += fmt::format("{}, {} threads, {}: {} kernels", m.file, r.threads,
                              case_name(r.what), m.kernels);
        notes_ += fmt::format("; logits {:016x}", r.hash);
        if (r.measured && r.what.gen == 0) {
            const Rates v = rates(r);
            notes_ += fmt::format("; products {:.1f} % of {}", 100 * v.products_of_own, v.own.name);
            if (v.attention_of_bf16 > 0)
                notes_ += fmt::format(", attention {:.1f} % of bf16", 100 * v.attention_of_bf16);
        }
        if (r.step_s() > 0) notes_ += fmt::format("; {:.3f} ms a step", 1e3 * r.step_s());
        if (r.batch_bound_s > 0)
            notes_ += fmt::format(", {:.2f} x its bound", r.step_s() / r.batch_bound_s);
        if (r.what.gen != 0)
            notes_ += fmt::format("; {:.0f} barriers and {:.1f} us of waiting a pass", r.barriers,
                                  r.wait_us);
        if (r.measured)
            notes_ += fmt::format(
                "; roofs {:.1f} GB/s, int8 {:.0f}, bf16 {:.0f}, f32 {:.0f} GOP/s, {:.1f} % "
                "apart{}",
                r.roofs.read_gb_s, r.roofs.int8_gop_s, r.roofs.bf16_gflop_s, r.roofs.f32_gflop_s,
                100 * r.roof_difference, r.noisy ? " (noisy)" : "");
        notes_ += '\n';
        if (steps_) notes_ += table(r) + '\n';
    }

    static std::string table(const BenchRow& r) {
        std::string t = fmt::format(
            "\n| {:<8} | {:<18} | {:<12} | {:>9} | {:>6} | {:>9} | {:>9} | {:>7} | {:>7} | {:>6} "
            "| {} |\n| {:-<8} | {:-<18} | {:-<12} | {:->8}: | {:->5}: | {:->8}: | {:->8}: | "
            "{:->6}: | {:->6}: | {:->5}: | ------ |\n",
            "step", "of", "layers", "ms", "share", "MB", "GOP", "GB/s", "GOP/s", "% roof", "kernel",
            "", "", "", "", "", "", "", "", "", "");
        for (const StepGroup& g : r.steps) {
            const StepCost& c = g.total.cost;
            const double ops = c.int8_ops + c.bf16_ops + c.f32_ops;
            t += fmt::format(
                "| {:<8} | {:<18} | {:<12} | {:>9.3f} | {:>6.1f} | {:>9.2f} | {:>9.3f} | {:>7.1f} "
                "| {:>7.1f} | {:>6} | {} |\n",
                g.kind, g.name, g.layers, g.seconds * 1e3, 100 * share(g.seconds, r.timed_s),
                c.bytes / 1e6, ops / 1e9, share(c.bytes / 1e9, g.seconds),
                share(ops / 1e9, g.seconds),
                !r.measured      ? std::string("-")
                : g.above_roof() ? std::string(">100")
                                 : fmt::format("{:.1f}", 100 * share(g.total.ideal_s, g.seconds)),
                g.kernel);
        }
        t += "\na step ends when its last thread does; one without a barrier (decode's prepares) "
             "is timed on\nthread 0; >100: its bytes came from a cache\n";
        return t;
    }

    bool steps_;
    std::string notes_, load_;
};

// The same for terminals that a table does not fit: lines of at most 60 columns.
class NarrowWriter : public BenchWriter {
  public:
    explicit NarrowWriter(bool steps) : steps_(steps) {}

    void row(const BenchModel& m, const BenchRow& r) override {
        const std::string head = fmt::format("{:.30}, {} threads, {} cache, {:.10}", m.type,
                                             r.threads, kv_type_name(m.kv), m.kernels);
        if (head != head_) fmt::print("{}{}\n", head_.empty() ? "" : "\n", head);
        head_ = head;
        const Rates v = rates(r);
        const bool decode = r.what.gen != 0;
        std::string roof;
        if (r.measured)
            roof = decode ? fmt::format("{:.1f} % read", 100 * v.of_read)
                          : fmt::format("{:.1f} % {}", 100 * v.of_own, v.own.name);
        fmt::print("{:<18} {:>8.1f} +- {:<7.1f} t/s  {:>11}\n", case_name(r.what), v.tokens_s.mean,
                   v.tokens_s.deviation, roof);
        if (r.batch_bound_s > 0)
            fmt::print("  {:.3f} ms a step, {:.2f} x its bound\n", 1e3 * r.step_s(),
                       r.step_s() / r.batch_bound_s);
        if (steps_) {
            for (const StepGroup& g : r.steps)
                fmt::print("  {:<26.26} {:>9.3f} ms {:>5.1f} %  {:>8}\n", g.kind + " " + g.name,
                           g.seconds * 1e3, 100 * share(g.seconds, r.timed_s), roof_of(r, g));
            fmt::print("\n");
        }
        std::fflush(stdout);
        load_ = m.load_s > 0 ? fmt::format("weights ready in {:.1f} ms, {:.2f} x one file read\n",
                                           1e3 * m.load_s, share(m.load_s, m.read_s))
                             : std::string();
    }

    void finish() override {
        if (!head_.empty()) fmt::print("{}build: {}; {:.40}\n", load_, build_commit(), cpu().model);
    }

  private:
    static std::string roof_of(const BenchRow& r, const StepGroup& g) {
        if (!r.measured) return "";
        if (g.above_roof()) return ">100 %";
        return fmt::format("{:.1f} %", 100 * share(g.total.ideal_s, g.seconds));
    }

    bool steps_;
    std::string head_, load_;
};

}  // namespace

std::unique_ptr<BenchWriter> markdown_writer(bool steps) {
    return std::make_unique<MarkdownWriter>(steps);
}

std::unique_ptr<BenchWriter> narrow_writer(bool steps) {
    return std::make_unique<NarrowWriter>(steps);
}

}  // namespace ridge::cli
