// ridge: one program, one verb a file.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/bench_cases.hpp"
#include "cli/verbs.hpp"

int main(int argc, char** argv) {
    CLI::App app{"ridge runs language models on small machines"};
    app.require_subcommand(1);
    app.set_version_flag("--version", "ridge " RIDGE_VERSION);
    app.failure_message([](const CLI::App*, const CLI::Error& e) {
        return fmt::format("ridge: {}; 'ridge --help' and 'ridge VERB --help' list what there is\n",
                           e.what());
    });
    int code = 0;
    ridge::cli::add_run(app, code);
    ridge::cli::add_tokenize(app, code);
    ridge::cli::add_perplexity(app, code);
    ridge::cli::add_bench(app, code);
    ridge::cli::rename_bench_options(argc, argv);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        return app.exit(e) == 0 ? 0 : 2;  // help and version are no errors
    }
    return code;
}
