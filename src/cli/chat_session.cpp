#include "cli/chat_session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/output_file.hpp"
#include "cli/common.hpp"
#include "text/unicode.hpp"
#include "text/utf8_stream.hpp"

namespace ridge::cli {

using nlohmann::ordered_json;

void ChatSession::reset() {
    messages_.clear();
    messages_ = ordered_json::array();
    first_ = 0;
    asked_.clear();
}

void ChatSession::set_system(std::string text) {
    system_ = std::move(text);
}

size_t ChatSession::turns() const {
    size_t n = 0;
    for (const ordered_json& message : messages_) n += message["role"] == "user" ? 1 : 0;
    return n;
}

Result<std::vector<int32_t>> ChatSession::encode() const {
    TemplateInput input;
    input.messages = ordered_json::array();
    if (!system_.empty()) input.messages.push_back({{"role", "system"}, {"content", system_}});
    for (size_t i = first_; i < messages_.size(); ++i) input.messages.push_back(messages_[i]);
    input.variables = variables_;
    return prompt_.encode(std::move(input));
}

// Where `text` ends in `ids`, behind the last prompt and before a marker (other text might have
// merged with the answer's end); 0 where that is not what follows.
size_t ChatSession::answer_end(const std::vector<int32_t>& ids, std::string_view text) const {
    const Tokenizer& t = model_.tokenizer();
    size_t at = plain_.size();
    for (; at < ids.size() && !text.empty(); ++at) {
        const std::string_view bytes = t.bytes(ids[at]);
        if (bytes.empty() || !text.starts_with(bytes)) return 0;
        text.remove_prefix(bytes.size());
    }
    const bool marker = at < ids.size() && (t.is_control(ids[at]) || t.is_end(ids[at]));
    return text.empty() && marker ? at : 0;
}

// `ids` with the last answer as the tokens that the model itself chose, so that the context keeps
// them; unchanged where the template writes the answer otherwise.
std::vector<int32_t> ChatSession::keep_answer(const std::vector<int32_t>& ids) const {
    const Tokenizer& t = model_.tokenizer();
    if (asked_.empty() || answered_.empty() || ids.size() <= plain_.size() ||
        !std::equal(plain_.begin(), plain_.end(), ids.begin()))
        return ids;
    std::string text;
    for (const int32_t id : answered_) {
        if (t.is_control(id)) return ids;
        text += t.bytes(id);
    }
    // SentencePiece may put a space before what follows a marker.
    size_t at = answer_end(ids, text);
    if (at == 0) at = answer_end(ids, " " + text);
    if (at == 0) return ids;
    std::vector<int32_t> out = asked_;
    out.insert(out.end(), answered_.begin(), answered_.end());
    out.insert(out.end(), ids.begin() + static_cast<std::ptrdiff_t>(at), ids.end());
    return out.size() < context_.context() ? out : ids;
}

// The prompt, after dropping as many of the oldest turns as it takes.
Result<std::vector<int32_t>> ChatSession::fit(size_t most_tokens, size_t& dropped) {
    const size_t context = context_.context();
    const size_t room = std::max<size_t>(1, std::min(most_tokens, context / 4));
    RIDGE_ASSIGN(std::vector<int32_t> ids, encode());
    size_t target = context - std::min(context, room);
    while (ids.size() > target && first_ + 1 < messages_.size()) {
        target = context / 2;
        ++first_;
        while (first_ + 1 < messages_.size() && messages_[first_]["role"] != "user") ++first_;
        ++dropped;
        RIDGE_ASSIGN(ids, encode());
    }
    if (ids.size() >= context)
        return fail(ErrorCode::invalid_argument,
                    fmt::format("the message takes {} tokens{}, but the context has {}; shorten it "
                                "or start with -c {}",
                                ids.size(), system_.empty() ? "" : " with the system message",
                                context, 2 * ids.size()));
    return ids;
}

bool ChatSession::opens_reasoning(const std::vector<int32_t>& ids) const {
    const Tokenizer& t = model_.tokenizer();
    std::string tail;
    for (size_t i = ids.size() - std::min<size_t>(ids.size(), 16); i < ids.size(); ++i)
        tail += t.is_control(ids[i]) ? t.raw(ids[i]) : t.bytes(ids[i]);
    while (!tail.empty() && (tail.back() == '\n' || tail.back() == ' ')) tail.pop_back();
    return tail.ends_with("<think>");
}

Result<ChatSession::Answer> ChatSession::ask(const std::string& message,
                                             const SamplingArgs& sampling, size_t most_tokens,
                                             const Events& events) {
    const Tokenizer& t = model_.tokenizer();
    const size_t first = first_;
    messages_.push_back({{"role", "user"}, {"content", message}});
    const auto forget = [&] {
        messages_.erase(messages_.size() - 1);
        first_ = first;
    };
    Answer a;
    auto ids = fit(most_tokens, a.dropped_turns);
    if (!ids) {
        forget();
        return propagate(ids);
    }
    auto chooser = make_chooser(sampling, model_);
    if (!chooser) {
        forget();
        return propagate(chooser);
    }
    asked_ = keep_answer(*ids);
    plain_ = std::move(*ids);
    answered_.clear();
    chooser->accept_prompt(asked_);
    events.begin(a.dropped_turns, opens_reasoning(asked_));
    a.prompt_tokens = asked_.size();
    const double begin = seconds_now();
    const auto computed = context_.prompt(0, asked_, events.stop);
    a.prefill_s = seconds_now() - begin;
    if (!computed) {
        forget();
        asked_.clear();
        if (computed.error().code != ErrorCode::cancelled) return propagate(computed);
        a.finish = "interrupt";
        return a;
    }
    a.computed_tokens = *computed;
    Utf8Stream utf8;
    const auto emit = [&](const std::string& piece) {
        a.text += piece;
        if (!piece.empty()) events.piece(piece);
    };
    const double ready = seconds_now();
    Status failed;
    for (;;) {
        if (events.stop()) {
            a.finish = "interrupt";
            break;
        }
        const auto id = chooser->next(context_.logits(0));
        if (!id) {
            failed = propagate(id);
            break;
        }
        if (*id < 0 || t.is_end(*id)) break;
        answered_.push_back(*id);
        // Reasoning tags are control tokens in some vocabularies, and text all the same.
        const std::string_view raw = t.raw(*id);
        const bool tag = t.is_control(*id) && (raw == "<think>" || raw == "</think>");
        emit(utf8.push(tag ? raw : t.bytes(*id)));
        if (answered_.size() == most_tokens) {
            a.finish = "length";
            break;
        }
        if (context_.length(0) == context_.context()) {
            a.finish = "context";
            break;
        }
        const Row row{0, *id, true};
        failed = context_.pass({&row, 1});
        if (!failed) break;
    }
    emit(utf8.finish());
    a.decode_s = seconds_now() - ready;
    a.tokens = answered_.size();
    a.fits = chooser->complete();
    messages_.push_back({{"role", "assistant"}, {"content", a.text}});
    if (!failed) return propagate(failed);
    return a;
}

namespace {

struct SavedChat {
    std::string system;
    ordered_json messages = ordered_json::array();
};

Result<SavedChat> read_chat(const std::string& path) {
    RIDGE_ASSIGN(const std::string text, read_text(path));
    const ordered_json file = ordered_json::parse(text, nullptr, false);
    const auto bad = [&](std::string_view what) {
        return fail(ErrorCode::bad_file, fmt::format("'{}' is no saved chat: {}", path, what));
    };
    if (file.is_discarded()) return bad("it is not JSON");
    const bool object = file.is_object() && file.contains("messages");
    const ordered_json& list = object ? file["messages"] : file;
    if (!list.is_array()) return bad("it has no list of messages");
    SavedChat chat;
    for (const ordered_json& message : list) {
        if (!message.is_object() || !message.contains("role") || !message.contains("content") ||
            !message["role"].is_string() || !message["content"].is_string())
            return bad("a message lacks role or content");
        const auto role = message["role"].get<std::string>();
        if (role == "system" && chat.messages.empty())
            chat.system = message["content"].get<std::string>();
        else if (role == "user" || role == "assistant")
            chat.messages.push_back({{"role", role}, {"content", message["content"]}});
        else
            return bad("a message is of neither system, user nor assistant");
    }
    return chat;
}

}  // namespace

Result<bool> ChatSession::save(const std::string& path) const {
    RIDGE_TRY(no_input(path, model_.file().paths()));
    std::error_code error;
    if (std::filesystem::is_regular_file(path, error) &&
        std::filesystem::file_size(path, error) > 0 && !read_chat(path))
        return fail(ErrorCode::bad_file,
                    fmt::format("'{}' is there and is no saved chat; give another name or remove "
                                "it first",
                                path));
    ordered_json all = ordered_json::array();
    if (!system_.empty()) all.push_back({{"role", "system"}, {"content", system_}});
    for (const ordered_json& message : messages_) all.push_back(message);
    bool whole = true;
    for (const ordered_json& message : all)
        whole =
            whole && !text::replace_ill_formed(message["content"].get_ref<const std::string&>());
    const ordered_json file = {{"model", model_.file().path()}, {"messages", all}};
    RIDGE_TRY(write_file(
        path, file.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"));
    return whole;
}

Status ChatSession::load(const std::string& path) {
    RIDGE_ASSIGN(SavedChat chat, read_chat(path));
    reset();
    system_ = std::move(chat.system);
    messages_ = std::move(chat.messages);
    return {};
}

}  // namespace ridge::cli
