#include "cli/sampling_options.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <random>
#include <string_view>

#include "cli/common.hpp"
#include "sample/json_schema.hpp"

namespace ridge::cli {
namespace {

// "\n" as people type it in a shell.
std::string unescaped(const std::string& text) {
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
        const char next = text[i] == '\\' && i + 1 < text.size() ? text[i + 1] : '\0';
        if (next == 'n' || next == 't' || next == '\\') {
            out += next == 'n' ? '\n' : next == 't' ? '\t' : '\\';
            ++i;
        } else {
            out += text[i];
        }
    }
    return out;
}

Result<SamplerOptions> finished(const SamplingArgs& args) {
    SamplerOptions o = args.options;
    if (args.seed < -1)
        return fail(ErrorCode::invalid_argument, "the seed must not be negative; -1 takes any");
    o.seed = args.seed == -1 ? std::random_device{}() : static_cast<uint64_t>(args.seed);
    for (const std::string& text : args.logit_bias) {
        RIDGE_ASSIGN(const auto bias, parse_logit_bias(text));
        o.logit_bias.push_back(bias);
    }
    if (!args.breakers.empty()) {
        o.dry_breakers.clear();
        for (const std::string& text : args.breakers) {
            if (text == "none")
                o.dry_breakers.clear();
            else
                o.dry_breakers.push_back(unescaped(text));
        }
    }
    if (args.ordered) {
        RIDGE_ASSIGN(o.stages, parse_sampler_names(args.samplers));
    } else if (args.lettered) {
        RIDGE_ASSIGN(o.stages, parse_sampler_letters(args.sampler_letters));
    }
    return o;
}

// What --grammar and --json-schema name: the text itself or, where it cannot be one, a file.
Result<std::string> text_or_file(const std::string& value, bool is_text, const char* what) {
    if (is_text) return value;
    std::error_code ignored;
    if (value == "-" || std::filesystem::exists(value, ignored)) return read_text(value);
    return fail(ErrorCode::not_found,
                fmt::format("'{}' is neither {} nor a file that exists", value, what));
}

// Null where nothing was asked.
Result<std::shared_ptr<const Grammar>> grammar_of(const SamplingArgs& a) {
    int given = 0;
    for (const std::string* s : {&a.grammar, &a.grammar_file, &a.json_schema, &a.json_schema_file})
        given += s->empty() ? 0 : 1;
    if (given == 0) return std::shared_ptr<const Grammar>();
    if (given > 1)
        return fail(ErrorCode::invalid_argument,
                    "an answer follows one grammar or one JSON schema, not several");
    std::string text;
    if (!a.grammar_file.empty()) {
        RIDGE_ASSIGN(text, read_text(a.grammar_file));
    } else if (!a.grammar.empty()) {
        const bool is_text = a.grammar.find("::=") != std::string::npos;
        RIDGE_ASSIGN(text, text_or_file(a.grammar, is_text, "a grammar (root ::= ...)"));
    } else {
        std::string schema;
        if (!a.json_schema_file.empty()) {
            RIDGE_ASSIGN(schema, read_text(a.json_schema_file));
        } else {
            const size_t first = a.json_schema.find_first_not_of(" \t\r\n");
            const bool is_text = first != std::string::npos && a.json_schema[first] == '{';
            RIDGE_ASSIGN(
                schema, text_or_file(a.json_schema,
                                     is_text || a.json_schema == "true" || a.json_schema == "false",
                                     "a JSON schema ({...})"));
        }
        RIDGE_ASSIGN(text, json_schema_to_gbnf(schema));
    }
    return Grammar::parse(text);
}

}  // namespace

void rename_sampling_options(int argc, char** argv) {
    static char schema_file[] = "--json-schema-file";
    for (int i = 2; i < argc; ++i)
        if (std::string_view(argv[i]) == "-jf") argv[i] = schema_file;
}

void add_sampling_options(CLI::App& verb, SamplingArgs& a, bool logprobs) {
    constexpr const char* group = "Sampling";
    SamplerOptions& o = a.options;
    const auto add = [&](const char* names, auto& value, const char* what) {
        return verb.add_option(names, value, what)->group(group)->capture_default_str();
    };
    add("--temp,--temperature", o.temperature, "temperature; 0 = always the best token");
    add("--top-k", o.top_k, "sample among the k best; 0 = all");
    add("--top-p", o.top_p, "sample among the best that make up this share; 1 = off");
    add("--min-p", o.min_p, "drop tokens below this share of the best; 0 = off");
    add("-s,--seed", a.seed, "seed of the sampler; -1 = another one each time");
    add("--top-n-sigma,--top-nsigma", o.top_n_sigma,
        "drop logits more than n standard deviations below the best; -1 = off");
    add("--typical,--typical-p", o.typical_p, "locally typical sampling; 1 = off");
    add("--xtc-probability", o.xtc_probability, "how often to exclude the top choices; 0 = off");
    add("--xtc-threshold", o.xtc_threshold, "what counts as a top choice; above 0.5 = off");
    add("--dynatemp-range", o.dynatemp_range, "temperature plus or minus this; 0 = off");
    add("--dynatemp-exp", o.dynatemp_exponent, "how entropy maps to temperature");
    add("--repeat-last-n", o.penalty_last_n, "tokens that the penalties look back on; 0 = off");
    add("--repeat-penalty", o.repeat_penalty, "divides the logits of repeated tokens; 1 = off");
    add("--frequency-penalty", o.frequency_penalty, "taken off for each repetition; 0 = off");
    add("--presence-penalty", o.presence_penalty, "taken off once; 0 = off");
    add("--dry-multiplier", o.dry_multiplier, "penalty of repeated sequences; 0 = off");
    add("--dry-base", o.dry_base, "how it grows with their length");
    add("--dry-allowed-length", o.dry_allowed_length, "sequences this long may be repeated");
    add("--dry-penalty-last-n", o.dry_penalty_last_n, "tokens that it looks back on; 0 = off");
    verb.add_option("--dry-sequence-breaker", a.breakers,
                    "repetitions end at this text (may be repeated; replaces \\n : \" *; 'none')")
        ->allow_extra_args(false)
        ->group(group);
    add("--mirostat", o.mirostat, "2 = mirostat 2 in place of all but temperature; 0 = off");
    add("--mirostat-lr", o.mirostat_eta, "its learning rate");
    add("--mirostat-ent", o.mirostat_tau, "its target surprise, in bits");
    verb.add_option("-l,--logit-bias", a.logit_bias,
                    "TOKEN+BIAS or TOKEN-BIAS, for example 15043-inf (may be repeated)")
        ->allow_extra_args(false)
        ->group(group);
    CLI::Option* names =
        verb.add_option_function<std::string>(
                "--samplers",
                [&a](const std::string& text) {
                    a.samplers = text;
                    a.ordered = true;
                },
                "stages in order: "
                "penalties;dry;top_n_sigma;top_k;typ_p;top_p;min_p;xtc;temperature")
            ->group(group);
    verb.add_option_function<std::string>(
            "--sampler-seq,--sampling-seq",
            [&a](const std::string& letters) {
                a.sampler_letters = letters;
                a.lettered = true;
            },
            "the same by letters: edskypmxt")
        ->group(group)
        ->excludes(names);
    if (logprobs)
        add("--logprobs,--n-probs", a.logprobs,
            "log-probabilities of the chosen token and of the n best, with --json; 0 = none")
            ->check(CLI::Range(0u, 1000u));
    // Left empty by mistake ("$(cat FILE)"), a grammar must not mean that there is none.
    const CLI::Validator given(
        [](const std::string& text) {
            return text.empty() ? std::string("it is empty; leave it out for no grammar") : "";
        },
        "");
    verb.add_option("--grammar", a.grammar, "GBNF that the answer must follow, or a file of it")
        ->check(given)
        ->group(group);
    verb.add_option("--grammar-file", a.grammar_file, "a file of GBNF")->check(given)->group(group);
    verb.add_option("-j,--json-schema", a.json_schema,
                    "JSON schema that the answer must follow, or a file of it")
        ->check(given)
        ->group(group);
    verb.add_option("--json-schema-file", a.json_schema_file, "a file of it (also -jf)")
        ->check(given)
        ->group(group);
}

Result<TokenChooser> make_chooser(const SamplingArgs& args, const Model& model, bool ends) {
    RIDGE_ASSIGN(const SamplerOptions options, finished(args));
    RIDGE_ASSIGN(auto grammar, grammar_of(args));
    return TokenChooser::create(options, model.tokenizer(), model.program().vocab,
                                std::move(grammar), ends);
}

}  // namespace ridge::cli
