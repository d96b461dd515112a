#include "text/chat.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "text/unicode.hpp"

namespace ridge {
namespace {

constexpr std::string_view kSupported = "ChatML (<|im_start|>) and Gemma (<start_of_turn>)";

struct Markers {
    std::string_view open;
    std::string_view close;
};

Markers markers_of(ChatFormat::Family family) {
    if (family == ChatFormat::Family::gemma) return {"<start_of_turn>", "<end_of_turn>"};
    return {"<|im_start|>", "<|im_end|>"};
}

std::string_view role_name(ChatFormat::Family family, ChatRole role) {
    switch (role) {
        case ChatRole::system:
            return "system";
        case ChatRole::user:
            return "user";
        case ChatRole::assistant:
            break;
    }
    return family == ChatFormat::Family::gemma ? "model" : "assistant";
}

// The constant system message in a ChatML template: what stands between "<|im_start|>system", a
// line end (itself, or escaped in a Jinja string) and "<|im_end|>" without leaving that string.
// Empty where there is none, or where it is put together at run time.
std::string find_default_system(std::string_view source) {
    constexpr std::string_view kOpen = "<|im_start|>system";
    for (size_t at = source.find(kOpen); at != std::string_view::npos;
         at = source.find(kOpen, at + 1)) {
        std::string_view rest = source.substr(at + kOpen.size());
        const std::string_view line_end = rest.substr(0, 1) == "\n" ? "\n" : "\\n";
        if (rest.substr(0, line_end.size()) != line_end) continue;
        rest.remove_prefix(line_end.size());
        const std::string_view text = rest.substr(0, rest.find("<|im_end|>"));
        if (text.size() == rest.size() || text.empty()) continue;
        if (text.find_first_of("'\"\\{}") != std::string_view::npos) continue;
        return std::string(text);
    }
    return {};
}

// Without white space at both ends, as the template's trim filter has it.
std::string_view trim(std::string_view s) {
    size_t begin = s.size();
    size_t end = 0;
    for (size_t i = 0; i < s.size();) {
        const text::CodePoint c = text::decode_utf8(s, i);
        // Python's str.strip, which the filter uses, also takes the four separators 1C to 1F.
        if (!text::is_white_space(c.value) && !(c.value >= 0x1C && c.value <= 0x1F)) {
            begin = std::min(begin, i);
            end = i + c.length;
        }
        i += c.length;
    }
    return begin < end ? s.substr(begin, end - begin) : std::string_view();
}

// Ids of text between markers. What lies between two markers is tokenized as one, as it was when
// the model was trained: a role and the message after it may share a token.
class Writer {
  public:
    Writer(const Tokenizer& tokenizer, ChatFormat::Family family)
        : tokenizer_(tokenizer),
          open_(tokenizer.find(markers_of(family).open)),
          close_(tokenizer.find(markers_of(family).close)) {}

    void token(int32_t id) {
        flush();
        if (id >= 0) ids_.push_back(id);
    }
    void open(std::string_view role) {
        token(open_);
        text(role);
        text("\n");
    }
    void close() {
        token(close_);
        text("\n");
    }
    void text(std::string_view s) { pending_ += s; }

    std::vector<int32_t> take() {
        flush();
        return std::move(ids_);
    }

  private:
    void flush() {
        if (pending_.empty()) return;
        const auto ids = tokenizer_.encode(pending_, false, false);
        ids_.insert(ids_.end(), ids.begin(), ids.end());
        pending_.clear();
    }

    const Tokenizer& tokenizer_;
    int32_t open_;
    int32_t close_;
    std::string pending_;
    std::vector<int32_t> ids_;
};

void write_chatml(Writer& out, const ChatFormat& format, std::span<const ChatMessage> messages) {
    if (!format.default_system.empty() && !messages.empty() &&
        messages[0].role != ChatRole::system) {
        out.open(role_name(format.family, ChatRole::system));
        out.text(format.default_system);
        out.close();
    }
    for (const ChatMessage& message : messages) {
        out.open(role_name(format.family, message.role));
        out.text(message.content);
        out.close();
    }
}

void write_gemma(Writer& out, const ChatFormat& format, std::span<const ChatMessage> messages) {
    std::string_view opening;  // the system message, in front of the first turn
    if (!messages.empty() && messages[0].role == ChatRole::system) {
        opening = messages[0].content;
        messages = messages.subspan(1);
        if (messages.empty()) {
            out.open(role_name(format.family, ChatRole::user));
            out.text(trim(opening));
            out.close();
        }
    }
    for (const ChatMessage& message : messages) {
        out.open(role_name(format.family, message.role));
        if (!opening.empty()) {
            out.text(opening);
            out.text("\n\n");
            opening = {};
        }
        out.text(trim(message.content));
        out.close();
    }
}

// has(marker): whether the vocabulary has that token.
template <typename Has>
Result<ChatFormat> detect(std::string_view source, std::string_view where, Has has) {
    if (source.empty()) {
        return fail(ErrorCode::unsupported,
                    fmt::format("'{}' has no chat template (a base model?); run it without a chat "
                                "format, or use a model with one that ridge has: {}",
                                where, kSupported));
    }
    ChatFormat format;
    if (source.find("<|im_start|>") != std::string_view::npos) {
        format.family = ChatFormat::Family::chatml;
        format.default_system = find_default_system(source);
    } else if (source.find("<start_of_turn>") != std::string_view::npos) {
        format.family = ChatFormat::Family::gemma;
    } else {
        return fail(ErrorCode::unsupported,
                    fmt::format("{}: its chat template is of a family that ridge does not have; "
                                "there are {}",
                                where, kSupported));
    }
    const Markers markers = markers_of(format.family);
    for (const std::string_view marker : {markers.open, markers.close}) {
        if (!has(marker)) {
            return fail(ErrorCode::bad_file,
                        fmt::format("{}: its chat template writes {}, which the vocabulary does "
                                    "not have; convert the model again",
                                    where, marker));
        }
    }
    return format;
}

}  // namespace

Result<ChatFormat> detect_chat_format(const VocabData& vocab) {
    return detect(vocab.chat_template, vocab.source, [&](std::string_view marker) {
        return std::find(vocab.tokens.begin(), vocab.tokens.end(), marker) != vocab.tokens.end();
    });
}

Result<ChatFormat> detect_chat_format(const Tokenizer& tokenizer) {
    return detect(tokenizer.chat_template(), tokenizer.source(),
                  [&](std::string_view marker) { return tokenizer.find(marker) >= 0; });
}

std::vector<int32_t> encode_chat(const Tokenizer& tokenizer, const ChatFormat& format,
                                 std::span<const ChatMessage> messages,
                                 bool add_generation_prompt) {
    Writer out(tokenizer, format.family);
    const bool gemma = format.family == ChatFormat::Family::gemma;
    if (gemma || tokenizer.adds_bos()) out.token(tokenizer.bos());
    if (gemma) {
        write_gemma(out, format, messages);
    } else {
        write_chatml(out, format, messages);
    }
    if (add_generation_prompt) out.open(role_name(format.family, ChatRole::assistant));
    return out.take();
}

}  // namespace ridge
