// Conversations that no format of ridge's own writes, and where a system message may go: an error
// or a place for each, whatever JSON a request holds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "text/chat.hpp"
#include "text/vocab_util.hpp"

namespace ridge {
namespace {

using nlohmann::ordered_json;
using testing::HasSubstr;

Tokenizer tokenizer(const std::string& chat_template, bool gemma = false) {
    auto vocab = gemma ? test::sentencepiece_vocab(false) : test::byte_level_vocab("gpt-2");
    for (const char* marker : {"<|im_start|>", "<|im_end|>", "<start_of_turn>", "<end_of_turn>"})
        vocab.add(marker, TokenType::control);
    vocab.data.chat_template = chat_template;
    auto made = Tokenizer::create(vocab.data);
    if (!made) throw std::runtime_error(made.error().message);
    return std::move(*made);
}

std::string encoded(const ChatPrompt& prompt, const Tokenizer& t, const char* messages) {
    TemplateInput input;
    input.messages = ordered_json::parse(messages);
    input.add_generation_prompt = false;
    const auto ids = prompt.encode(std::move(input));
    if (!ids) return "error: " + ids.error().message;
    std::string out;
    for (const int32_t id : *ids) out += t.is_control(id) ? t.raw(id) : t.bytes(id);
    return out;
}

constexpr const char* kUnread = "{% include 'x' %}{{ '<|im_start|>' }}";

TEST(ChatPrompt, OwnFormatsTakeTextsOfThreeRolesAlone) {
    const Tokenizer t = tokenizer(kUnread);
    const auto prompt = ChatPrompt::create(t);
    ASSERT_TRUE(prompt) << prompt.error().message;
    EXPECT_EQ(encoded(*prompt, t, R"([{"role":"system","content":"S"},{"role":"user","content":"U"},
                                      {"role":"assistant","content":"A"}])"),
              "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n"
              "<|im_start|>assistant\nA<|im_end|>\n");
    for (const char* odd :
         {R"({"role":"tool","content":"x"})", R"({"role":5,"content":"x"})",
          R"({"role":null,"content":"x"})", R"({"role":["user"],"content":"x"})",
          R"({"content":"x"})", R"({"role":"user"})", R"({"role":"user","content":null})",
          R"({"role":"user","content":[{"type":"text","text":"x"}]})", "\"user\"", "7", "null",
          "[]"}) {
        const std::string messages = std::string(R"([{"role":"user","content":"U"},)") + odd + "]";
        EXPECT_THAT(encoded(*prompt, t, messages.c_str()),
                    AllOf(HasSubstr("error: message 1 has a role or content"), HasSubstr("user")))
            << odd;
    }
}

// A template that refuses system messages gets the text in front of the first user message; where
// there is no such pair the refusal stands.
TEST(ChatPrompt, ASystemMessageMovesOnlyInFrontOfAUsers) {
    const Tokenizer t = tokenizer(
        "{% for m in messages %}{% if m.role == 'user' %}<{{ m.content }}>{% else %}"
        "{{ raise_exception('no ' ~ m.role) }}{% endif %}{% endfor %}");
    const auto prompt = ChatPrompt::create(t);
    ASSERT_TRUE(prompt);
    EXPECT_FALSE(prompt->own_format());
    EXPECT_EQ(prompt->description(), "the model's chat template");
    EXPECT_EQ(encoded(*prompt, t, R"([{"role":"system","content":"S"},{"role":"user","content":"U"},
                                      {"role":"user","content":"V"}])"),
              "<S\n\nU><V>");
    for (const char* messages :
         {R"([{"role":"system","content":"S"}])",
          R"([{"role":"system","content":"S"},{"role":"assistant","content":"U"}])",
          R"([{"role":"system","content":5},{"role":"user","content":"U"}])",
          R"([{"role":"system"},{"role":"user","content":"U"}])",
          R"([{"role":"system","content":"S"},{"role":"user","content":["U"]}])",
          R"([{"role":"system","content":"S"},{"role":6,"content":"U"}])",
          R"([{"role":6,"content":"S"},{"role":"user","content":"U"}])",
          R"([{"role":"system","content":"S"},"user"])",
          R"([{"role":"system","content":"S"},{"role":"user","content":"U"},
              {"role":"tool","content":"T"}])"})
        EXPECT_THAT(encoded(*prompt, t, messages), HasSubstr("error: ")) << messages;
    EXPECT_THAT(encoded(*prompt, t, R"([{"role":"system","content":"S"}])"),
                HasSubstr("no system"));
}

TEST(ChatPrompt, AGivenTemplateIsTakenOrRefusedAndNeverReplaced) {
    const Tokenizer t = tokenizer("{{ 'model' }}");
    const auto given = ChatPrompt::create(t, "{{ messages[0].content }}!");
    ASSERT_TRUE(given);
    EXPECT_EQ(given->description(), "the given chat template");
    EXPECT_EQ(encoded(*given, t, R"([{"role":"user","content":"U"}])"), "U!");
    const auto refused = ChatPrompt::create(t, kUnread);  // ridge has a ChatML of its own
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("line 1, column 4"));
}

TEST(ChatPrompt, GemmasOwnFormat) {
    const Tokenizer t = tokenizer("{% include 'x' %}{{ '<start_of_turn>' }}", true);
    const auto prompt = ChatPrompt::create(t);
    ASSERT_TRUE(prompt) << prompt.error().message;
    EXPECT_THAT(prompt->description(), HasSubstr("Gemma format"));
    EXPECT_EQ(
        encoded(*prompt, t, R"([{"role":"system","content":" S "},
                                      {"role":"user","content":" U "},
                                      {"role":"assistant","content":"A"}])"),
        "<s><start_of_turn>user\n S \n\nU<end_of_turn>\n<start_of_turn>model\nA<end_of_turn>\n");
    EXPECT_EQ(encoded(*prompt, t, R"([{"role":"system","content":" S "}])"),
              "<s><start_of_turn>user\nS<end_of_turn>\n");
    EXPECT_EQ(encoded(*prompt, t, R"([{"role":"user","content":" \n\u2003 "}])"),
              "<s><start_of_turn>user\n<end_of_turn>\n")
        << "nothing but white space";
}

TEST(ChatPrompt, MarkersThatTheVocabularyLacks) {
    const auto plain = test::byte_level_vocab("gpt-2");
    VocabData data = plain.data;
    data.source = "m.gguf";
    for (const char* source : {kUnread, "{% include 'x' %}<start_of_turn>"}) {
        data.chat_template = source;
        const auto format = detect_chat_format(data);
        ASSERT_FALSE(format);
        EXPECT_EQ(format.error().code, ErrorCode::bad_file);
        EXPECT_THAT(format.error().message, AllOf(HasSubstr("m.gguf"), HasSubstr("does not have")));
        const auto t = Tokenizer::create(data);
        ASSERT_TRUE(t);
        // What is wrong with the template is said, not what the format of its own would lack.
        EXPECT_THAT(ChatPrompt::create(*t).error().message, HasSubstr("line 1, column 4"));
    }
}

}  // namespace
}  // namespace ridge
