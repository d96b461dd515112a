// ridge tokenize: text to token ids, and back.
#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/common.hpp"
#include "cli/verbs.hpp"

namespace ridge::cli {
namespace {

struct TokenizeArgs {
    std::string model, text, file;
    bool json = false, no_special = false, no_bos = false, decode = false;
};

// Ids below `count` with blanks, commas or brackets between them, such as [1, 2, 3].
Result<std::vector<int32_t>> parse_ids(std::string_view text, size_t count) {
    std::vector<int32_t> ids;
    for (size_t at = 0; at < text.size();) {
        if (std::string_view(" \t\r\n,[]").find(text[at]) != std::string_view::npos) {
            ++at;
            continue;
        }
        int32_t id = 0;
        const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), id);
        if (error != std::errc() || id < 0 || static_cast<size_t>(id) >= count)
            return fail(
                ErrorCode::invalid_argument,
                fmt::format("'{}' is no token id of this model; ids are 0 to {}",
                            text.substr(at, text.find_first_of(" \t\r\n,[]", at) - at), count - 1));
        ids.push_back(id);
        at = static_cast<size_t>(end - text.data());
    }
    return ids;
}

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
    if (a.decode) {
        const auto ids = parse_ids(a.text, vocab->tokens.size());
        if (!ids) return complain(ids.error());
        const std::string text = tokenizer->decode(*ids);
        std::fwrite(text.data(), 1, text.size(), stdout);
        return 0;
    }
    const std::vector<int32_t> ids =
        tokenizer->encode(a.text, !a.no_special && !a.no_bos, !a.no_special);
    if (!a.no_special && !a.no_bos && tokenizer->doubles_bos(ids))
        fmt::print(stderr,
                   "ridge: the text begins with the BOS token that the file adds as well, so there "
                   "are two; --no-bos adds none\n");
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
    CLI::App* v = app.add_subcommand("tokenize", "Text to token ids, or back");
    add_model_option(*v, a->model);
    CLI::Option* text = v->add_option("text,-p,--prompt", a->text, "the text (also -p TEXT)");
    v->add_option("-f,--file", a->file, "read the text from a file (- for standard input)")
        ->excludes(text);
    v->add_flag("--no-special", a->no_special,
                "leave control tokens in the text as text, and add none");
    v->add_flag("--no-bos", a->no_bos, "add no BOS or EOS, but take control tokens in the text");
    CLI::Option* decode =
        v->add_flag("--decode", a->decode, "the text is a list of ids: print what they stand for");
    v->add_flag("--json", a->json, "print {\"ids\": [...]}")->excludes(decode);
    v->callback([a, &code] { code = tokenize(*a); });
}

}  // namespace ridge::cli
