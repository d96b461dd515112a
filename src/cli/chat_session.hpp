// A conversation with a model: messages, what of them the model still sees, and its answers.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/sampling_options.hpp"
#include "runtime/model.hpp"
#include "text/chat.hpp"

namespace ridge::cli {

class ChatSession {
  public:
    ChatSession(Model& model, Context& context, ChatPrompt prompt)
        : model_(model), context_(context), prompt_(std::move(prompt)) {}

    struct Answer {
        std::string text;
        const char* finish = "stop";  // "stop", "length", "interrupt", "context"
        bool fits = true;             // is it a whole text of the grammar?
        size_t dropped_turns = 0;     // that the model no longer sees since this answer
        size_t prompt_tokens = 0;     // all that it sees, of which
        size_t computed_tokens = 0;   // were computed for this answer
        size_t tokens = 0;
        double prefill_s = 0, decode_s = 0;
    };
    struct Events {
        std::function<bool()> stop;
        // Once, before the first piece: turns dropped, and whether the prompt has opened <think>.
        std::function<void(size_t dropped, bool reasoning)> begin;
        std::function<void(const std::string&)> piece;
    };

    // Asks and takes in the answer, complete or stopped. Where the context would be full, the
    // oldest turns leave the model's sight until half of it is free; the system message and the new
    // one stay. Errors: the message alone does not fit; what the template refuses; the message is
    // then not part of the conversation.
    Result<Answer> ask(const std::string& message, const SamplingArgs& sampling, size_t most_tokens,
                       const Events& events);

    void reset();
    void set_system(std::string text);
    const std::string& system() const { return system_; }
    size_t turns() const;
    nlohmann::ordered_json& variables() { return variables_; }  // for the template
    const ChatPrompt& prompt() const { return prompt_; }

    // As a JSON file that load() and other programs read: {"messages": [{role, content}, ...]}.
    // False: bytes that are no UTF-8, which JSON cannot hold, became U+FFFD. Only a saved chat is
    // replaced. Errors: io, invalid_argument (a part of the model), bad_file (another file).
    Result<bool> save(const std::string& path) const;
    // Such a file, or a bare list of messages. The conversation is unchanged where this fails.
    Status load(const std::string& path);

  private:
    Result<std::vector<int32_t>> encode() const;
    Result<std::vector<int32_t>> fit(size_t most_tokens, size_t& dropped);
    size_t answer_end(const std::vector<int32_t>& ids, std::string_view text) const;
    std::vector<int32_t> keep_answer(const std::vector<int32_t>& ids) const;
    bool opens_reasoning(const std::vector<int32_t>& ids) const;

    Model& model_;
    Context& context_;
    ChatPrompt prompt_;
    std::string system_;
    nlohmann::ordered_json messages_ = nlohmann::ordered_json::array();  // without system
    nlohmann::ordered_json variables_ = nlohmann::ordered_json::object();
    size_t first_ = 0;  // the model sees messages_ from here on
    // The last prompt as the context holds it, the tokens that answered it, and that prompt as its
    // text tokenizes: the texts of earlier answers may give other tokens than the model chose.
    std::vector<int32_t> asked_, answered_, plain_;
};

}  // namespace ridge::cli
