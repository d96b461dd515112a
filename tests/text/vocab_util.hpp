// Vocabularies made by hand, and GGUF files that hold one.
#pragma once

#include <cstring>
#include <deque>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "text/vocab.hpp"

namespace ridge::test {

// Owns the strings that a VocabData views.
class VocabMaker {
  public:
    explicit VocabMaker(std::string model) { data.model = std::move(model); }

    int32_t add(std::string token, TokenType type = TokenType::normal, float score = 0.0f) {
        strings_.push_back(std::move(token));
        data.tokens.push_back(strings_.back());
        data.types.push_back(type);
        data.scores.push_back(score);
        return static_cast<int32_t>(data.tokens.size() - 1);
    }
    void merge(std::string rule) {
        strings_.push_back(std::move(rule));
        data.merges.push_back(strings_.back());
    }

    // How byte-level BPE writes a byte. (Independent of the table under test: listed by the
    // definition that OpenAI's encoder.py gives.)
    static std::string byte_level(uint8_t byte) {
        uint32_t code = byte;
        const auto printable = [](uint32_t b) {
            return (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || (b >= 0xAE && b <= 0xFF);
        };
        if (!printable(byte)) {
            code = 256;
            for (uint32_t b = 0; b < byte; ++b) code += printable(b) ? 0 : 1;
        }
        if (code < 0x80) return std::string(1, static_cast<char>(code));
        return {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 0x3F))};
    }

    VocabData data;

  private:
    std::deque<std::string> strings_;
};

// "gpt2" with a token for every byte (id = byte), and nothing else yet.
inline VocabMaker byte_level_vocab(std::string pre) {
    VocabMaker vocab("gpt2");
    vocab.data.pre = std::move(pre);
    for (int b = 0; b < 256; ++b) vocab.add(VocabMaker::byte_level(static_cast<uint8_t>(b)));
    return vocab;
}

constexpr int32_t kFirstByte = 3;  // id of <0x00> in sentencepiece_vocab()
constexpr int32_t kMarkId = 259;   // id of U+2581

// "llama" as Llama 2 has it: <unk> 0, <s> 1, </s> 2, the bytes, U+2581, and nothing else yet.
inline VocabMaker sentencepiece_vocab(bool space_prefix) {
    VocabMaker vocab("llama");
    vocab.add("<unk>", TokenType::unknown);
    vocab.add("<s>", TokenType::control);
    vocab.add("</s>", TokenType::control);
    const std::string_view hex = "0123456789ABCDEF";
    for (size_t b = 0; b < 256; ++b) {
        vocab.add(std::string("<0x") + hex[b >> 4] + hex[b & 15] + ">", TokenType::byte);
    }
    vocab.add("\xE2\x96\x81", TokenType::normal, -1);
    vocab.data.unk = 0;
    vocab.data.bos = 1;
    vocab.data.eos = 2;
    vocab.data.add_bos = true;
    vocab.data.add_space_prefix = space_prefix;
    return vocab;
}

// Writes a GGUF file of metadata only.
class MetadataFile {
  public:
    void put_string(std::string_view key, std::string_view value) {
        begin(key, 8);
        text(value);
    }
    void put_u32(std::string_view key, uint32_t value) {
        begin(key, 4);
        raw(value);
    }
    void put_i32(std::string_view key, int32_t value) {
        begin(key, 5);
        raw(value);
    }
    void put_bool(std::string_view key, bool value) {
        begin(key, 7);
        raw(static_cast<uint8_t>(value));
    }
    void put_strings(std::string_view key, const std::vector<std::string>& values) {
        begin_array(key, 8, values.size());
        for (const std::string& value : values) text(value);
    }
    void put_floats(std::string_view key, const std::vector<float>& values) {
        begin_array(key, 6, values.size());
        for (const float value : values) raw(value);
    }
    void put_ints(std::string_view key, const std::vector<int32_t>& values) {
        begin_array(key, 5, values.size());
        for (const int32_t value : values) raw(value);
    }
    void write(const std::string& path) const {
        std::ofstream file(path, std::ios::binary);
        const auto head = [&](auto value) {
            file.write(reinterpret_cast<const char*>(&value), sizeof value);
        };
        file << "GGUF";
        head(uint32_t{3});
        head(uint64_t{0});  // tensors
        head(count_);
        file << bytes_ << std::string(64, '\0');
    }

  private:
    template <typename T>
    void raw(T value) {
        char buffer[sizeof value];
        std::memcpy(buffer, &value, sizeof value);
        bytes_.append(buffer, sizeof value);
    }
    void text(std::string_view s) {
        raw(uint64_t{s.size()});
        bytes_ += s;
    }
    void begin(std::string_view key, uint32_t type) {
        text(key);
        raw(type);
        ++count_;
    }
    void begin_array(std::string_view key, uint32_t type, size_t n) {
        begin(key, 9);
        raw(type);
        raw(uint64_t{n});
    }

    std::string bytes_;
    uint64_t count_ = 0;
};

}  // namespace ridge::test
