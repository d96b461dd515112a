#include "cli/common.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "cli/names.hpp"

namespace ridge::cli {

namespace fs = std::filesystem;

std::string harmless(std::string_view text) {
    std::string out;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f)
            out += fmt::format("\\x{:02x}", byte);
        else
            out += c;
    }
    return out;
}

int complain(const std::string& message) {
    std::fflush(stdout);
    std::fputs(("ridge: " + harmless(message) + "\n").c_str(), stderr);  // fmt throws if it is shut
    return 1;
}

int complain(const Error& error) {
    return complain(error.message);
}

int refuse(const std::string& message) {
    complain(message);
    return 2;
}

CLI::Option* add_model_option(CLI::App& verb, std::string& model) {
    return verb
        .add_option("model,-m,--model", model,
                    "GGUF file, or the name of one in the model folder (also -m FILE)")
        ->required();
}

void add_engine_options(CLI::App& verb, EngineArgs& a, bool positional_model) {
    if (positional_model) add_model_option(verb, a.model);
    verb.add_option("-t,--threads", a.threads, "threads (default: from this machine's profile)")
        ->check(CLI::Range(0, 256));
    verb.add_option("--threads-prefill", a.threads_prefill, "threads for prompts (default: as -t)")
        ->check(CLI::Range(0, 256));
    verb.add_option("-c,--ctx", a.context, "context in tokens (default: the model's, at most 4096)")
        ->check(CLI::Range(0, 1 << 24));
    verb.add_option("--chunk", a.chunk, "tokens of a prompt computed together")
        ->check(CLI::Range(1, 8192));
    verb.add_option("--cache-type", a.cache_type,
                    "KV cache: bf16 (f32 with --activations f32), f16, f32 or int8");
    verb.add_option("--activations", a.activations,
                    "q8 (int8 products) or f32 (oracle: nothing but the weights is rounded)");
    verb.add_option("--kernels", a.kernels, "force a kernel set: avx512, avx2 or ref");
}

Result<KvType> parse_kv_type(const std::string& name) {
    constexpr std::pair<const char*, KvType> types[] = {{"bf16", KvType::bf16},
                                                        {"f16", KvType::f16},
                                                        {"f32", KvType::f32},
                                                        {"int8", KvType::int8},
                                                        {"q8_0", KvType::int8}};
    for (const auto& [text, type] : types)
        if (name == text) return type;
    return fail(ErrorCode::invalid_argument,
                "unknown cache type '" + name + "'; choose one of bf16, f16, f32, int8");
}

std::string cache_type_of(const EngineArgs& args) {
    if (!args.cache_type.empty()) return args.cache_type;
    return args.activations == "f32" ? "f32" : "bf16";
}

std::string model_folder() {
    if (const char* models = std::getenv("RIDGE_MODELS")) return models;
    if (const char* home = std::getenv("HOME")) return std::string(home) + "/.cache/ridge";
    return {};
}

Result<std::string> find_model(const std::string& name) {
    if (name.empty())  // "$MODEL" of a script that never set it
        return fail(ErrorCode::invalid_argument,
                    "the model's name is empty; give the path of a GGUF file");
    std::error_code error;
    if (fs::exists(name, error)) return name;
    const std::string folder = model_folder();
    std::vector<std::string> there;
    if (name.find('/') == std::string::npos && !folder.empty()) {
        for (const auto& entry : fs::directory_iterator(folder, error)) {
            const std::string file = entry.path().filename().string();
            if (!file.ends_with(".gguf")) continue;
            if (file == name || file == name + ".gguf") return entry.path().string();
            there.push_back(file);
        }
    }
    // Beside the path that was meant, or in the model folder: the nearest name by edit distance.
    const fs::path path(name);
    const fs::path parent = path.has_parent_path() ? path.parent_path() : fs::path(".");
    for (const auto& entry : fs::directory_iterator(parent, error))
        if (entry.path().extension() == ".gguf")
            there.push_back(
                (path.has_parent_path() ? entry.path() : entry.path().filename()).string());
    std::string near = nearest_name(name, there);
    if (near.empty()) near = nearest_name(name + ".gguf", there);
    return fail(ErrorCode::not_found,
                "there is no file '" + name + "'" +
                    (near.empty() ? std::string("; give the path of a GGUF file")
                                  : "; did you mean '" + near + "'?"));
}

Result<ModelOptions> model_options(const EngineArgs& a) {
    ModelOptions o;
    if (a.activations != "q8" && a.activations != "f32")
        return fail(ErrorCode::invalid_argument,
                    "unknown activations '" + a.activations + "'; choose q8 or f32");
    o.f32_activations = a.activations == "f32";
    o.kernels = a.kernels;
    RIDGE_ASSIGN(o.kv, parse_kv_type(cache_type_of(a)));
    o.threads = std::max(a.threads, a.threads_prefill);
    o.chunk = a.chunk;
    return o;
}

Result<std::unique_ptr<Model>> load_model(const EngineArgs& args, ModelOptions options) {
    RIDGE_ASSIGN(const std::string path, find_model(args.model));
    PercentLine line("loading", 0.3);
    if (error_is_terminal()) options.progress = [&line](double share) { line.show(share); };
    return Model::load(path, std::move(options));
}

Result<std::unique_ptr<Context>> open_context(const EngineArgs& args, Model& model,
                                              ThreadProfile& profile) {
    const uint64_t bytes = model.bytes_per_token();
    ContextOptions c;
    c.context = args.context;
    c.threads_decode = args.threads != 0 ? args.threads : profile.decode_threads(bytes);
    c.threads_prefill = args.threads_prefill != 0 ? args.threads_prefill
                        : args.threads != 0       ? args.threads
                                                  : profile.prefill_threads(bytes);
    return Context::create(model, c);
}

PercentLine::PercentLine(const char* what, double patience)
    : what_(what), due_(seconds_now() + patience) {}

void PercentLine::show(double share) {
    const int percent = static_cast<int>(share * 100.0);
    if (percent == last_ || !error_is_terminal() || seconds_now() < due_) return;
    last_ = percent;
    fmt::print(stderr, "\r{} {:3d} %", what_, percent);
    std::fflush(stderr);
}

PercentLine::~PercentLine() {
    if (last_ >= 0) fmt::print(stderr, "\r\033[K");
}

Result<std::string> read_text(const std::string& path) {
    const bool standard = path == "-";
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> opened(
        standard ? nullptr : std::fopen(path.c_str(), "rb"), std::fclose);
    if (!standard && !opened)
        return fail(ErrorCode::not_found, "the file '" + path + "' cannot be read; check its name");
    std::FILE* f = standard ? stdin : opened.get();
    constexpr size_t most = size_t{128} << 20;  // /dev/zero never ends
    std::string text;
    char buffer[65536];
    while (std::feof(f) == 0) {
        const size_t n = std::fread(buffer, 1, sizeof buffer, f);
        if (std::ferror(f) != 0)
            return fail(ErrorCode::io, "reading '" + path + "' failed; is it a regular file?");
        if (n > most - text.size())
            return fail(ErrorCode::unsupported,
                        "'" + path + "' has more than 128 MiB; give a shorter text");
        text.append(buffer, n);
    }
    return text;
}

namespace {

volatile sig_atomic_t interrupt = 0;  // the first signal's number

void on_interrupt(int signal) {
    if (interrupt == 0) {
        interrupt = signal;
        return;
    }
    // a terminal that closes sends SIGHUP twice: by its shell, and by itself
    if (signal != SIGHUP) _exit(128 + signal);
}

}  // namespace

void catch_interrupts() {
    struct sigaction action = {};
    action.sa_handler = on_interrupt;
    sigaction(SIGINT, &action, nullptr);
    for (const int signal : {SIGTERM, SIGHUP}) {
        struct sigaction before = {};
        // what nohup has the program ignore stays ignored
        if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(signal, &action, nullptr);
    }
}
bool interrupted() {
    return interrupt != 0;
}
int interrupt_code() {
    return 128 + interrupt;
}

bool error_is_terminal() {
    return isatty(STDERR_FILENO) == 1;
}
int terminal_columns(int fd) {
    winsize size{};
    return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

bool output_is_terminal() {
    return isatty(STDOUT_FILENO) == 1;
}

double seconds_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

}  // namespace ridge::cli
