#include "text/template.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "text/jinja_ast.hpp"
#include "text/jinja_json.hpp"
#include "text/jinja_render.hpp"
#include "text/special.hpp"

namespace ridge {

Result<ChatTemplate> ChatTemplate::parse(std::string_view source) {
    RIDGE_ASSIGN(auto tree, jinja::parse_template(source));
    return ChatTemplate(std::move(tree));
}

Result<std::vector<TextSegment>> ChatTemplate::render(const TemplateInput& input) const {
    using jinja::Value;
    RIDGE_ASSIGN(Value messages, jinja::messages_from_json(input.messages));
    RIDGE_ASSIGN(Value tools, jinja::from_json(input.tools, true));
    std::vector<std::pair<std::string, Value>> variables = {
        {"messages", std::move(messages)},
        {"tools", std::move(tools)},
        {"documents", Value{jinja::None{}}},
        {"add_generation_prompt", Value{input.add_generation_prompt}},
        {"bos_token", jinja::make_text(input.bos_token)},
        {"eos_token", jinja::make_text(input.eos_token)}};
    if (!input.variables.is_null() && !input.variables.is_object())
        return fail(ErrorCode::invalid_argument, "the template's variables are to be an object");
    for (const auto& [name, json] : input.variables.items()) {
        RIDGE_ASSIGN(Value value, jinja::from_json(json, true));
        const auto same = [&](const auto& variable) { return variable.first == name; };
        const auto there = std::find_if(variables.begin(), variables.end(), same);
        if (there != variables.end())
            there->second = std::move(value);
        else
            variables.emplace_back(name, std::move(value));
    }
    const uint64_t length =
        input.messages.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).size() +
        input.tools.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).size();
    jinja::Renderer renderer(*tree_, input.steps + length, input.now);
    RIDGE_ASSIGN(const jinja::Text text, renderer.run(variables));
    std::vector<TextSegment> segments;
    size_t begin = 0;
    for (const auto& run : text.runs()) {
        segments.push_back({text.bytes().substr(begin, run.end - begin), run.user});
        begin = run.end;
    }
    return segments;
}

std::string text_of(const std::vector<TextSegment>& segments) {
    std::string text;
    for (const TextSegment& segment : segments) text += segment.text;
    return text;
}

struct SegmentEncoder::Markers {
    text::StringPool texts;
    text::SpecialMatcher matcher;
    std::vector<int32_t> ids;  // of the texts
};

SegmentEncoder::SegmentEncoder(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {
    auto markers = std::make_shared<Markers>();
    std::vector<int32_t> numbers;
    for (int32_t id = 0; id < tokenizer.size(); ++id) {
        const std::string_view text = tokenizer.raw(id);
        // Those that stand for text (user-defined ones) Tokenizer::encode finds by itself.
        if (!tokenizer.is_control(id) || text.empty() || text.size() > text::kMaxSpecialBytes)
            continue;
        numbers.push_back(static_cast<int32_t>(markers->ids.size()));
        markers->ids.push_back(id);
        markers->texts.push_back(text);
    }
    markers->matcher.build(markers->texts, std::move(numbers));
    markers_ = std::move(markers);
}

std::vector<int32_t> SegmentEncoder::encode(const std::vector<TextSegment>& segments,
                                            bool bos) const {
    std::vector<int32_t> out;
    std::string pending;
    const auto flush = [&] {
        if (pending.empty()) return;
        const auto ids = tokenizer_.encode(pending, false, false);
        out.insert(out.end(), ids.begin(), ids.end());
        pending.clear();
    };
    for (size_t i = 0; i < segments.size(); ++i) {
        if (segments[i].user) {
            pending += segments[i].text;
            continue;
        }
        const std::string& text = segments[i].text;
        size_t from = 0;
        for (const auto& match : markers_->matcher.find(markers_->texts, text)) {
            pending.append(text, from, match.begin - from);
            flush();
            out.push_back(markers_->ids[static_cast<size_t>(match.id)]);
            from = match.end;
        }
        pending.append(text, from);
    }
    flush();
    const int32_t first = tokenizer_.bos();
    if (bos && tokenizer_.adds_bos() && first >= 0 && (out.empty() || out[0] != first))
        out.insert(out.begin(), first);
    return out;
}

}  // namespace ridge
