#include "text/vocab.hpp"

#include <fmt/format.h>

#include "text/pretokenize.hpp"

namespace ridge {
namespace {

constexpr int64_t kNoId32 = 0xFFFFFFFF;  // how some writers say "none" in an unsigned field

// Leaves `id` alone when the key is absent.
Status read_id(const GgufFile& file, std::string_view key, int64_t& id) {
    if (!file.has(key)) return {};
    const auto value = file.get_int(key);
    if (!value) {
        return fail(ErrorCode::bad_file,
                    fmt::format("{}: {} is {}, which is no token id; convert the model again",
                                file.path(), key, file.describe(key)));
    }
    id = *value == kNoId32 || *value < 0 ? -1 : *value;
    return {};
}

Status read_flag(const GgufFile& file, std::string_view key, bool& flag) {
    if (!file.has(key)) return {};
    const auto value = file.get_bool(key);
    if (!value) {
        return fail(ErrorCode::bad_file,
                    fmt::format("{}: {} is {}, not true or false; convert the model again",
                                file.path(), key, file.describe(key)));
    }
    flag = *value;
    return {};
}

Status wrong_array(const GgufFile& file, std::string_view key, std::string_view of) {
    return fail(
        ErrorCode::bad_file,
        fmt::format("{}: {} is no array of {}; convert the model again", file.path(), key, of));
}

}  // namespace

Result<VocabData> read_vocab(const GgufFile& file) {
    VocabData vocab;
    vocab.source = file.path();
    const auto model = file.get_string("tokenizer.ggml.model");
    if (!model) {
        return fail(ErrorCode::not_found,
                    fmt::format("{}: has no tokenizer (tokenizer.ggml.model); text needs a model "
                                "converted with its tokenizer",
                                file.path()));
    }
    vocab.model = *model;
    vocab.pre = file.get_string("tokenizer.ggml.pre").value_or("");
    vocab.chat_template = file.get_string("tokenizer.chat_template").value_or("");

    auto tokens = file.get_strings("tokenizer.ggml.tokens");
    if (!tokens) return propagate(wrong_array(file, "tokenizer.ggml.tokens", "strings"));
    vocab.tokens = std::move(*tokens);
    const auto count = static_cast<int64_t>(vocab.tokens.size());

    if (file.has("tokenizer.ggml.scores")) {
        auto scores = file.get_floats("tokenizer.ggml.scores");
        if (!scores) return propagate(wrong_array(file, "tokenizer.ggml.scores", "numbers"));
        vocab.scores = std::move(*scores);
    }
    if (file.has("tokenizer.ggml.token_type")) {
        const auto types = file.get_ints("tokenizer.ggml.token_type");
        if (!types) return propagate(wrong_array(file, "tokenizer.ggml.token_type", "integers"));
        vocab.types.reserve(types->size());
        for (const int64_t type : *types) {
            vocab.types.push_back(type >= 1 && type <= 6 ? static_cast<TokenType>(type)
                                                         : TokenType::undefined);
        }
    }
    if (file.has("tokenizer.ggml.merges")) {
        auto merges = file.get_strings("tokenizer.ggml.merges");
        if (!merges) return propagate(wrong_array(file, "tokenizer.ggml.merges", "strings"));
        vocab.merges = std::move(*merges);
    }

    if (vocab.model == "llama") {
        vocab.add_bos = true;
        vocab.add_space_prefix = true;
        if (count > 1) vocab.bos = 1;
        if (count > 2) vocab.eos = 2;
        vocab.unk = 0;
    }
    RIDGE_TRY(read_id(file, "tokenizer.ggml.bos_token_id", vocab.bos));
    RIDGE_TRY(read_id(file, "tokenizer.ggml.eos_token_id", vocab.eos));
    RIDGE_TRY(read_id(file, "tokenizer.ggml.eot_token_id", vocab.eot));
    RIDGE_TRY(read_id(file, "tokenizer.ggml.unknown_token_id", vocab.unk));
    for (const char* name : {"eom", "fim_pad", "fim_rep", "fim_sep"}) {
        int64_t id = -1;
        RIDGE_TRY(read_id(file, fmt::format("tokenizer.ggml.{}_token_id", name), id));
        if (id >= 0) vocab.other_ends.push_back(id);
    }
    // llama.cpp's: some pre-tokenizers add BOS unless told not to, Gemma 4's whatever it is told.
    const bool gemma4 = vocab.model == "gemma4";
    const auto rule = find_pre_tokenizer(gemma4 ? vocab.model : vocab.pre);
    if (vocab.model != "llama" && rule && rule->adds_bos) vocab.add_bos = vocab.bos >= 0;
    RIDGE_TRY(read_flag(file, "tokenizer.ggml.add_bos_token", vocab.add_bos));
    if (gemma4) vocab.add_bos = vocab.bos >= 0;
    RIDGE_TRY(read_flag(file, "tokenizer.ggml.add_eos_token", vocab.add_eos));
    RIDGE_TRY(read_flag(file, "tokenizer.ggml.add_space_prefix", vocab.add_space_prefix));
    return vocab;
}

}  // namespace ridge
