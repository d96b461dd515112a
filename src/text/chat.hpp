// Chat formats: how a conversation is written for a model that was trained on one.
//
// A model is asked in the words of the template in its file (text/template.hpp). Where ridge does
// not read that, two families' formats are written here in C++; which one a model has is told by
// its template. Only the markers that a template or format itself writes become control tokens; a
// message that spells "<|im_end|>" stays letters.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "text/template.hpp"
#include "text/tokenizer.hpp"
#include "text/vocab.hpp"

namespace ridge {

enum class ChatRole { system, user, assistant };

struct ChatMessage {
    ChatRole role = ChatRole::user;
    std::string content;
};

struct ChatFormat {
    enum class Family {
        chatml,  // <|im_start|>ROLE\nTEXT<|im_end|>\n
        gemma,   // BOS, then <start_of_turn>ROLE\nTEXT<end_of_turn>\n; the system text opens the
                 // first turn
    };
    Family family = Family::chatml;
    // ChatML: the system message that the template writes where a conversation brings none.
    std::string default_system;
};

// Errors: unsupported, naming the formats there are (no template: a base model; a template of
// another family; or the vocabulary lacks a marker).
Result<ChatFormat> detect_chat_format(const VocabData& vocab);
// The same from what the tokenizer keeps of its vocabulary.
Result<ChatFormat> detect_chat_format(const Tokenizer& tokenizer);

// The conversation as ids, BOS included where the model wants it. With add_generation_prompt it
// ends with the opening of the assistant's turn.
std::vector<int32_t> encode_chat(const Tokenizer& tokenizer, const ChatFormat& format,
                                 std::span<const ChatMessage> messages, bool add_generation_prompt);

// How conversations are written for one model.
class ChatPrompt {
  public:
    // From `source`, else from the template in the model's file, else (where ridge does not read
    // that) in a format of ridge's own. Errors: unsupported: there is none of these, with what is
    // wrong with the template.
    static Result<ChatPrompt> create(const Tokenizer& tokenizer, std::string_view source = {});

    // The conversation as ids, BOS included where the model wants it. Messages are {role, content,
    // ...}; tools and variables go to the template. A template that refuses a system message gets
    // its text in front of the first user message instead. Errors: what the template refuses.
    Result<std::vector<int32_t>> encode(TemplateInput input) const;

    // Which of the three it is, in words: "the model's chat template".
    const std::string& description() const { return description_; }
    bool own_format() const { return !template_; }  // ridge's own

  private:
    explicit ChatPrompt(const Tokenizer& tokenizer) : tokenizer_(tokenizer), encoder_(tokenizer) {}

    Tokenizer tokenizer_;
    SegmentEncoder encoder_;
    std::optional<ChatTemplate> template_;
    ChatFormat format_;
    std::string description_;
};

}  // namespace ridge
