// Encoding: special tokens first, then the text between them by merges.
#include <algorithm>

#include "text/merge.hpp"
#include "text/token_text.hpp"
#include "text/tokenizer_impl.hpp"
#include "text/unicode.hpp"

namespace ridge {
namespace {

// Positions count in 32 bits, so longer text is taken in parts of this many bytes. (A space becomes
// the three bytes of U+2581, a byte that is no UTF-8 those of U+FFFD.)
constexpr size_t kMaxPart = size_t{1} << 30;

// Length of the first part of `text`: all of it, or kMaxPart less what would split a code point.
size_t part_length(std::string_view text) {
    if (text.size() <= kMaxPart) return text.size();
    size_t length = kMaxPart;
    while (length > kMaxPart - 4 && (static_cast<uint8_t>(text[length]) & 0xC0) == 0x80) --length;
    return length;
}

// `text` with U+2581 for each space.
void append_marked(std::string_view text, std::string& out) {
    for (const char c : text) {
        if (c == ' ') {
            out += text::kSpaceMark;
        } else {
            out.push_back(c);
        }
    }
}

}  // namespace

// The token that a piece is as a whole, or -1; `buffer` is scratch.
int32_t Tokenizer::Impl::whole_token(std::string_view piece, std::string& buffer) const {
    if (piece.size() > longest) return -1;
    std::string_view key = piece;
    if (byte_level()) {
        buffer.clear();
        text::append_byte_level(piece, buffer);
        key = buffer;
    }
    const int32_t id = ids.find(raw, key);
    return id >= 0 && mergeable(id) ? id : -1;
}

// For text without a token of its own: its bytes, or unknown once where they have no tokens either.
void Tokenizer::Impl::push_bytes(std::string_view of, std::vector<int32_t>& out) const {
    const auto token = [&](char c) { return byte_ids[static_cast<uint8_t>(c)]; };
    if (std::all_of(of.begin(), of.end(), [&](char c) { return token(c) >= 0; })) {
        for (const char c : of) out.push_back(token(c));
    } else if (unk >= 0) {
        out.push_back(unk);
    }
}

bool Tokenizer::Impl::find_merge(const text::Symbol& left, const text::Symbol& right,
                                 uint32_t& rank, int32_t& id) const {
    if (left.id < 0 || right.id < 0) return false;
    const text::Merge* merge = merges.find(left.id, right.id);
    if (merge == nullptr) return false;
    rank = merge->rank;
    id = merge->id;
    return true;
}

void Tokenizer::Impl::encode_byte_bpe(std::string_view fragment, std::vector<int32_t>& out) const {
    std::vector<size_t> piece_ends;
    std::vector<text::Symbol> symbols;
    text::MergeScratch scratch;
    std::string buffer;
    // Vocabularies need no tokens for bytes that UTF-8 never has, and many lack them.
    const auto fixed = text::replace_ill_formed(fragment);
    if (fixed) fragment = *fixed;
    pre_tokenize(pre.kind, fragment, piece_ends);
    size_t begin = 0;
    for (const size_t end : piece_ends) {
        if (pre.ignore_merges) {
            const int32_t id = whole_token(fragment.substr(begin, end - begin), buffer);
            if (id >= 0) {
                out.push_back(id);
                begin = end;
                continue;
            }
        }
        symbols.clear();
        for (size_t i = begin; i < end; ++i) {
            const auto at = static_cast<uint32_t>(i - begin);
            symbols.push_back({at, at + 1, 0, 0, byte_ids[static_cast<uint8_t>(fragment[i])]});
        }
        begin = end;
        text::link(symbols);
        text::merge_symbols(scratch, symbols,
                            [&](const text::Symbol& left, const text::Symbol& right, uint32_t& rank,
                                int32_t& id) { return find_merge(left, right, rank, id); });
        for (uint32_t i = 0; i != text::kNoSymbol; i = symbols[i].next) {
            if (symbols[i].id >= 0) out.push_back(symbols[i].id);
        }
    }
}

void Tokenizer::Impl::encode_char_bpe(std::string_view fragment, std::vector<int32_t>& out) const {
    std::string marked;
    append_marked(fragment, marked);
    const std::string_view text = marked;
    std::vector<size_t> piece_ends;
    pre_tokenize(pre.kind, text, piece_ends);
    std::vector<text::Symbol> symbols;
    text::MergeScratch scratch;
    std::string buffer;
    size_t begin = 0;
    for (const size_t end : piece_ends) {
        const std::string_view piece = text.substr(begin, end - begin);
        begin = end;
        symbols.clear();
        for (uint32_t at = 0; at < piece.size();) {
            const uint32_t next = at + text::decode_utf8(piece, at).length;
            symbols.push_back({at, next, 0, 0, whole_token(piece.substr(at, next - at), buffer)});
            at = next;
        }
        text::link(symbols);
        text::merge_symbols(scratch, symbols,
                            [&](const text::Symbol& left, const text::Symbol& right, uint32_t& rank,
                                int32_t& id) { return find_merge(left, right, rank, id); });
        for (uint32_t i = 0; i != text::kNoSymbol; i = symbols[i].next) {
            const text::Symbol& symbol = symbols[i];
            if (symbol.id >= 0) {
                out.push_back(symbol.id);
            } else {
                push_bytes(piece.substr(symbol.begin, symbol.end - symbol.begin), out);
            }
        }
    }
}

void Tokenizer::Impl::encode_pieces(std::string_view fragment, bool space_prefix,
                                    std::vector<int32_t>& out) const {
    std::string buffer;
    std::vector<text::Symbol> symbols;
    text::MergeScratch scratch;
    const auto token_at = [&](uint32_t begin, uint32_t end) {
        if (end - begin > longest) return -1;
        const int32_t id = ids.find(raw, std::string_view(buffer).substr(begin, end - begin));
        return id >= 0 && mergeable(id) ? id : -1;
    };
    const auto lookup = [&](const text::Symbol& left, const text::Symbol& right, uint32_t& priority,
                            int32_t& id) {
        id = token_at(left.begin, right.end);
        if (id < 0) return false;
        priority = priorities[static_cast<size_t>(id)];
        return true;
    };
    if (space_prefix) buffer += text::kSpaceMark;
    append_marked(fragment, buffer);
    for (size_t i = 0; i < buffer.size();) {
        const auto at = static_cast<uint32_t>(i);
        const uint32_t end = at + text::decode_utf8(buffer, i).length;
        symbols.push_back({at, end, 0, 0, token_at(at, end)});
        i = end;
    }
    text::link(symbols);
    text::merge_symbols(scratch, symbols, lookup);
    for (uint32_t i = 0; i != text::kNoSymbol; i = symbols[i].next) {
        const text::Symbol& symbol = symbols[i];
        if (symbol.id >= 0) {
            out.push_back(symbol.id);
            continue;
        }
        push_bytes(std::string_view(buffer).substr(symbol.begin, symbol.end - symbol.begin), out);
    }
}

std::vector<int32_t> Tokenizer::encode(std::string_view text, bool add_special,
                                       bool parse_special) const {
    const Impl& impl = *impl_;
    std::vector<int32_t> out;
    if (add_special && impl.add_bos) out.push_back(impl.bos);
    const auto& matcher = parse_special ? impl.all_special : impl.user_defined;
    bool space_prefix = impl.add_space_prefix;  // before the first word and after special tokens
    const auto encode_fragment = [&](std::string_view fragment) {
        if (fragment.empty()) return;
        switch (impl.family) {
            case Impl::Family::byte_bpe:
                impl.encode_byte_bpe(fragment, out);
                break;
            case Impl::Family::char_bpe:
                impl.encode_char_bpe(fragment, out);
                break;
            case Impl::Family::pieces:
                impl.encode_pieces(fragment, space_prefix, out);
                break;
        }
        space_prefix = false;
    };
    while (!text.empty()) {
        const std::string_view part = text.substr(0, part_length(text));
        text.remove_prefix(part.size());
        size_t from = 0;
        for (const auto& match : matcher.find(impl.raw, part)) {
            encode_fragment(part.substr(from, match.begin - from));
            out.push_back(match.id);
            space_prefix = impl.add_space_prefix;
            from = match.end;
        }
        encode_fragment(part.substr(from));
    }
    if (add_special && impl.add_eos) out.push_back(impl.eos);
    return out;
}

}  // namespace ridge
