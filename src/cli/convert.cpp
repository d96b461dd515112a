// ridge convert: a folder of transformers as one GGUF file.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <thread>

#include "cli/common.hpp"
#include "cli/verbs.hpp"
#include "format/convert.hpp"

namespace ridge::cli {
namespace {

struct ConvertArgs {
    std::string folder, out;
    ConvertOptions options;
};

int convert(ConvertArgs& a) {
    catch_interrupts();
    std::optional<PercentLine> line("converting");
    a.options.progress = [&line](double share) {
        line->show(share);
        return !interrupted();
    };
    const auto report = convert_folder(a.folder, a.out, a.options);
    line.reset();
    if (!report) {
        complain(report.error());
        return report.error().code == ErrorCode::cancelled ? interrupt_code() : 1;
    }
    fmt::print("{}: {}, tokenizer {}, {} tensors, {:.1f} MB", a.out, report->architecture,
               report->tokenizer, report->tensors, static_cast<double>(report->bytes) / 1e6);
    if (report->left_out > 0)
        fmt::print("; {} tensors were left out (a tied head, images, tables)", report->left_out);
    fmt::print("\n");
    return 0;
}

}  // namespace

void add_convert(CLI::App& app, int& code) {
    auto a = std::make_shared<ConvertArgs>();
    a->options.threads = std::clamp(std::thread::hardware_concurrency(), 1u, 64u);
    CLI::App* v = app.add_subcommand("convert", "Write a transformers folder as a GGUF file");
    v->add_option("folder", a->folder, "folder with config.json, safetensors and a tokenizer")
        ->required();
    v->add_option("out", a->out, "file to write; it appears when it is complete")->required();
    v->add_option("--type", a->options.type,
                  "F32, F16, BF16 or Q8_0 for the matrices (default: as the folder has them)");
    v->add_option("--pre", a->options.pre,
                  "the pre-tokenizer's name, where the folder's is not recognised");
    v->add_option("--name", a->options.name, "the model's name (default: the folder's)");
    v->add_option("-t,--threads", a->options.threads, "threads")->check(CLI::Range(1, 64));
    v->callback([a, &code] { code = convert(*a); });
}

}  // namespace ridge::cli
