// Chat formats: how a conversation is written for a model that was trained on one.
//
// The formats of the families that ship here are written in C++, not run as Jinja. Which one a
// model has is told by the template in its file. Only the markers that a format itself writes
// become control tokens; a message that spells "<|im_end|>" stays letters.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
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

}  // namespace ridge
