// ridge: one program, one verb a file.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <sstream>

#include "cli/bench_cases.hpp"
#include "cli/common.hpp"
#include "cli/sampling_options.hpp"
#include "cli/usage.hpp"
#include "cli/verbs.hpp"

namespace {

constexpr const char* not_written = "the output could not be written";

// Closed by a caller (<&-, >&-), a standard stream's number would be the next file's that is
// opened: a model would be read as text. What is opened here refuses what the stream is for.
void keep_standard_streams() {
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        if (::fcntl(fd, F_GETFD) == -1)
            (void)!::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int run_verb(int argc, char** argv) {
    CLI::App app{"ridge runs language models on small machines", "ridge"};
    app.formatter(ridge::cli::help_formatter());
    app.require_subcommand(1);
    app.set_version_flag("--version", "ridge " RIDGE_VERSION);
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
    ridge::cli::add_help(app, code);
    for (CLI::App* verb : app.get_subcommands({})) verb->group("Verbs");  // CLI11: "Subcommands"
    ridge::cli::rename_bench_options(argc, argv);
    ridge::cli::rename_sampling_options(argc, argv);
    if (argc > 1 && argv[1][0] != '-' && ridge::cli::find_verb(app, argv[1]) == nullptr)
        return ridge::cli::refuse(ridge::cli::unknown_verb(app, argv[1]));
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success& asked) {  // --help and --version
        std::ostringstream text;
        app.exit(asked, text, text);
        std::fputs(text.str().c_str(), stdout);
    } catch (const CLI::ParseError& e) {
        return ridge::cli::refuse(ridge::cli::explain(app, e));
    }
    // For every verb: output that did not arrive is an error.
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
        return ridge::cli::complain(not_written);
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
    keep_standard_streams();
    std::set_terminate(on_terminate);
    struct sigaction action = {};
    action.sa_handler = ridge_on_bus_error;
    sigaction(SIGBUS, &action, nullptr);
    try {
        return run_verb(argc, argv);
    } catch (const std::bad_alloc&) {
        std::fputs(no_memory, stderr);
    } catch (const std::exception& e) {  // fmt's own, where standard output takes no more
        return ridge::cli::complain(std::ferror(stdout) != 0 ? not_written : e.what());
    }
    return 1;
}
