// ridge perplexity: how well a model predicts a text, and what quantized activations change.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/common.hpp"
#include "cli/verbs.hpp"
#include "runtime/score.hpp"

namespace ridge::cli {
namespace {

struct PerplexityArgs {
    EngineArgs engine;
    std::string text, ids;
    ScoreOptions score;
    int64_t first = -1;
    bool kld = false, json = false, no_bos = false;
};

// {"ids": [...]}, as ridge tokenize --json prints it, or a bare array.
Result<std::vector<int32_t>> read_ids(const std::string& path) {
    RIDGE_ASSIGN(const std::string text, read_text(path));
    const nlohmann::json j = nlohmann::json::parse(text, nullptr, false);
    const nlohmann::json* list = &j;
    if (j.is_object() && j.contains("ids")) list = &j["ids"];
    const auto bad = [&] {
        return fail(ErrorCode::bad_file,
                    "'" + path +
                        "' is not a JSON list of token ids, as 'ridge tokenize "
                        "--json' prints it");
    };
    if (!list->is_array()) return bad();
    std::vector<int32_t> ids;
    for (const auto& v : *list) {
        if (!v.is_number_integer()) return bad();
        const auto id = v.get<int64_t>();
        if (id < 0 || id > INT32_MAX) return bad();
        ids.push_back(static_cast<int32_t>(id));
    }
    return ids;
}

void print(const PerplexityArgs& a, const Model& m, const Score& s) {
    const double change = s.perplexity / s.oracle_perplexity - 1.0;
    if (a.json) {
        nlohmann::json j{{"model", m.file().path()},
                         {"activations", a.engine.activations},
                         {"cache_type", cache_type_of(a.engine)},
                         {"kernels", m.kernels().set->name},
                         {"window", a.score.window},
                         {"first", a.score.first},
                         {"windows", s.windows},
                         {"tokens", s.tokens},
                         {"perplexity", s.perplexity},
                         {"perplexity_error", s.perplexity_error}};
        if (s.compared) {
            j["oracle_perplexity"] = s.oracle_perplexity;
            j["perplexity_change"] = change;
            j["mean_kld"] = s.mean_kld;
            j["mean_kld_error"] = s.mean_kld_error;
            j["kld_999"] = s.kld_999;
            j["kld_max"] = s.kld_max;
            j["same_top"] = s.same_top;
            j["same_top_error"] = s.same_top_error;
        }
        fmt::print("{}\n", j.dump());
        return;
    }
    fmt::print("{} tokens scored in {} windows of {}\n", s.tokens, s.windows, a.score.window);
    fmt::print("perplexity   {:.4f} +- {:.4f}\n", s.perplexity, s.perplexity_error);
    if (!s.compared) return;
    fmt::print("against the same weights with f32 activations:\n");
    fmt::print("perplexity   {:.4f} there, {:+.3f} % here\n", s.oracle_perplexity, change * 100.0);
    fmt::print("mean KLD     {:.6f} +- {:.6f} nats (99.9th percentile {:.4f}, max {:.4f})\n",
               s.mean_kld, s.mean_kld_error, s.kld_999, s.kld_max);
    fmt::print("same top     {:.2f} +- {:.2f} %\n", s.same_top * 100.0, s.same_top_error * 100.0);
}

int perplexity(PerplexityArgs& a) {
    if (a.text.empty() && a.ids.empty())
        return refuse("give a text file or --ids FILE, one of the two");
    a.score.bos = !a.no_bos;
    a.score.first = a.first < 0 ? a.score.window / 2 : static_cast<uint32_t>(a.first);
    if (a.kld && a.engine.activations == "f32")
        return refuse("--kld compares with --activations f32; leave that option out");
    auto options = model_options(a.engine);
    if (!options) return complain(options.error());
    options->chunk = 64;
    options->max_logits = 64;
    options->threads = a.engine.threads;
    auto model = load_model(a.engine, *options);
    if (!model) return complain(model.error());
    std::unique_ptr<Model> oracle;
    if (a.kld) {
        options->f32_activations = true;
        options->kv = KvType::f32;
        auto loaded = load_model(a.engine, *options);
        if (!loaded) return complain(loaded.error());
        oracle = std::move(*loaded);
    }
    Result<std::vector<int32_t>> ids = [&]() -> Result<std::vector<int32_t>> {
        if (!a.ids.empty()) return read_ids(a.ids);
        RIDGE_ASSIGN(const std::string text, read_text(a.text));
        return (*model)->tokenizer().encode(text, true, false);
    }();
    if (!ids) return complain(ids.error());
    const bool show = error_is_terminal();
    const auto progress = [&](double share, const Score& s) {
        if (!show) return;
        fmt::print(stderr, "\r{:3.0f} %  perplexity {:.3f}{}", share * 100.0, s.perplexity,
                   s.compared ? fmt::format("  mean KLD {:.5f}", s.mean_kld) : std::string());
        if (share >= 1.0) fmt::print(stderr, "\r\033[K");
        std::fflush(stderr);
    };
    const auto result = score(**model, oracle.get(), *ids, a.score, progress);
    if (!result) return complain(result.error());
    print(a, **model, *result);
    return 0;
}

}  // namespace

void add_perplexity(CLI::App& app, int& code) {
    auto a = std::make_shared<PerplexityArgs>();
    CLI::App* v = app.add_subcommand("perplexity", "How well a model predicts a text");
    add_engine_options(*v, a->engine);
    CLI::Option* text = v->add_option("text", a->text, "text file");
    v->add_option("--ids", a->ids, "token ids instead: a JSON list, or {\"ids\": [...]}")
        ->excludes(text);
    v->add_flag(
        "--kld", a->kld,
        "compare with the same weights and f32 activations and cache, position by position");
    v->add_option("--window", a->score.window, "tokens of one independent stretch of text (512)")
        ->check(CLI::Range(2, 1 << 20));
    v->add_option("--first", a->first, "first scored position of a window (half of it)")
        ->check(CLI::Range(0, 1 << 20));
    v->add_option("--max-tokens", a->score.max_tokens, "read at most so many tokens of the text")
        ->check(CLI::Range(uint64_t{0}, uint64_t{1} << 40));
    v->add_flag("--no-bos", a->no_bos, "leave each window's first token as it is");
    v->add_flag("--json", a->json, "print one JSON object");
    v->callback([a, &code] { code = perplexity(*a); });
}

}  // namespace ridge::cli
