// ridge run: continue a prompt, or answer it in the model's chat format.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/boards.hpp"
#include "cli/common.hpp"
#include "cli/run_board.hpp"
#include "cli/sampling_options.hpp"
#include "cli/verbs.hpp"
#include "runtime/profile.hpp"
#include "runtime/roofs.hpp"
#include "sample/chooser.hpp"
#include "text/chat.hpp"
#include "text/utf8_stream.hpp"

namespace ridge::cli {
namespace {

struct RunArgs {
    EngineArgs engine;
    std::string prompt, prompt_file, system;
    int64_t n = 256;  // below 0: until the model ends or the context is full
    SamplingArgs sampling;
    std::vector<std::string> stop;
    bool chat = false, json = false, stats = false, ignore_eos = false;
    std::string board, profile, calibration;  // run on a simulated board
    std::vector<std::string> set;
};

struct Answer {
    std::string text;
    std::vector<int32_t> ids;
    std::vector<Logprobs> logprobs;  // of each id, where they were asked for
    const char* finish = "length";   // "stop" (end token or stop string), "length", "interrupt"
    bool fits = true;                // is it a whole text of the grammar?
    double load_s = 0, prefill_s = 0, decode_s = 0;
    uint32_t prompt_tokens = 0;
};

// Holds back what may be the beginning of a stop string.
class StopFilter {
  public:
    explicit StopFilter(const std::vector<std::string>& stops) : stops_(stops) {}

    // Text that is certainly not part of a stop string; `hit` is set where one was completed.
    std::string push(const std::string& piece, bool& hit) {
        held_ += piece;
        size_t found = std::string::npos;
        for (const std::string& s : stops_) found = std::min(found, held_.find(s));
        if (found != std::string::npos) {
            hit = true;
            std::string out = held_.substr(0, found);
            held_.clear();
            return out;
        }
        size_t keep = 0;
        for (const std::string& s : stops_)
            for (size_t n = std::min(s.size() - 1, held_.size()); n > keep; --n)
                if (s.compare(0, n, held_, held_.size() - n, n) == 0) keep = n;
        std::string out = held_.substr(0, held_.size() - keep);
        held_.erase(0, out.size());
        return out;
    }
    std::string rest() { return std::exchange(held_, {}); }

  private:
    const std::vector<std::string>& stops_;
    std::string held_;
};

Result<std::vector<int32_t>> prompt_ids(const Model& model, const RunArgs& args) {
    if (!args.chat) return model.tokenizer().encode(args.prompt, true, false);
    if (model.tokenizer().chat_template().empty())
        return fail(ErrorCode::unsupported,
                    "'" + model.file().path() +
                        "' has no chat template (a base model?); continue text without --chat, or "
                        "give a template to 'ridge chat --template FILE'");
    RIDGE_ASSIGN(const ChatPrompt chat, ChatPrompt::create(model.tokenizer()));
    if (chat.own_format() || args.stats)
        fmt::print(stderr, "chat format: {}\n", chat.description());
    TemplateInput input;
    input.messages = nlohmann::ordered_json::array();
    if (!args.system.empty())
        input.messages.push_back({{"role", "system"}, {"content", args.system}});
    input.messages.push_back({{"role", "user"}, {"content", args.prompt}});
    return chat.encode(std::move(input));
}

Result<Answer> generate(Model& model, Context& context, const RunArgs& args,
                        const std::vector<int32_t>& ids) {
    Answer a;
    RIDGE_ASSIGN(TokenChooser chooser, make_chooser(args.sampling, model, !args.ignore_eos));
    chooser.accept_prompt(ids);
    a.prompt_tokens = static_cast<uint32_t>(ids.size());
    const double begin = seconds_now();
    const auto computed = context.prompt(0, ids, interrupted);
    if (!computed) {
        if (computed.error().code != ErrorCode::cancelled) return propagate(computed);
        a.finish = "interrupt";
        return a;
    }
    const double ready = seconds_now();
    a.prefill_s = ready - begin;
    Utf8Stream utf8;
    StopFilter stops(args.stop);
    const auto emit = [&](const std::string& text) {
        a.text += text;
        if (args.json || text.empty()) return;
        std::fwrite(text.data(), 1, text.size(), stdout);
        std::fflush(stdout);
    };
    const size_t most = args.n < 0 ? SIZE_MAX : static_cast<size_t>(args.n);
    for (bool stopped = false; a.ids.size() < most && !stopped;) {
        if (interrupted()) {
            a.finish = "interrupt";
            break;
        }
        RIDGE_ASSIGN(const int32_t id, chooser.next(context.logits(0)));
        if (id < 0 || (!args.ignore_eos && model.tokenizer().is_end(id))) {
            a.finish = "stop";
            break;
        }
        a.ids.push_back(id);
        if (args.sampling.logprobs > 0)
            a.logprobs.push_back(log_probabilities(context.logits(0), id, args.sampling.logprobs));
        emit(stops.push(utf8.push(model.tokenizer().bytes(id)), stopped));
        if (stopped) a.finish = "stop";
        if (stopped || a.ids.size() == most) break;
        if (context.length(0) == context.context()) break;
        const Row row{0, id, true};
        RIDGE_TRY(context.pass({&row, 1}));
    }
    a.decode_s = seconds_now() - ready;
    a.fits = chooser.complete();
    bool hit = false;
    std::string tail = stops.push(utf8.finish(), hit);
    emit(tail + stops.rest());
    return a;
}

// Share of the time that the work would take at the machine's roofs.
double roof_share(double gb, double seconds, double roof_gb_s) {
    return seconds > 0 && roof_gb_s > 0 ? gb / roof_gb_s / seconds : 0.0;
}

void print_stats(Model& model, Context& context, const Answer& a) {
    const double gb = static_cast<double>(model.bytes_per_token()) / 1e9;
    const size_t steps = a.ids.empty() ? 0 : a.ids.size() - 1;
    const double decode = steps > 0 ? static_cast<double>(steps) / a.decode_s : 0.0;
    RoofMeter meter(model.team(), context.threads_decode());
    const Roofs roofs = meter.measure(0.5);
    // The head is computed for the prompt's last token only.
    const double head = 2.0 * model.program().vocab * model.program().hidden;
    const double all = static_cast<double>(product_ops(model.program()));
    const double tops = ((all - head) * a.prompt_tokens + head) / 1e9;
    fmt::print(
        stderr,
        "\nprefill  {:8.1f} tokens/s  ({} tokens; {:.0f} % of the int8 roof, {:.0f} GOP/s)\n",
        a.prompt_tokens / a.prefill_s, a.prompt_tokens,
        100.0 * roof_share(tops, a.prefill_s, roofs.int8_gop_s), roofs.int8_gop_s);
    fmt::print(stderr,
               "decode   {:8.1f} tokens/s  ({} tokens; {:.1f} MB a token, {:.1f} GB/s, {:.0f} % of "
               "the read roof, {:.1f} GB/s)\n",
               decode, steps, gb * 1e3, gb * decode,
               100.0 * roof_share(gb * static_cast<double>(steps), a.decode_s, roofs.read_gb_s),
               roofs.read_gb_s);
}

void print_json(const Model& model, const RunArgs& args, const std::vector<int32_t>& ids,
                const Answer& a) {
    nlohmann::json j;
    j["model"] = model.file().path();
    j["prompt_ids"] = ids;
    j["ids"] = a.ids;
    j["text"] = a.text;
    j["finish"] = a.finish;
    for (const Logprobs& l : a.logprobs) {
        nlohmann::json best = nlohmann::json::array();
        for (const TokenLogprob& t : l.best) best.push_back({{"id", t.id}, {"logprob", t.logprob}});
        j["logprobs"].push_back({{"logprob", l.chosen}, {"best", best}});
    }
    j["prompt_tokens"] = a.prompt_tokens;
    j["tokens"] = a.ids.size();
    j["load_s"] = a.load_s;
    j["prefill_s"] = a.prefill_s;
    j["decode_s"] = a.decode_s;
    j["bytes_per_token"] = model.bytes_per_token();
    j["activations"] = args.engine.activations;
    fmt::print("{}\n", j.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

Status read_prompt(RunArgs& args) {
    if (args.prompt_file.empty()) return {};
    RIDGE_ASSIGN(args.prompt, read_text(args.prompt_file));
    return {};
}

// The first option given that run_on_board() knows nothing of; empty: none.
std::string not_for_boards(const CLI::App& verb, const RunArgs& args) {
    constexpr std::string_view known[] = {"--model", "--prompt",          "--file",  "--tokens",
                                          "--json",  "--ignore-eos",      "--board", "--profile",
                                          "--set",   "--calibration-text"};
    for (const CLI::Option* o : verb.get_options()) {
        const std::string name = o->get_name();
        const bool greedy = name == "--temp" && args.sampling.options.temperature <= 0;
        if (o->count() > 0 && !greedy &&
            std::find(std::begin(known), std::end(known), name) == std::end(known))
            return name;
    }
    return {};
}

int run_board(const RunArgs& a, const CLI::App& verb) {
    if (const std::string option = not_for_boards(verb, a); !option.empty())
        return refuse("with --board, text is continued greedily by the board's firmware; " +
                      option + " is for this machine");
    if (a.n < 0) return refuse("with --board, give -n the number of tokens; the board has no -1");
    return run_on_board({a.board, a.engine.model, a.prompt, a.profile, a.calibration, a.set,
                         static_cast<uint32_t>(a.n), a.json, a.ignore_eos});
}

int run(RunArgs& args, const CLI::App& verb) {
    if (const Status s = read_prompt(args); !s) return complain(s.error());
    if (!args.board.empty()) return run_board(args, verb);
    for (const std::string& s : args.stop)
        if (s.empty()) return refuse("a stop string must not be empty");
    if (args.sampling.logprobs > 0 && !args.json)
        return refuse("--logprobs are part of the JSON object that --json prints; add --json");
    auto options = model_options(args.engine);
    if (!options) return complain(options.error());
    const double begin = seconds_now();
    auto model = load_model(args.engine, std::move(*options));
    if (!model) return complain(model.error());
    const double load_s = seconds_now() - begin;
    Model& m = **model;

    ThreadProfile profile = ThreadProfile::load();
    auto context = open_context(args.engine, m, profile);
    if (!context) return complain(context.error());
    const auto ids = prompt_ids(m, args);
    if (!ids) return complain(ids.error());
    if (ids->empty()) return complain("the prompt is empty; give one with -p TEXT or -f FILE");
    if (args.prompt.empty())
        fmt::print(stderr, "ridge: the prompt is empty (-p TEXT, -f FILE), so {}\n",
                   args.chat ? "an empty message is answered"
                             : "the text begins from the BOS token alone");
    if (ids->size() > (*context)->context())
        return complain(
            fmt::format("the prompt has {} tokens, the context {}; make it larger with "
                        "-c {}",
                        ids->size(), (*context)->context(),
                        ids->size() + static_cast<size_t>(args.n < 0 ? 256 : args.n)));
    catch_interrupts();
    auto answer = generate(m, **context, args, *ids);
    if (!answer) return complain(answer.error());
    answer->load_s = load_s;
    if (args.json)
        print_json(m, args, *ids, *answer);
    else
        fmt::print("\n");
    std::fflush(stdout);
    if (!answer->fits && std::string_view(answer->finish) == "length")
        fmt::print(stderr,
                   "ridge: the answer is cut off after {} tokens and does not fit the grammar; a "
                   "larger -n or -c lets it end\n",
                   answer->ids.size());
    if (args.stats) print_stats(m, **context, *answer);
    if (answer->ids.size() > 16 && answer->decode_s > 0) {
        profile.record_decode((*context)->threads_decode(),
                              static_cast<double>(answer->ids.size()) / answer->decode_s,
                              m.bytes_per_token());
        (void)profile.save();  // a hint; losing it costs nothing
    }
    return std::string_view(answer->finish) == "interrupt" ? interrupt_code() : 0;
}

}  // namespace

void add_run(CLI::App& app, int& code) {
    auto a = std::make_shared<RunArgs>();
    CLI::App* v = app.add_subcommand("run", "Continue a prompt, or answer it with --chat");
    add_engine_options(*v, a->engine);
    CLI::Option* prompt = v->add_option("-p,--prompt", a->prompt, "the prompt");
    v->add_option("-f,--file", a->prompt_file, "read the prompt from a file (- for standard input)")
        ->excludes(prompt);
    v->add_option("-n,--tokens", a->n,
                  "tokens to generate at most; -1 = until the model ends or the context is full")
        ->check(CLI::Range(-2, 1 << 24));  // -2 is llama.cpp's "until the context is full"
    CLI::Option* chat = v->add_flag("--chat", a->chat, "apply the model's chat format");
    v->add_option("--system", a->system, "system message")->needs(chat);
    a->sampling.options.temperature = 0.0f;  // unlike llama.cpp: greedy unless asked
    add_sampling_options(*v, a->sampling);
    v->add_option("--stop", a->stop, "end at this text (may be repeated)")->allow_extra_args(false);
    v->add_flag("--ignore-eos", a->ignore_eos, "go on past the end token");
    v->add_flag("--json", a->json, "one JSON object instead of a stream");
    v->add_flag("--stats", a->stats, "speed and share of this machine's roofs, on standard error");
    CLI::Option* board = v->add_option(
        "--board", a->board,
        "run on a simulated board instead; with firmware here: " + boards_with_firmware());
    v->add_option("--profile", a->profile, "a profile of the board's costs")->needs(board);
    v->add_option("--set", a->set, "KEY=VALUE, one number of the board file")
        ->allow_extra_args(false)
        ->needs(board);
    v->add_option("--calibration-text", a->calibration,
                  "prompts, one a line, from which the board's ranges are taken")
        ->needs(board);
    v->callback([a, v, &code] { code = run(*a, *v); });
}

}  // namespace ridge::cli
