// Building a Tokenizer and asking it about tokens. Encoding is in tokenizer_encode.cpp.
#include "text/tokenizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "format/gguf_types.hpp"
#include "text/token_text.hpp"
#include "text/tokenizer_impl.hpp"

namespace ridge {
namespace {

// Order-reversing map of floats that are numbers: the higher the score, the lower the priority.
uint32_t priority_of(float score) {
    const auto bits = std::bit_cast<uint32_t>(score + 0.0f);  // -0 becomes 0
    const uint32_t ascending = (bits >> 31) != 0 ? ~bits : bits | 0x80000000u;
    return ~ascending;
}

template <typename... Args>
tl::unexpected<Error> bad(const VocabData& vocab, fmt::format_string<Args...> what,
                          Args&&... args) {
    return fail(ErrorCode::bad_file,
                fmt::format("{}: the tokenizer {}; convert the model again", vocab.source,
                            fmt::format(what, std::forward<Args>(args)...)));
}

Status check_shape(const VocabData& vocab) {
    const size_t count = vocab.tokens.size();
    if (count == 0) return bad(vocab, "has an empty list of tokens");
    if (count > static_cast<size_t>(std::numeric_limits<int32_t>::max()))
        return bad(vocab, "has {} tokens, more than ids can count", count);
    if (!vocab.scores.empty() && vocab.scores.size() != count)
        return bad(vocab, "has {} tokens, but {} scores", count, vocab.scores.size());
    if (!vocab.types.empty() && vocab.types.size() != count)
        return bad(vocab, "has {} tokens, but {} types", count, vocab.types.size());
    size_t total = 0;
    for (const std::string_view token : vocab.tokens) total += token.size();
    if (total > std::numeric_limits<uint32_t>::max())
        return bad(vocab, "has tokens of {} bytes together, more than 4 GiB", total);
    for (size_t i = 0; i < vocab.scores.size(); ++i) {
        if (std::isnan(vocab.scores[i]))
            return bad(vocab, "gives token {} a score that is not a number", i);
    }
    return {};
}

Result<int32_t> checked_id(const VocabData& vocab, int64_t id, std::string_view name) {
    if (id < 0) return -1;
    if (static_cast<uint64_t>(id) >= vocab.tokens.size()) {
        return bad(vocab, "says that its {} token is {}, but has {} tokens", name, id,
                   vocab.tokens.size());
    }
    return static_cast<int32_t>(id);
}

}  // namespace

// Special ids, and the type each token gets in the end.
Status Tokenizer::Impl::set_specials(const VocabData& vocab) {
    RIDGE_ASSIGN(bos, checked_id(vocab, vocab.bos, "BOS"));
    RIDGE_ASSIGN(eos, checked_id(vocab, vocab.eos, "EOS"));
    RIDGE_ASSIGN(unk, checked_id(vocab, vocab.unk, "unknown"));
    RIDGE_ASSIGN(const int32_t eot, checked_id(vocab, vocab.eot, "end-of-turn"));
    add_bos = vocab.add_bos;
    add_eos = vocab.add_eos;
    add_space_prefix = family == Family::pieces && vocab.add_space_prefix;
    if (add_bos && bos < 0) return bad(vocab, "adds a BOS token, but has none");
    if (add_eos && eos < 0) return bad(vocab, "adds an EOS token, but has none");

    const size_t n = vocab.tokens.size();
    types = vocab.types;
    types.resize(n, TokenType::normal);
    ends.assign(n, false);
    const auto set_end = [&](int32_t id) {
        if (id < 0) return;
        types[static_cast<size_t>(id)] = TokenType::control;
        ends[static_cast<size_t>(id)] = true;
    };
    for (size_t i = 0; i < n; ++i) {
        if (text::is_end_name(vocab.tokens[i])) set_end(static_cast<int32_t>(i));
        if (text::is_turn_name(vocab.tokens[i]) ||
            (types[i] == TokenType::user_defined && text::looks_like_control(vocab.tokens[i])))
            types[i] = TokenType::control;
    }
    set_end(eos);
    set_end(eot);
    if (bos >= 0) types[static_cast<size_t>(bos)] = TokenType::control;
    for (const int64_t end : vocab.other_ends) {
        RIDGE_ASSIGN(const int32_t id, checked_id(vocab, end, "end-of-generation"));
        set_end(id);
    }
    return {};
}

// Raw text, bytes, and the matchers of special tokens.
Status Tokenizer::Impl::set_tokens(const VocabData& vocab) {
    size_t total = 0;
    for (const std::string_view token : vocab.tokens) total += token.size();
    raw.reserve(count(), total);
    bytes.reserve(count(), total);
    for (const std::string_view token : vocab.tokens) raw.push_back(token);
    ids.build(raw);
    byte_ids.fill(-1);
    std::vector<int32_t> user;
    std::vector<int32_t> special;
    for (size_t i = 0; i < count(); ++i) {
        const auto id = static_cast<int32_t>(i);
        const std::string_view token = vocab.tokens[i];
        switch (types[i]) {
            case TokenType::normal: {
                bytes.push_back_with([&](std::vector<char>& out) {
                    return byte_level() ? text::decode_byte_level(token, out)
                                        : text::decode_spaces(token, out);
                });
                if (byte_level() && bytes[i].size() == 1 && ids.find(raw, token) == id) {
                    int32_t& of_byte = byte_ids[static_cast<uint8_t>(bytes[i][0])];
                    if (of_byte < 0) of_byte = id;
                }
                break;
            }
            case TokenType::byte: {
                const int byte = text::parse_byte_token(token);
                if (byte < 0)
                    return bad(vocab, "types token {} as a byte, but it is not of the form <0x0A>",
                               i);
                const auto b = static_cast<uint8_t>(byte);
                bytes.push_back({reinterpret_cast<const char*>(&b), 1});
                if (!byte_level() && byte_ids[b] < 0) byte_ids[b] = id;
                break;
            }
            case TokenType::user_defined:
                bytes.push_back(token);
                break;
            default:
                bytes.push_back({});
        }
        const bool is_user = types[i] == TokenType::user_defined;
        if (is_user || types[i] == TokenType::control || types[i] == TokenType::unknown) {
            if (token.size() > text::kMaxSpecialBytes)
                return bad(vocab, "has a special token ({}) of {} bytes, more than {}", i,
                           token.size(), text::kMaxSpecialBytes);
            if (token.empty()) continue;
            special.push_back(id);
            if (is_user) user.push_back(id);
        } else if (types[i] != TokenType::byte) {
            longest = std::max(longest, token.size());
        }
    }
    user_defined.build(raw, std::move(user));
    all_special.build(raw, std::move(special));
    return {};
}

Status Tokenizer::Impl::set_scores(const VocabData& vocab) {
    priorities.assign(count(), priority_of(0.0f));
    for (size_t i = 0; i < vocab.scores.size(); ++i) priorities[i] = priority_of(vocab.scores[i]);
    const bool all_bytes =
        std::all_of(byte_ids.begin(), byte_ids.end(), [](int32_t id) { return id >= 0; });
    if (unk < 0 && !all_bytes)
        return bad(vocab, "has neither an unknown token nor a token for every byte");
    return {};
}

// "left right": the space that separates them is the first after the first byte. Taken in batches,
// so that the slots wanted by some are on their way while others are looked at (token_map.hpp).
Status Tokenizer::Impl::set_merges(const VocabData& vocab) {
    if (vocab.merges.size() > std::numeric_limits<uint32_t>::max())
        return bad(vocab, "has {} merges, more than ranks can count", vocab.merges.size());
    merges.reset(vocab.merges.size());
    struct Part {
        std::string_view text;
        uint64_t hash = 0;
        int32_t id = -1;
    };
    struct Wanted {
        uint32_t rank = 0;
        Part left, right, result;
    };
    constexpr size_t batch = 64;
    std::array<Wanted, batch> wanted;
    std::array<std::string, batch> joined;
    const auto announce = [&](Part& part, std::string_view of) {
        part = {of, text::hash_bytes(of), -1};
        ids.prefetch(part.hash);
    };
    const auto look_up = [&](Part& part) {
        const int32_t id = ids.find(raw, part.text, part.hash);
        part.id = id >= 0 && mergeable(id) ? id : -1;
        return part.id >= 0;
    };
    for (size_t rank = 0; rank < vocab.merges.size();) {
        size_t n = 0;
        for (; n < batch && rank < vocab.merges.size(); ++rank) {
            const std::string_view merge = vocab.merges[rank];
            const size_t space = merge.find(' ', 1);
            if (space == std::string_view::npos) continue;
            joined[n] = merge.substr(0, space);
            joined[n] += merge.substr(space + 1);
            Wanted& w = wanted[n];
            w.rank = static_cast<uint32_t>(rank);
            announce(w.left, merge.substr(0, space));
            announce(w.right, merge.substr(space + 1));
            announce(w.result, joined[n++]);
        }
        size_t found = 0;
        for (size_t i = 0; i < n; ++i) {
            Wanted& w = wanted[i];
            if (!look_up(w.left) || !look_up(w.right) || !look_up(w.result)) continue;
            merges.prefetch(w.left.id, w.right.id);
            wanted[found++] = w;
        }
        for (size_t i = 0; i < found; ++i) {
            const Wanted& w = wanted[i];
            merges.insert(w.left.id, w.right.id, {w.rank, w.result.id});
        }
    }
    return {};
}

Result<Tokenizer> Tokenizer::create(const VocabData& vocab) {
    auto impl = std::make_shared<Impl>();
    if (vocab.model == "llama") {
        impl->family = Impl::Family::pieces;
    } else if (vocab.model == "gpt2" || vocab.model == "gemma4") {
        const auto pre = find_pre_tokenizer(vocab.model == "gemma4" ? vocab.model : vocab.pre);
        if (!pre) {
            return fail(ErrorCode::unsupported,
                        fmt::format("{}: pre-tokenizer {} (tokenizer.ggml.pre) is not "
                                    "supported; ridge has {}",
                                    vocab.source, gguf::quoted(vocab.pre), pre_tokenizer_names()));
        }
        impl->pre = *pre;
        if (pre->kind == PreTokenizer::gemma4) impl->family = Impl::Family::char_bpe;
    } else {
        return fail(
            ErrorCode::unsupported,
            fmt::format("{}: tokenizer {} (tokenizer.ggml.model) is not supported; "
                        "ridge has gpt2 (byte-level BPE), gemma4 (BPE) and llama (SentencePiece)",
                        vocab.source, gguf::quoted(vocab.model)));
    }
    impl->chat_template = vocab.chat_template;
    impl->source = vocab.source;
    RIDGE_TRY(check_shape(vocab));
    RIDGE_TRY(impl->set_specials(vocab));
    RIDGE_TRY(impl->set_tokens(vocab));
    RIDGE_TRY(impl->family == Impl::Family::pieces ? impl->set_scores(vocab)
                                                   : impl->set_merges(vocab));
    return Tokenizer(std::move(impl));
}

std::string_view Tokenizer::bytes(int32_t id) const {
    return impl_->contains(id) ? impl_->bytes[static_cast<size_t>(id)] : std::string_view();
}

std::string Tokenizer::decode(std::span<const int32_t> ids) const {
    std::string text;
    for (const int32_t id : ids) text += bytes(id);
    if (impl_->add_space_prefix && !text.empty() && text[0] == ' ') text.erase(0, 1);
    return text;
}

std::string_view Tokenizer::raw(int32_t id) const {
    return impl_->contains(id) ? impl_->raw[static_cast<size_t>(id)] : std::string_view();
}

int32_t Tokenizer::find(std::string_view raw) const {
    return impl_->ids.find(impl_->raw, raw);
}

bool Tokenizer::is_control(int32_t id) const {
    return impl_->contains(id) && impl_->type(id) == TokenType::control;
}

bool Tokenizer::is_end(int32_t id) const {
    return impl_->contains(id) && impl_->ends[static_cast<size_t>(id)];
}

int32_t Tokenizer::bos() const {
    return impl_->bos;
}

int32_t Tokenizer::eos() const {
    return impl_->eos;
}

bool Tokenizer::adds_bos() const {
    return impl_->add_bos;
}

bool Tokenizer::doubles_bos(std::span<const int32_t> ids) const {
    return impl_->add_bos && ids.size() > 1 && ids[0] == impl_->bos && ids[1] == impl_->bos;
}

int32_t Tokenizer::size() const {
    return static_cast<int32_t>(impl_->count());
}

std::string_view Tokenizer::chat_template() const {
    return impl_->chat_template;
}

std::string_view Tokenizer::source() const {
    return impl_->source;
}

size_t Tokenizer::memory_bytes() const {
    const Impl& impl = *impl_;
    return impl.raw.memory_bytes() + impl.bytes.memory_bytes() + impl.ids.memory_bytes() +
           impl.merges.memory_bytes() + impl.types.capacity() + impl.ends.capacity() / 8 +
           4 * impl.priorities.capacity() + impl.user_defined.memory_bytes() +
           impl.all_special.memory_bytes();
}

}  // namespace ridge
