// tokenizer.model: SentencePiece's ModelProto, of which pieces and two settings matter. The wire
// format of protocol buffers: each field a varint of number * 8 + kind, then a varint (kind 0),
// 8 bytes (1), a length and so many bytes (2) or 4 bytes (5).
#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "base/cursor.hpp"
#include "base/mapped_file.hpp"
#include "format/convert_vocab.hpp"

namespace ridge::convert {

namespace {

struct Field {
    uint64_t number = 0, kind = 0;
    uint64_t value = 0;         // of kinds 0, 1 and 5
    std::string_view contents;  // of kind 2
};

class Message {
  public:
    explicit Message(std::string_view bytes)
        : cursor_(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()) {}
    bool at_end() const { return cursor_.remaining() == 0; }

    // The next field; false where the bytes are none.
    bool next(Field& out) {
        uint64_t head = 0;
        if (!varint(head)) return false;
        out.number = head >> 3;
        out.kind = head & 7;
        switch (out.kind) {
            case 0:
                return varint(out.value);
            case 1:
                return cursor_.read(out.value);
            case 2: {
                uint64_t length = 0;
                const uint8_t* bytes = nullptr;
                if (!varint(length) || !cursor_.take(length, bytes)) return false;
                out.contents = {reinterpret_cast<const char*>(bytes), length};
                return true;
            }
            case 5: {
                uint32_t word = 0;
                if (!cursor_.read(word)) return false;
                out.value = word;
                return true;
            }
            default:
                return false;
        }
    }

  private:
    bool varint(uint64_t& out) {
        out = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            uint8_t part = 0;
            if (!cursor_.read(part)) return false;
            out |= static_cast<uint64_t>(part & 127) << shift;
            if (part < 128) return true;
        }
        return false;
    }
    Cursor cursor_;
};

// SentencePiece: piece = 1, score = 2 (float), type = 3 (1 to 6, as GGUF has them).
bool read_piece(std::string_view bytes, uint64_t id, Vocabulary& out) {
    Message message(bytes);
    std::string text;
    float score = 0.0f;
    int32_t type = normal;
    while (!message.at_end()) {
        Field f;
        if (!message.next(f)) return false;
        if (f.number == 1 && f.kind == 2) text = f.contents;
        if (f.number == 2 && f.kind == 5) {
            const auto bits = static_cast<uint32_t>(f.value);
            std::memcpy(&score, &bits, sizeof score);
        }
        if (f.number == 3 && f.kind == 0) type = static_cast<int32_t>(f.value & 7);
    }
    if (type < normal || type > byte || !std::isfinite(score)) return false;
    out.put(id, std::move(text), score, type);
    return true;
}

// A varint field of a message; `fallback` where it has none.
uint64_t setting(std::string_view bytes, uint64_t number, uint64_t fallback) {
    Message message(bytes);
    Field f;
    while (!message.at_end() && message.next(f))
        if (f.number == number && f.kind == 0) fallback = f.value;
    return fallback;
}

}  // namespace

Status read_sentencepiece(const std::string& path, Vocabulary& out) {
    RIDGE_ASSIGN(const auto file, MappedFile::open(path));
    out.model = "llama";
    out.pre = "default";
    Message message({reinterpret_cast<const char*>(file.data()), file.size()});
    uint64_t pieces = 0;
    while (!message.at_end()) {
        Field f;
        if (!message.next(f) ||
            (f.number == 1 && f.kind == 2 && !read_piece(f.contents, pieces++, out)))
            return fail(ErrorCode::bad_file,
                        fmt::format("'{}' is no SentencePiece model; get it again.", path));
        // trainer_spec.model_type: 1 unigram, 2 BPE; normalizer_spec.add_dummy_prefix
        if (f.number == 2 && f.kind == 2 && setting(f.contents, 3, 1) != 2)
            return fail(ErrorCode::unsupported,
                        fmt::format("'{}' is a SentencePiece model, but not of kind BPE.", path));
        if (f.number == 3 && f.kind == 2) out.space_prefix = setting(f.contents, 3, 1) != 0;
    }
    if (pieces == 0)
        return fail(ErrorCode::bad_file, fmt::format("'{}' has no pieces; get it again.", path));
    return {};
}

}  // namespace ridge::convert
