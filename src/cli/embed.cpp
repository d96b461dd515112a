// ridge embed: text to a vector, the model's hidden states behind the final norm, pooled.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/common.hpp"
#include "cli/verbs.hpp"

namespace ridge::cli {
namespace {

struct EmbedArgs {
    EngineArgs engine;
    std::vector<std::string> texts;
    std::string file, pooling = "mean";
    bool raw = false, json = false;
};

// Mean of all positions, or the last one, as f64 sums; scaled to length 1 unless `raw`.
Result<std::vector<float>> embed(Model& model, Context& context, const std::vector<int32_t>& ids,
                                 const EmbedArgs& a) {
    if (ids.empty()) return fail(ErrorCode::invalid_argument, "an empty text has no embedding");
    if (ids.size() > context.context())
        return fail(ErrorCode::invalid_argument,
                    fmt::format("the text has {} tokens, more than the context of {}; shorten it "
                                "or give a larger -c",
                                ids.size(), context.context()));
    const uint32_t width = model.program().hidden;
    std::vector<double> sum(width, 0.0);
    std::vector<float> state(width);
    context.trim(0, 0);
    std::vector<Row> rows;
    for (size_t at = 0; at < ids.size(); at += rows.size()) {
        rows.clear();
        const size_t end = std::min(ids.size(), at + a.engine.chunk);
        for (size_t i = at; i < end; ++i) rows.push_back({0, ids[i], false});
        RIDGE_TRY(context.pass(rows));
        for (size_t i = 0; i < rows.size(); ++i) {
            if (a.pooling == "last" && at + i + 1 < ids.size()) continue;
            RIDGE_TRY(context.hidden(static_cast<uint32_t>(i), state));
            for (uint32_t j = 0; j < width; ++j) sum[j] += static_cast<double>(state[j]);
        }
    }
    double length = 0.0;
    const double count = a.pooling == "last" ? 1.0 : static_cast<double>(ids.size());
    for (double& v : sum) {
        v /= count;
        length += v * v;
    }
    const double scale = a.raw || !(length > 0.0) ? 1.0 : 1.0 / std::sqrt(length);
    for (uint32_t j = 0; j < width; ++j) state[j] = static_cast<float>(sum[j] * scale);
    return state;
}

int run(EmbedArgs& a) {
    if (!a.file.empty()) {
        auto text = read_text(a.file);
        if (!text) return complain(text.error());
        a.texts.push_back(std::move(*text));
    }
    if (a.texts.empty()) return refuse("give the text by -p TEXT (or several), or by -f FILE");
    auto options = model_options(a.engine);
    if (!options) return complain(options.error());
    options->hidden = true;
    auto model = load_model(a.engine, *options);
    if (!model) return complain(model.error());
    ContextOptions context_options;
    context_options.context = a.engine.context;
    auto context = Context::create(**model, context_options);
    if (!context) return complain(context.error());
    nlohmann::json all = nlohmann::json::array();
    for (const std::string& text : a.texts) {
        const std::vector<int32_t> ids = (*model)->tokenizer().encode(text, true, false);
        const auto vector = embed(**model, **context, ids, a);
        if (!vector) return complain(vector.error());
        if (a.json) {
            all.push_back({{"embedding", *vector}, {"tokens", ids.size()}});
            continue;
        }
        for (size_t i = 0; i < vector->size(); ++i)
            fmt::print("{}{:.7g}", i == 0 ? "" : " ", (*vector)[i]);
        fmt::print("\n");
    }
    if (a.json)
        fmt::print("{}\n", nlohmann::json{{"model", (*model)->file().path()},
                                          {"pooling", a.pooling},
                                          {"normalized", !a.raw},
                                          {"embeddings", all}}
                               .dump());
    return 0;
}

}  // namespace

void add_embed(CLI::App& app, int& code) {
    auto a = std::make_shared<EmbedArgs>();
    CLI::App* v = app.add_subcommand("embed", "Text to a vector");
    add_engine_options(*v, a->engine);
    v->add_option("-p,--prompt", a->texts, "a text; may be repeated, one vector each");
    v->add_option("-f,--file", a->file, "a text from a file (- for standard input)");
    v->add_option("--pooling", a->pooling, "mean of all tokens' states, or the last one's")
        ->check(CLI::IsMember({"mean", "last"}));
    v->add_flag("--raw", a->raw, "do not scale the vector to length 1");
    v->add_flag("--json", a->json, "print one JSON object");
    v->callback([a, &code] { code = run(*a); });
}

}  // namespace ridge::cli
