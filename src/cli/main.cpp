// ridge: one program, one verb a file.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

#include "cli/bench_cases.hpp"
#include "cli/common.hpp"
#include "cli/names.hpp"
#include "cli/sampling_options.hpp"
#include "cli/verbs.hpp"

namespace {

int run_verb(int argc, char** argv) {
    CLI::App app{"ridge runs language models on small machines"};
    app.require_subcommand(1);
    app.set_version_flag("--version", "ridge " RIDGE_VERSION);
    app.failure_message([](const CLI::App*, const CLI::Error& e) {
        const std::string_view what = e.what();
        return fmt::format(
            "ridge: {}; 'ridge --help' and 'ridge VERB --help' list what there is\n",
            what == "--model is required" ? "give a model, in its place or by -m" : what);
    });
    int code = 0;
    ridge::cli::add_run(app, code);
    ridge::cli::add_chat(app, code);
    ridge::cli::add_tokenize(app, code);
    ridge::cli::add_perplexity(app, code);
    ridge::cli::add_quantize(app, code);
    ridge::cli::add_convert(app, code);
    ridge::cli::add_pull(app, code);
    ridge::cli::add_embed(app, code);
    ridge::cli::add_bench(app, code);
    ridge::cli::add_inspect(app, code);
    ridge::cli::add_sim(app, code);
    ridge::cli::add_export(app, code);
    ridge::cli::add_manual(app, code);
    ridge::cli::rename_bench_options(argc, argv);
    ridge::cli::rename_sampling_options(argc, argv);
    if (argc > 1 && argv[1][0] != '-') {
        std::vector<std::string> verbs;
        for (const CLI::App* verb : app.get_subcommands({})) verbs.push_back(verb->get_name());
        if (std::find(verbs.begin(), verbs.end(), argv[1]) == verbs.end()) {
            const std::string near = ridge::cli::nearest_name(argv[1], verbs);
            ridge::cli::complain(fmt::format("there is no verb '{}'{}; the verbs are {}", argv[1],
                                             near.empty() ? "" : " (did you mean '" + near + "'?)",
                                             fmt::join(verbs, ", ")));
            return 2;
        }
    }
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        return app.exit(e) == 0 ? 0 : 2;  // help and version are no errors
    }
    // For every verb: output that did not arrive is an error.
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
        return ridge::cli::complain("the output could not be written");
    return code;
}

}  // namespace

constexpr const char* no_memory = "ridge: there is not enough memory for this\n";

// A mapped file that another process shortens, or whose disk fails, ends in this signal. Only what
// a signal handler may call is called here.
extern "C" void ridge_on_bus_error(int) {
    constexpr char text[] =
        "ridge: a model file became shorter, or its disk failed, while it was read; get the file "
        "again and leave it alone while it is used\n";
    (void)!::write(STDERR_FILENO, text, sizeof text - 1);
    ::_exit(1);
}

// An exception where none may pass: JSON values allocate in their destructors.
void on_terminate() {
    try {
        if (const std::exception_ptr thrown = std::current_exception())
            std::rethrow_exception(thrown);
    } catch (const std::bad_alloc&) {
        std::fputs(no_memory, stderr);
        ::_exit(1);
    } catch (...) {  // a mistake of ridge's own
    }
    std::abort();
}

int main(int argc, char** argv) {
    std::set_terminate(on_terminate);
    struct sigaction action = {};
    action.sa_handler = ridge_on_bus_error;
    sigaction(SIGBUS, &action, nullptr);
    try {
        return run_verb(argc, argv);
    } catch (const std::bad_alloc&) {
        std::fputs(no_memory, stderr);
    } catch (const std::exception& e) {  // the output could not be written, for one
        std::fprintf(stderr, "ridge: %s\n", e.what());
    }
    return 1;
}
