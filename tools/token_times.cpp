// Decodes for a while and writes the time of every token as JSON: what tools/contention.py reads.
//
// A sequence is decoded to `--depth` tokens and cut back to one, over and over, so that the work
// of a token stays that of a tg128 bench. The tokens fed do not depend on the logits: speed does
// not either. Times are from the return of one pass to the return of the next.
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/model.hpp"

namespace {

using Clock = std::chrono::steady_clock;

double seconds(Clock::duration d) {
    return std::chrono::duration<double>(d).count();
}

// CPU seconds of all threads so far.
double cpu_seconds() {
    rusage use{};
    getrusage(RUSAGE_SELF, &use);
    return static_cast<double>(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           static_cast<double>(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
}

// How often a thread of the team has gone to sleep in a barrier so far.
uint64_t parks(const ridge::ThreadTeam& team) {
    uint64_t all = 0;
    for (unsigned i = 0; i < team.size(); ++i) all += team.parks(i);
    return all;
}

int failed(const ridge::Error& error) {
    std::fprintf(stderr, "token_times: %s\n", error.message.c_str());
    return 1;
}

}  // namespace

int main(int argc, char** argv) {
    using namespace ridge;
    std::string path;
    unsigned threads = 0, depth = 128;
    double duration = 5, warm = 0.5;
    CLI::App app{"Decodes for a while and writes the time of every token as JSON."};
    app.add_option("MODEL", path)->required();
    app.add_option("-t,--threads", threads, "0: one a physical core");
    app.add_option("--depth", depth)->check(CLI::Range(2u, 4096u));
    app.add_option("--seconds", duration)->check(CLI::PositiveNumber);
    app.add_option("--warm", warm, "seconds before the first time is kept");
    CLI11_PARSE(app, argc, argv);

    ModelOptions options;
    options.threads = threads;
    options.vocabulary = false;
    options.max_logits = 1;
    auto model = Model::load(path, options);
    if (!model) return failed(model.error());
    ContextOptions context_options;
    context_options.context = depth;
    auto made = Context::create(**model, context_options);
    if (!made) return failed(made.error());
    Context& context = **made;

    std::vector<uint64_t> times;
    times.reserve(static_cast<size_t>(duration * 4000));
    const Clock::time_point begin = Clock::now();
    Clock::time_point before = begin, kept_from = begin;
    double cpu = 0;
    uint64_t parked = 0;
    const double total = warm + duration;
    for (bool keeping = false; seconds(before - begin) < total;) {
        if (!keeping && seconds(before - begin) >= warm) {
            keeping = true;
            kept_from = before;
            cpu = cpu_seconds();
            parked = parks((*model)->team());
        }
        if (context.length(0) == depth) context.trim(0, 1);
        const Row row{0, static_cast<int32_t>(context.length(0) % (*model)->program().vocab), true};
        if (const Status done = context.pass({&row, 1}); !done) return failed(done.error());
        const Clock::time_point now = Clock::now();
        if (keeping)
            times.push_back(static_cast<uint64_t>(
                std::chrono::duration_cast<std::chrono::nanoseconds>(now - before).count()));
        before = now;
    }
    nlohmann::json out;
    out["threads"] = (*model)->team().size();
    out["seconds"] = seconds(before - kept_from);
    out["cpu_seconds"] = cpu_seconds() - cpu;
    out["parks"] = parks((*model)->team()) - parked;
    out["token_ns"] = times;
    std::printf("%s\n", out.dump().c_str());
    return 0;
}
