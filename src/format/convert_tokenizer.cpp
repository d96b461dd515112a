// The tokenizer's GGUF keys: tokens, special ids, whether they are added, the chat template.
#include <algorithm>

#include "format/convert_vocab.hpp"
#include "format/json_file.hpp"

namespace ridge::convert {

namespace {

using nlohmann::json;

// A token given as text or as {"content": text}.
int64_t id_of(const Vocabulary& v, const json& token) {
    const auto text = token.is_object() ? to_text(member(token, "content")) : to_text(token);
    return text ? v.find(*text) : -1;
}

// One id or a list of them, those inside the vocabulary.
std::vector<int64_t> ids_of(const Vocabulary& v, const json& value) {
    std::vector<int64_t> out;
    const auto add = [&](const json& one) {
        const auto id = to_int(one);
        if (id && *id >= 0 && static_cast<uint64_t>(*id) < v.tokens.size()) out.push_back(*id);
    };
    if (value.is_array())
        for (const json& one : value) add(one);
    else
        add(value);
    return out;
}

// Does tokenizer.json's post-processor put `text` first (or last)?
bool template_adds(const json& tokenizer, const std::string& text, bool first) {
    const auto holds = [&](const json& processor) {
        const json& single = member(processor, "single");
        if (member(processor, "type") != "TemplateProcessing" || !single.is_array() ||
            single.empty())
            return false;
        const json& end = first ? single.front() : single.back();
        return member(member(end, "SpecialToken"), "id") == text;
    };
    const json& post = member(tokenizer, "post_processor");
    if (holds(post)) return true;
    for (const json& processor : member(post, "processors"))
        if (holds(processor)) return true;
    return false;
}

// A template as such, or the one called "default" of several.
std::string template_of(const json& value) {
    if (const auto text = to_text(value)) return *text;
    if (value.is_array())
        for (const json& one : value)
            if (member(one, "name") == "default")
                return to_text(member(one, "template")).value_or("");
    return {};
}

}  // namespace

Status set_tokenizer(const HfFolder& folder, const Vocabulary& v, GgufWriter& out) {
    RIDGE_ASSIGN(const json tokenizer, read_json_if_any(folder.file("tokenizer.json")));
    RIDGE_ASSIGN(const json config, read_json_if_any(folder.file("tokenizer_config.json")));
    RIDGE_ASSIGN(const json generation, read_json_if_any(folder.file("generation_config.json")));
    RIDGE_ASSIGN(const json other, read_json_if_any(folder.file("chat_template.json")));
    out.set("tokenizer.ggml.model", v.model);
    out.set("tokenizer.ggml.pre", v.pre);
    out.set_strings("tokenizer.ggml.tokens", v.tokens);
    if (v.model == "llama") out.set_array("tokenizer.ggml.scores", v.scores);
    out.set_array("tokenizer.ggml.token_type", v.types);
    if (!v.merges.empty()) out.set_strings("tokenizer.ggml.merges", v.merges);

    const auto special = [&](const char* name) {
        const int64_t id = id_of(v, member(config, (std::string(name) + "_token").c_str()));
        if (id >= 0) return id;
        const std::string key = std::string(name) + "_token_id";
        for (const json* from : {&folder.config, &generation})
            if (const auto ids = ids_of(v, member(*from, key.c_str())); !ids.empty())
                return ids.front();
        return int64_t{-1};
    };
    const auto set_id = [&](const char* key, int64_t id) {
        if (id >= 0) out.set(key, static_cast<uint32_t>(id));
    };
    const int64_t bos = special("bos"), eos = special("eos");
    set_id("tokenizer.ggml.bos_token_id", bos);
    set_id("tokenizer.ggml.eos_token_id", eos);
    set_id("tokenizer.ggml.unknown_token_id", special("unk"));
    set_id("tokenizer.ggml.padding_token_id", special("pad"));
    // Where a turn ends, when that is another token than the text's end.
    int64_t turn = -1;
    for (const int64_t id : ids_of(v, member(generation, "eos_token_id")))
        if (id != eos && turn < 0) turn = id;
    for (const char* text : {"<|im_end|>", "<|eot_id|>", "<end_of_turn>", "<|end|>"})
        if (turn < 0 && v.find(text) != eos) turn = v.find(text);
    set_id("tokenizer.ggml.eot_token_id", turn);

    const auto added = [&](const char* key, int64_t id, bool first) {
        const json& flag = member(config, key);
        if (flag.is_boolean()) return flag.get<bool>();
        return id >= 0 && template_adds(tokenizer, v.tokens[static_cast<size_t>(id)], first);
    };
    out.set("tokenizer.ggml.add_bos_token", added("add_bos_token", bos, true));
    out.set("tokenizer.ggml.add_eos_token", added("add_eos_token", eos, false));
    if (v.model == "llama") out.set("tokenizer.ggml.add_space_prefix", v.space_prefix);

    std::string chat = template_of(member(config, "chat_template"));
    if (chat.empty()) chat = read_text_if_any(folder.file("chat_template.jinja")).value_or("");
    if (chat.empty()) chat = template_of(member(other, "chat_template"));
    if (!chat.empty()) out.set("tokenizer.chat_template", chat);
    return {};
}

}  // namespace ridge::convert
