#include <fmt/format.h>

#include <ctime>

#include "text/chat.hpp"

namespace ridge {
namespace {

using nlohmann::ordered_json;

// A member that is text; null where there is none, or something else.
const std::string* text_of(const ordered_json& message, const char* name) {
    if (!message.is_object()) return nullptr;
    const auto it = message.find(name);
    return it == message.end() ? nullptr : it->get_ptr<const std::string*>();
}

// The roles and texts that ridge's own formats write.
Result<std::vector<ChatMessage>> plain_messages(const ordered_json& messages) {
    std::vector<ChatMessage> out;
    for (const ordered_json& message : messages) {
        const std::string* const role = text_of(message, "role");
        const std::string* const content = text_of(message, "content");
        if (role == nullptr || content == nullptr ||
            (*role != "system" && *role != "user" && *role != "assistant"))
            return fail(
                ErrorCode::unsupported,
                fmt::format("message {} has a role or content that ridge's own chat formats "
                            "do not write; they take texts of system, user and assistant",
                            out.size()));
        const ChatRole as = *role == "system" ? ChatRole::system
                            : *role == "user" ? ChatRole::user
                                              : ChatRole::assistant;
        out.push_back({as, *content});
    }
    return out;
}

// The system message's text in front of the first user message; false where there is no such pair.
bool merge_system(ordered_json& messages) {
    if (!messages.is_array() || messages.size() < 2) return false;
    const auto text_by = [](const ordered_json& m, std::string_view role) {
        const std::string* const is = text_of(m, "role");
        return is != nullptr && *is == role ? text_of(m, "content") : nullptr;
    };
    const std::string* const system = text_by(messages[0], "system");
    const std::string* const user = text_by(messages[1], "user");
    if (system == nullptr || user == nullptr) return false;
    messages[1]["content"] = *system + "\n\n" + *user;
    messages.erase(messages.begin());
    return true;
}

}  // namespace

Result<ChatPrompt> ChatPrompt::create(const Tokenizer& tokenizer, std::string_view source) {
    ChatPrompt prompt(tokenizer);
    const bool given = !source.empty();
    if (!given) source = tokenizer.chat_template();
    if (source.empty()) return propagate(detect_chat_format(tokenizer));  // says that there is none
    auto parsed = ChatTemplate::parse(source);
    if (parsed) {
        prompt.template_ = std::move(*parsed);
        prompt.description_ = given ? "the given chat template" : "the model's chat template";
        return prompt;
    }
    if (given) return propagate(parsed);
    const auto format = detect_chat_format(tokenizer);
    if (!format) return propagate(parsed);
    prompt.format_ = *format;
    prompt.description_ = fmt::format(
        "ridge's {} format (the model's template is not read: {})",
        format->family == ChatFormat::Family::gemma ? "Gemma" : "ChatML", parsed.error().message);
    return prompt;
}

Result<std::vector<int32_t>> ChatPrompt::encode(TemplateInput input) const {
    if (!template_) {
        RIDGE_ASSIGN(const auto messages, plain_messages(input.messages));
        return encode_chat(tokenizer_, format_, messages, input.add_generation_prompt);
    }
    if (input.now == 0) input.now = static_cast<int64_t>(std::time(nullptr));
    input.bos_token = tokenizer_.bos() >= 0 ? tokenizer_.raw(tokenizer_.bos()) : "";
    input.eos_token = tokenizer_.eos() >= 0 ? tokenizer_.raw(tokenizer_.eos()) : "";
    auto segments = template_->render(input);
    if (!segments && merge_system(input.messages)) {
        auto merged = template_->render(input);
        if (merged) segments = std::move(merged);
    }
    if (!segments) return propagate(segments);
    return encoder_.encode(*segments, true);
}

}  // namespace ridge
