// ridge quantize: a model in smaller types.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <thread>

#include "cli/common.hpp"
#include "cli/verbs.hpp"
#include "format/quantize_model.hpp"

namespace ridge::cli {
namespace {

struct QuantizeArgs {
    std::string in, out;
    QuantizeOptions options;
    bool dry_run = false;
};

// "576 columns, Q6_K needs multiples of 256"
std::string misfit(const QuantizeReport::Tensor& t) {
    return fmt::format("{} columns, {} needs multiples of {}", t.columns, name(t.wanted),
                       info(t.wanted).block);
}

// "; WHICH: misfit, so TYPE" for each way in which a tensor did not get the type it was to have.
std::string misfits(const QuantizeReport& r) {
    std::string text;
    std::vector<bool> told(r.tensors.size(), false);
    for (size_t i = 0; i < r.tensors.size(); ++i) {
        const auto& t = r.tensors[i];
        if (told[i] || t.wanted == t.to) continue;
        size_t same = 0;
        for (size_t j = i; j < r.tensors.size(); ++j) {
            const auto& other = r.tensors[j];
            if (other.wanted != t.wanted || other.to != t.to || other.columns != t.columns)
                continue;
            told[j] = true;
            ++same;
        }
        text += fmt::format(
            "; {}: {}, so {}",
            same == 1 ? t.name : fmt::format("{} of {} tensors", same, r.tensors.size()), misfit(t),
            name(t.to));
    }
    return text;
}

void print(const QuantizeArgs& a, const QuantizeReport& r) {
    if (a.dry_run)
        for (const auto& t : r.tensors)
            fmt::print("{:40} {:>6} -> {:6}{}{}\n", t.name, name(t.from), name(t.to),
                       t.wanted != t.to ? " (" + misfit(t) + ")" : "",
                       t.weighted ? " (by importance)" : "");
    size_t weighted = 0;
    for (const auto& t : r.tensors) weighted += t.weighted ? 1 : 0;
    fmt::print("{}: {:.1f} MB, {:.2f} bits a weight ({:.1f} MB before)", a.dry_run ? a.in : a.out,
               static_cast<double>(r.bytes_out) / 1e6,
               static_cast<double>(r.bytes_out) * 8.0 / static_cast<double>(r.weights),
               static_cast<double>(r.bytes_in) / 1e6);
    fmt::print("{}", misfits(r));
    if (!a.options.importance.empty()) fmt::print("; {} weighted by importance", weighted);
    fmt::print("\n");
}

int quantize(QuantizeArgs& a) {
    const auto path = find_model(a.in);
    if (!path) return complain(path.error());
    a.in = *path;
    if (a.dry_run) {
        const auto report = plan_model(a.in, a.options);
        if (!report) return complain(report.error());
        print(a, *report);
        return 0;
    }
    catch_interrupts();
    std::optional<PercentLine> line("quantizing");
    a.options.progress = [&line](double share) {
        line->show(share);
        return !interrupted();
    };
    const auto report = quantize_model(a.in, a.out, a.options);
    line.reset();
    if (!report) {
        complain(report.error());
        return report.error().code == ErrorCode::cancelled ? interrupt_code() : 1;
    }
    print(a, *report);
    return 0;
}

}  // namespace

void add_quantize(CLI::App& app, int& code) {
    auto a = std::make_shared<QuantizeArgs>();
    a->options.threads = std::clamp(std::thread::hardware_concurrency(), 1u, 64u);
    CLI::App* v = app.add_subcommand("quantize", "Write a model in smaller types");
    v->add_option("in", a->in, "GGUF file of F32, F16 or BF16 weights, or the name of one")
        ->required();
    v->add_option("out", a->out, "file to write; it appears when it is complete")->required();
    v->add_option("type", a->options.target, quant_targets() + " (Q4_K, Q5_K: the _M mixes)")
        ->required();
    v->add_option("--imatrix", a->options.importance,
                  "importance matrix, as llama-imatrix writes it: errors are weighed by it");
    v->add_flag("--pure", a->options.pure, "one type for all matrices, no mix");
    v->add_flag("--allow-requantize", a->options.allow_requantize, "take quantized matrices too");
    v->add_flag("--dry-run", a->dry_run, "list what each tensor would become, write nothing");
    v->add_option("-t,--threads", a->options.threads, "threads")->check(CLI::Range(1, 64));
    v->callback([a, &code] { code = quantize(*a); });
}

}  // namespace ridge::cli
