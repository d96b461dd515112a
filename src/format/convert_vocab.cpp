#include "format/convert_vocab.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "format/gguf_types.hpp"
#include "format/json_file.hpp"

namespace ridge::convert {

namespace {

using nlohmann::json;

constexpr float added_score = -1000.0f, pad_score = -10000.0f;

tl::unexpected<Error> bad(const HfFolder& folder, const std::string& what) {
    return fail(ErrorCode::bad_file,
                fmt::format("'{}': {}; get it again.", folder.file("tokenizer.json"), what));
}

// The patterns that published tokenizers split text by, and what GGUF calls them.
struct KnownPattern {
    std::string_view pattern, name;
};
constexpr KnownPattern patterns[] = {
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     "llama-bpe"},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     "qwen2"},
    {R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     "gpt-4o"},
    {R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     "tekken"},
};

// Is there a step of this type, alone or in a sequence, under `list_key`?
const json& step_of(const json& steps, const char* list_key, const char* type) {
    static const json none;
    if (member(steps, "type") == type) return steps;
    for (const json& step : member(steps, list_key))
        if (member(step, "type") == type) return step;
    return none;
}

Status read_merges(const HfFolder& folder, const json& list, Vocabulary& out) {
    for (const json& merge : list) {
        if (const auto text = to_text(merge)) {
            out.merges.push_back(*text);
            continue;
        }
        const auto left = merge.is_array() && merge.size() == 2 ? to_text(merge[0]) : std::nullopt;
        const auto right = left ? to_text(merge[1]) : std::nullopt;
        if (!right) return bad(folder, "a merge that is not a pair");
        out.merges.push_back(*left + " " + *right);
    }
    return {};
}

// BPE with byte fallback is SentencePiece's: a piece's score falls with the rank of the first merge
// that makes it, so that the best pair is the one with the best score.
void score_by_merges(Vocabulary& v) {
    std::map<std::string, float, std::less<>> scores;
    float score = 0.0f;
    for (const std::string& merge : v.merges) {
        std::string piece = merge;
        const size_t space = piece.find(' ', 1);  // pieces hold no space: U+2581 stands for it
        if (space != std::string::npos) piece.erase(space, 1);
        scores.emplace(std::move(piece), score -= 1.0f);
    }
    for (size_t i = 0; i < v.tokens.size(); ++i) {
        if (v.types[i] == unused) continue;
        const auto it = scores.find(v.tokens[i]);
        v.scores[i] = it != scores.end() ? it->second : score - 1.0f;
        const std::string& t = v.tokens[i];
        if (t.size() == 6 && t.starts_with("<0x") && t.back() == '>') v.types[i] = byte;
    }
    v.merges.clear();
}

Status read_bpe(const HfFolder& folder, const json& tokenizer, const std::string& pre,
                Vocabulary& out) {
    const json& model = member(tokenizer, "model");
    const json& vocab = member(model, "vocab");
    const std::string type = to_text(member(model, "type")).value_or("BPE");
    if (type != "BPE" || !vocab.is_object() || !member(model, "merges").is_array())
        return fail(ErrorCode::unsupported,
                    fmt::format("'{}' holds a tokenizer of type {}; ridge has BPE.",
                                folder.file("tokenizer.json"), gguf::quoted(type)));
    for (const auto& [text, value] : vocab.items()) {
        const auto id = to_int(value);
        if (!id || *id < 0) return bad(folder, "the token " + gguf::quoted(text) + " has no id");
        out.put(static_cast<uint64_t>(*id), text, 0.0f, normal);
    }
    RIDGE_TRY(read_merges(folder, member(model, "merges"), out));
    if (is_true(member(model, "byte_fallback"))) {
        out.model = "llama";
        out.pre = "default";
        score_by_merges(out);
        if (const auto text = to_text(member(model, "unk_token")))
            if (const int64_t id = out.find(*text); id >= 0)
                out.types[static_cast<size_t>(id)] = unknown;
        const json& space =
            step_of(member(tokenizer, "pre_tokenizer"), "pretokenizers", "Metaspace");
        out.space_prefix =
            !step_of(member(tokenizer, "normalizer"), "normalizers", "Prepend").is_null() ||
            (!space.is_null() && member(space, "prepend_scheme") != "never");
        return {};
    }
    out.model = "gpt2";
    out.pre = pre.empty() ? pre_tokenizer_name(member(tokenizer, "pre_tokenizer")) : pre;
    if (out.pre.empty())
        return fail(ErrorCode::unsupported,
                    fmt::format("'{}' splits text by a pattern that ridge does not know; say by "
                                "--pre which pre-tokenizer it is.",
                                folder.file("tokenizer.json")));
    return {};
}

void put_added(Vocabulary& out, const json& id, const json& token, bool special_default) {
    const auto n = to_int(id);
    const auto text = token.is_string() ? to_text(token) : to_text(member(token, "content"));
    if (!n || *n < 0 || !text) return;
    const json& special = member(token, "special");
    const bool is_special = special.is_boolean() ? special.get<bool>() : special_default;
    out.put(static_cast<uint64_t>(*n), *text, added_score, is_special ? control : user_defined);
}

Status read_added(const HfFolder& folder, const json& tokenizer, Vocabulary& out) {
    RIDGE_ASSIGN(const json added, read_json_if_any(folder.file("added_tokens.json")));
    RIDGE_ASSIGN(const json config, read_json_if_any(folder.file("tokenizer_config.json")));
    if (added.is_object())
        for (const auto& [text, id] : added.items()) put_added(out, id, json(text), false);
    if (const json& decoder = member(config, "added_tokens_decoder"); decoder.is_object())
        for (const auto& [text, token] : decoder.items()) {
            uint32_t id = 0;
            const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
            if (error == std::errc() && end == text.data() + text.size())
                put_added(out, json(id), token, false);
        }
    for (const json& token : member(tokenizer, "added_tokens"))
        put_added(out, member(token, "id"), token, false);
    return {};
}

}  // namespace

Vocabulary::Vocabulary(size_t size) : tokens(size), scores(size, pad_score), types(size, unused) {
    for (size_t i = 0; i < size; ++i) tokens[i] = fmt::format("[PAD{}]", i);
}

void Vocabulary::put(uint64_t id, std::string text, float score, int32_t type) {
    if (id >= tokens.size()) return;
    // what SentencePiece itself calls unknown or a byte stays that
    if (type == control && types[id] == unknown && tokens[id] == text) return;
    tokens[id] = std::move(text);
    scores[id] = score;
    types[id] = type;
}

int64_t Vocabulary::find(const std::string& text) const {
    const auto it = std::find(tokens.begin(), tokens.end(), text);
    return it == tokens.end() ? -1 : it - tokens.begin();
}

std::string pre_tokenizer_name(const json& pre_tokenizer) {
    std::vector<const json*> steps;
    if (member(pre_tokenizer, "type") == "Sequence")
        for (const json& step : member(pre_tokenizer, "pretokenizers")) steps.push_back(&step);
    else
        steps.push_back(&pre_tokenizer);
    std::string name;
    for (const json* step : steps) {
        const std::string type = to_text(member(*step, "type")).value_or("");
        if (type == "ByteLevel") {
            // its own splitting, that of GPT-2, unless it is told not to
            const json& own = member(*step, "use_regex");
            if (own.is_boolean() && !own.get<bool>()) continue;
            if (name.empty())
                name = "gpt-2";
            else if (name == "digits")
                name = "smollm";
            else
                return {};
        } else if (type == "Digits" && name.empty() &&
                   is_true(member(*step, "individual_digits"))) {
            name = "digits";
        } else if (type == "Split" && name.empty()) {
            const auto pattern = to_text(member(member(*step, "pattern"), "Regex"));
            for (const KnownPattern& p : patterns)
                if (pattern && *pattern == p.pattern) name = p.name;
            if (name.empty()) return {};
        } else {
            return {};
        }
    }
    return name == "digits" ? std::string() : name;
}

Result<Vocabulary> read_vocabulary(const HfFolder& folder, size_t size, const std::string& pre) {
    Vocabulary out(size);
    RIDGE_ASSIGN(const json tokenizer, read_json_if_any(folder.file("tokenizer.json")));
    std::error_code error;
    const std::string pieces = folder.file("tokenizer.model");
    if (std::filesystem::exists(pieces, error)) {
        RIDGE_TRY(read_sentencepiece(pieces, out));
    } else if (tokenizer.is_null()) {
        return fail(
            ErrorCode::not_found,
            fmt::format("'{}' has neither tokenizer.json nor tokenizer.model.", folder.path));
    } else {
        RIDGE_TRY(read_bpe(folder, tokenizer, pre, out));
    }
    RIDGE_TRY(read_added(folder, tokenizer, out));
    return out;
}

}  // namespace ridge::convert
