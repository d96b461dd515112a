// ridge bench: tokens per second as llama-bench counts them, beside what this machine could do.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/cpu.hpp"
#include "cli/bench_output.hpp"
#include "cli/bench_progress.hpp"
#include "cli/common.hpp"
#include "cli/verbs.hpp"

namespace ridge::cli {
namespace {

// The roof loops that percentages of a kernel set are of: AVX2's where that is forced.
const RoofKernels& roof_kernels(std::string_view set) {
#if defined(__x86_64__)
    if (set == "avx2") return avx2::roof;
#else
    (void)set;
#endif
    return best_roof_kernels();
}

// All rows of one model with one cache type.
Status bench_model(const BenchArgs& args, const BenchPlan& plan, const std::string& name, KvType kv,
                   BenchWriter& writer) {
    EngineArgs engine;
    engine.model = name;
    engine.kernels = args.kernels;
    engine.activations = args.activations;
    engine.chunk = args.chunk;
    for (const BenchCase& c : plan.cases) engine.chunk = std::max(engine.chunk, c.batch);
    const auto threads_of = [](uint32_t t) { return t == 0 ? physical_cores() : t; };
    for (const uint32_t t : plan.threads) engine.threads = std::max(engine.threads, threads_of(t));
    RIDGE_ASSIGN(ModelOptions options, model_options(engine));
    options.kv = kv;
    options.vocabulary = false;
    Progress line;
    LoadTimes load;
    if (args.load) {
        ModelOptions whole = options;  // with its vocabulary, as for a first token
        whole.vocabulary = true;
        whole.progress = {};
        RIDGE_ASSIGN(const std::string path, find_model(name));
        RIDGE_ASSIGN(load, measure_load(path, whole, args.repetitions,
                                        [&](const std::string& what) { line.show(what); }));
        line.clear();
    }
    RIDGE_ASSIGN(const std::unique_ptr<Model> model, load_model(engine, std::move(options)));
    BenchModel described = describe_model(*model);
    described.load_s = median(load.load_s);
    described.read_s = median(load.read_s);
    for (const uint32_t t : plan.threads) {
        const uint32_t threads = std::min(threads_of(t), model->team().size());
        std::optional<RoofMeter> meter;
        if (args.roof_seconds > 0) {
            line.show("roofs");
            meter.emplace(model->team(), threads, roof_kernels(described.kernels));
            meter->measure(args.roof_seconds);  // finds the best streams
        }
        std::vector<BenchRow> rows;
        for (const BenchCase& c : plan.cases) {
            const auto progress = [&](const std::string& what) {
                line.show(
                    fmt::format("{} {} t{}: {}", described.type, case_name(c), threads, what));
            };
            RIDGE_ASSIGN(BenchRow row, measure_row(*model, meter ? &*meter : nullptr, c, threads,
                                                   args, progress));
            bound_batch(row, rows);
            line.clear();
            writer.row(described, row);
            if (const StepGroup* s = scalar_group(row.steps, described.kernels))
                return fail(ErrorCode::internal,
                            fmt::format("{}: step '{} {}' ran on the scalar kernel {} although "
                                        "this machine has AVX2; add a vector kernel, or pass "
                                        "--kernels ref where that is meant",
                                        case_name(c), s->kind, s->name, s->kernel));
            rows.push_back(std::move(row));
        }
    }
    return {};
}

int bench(const BenchArgs& args) {
    const auto plan = plan_bench(args);
    if (!plan) return complain(plan.error());
    const auto writer = bench_writer(args.output, args.steps);
    if (!writer) return complain(writer.error());
    if (args.models.empty())
        return refuse("give a model: a GGUF file, or the name of one in the model folder");
    for (const std::string& model : args.models)  // a misspelt last one should not cost the first
        if (const auto path = find_model(model); !path) return complain(path.error());
    Status done;
    for (const std::string& model : args.models)
        for (const KvType kv : plan->kv)
            if (done) done = bench_model(args, *plan, model, kv, **writer);
    (*writer)->finish();
    if (!done) return complain(done.error());
    return 0;
}

}  // namespace

void add_bench(CLI::App& app, int& code) {
    auto a = std::make_shared<BenchArgs>();
    CLI::App* v =
        app.add_subcommand("bench", "Tokens per second, and how near this machine's roof");
    v->footer("Lists: 128,512 or first-last, first-last+step, first-last*factor; options add up.");
    v->add_option("models", a->models, "GGUF files, or names of files in the model folder");
    const auto list = [&](const char* names, std::vector<std::string>& to, const char* what) {
        v->add_option(names, to, what)->allow_extra_args(false);
    };
    list("-m,--model", a->more_models, "a model, as without the option");
    list("-p,--n-prompt", a->prompt, "prompt tokens, timed together (512)");
    list("-n,--n-gen", a->gen, "tokens generated one at a time (128)");
    list("--pg", a->both, "-pg PROMPT,GEN: both in one row");
    list("-d,--n-depth", a->depth, "tokens before what is timed (0)");
    list("-t,--threads", a->threads, "threads (0: physical cores)");
    list("-b,--batch-size", a->batch, "sequences decoded together (1)");
    list("--cache-type-k", a->type_k, "-ctk TYPE: cache type bf16, f16, f32 or int8 (bf16)");
    list("--cache-type-v", a->type_v, "-ctv TYPE: the same as -ctk");
    v->add_option("-r,--repetitions", a->repetitions, "samples a row (5)")
        ->check(CLI::Range(1, 10000));
    v->add_option("--chunk", a->chunk, "tokens of a prompt computed together (512)")
        ->check(CLI::Range(1, 8192));
    v->add_option("-o,--output", a->output, "md, csv, json or jsonl (md)");
    v->add_flag("--steps", a->steps, "a table of the steps, slowest first, under each row");
    v->add_option("--roof-seconds", a->roof_seconds,
                  "length of one measurement of the roofs; 0 = none (0.5)")
        ->check(CLI::Range(0.0, 60.0));
    v->add_option("--attempts", a->attempts, "tries of a row whose roofs moved by 5 % (3)")
        ->check(CLI::Range(1, 100));
    v->add_flag("--load", a->load, "also how long weights take to be ready, and to read the file");
    v->add_flag("--no-warmup", a->no_warmup, "no run before the first sample");
    v->add_option("--activations", a->activations, "q8 or f32");
    v->add_option("--kernels", a->kernels, "force a kernel set: avx512, avx2 or ref");
    v->callback([a, &code] {
        a->models.insert(a->models.end(), a->more_models.begin(), a->more_models.end());
        code = bench(*a);
    });
}

}  // namespace ridge::cli
