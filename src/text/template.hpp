// A model's own chat template (tokenizer.chat_template): parsed, rendered, turned into ids.
//
// It is Jinja as transformers runs it: trim_blocks and lstrip_blocks, loop controls, the immutable
// sandbox, tojson without HTML escapes, raise_exception and strftime_now. What ridge lacks of the
// language is refused with line and column.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "text/tokenizer.hpp"

namespace ridge {

namespace jinja {
struct Tree;
}

struct TemplateInput {
    nlohmann::ordered_json messages;  // a list of {role, content, ...}
    nlohmann::ordered_json tools;     // null: none
    // More variables (enable_thinking, documents, ...), an object or null.
    nlohmann::ordered_json variables;
    bool add_generation_prompt = true;
    std::string bos_token, eos_token;  // as the vocabulary writes them
    int64_t now = 0;                   // seconds since 1970, for strftime_now
    // Steps that the rendering may take; those for the length of the input are added.
    uint64_t steps = 1'000'000;
};

// A piece of a rendered conversation. What came in with messages, tools or variables is `user`:
// nothing in it becomes a control token.
struct TextSegment {
    std::string text;
    bool user = false;
};

// Immutable and safe to use from many threads.
class ChatTemplate {
  public:
    // Errors: unsupported, with line and column.
    static Result<ChatTemplate> parse(std::string_view source);

    // Errors: invalid_argument: what the template raises for this conversation, or does wrong with
    // it, with line and column; too much work.
    Result<std::vector<TextSegment>> render(const TemplateInput& input) const;

  private:
    explicit ChatTemplate(std::shared_ptr<const jinja::Tree> tree) : tree_(std::move(tree)) {}
    std::shared_ptr<const jinja::Tree> tree_;
};

// Turns rendered conversations into ids. Control tokens are found in the template's own text alone;
// what lies between two of them is tokenized as one, as it was when the model was trained.
class SegmentEncoder {
  public:
    explicit SegmentEncoder(const Tokenizer& tokenizer);

    // `bos`: begin with BOS where the vocabulary wants it and the text does not bring it.
    std::vector<int32_t> encode(const std::vector<TextSegment>& segments, bool bos) const;

  private:
    struct Markers;
    Tokenizer tokenizer_;
    std::shared_ptr<const Markers> markers_;
};

// All of the text.
std::string text_of(const std::vector<TextSegment>& segments);

}  // namespace ridge
