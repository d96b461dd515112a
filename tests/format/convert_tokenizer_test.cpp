// The tokenizer's keys of a converted folder: special tokens from each file that may name them,
// what is put before a text, added tokens, chat templates.
#include "changed_folder.hpp"
#include "format/convert_vocab.hpp"

namespace ridge {
namespace {

using nlohmann::json;

class ConvertTokenizer : public test::ChangedFolder {
  protected:
    std::optional<uint64_t> id(const GgufFile& file, const std::string& name) {
        return file.get_uint("tokenizer.ggml." + name + "_token_id");
    }
};

TEST_F(ConvertTokenizer, SpecialTokensFromEachFileThatNamesThem) {
    copy("qwen2");
    const auto config = [&](const std::function<void(json&)>& edit) {
        change("tokenizer_config.json", edit);
    };
    // As text, as an object, and what no token is.
    config([](json& c) {
        c["bos_token"] = {{"content", "<|begin|>"}};
        c["eos_token"] = "<|endoftext|>";
        c["pad_token"] = "nosuch";
        c["unk_token"] = nullptr;
    });
    change("config.json", [](json& c) { c.erase("pad_token_id"); });
    GgufFile file = converted();
    EXPECT_EQ(id(file, "bos"), 306u);
    EXPECT_EQ(id(file, "eos"), 307u);
    EXPECT_EQ(id(file, "padding"), std::nullopt);
    EXPECT_EQ(id(file, "unknown"), std::nullopt);
    EXPECT_EQ(id(file, "eot"), 308u) << "<|im_end|> ends a turn";
    // Ids from config.json, then from generation_config.json; the first of a list.
    config([](json& c) {
        c.erase("bos_token");
        c.erase("eos_token");
    });
    change("config.json", [](json& c) {
        c["bos_token_id"] = 5;
        c.erase("eos_token_id");
        c["pad_token_id"] = -1;
    });
    change("generation_config.json", [](json& c) {
        c["bos_token_id"] = 6;
        c["eos_token_id"] = {99999, 7, 8};
    });
    file = converted();
    EXPECT_EQ(id(file, "bos"), 5u);
    EXPECT_EQ(id(file, "eos"), 7u);
    EXPECT_EQ(id(file, "eot"), 8u) << "the other of the two that end an answer";
    EXPECT_EQ(id(file, "padding"), std::nullopt);
    change("generation_config.json", [](json& c) { c["eos_token_id"] = 308; });
    file = converted();
    EXPECT_EQ(id(file, "eos"), 308u);
    EXPECT_EQ(id(file, "eot"), std::nullopt) << "it is the end of the text already";
}

TEST_F(ConvertTokenizer, WhatIsPutAroundATextFollowsFlagOrProcessor) {
    copy("llama");
    GgufFile file = converted();
    EXPECT_EQ(file.get_bool("tokenizer.ggml.add_bos_token"), true) << "the post-processor does";
    EXPECT_EQ(file.get_bool("tokenizer.ggml.add_eos_token"), false);
    EXPECT_EQ(file.get_bool("tokenizer.ggml.add_space_prefix"), true);
    change("tokenizer_config.json", [](json& c) {
        c["add_bos_token"] = false;
        c["add_eos_token"] = true;
    });
    file = converted();
    EXPECT_EQ(file.get_bool("tokenizer.ggml.add_bos_token"), false);
    EXPECT_EQ(file.get_bool("tokenizer.ggml.add_eos_token"), true);
    // A processor that puts the end last, in a sequence of several; and one that puts nothing.
    change("tokenizer_config.json", [](json& c) {
        c.erase("add_bos_token");
        c.erase("add_eos_token");
    });
    const json end = {
        {"type", "TemplateProcessing"},
        {"single", {{{"Sequence", {{"id", "A"}}}}, {{"SpecialToken", {{"id", "</s>"}}}}}}};
    change("tokenizer.json", [&](json& t) {
        t["post_processor"] = {{"type", "Sequence"},
                               {"processors", {{{"type", "ByteLevel"}}, end}}};
    });
    file = converted();
    EXPECT_EQ(file.get_bool("tokenizer.ggml.add_bos_token"), false);
    EXPECT_EQ(file.get_bool("tokenizer.ggml.add_eos_token"), true);
    for (const json& none :
         {json(), json{{"type", "TemplateProcessing"}, {"single", json::array()}},
          json{{"type", "TemplateProcessing"}, {"single", "x"}}}) {
        change("tokenizer.json", [&](json& t) { t["post_processor"] = none; });
        EXPECT_EQ(converted().get_bool("tokenizer.ggml.add_eos_token"), false) << none;
    }
}

TEST_F(ConvertTokenizer, TheSpaceBeforeATextFollowsNormalizerOrMetaspace) {
    copy("llama");
    const auto prefix = [&](const json& normalizer, const json& pre) {
        change("tokenizer.json", [&](json& t) {
            t["normalizer"] = normalizer;
            t["pre_tokenizer"] = pre;
        });
        return converted().get_bool("tokenizer.ggml.add_space_prefix");
    };
    const json metaspace = {{"type", "Metaspace"}, {"prepend_scheme", "first"}};
    const json never = {{"type", "Metaspace"}, {"prepend_scheme", "never"}};
    EXPECT_EQ(prefix({{"type", "Prepend"}, {"prepend", "_"}}, nullptr), true);
    EXPECT_EQ(prefix(nullptr, nullptr), false);
    EXPECT_EQ(prefix(nullptr, metaspace), true);
    EXPECT_EQ(prefix(nullptr, never), false);
    EXPECT_EQ(prefix(nullptr, {{"type", "Sequence"}, {"pretokenizers", {metaspace}}}), true);
}

TEST_F(ConvertTokenizer, AddedTokensOfEachFile) {
    copy("qwen2");
    change("config.json", [](json& c) { c["vocab_size"] = 309; });
    change("added_tokens.json",
           [](json& a) { a = {{"<one>", 300}, {"<two>", "x"}, {"<far>", 100000}}; });
    change("tokenizer_config.json", [](json& c) {
        c["added_tokens_decoder"] = {{"301", {{"content", "<three>"}, {"special", true}}},
                                     {"302", {{"content", "<four>"}, {"special", false}}},
                                     {"303x", {{"content", "<five>"}}},
                                     {"304", {{"special", true}}}};
    });
    const GgufFile file = converted();
    const auto tokens = *file.get_strings("tokenizer.ggml.tokens");
    const auto types = *file.get_ints("tokenizer.ggml.token_type");
    EXPECT_EQ(tokens[300], "<one>");
    EXPECT_EQ(types[300], 4) << "user-defined";
    EXPECT_EQ(tokens[301], "<three>");
    EXPECT_EQ(types[301], 3) << "control";
    EXPECT_EQ(tokens[302], "<four>");
    EXPECT_EQ(types[302], 4);
    for (const std::string_view t : tokens)
        EXPECT_TRUE(t != "<two>" && t != "<far>" && t != "<five>");
    EXPECT_EQ(types[304], 1) << "a token without a text changes nothing";
}

TEST_F(ConvertTokenizer, ChatTemplatesByTheirPrecedence) {
    copy("qwen2");
    const auto key = "tokenizer.chat_template";
    EXPECT_EQ(converted().get_string(key), "{{ messages }}") << "the default one of several";
    change("tokenizer_config.json",
           [](json& c) { c["chat_template"] = {{{"name", "tool_use"}, {"template", "tools"}}}; });
    EXPECT_FALSE(converted().has(key));
    change("chat_template.json", [](json& c) { c["chat_template"] = "from json"; });
    EXPECT_EQ(converted().get_string(key), "from json");
    write("chat_template.jinja", "from jinja");
    EXPECT_EQ(converted().get_string(key), "from jinja");
    change("tokenizer_config.json", [](json& c) { c["chat_template"] = "its own"; });
    EXPECT_EQ(converted().get_string(key), "its own");
}

TEST_F(ConvertTokenizer, BytePiecesAndUnknownOfByteFallback) {
    copy("llama");
    const GgufFile file = converted();
    const auto types = *file.get_ints("tokenizer.ggml.token_type");
    const auto scores = *file.get_floats("tokenizer.ggml.scores");
    EXPECT_EQ(types[0], 2);
    EXPECT_EQ(types[1], 3);
    EXPECT_EQ(types[3], 6);
    // "he" is the first merge and "_t" the second: the best scores, in that order.
    const auto tokens = *file.get_strings("tokenizer.ggml.tokens");
    const auto score = [&](std::string_view text) {
        const auto at = std::find(tokens.begin(), tokens.end(), text);
        return at == tokens.end() ? 0.0f : scores[static_cast<size_t>(at - tokens.begin())];
    };
    EXPECT_EQ(score("he"), -1.0f);
    EXPECT_EQ(score("\xe2\x96\x81t"), -2.0f);
    EXPECT_LT(score("h"), -60.0f) << "no merge makes it";
    for (const char* name : {"tokenizer.json"}) std::filesystem::remove(folder_ + "/" + name);
    refused(ErrorCode::not_found, "neither tokenizer.json nor tokenizer.model");
    write("tokenizer.json", R"({"model":{"type":"BPE","vocab":[],"merges":[]}})");
    refused(ErrorCode::unsupported, "ridge has BPE");
    write("tokenizer.json", R"({"model":{"vocab":{"a":0}}})");
    refused(ErrorCode::unsupported, "ridge has BPE");
    write("tokenizer.json", R"({"model":{"vocab":{"a":0},"merges":[["a",1]]}})");
    refused(ErrorCode::bad_file, "not a pair");
    write("tokenizer.json", R"({"model":{"vocab":{"a":18446744073709551615},"merges":[]}})");
    refused(ErrorCode::bad_file, "has no id");
    for (const char* name : {"tokenizer_config.json", "generation_config.json", "added_tokens.json",
                             "chat_template.json"}) {
        copy("llama");
        write(name, "[1]");
        refused(ErrorCode::bad_file, "no JSON object");
    }
}

// Fields of a protocol buffer, as SentencePiece writes them.
std::string varint(uint64_t v) {
    std::string out;
    for (; v > 127; v >>= 7) out += static_cast<char>(v | 128);
    return out + static_cast<char>(v);
}
std::string field(uint64_t number, const std::string& text) {
    return varint(number << 3 | 2) + varint(text.size()) + text;
}

TEST_F(ConvertTokenizer, SentencePieceFieldsOfEachKind) {
    const auto read = [&](const std::string& bytes, convert::Vocabulary& v) {
        return convert::read_sentencepiece(dir_.write("p.model", bytes), v);
    };
    const std::string a = field(1, "a");
    const std::string minus_two = std::string("\x15\x00\x00\x00\xc0", 5);  // score -2
    convert::Vocabulary v(4);
    // Unknown fields of kinds 0, 1 and 5 are stepped over; a prefix that is turned off.
    ASSERT_TRUE(read(
        field(1, a + minus_two + varint(3 << 3) + varint(4)) + varint(9 << 3) + varint(300) +
            varint(9 << 3 | 1) + std::string(8, 'x') + varint(9 << 3 | 5) + std::string(4, 'x') +
            field(2, varint(3 << 3) + varint(2)) + field(3, varint(3 << 3) + varint(0)),
        v));
    EXPECT_EQ(v.tokens[0], "a");
    EXPECT_EQ(v.scores[0], -2.0f);
    EXPECT_EQ(v.types[0], 4);
    EXPECT_FALSE(v.space_prefix);
    const std::string nan = std::string("\x15\x00\x00\xc0\x7f", 5);
    const std::string bad[] = {
        field(1, a + varint(3 << 3) + varint(7)),  // no such type
        field(1, a + varint(3 << 3) + varint(0)),  //
        field(1, a + nan),                         // no score
        field(1, a + varint(9 << 3 | 3)),          // groups are no more
        field(1,
              "\x0a\x7f"
              "a"),                                 // longer than what holds it
        field(1, a) + varint(9 << 3 | 1) + "xxxx",  // eight bytes of which four are there
        field(1, a) + varint(9 << 3 | 5) + "xx",
        field(1, a) + varint(9 << 3),
        field(1, a) + std::string(11, '\x80'),  // a number without an end
        field(1, a) + varint(9 << 3 | 2) + varint(5) + "xxxx",
    };
    for (const std::string& bytes : bad) {
        const auto done = read(bytes, v);
        ASSERT_FALSE(done);
        EXPECT_EQ(done.error().code, ErrorCode::bad_file);
        EXPECT_NE(done.error().message.find("no SentencePiece model"), std::string::npos);
    }
    const auto none = read(field(3, ""), v);
    ASSERT_FALSE(none);
    EXPECT_NE(none.error().message.find("no pieces"), std::string::npos);
    const auto unigram = read(field(1, a) + field(2, ""), v);  // kind 1 is the default
    ASSERT_FALSE(unigram);
    EXPECT_EQ(unigram.error().code, ErrorCode::unsupported);
    EXPECT_EQ(convert::read_sentencepiece(dir_.file("absent"), v).error().code,
              ErrorCode::not_found);
}

}  // namespace
}  // namespace ridge
