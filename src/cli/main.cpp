// ridge: one program, one verb a file.
#include <CLI/CLI.hpp>

#include "cli/bench_cases.hpp"
#include "cli/verbs.hpp"

int main(int argc, char** argv) {
    CLI::App app{"ridge runs language models on small machines"};
    app.require_subcommand(1);
    int code = 0;
    ridge::cli::add_run(app, code);
    ridge::cli::add_tokenize(app, code);
    ridge::cli::add_perplexity(app, code);
    ridge::cli::add_bench(app, code);
    ridge::cli::rename_bench_options(argc, argv);
    CLI11_PARSE(app, argc, argv);
    return code;
}
