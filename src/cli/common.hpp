// What the verbs share: error texts, loading with progress, stop by Ctrl-C.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "runtime/model.hpp"
#include "runtime/profile.hpp"

namespace ridge::cli {

// Control characters as \xNN: what a file says (a template's raise_exception) must not reach the
// terminal as an escape sequence. Line ends and tabs stay.
std::string harmless(std::string_view text);
// Prints "ridge: MESSAGE" to standard error; returns the exit code 1.
int complain(const Error& error);
int complain(const std::string& message);
// The same for a command line that cannot be meant: returns the exit code 2.
int refuse(const std::string& message);

// Options that every verb which runs a model takes.
struct EngineArgs {
    std::string model;
    std::string activations = "q8";
    std::string kernels;
    std::string cache_type;        // empty: bf16, or f32 with f32 activations
    uint32_t threads = 0;          // 0 = chosen from the machine's profile
    uint32_t threads_prefill = 0;  // 0 = as threads
    uint32_t context = 0;
    uint32_t chunk = 512;
};

// MODEL in its place, or by -m as llama.cpp has it; required unless the caller says otherwise.
CLI::Option* add_model_option(CLI::App& verb, std::string& model);
// Adds the options to a verb; without `positional_model` MODEL is left to the caller.
void add_engine_options(CLI::App& verb, EngineArgs& args, bool positional_model = true);

Result<KvType> parse_kv_type(const std::string& name);
// The cache type that the arguments ask for, by name.
std::string cache_type_of(const EngineArgs& args);

// The file a user means: a path, or the name of a file in the model cache folder. Error text names
// both places and near misses.
Result<std::string> find_model(const std::string& name);

// ModelOptions from the arguments, with a progress line on a terminal. Errors: unknown names.
Result<ModelOptions> model_options(const EngineArgs& args);
Result<std::unique_ptr<Model>> load_model(const EngineArgs& args, ModelOptions options);

// A context with the threads that the arguments ask for, or the profile advises.
Result<std::unique_ptr<Context>> open_context(const EngineArgs& args, Model& model,
                                              ThreadProfile& profile);

// "WHAT 42 %" on a terminal, rewritten as a share grows and gone at the end; nothing elsewhere.
// Work that is done within `patience` seconds shows none.
class PercentLine {
  public:
    explicit PercentLine(const char* what, double patience = 0);
    ~PercentLine();
    PercentLine(const PercentLine&) = delete;
    PercentLine& operator=(const PercentLine&) = delete;
    void show(double share);

  private:
    const char* what_;
    double due_;
    int last_ = -1;
};

// Folder of cached models: $RIDGE_MODELS, else ~/.cache/ridge; empty where neither is known.
std::string model_folder();

// A whole file; "-" is standard input. Error: not_found, io.
Result<std::string> read_text(const std::string& path);

// Ctrl-C, SIGTERM and SIGHUP: the first sets a flag that interrupted() reads, a second ends the
// program.
void catch_interrupts();
bool interrupted();
int interrupt_code();  // the exit code then: 128 and the signal's number, 130 for Ctrl-C

// Is standard error / standard output a terminal?
bool error_is_terminal();
bool output_is_terminal();
// Columns of the terminal behind a descriptor; 80 where it does not say.
int terminal_columns(int fd);

double seconds_now();  // monotonic

}  // namespace ridge::cli
