// ridge tokenize: text to token ids.
#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/common.hpp"
#include "cli/verbs.hpp"

namespace ridge::cli {
namespace {

struct TokenizeArgs {
    std::string model, text, file;
    bool json = false, no_special = false;
};

int tokenize(TokenizeArgs& a) {
    if (!a.file.empty()) {
        auto text = read_text(a.file);
        if (!text) return complain(text.error());
        a.text = std::move(*text);
    }
    const auto path = find_model(a.model);
    if (!path) return complain(path.error());
    const auto file = GgufFile::open(*path);
    if (!file) return complain(file.error());
    const auto vocab = read_vocab(*file);
    if (!vocab) return complain(vocab.error());
    const auto tokenizer = Tokenizer::create(*vocab);
    if (!tokenizer) return complain(tokenizer.error());
    const std::vector<int32_t> ids = tokenizer->encode(a.text, !a.no_special, !a.no_special);
    if (a.json) {
        fmt::print("{}\n", nlohmann::json{{"ids", ids}}.dump());
        return 0;
    }
    for (const int32_t id : ids) {
        const nlohmann::json piece = std::string(tokenizer->raw(id));
        fmt::print("{:8d}  {}\n", id,
                   piece.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    }
    return 0;
}

}  // namespace

void add_tokenize(CLI::App& app, int& code) {
    auto a = std::make_shared<TokenizeArgs>();
    CLI::App* v = app.add_subcommand("tokenize", "Text to token ids");
    v->add_option("model", a->model, "GGUF file, or the name of one in the model folder")
        ->required();
    v->add_option("-p,--prompt", a->text, "the text");
    v->add_option("-f,--file", a->file, "read the text from a file (- for standard input)");
    v->add_flag("--no-special", a->no_special,
                "leave control tokens in the text as text, and add none");
    v->add_flag("--json", a->json, "print {\"ids\": [...]}");
    v->callback([a, &code] { code = tokenize(*a); });
}

}  // namespace ridge::cli
