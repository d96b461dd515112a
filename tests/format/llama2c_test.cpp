// stories260K as GGUF, and files that are no checkpoints.
#include "format/llama2c.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "format/gguf.hpp"
#include "gguf_bytes.hpp"
#include "support/temp_dir.hpp"

namespace ridge {
namespace {

std::string data(const char* name) {
    return std::string(RIDGE_TEST_DATA) + "/stories260K/" + name;
}

TEST(Llama2c, StoriesComeBackAsGguf) {
    const test::TempDir dir;
    const auto done =
        convert_llama2c(data("stories260K.bin"), data("tok512.bin"), dir.file("s.gguf"));
    ASSERT_TRUE(done) << done.error().message;
    auto file = GgufFile::open(dir.file("s.gguf"));
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(file->get_string("general.name"), "stories260K");
    EXPECT_EQ(file->get_uint("llama.embedding_length"), 64u);
    EXPECT_EQ(file->get_uint("llama.feed_forward_length"), 172u);
    EXPECT_EQ(file->get_uint("llama.block_count"), 5u);
    EXPECT_EQ(file->get_uint("llama.attention.head_count"), 8u);
    EXPECT_EQ(file->get_uint("llama.attention.head_count_kv"), 4u);
    EXPECT_EQ(file->get_uint("llama.context_length"), 512u);
    EXPECT_EQ(file->find("output.weight"), nullptr) << "the classifier is the embedding";
    uint64_t weights = 0;
    for (const TensorInfo& t : file->tensors()) weights += t.elements();
    EXPECT_EQ(weights, 260032u);

    const auto tokens = file->get_strings("tokenizer.ggml.tokens");
    const auto types = file->get_ints("tokenizer.ggml.token_type");
    const auto scores = file->get_floats("tokenizer.ggml.scores");
    ASSERT_TRUE(tokens && types && scores);
    ASSERT_EQ(tokens->size(), 512u);
    EXPECT_EQ((*tokens)[1], "<s>");
    EXPECT_EQ((*tokens)[13], "<0x0A>");
    EXPECT_EQ((*tokens)[259], "\xe2\x96\x81t");
    EXPECT_EQ((*types)[0], 2);
    EXPECT_EQ((*types)[2], 3);
    EXPECT_EQ((*types)[13], 6);
    EXPECT_EQ((*types)[259], 1);
    EXPECT_EQ((*scores)[511], -252.0f);

    // each array at the place where the checkpoint's format has it, counted in values
    const std::string checkpoint = test::read_file(data("stories260K.bin"));
    const struct {
        const char* name;
        size_t first;
    } places[] = {
        {"token_embd.weight", 0},
        {"blk.4.attn_norm.weight", 32768 + 4 * 64},
        {"blk.1.attn_q.weight", 32768 + 320 + 4096},
        {"blk.2.attn_k.weight", 32768 + 320 + 20480 + 2 * 2048},
        {"blk.0.ffn_gate.weight", 32768 + 320 + 20480 + 10240 + 10240 + 20480 + 320},
        {"blk.4.ffn_up.weight",
         32768 + 320 + 20480 + 10240 + 10240 + 20480 + 320 + 2 * 5 * 11008 + 4 * 11008},
        {"output_norm.weight", 260032 - 64},
    };
    for (const auto& place : places) {
        const TensorInfo* t = file->find(place.name);
        ASSERT_NE(t, nullptr) << place.name;
        EXPECT_EQ(std::memcmp(t->data, checkpoint.data() + 28 + 4 * place.first, t->bytes), 0)
            << place.name;
    }
    EXPECT_EQ(file->find("blk.0.ffn_down.weight")->dims[0], 172u);
}

TEST(Llama2c, AClassifierOfItsOwnIsRead) {
    const test::TempDir dir;
    test::Bytes model, tokenizer;
    // dim 4, hidden 6, 1 layer, 2 heads, 1 KV head, 3 tokens, 2 positions
    for (const int32_t n : {4, 6, 1, 2, 1, -3, 2}) model.put(n);
    const int before = 12 + 4 + 16 + 8 + 8 + 16 + 4 + 24 + 24 + 24 + 4 + 4;
    for (int i = 0; i < before + 12; ++i) model.put(static_cast<float>(i));
    tokenizer.put<int32_t>(1);
    for (const char* t : {"u", "s", "e"}) tokenizer.put(0.0f).put<int32_t>(1).raw(t);
    const auto done = convert_llama2c(dir.write("m.bin", model.text()),
                                      dir.write("t.bin", tokenizer.text()), dir.file("o.gguf"));
    ASSERT_TRUE(done) << done.error().message;
    auto file = GgufFile::open(dir.file("o.gguf"));
    ASSERT_TRUE(file) << file.error().message;
    const TensorInfo* output = file->find("output.weight");
    ASSERT_NE(output, nullptr);
    float first = 0;
    std::memcpy(&first, output->data, 4);
    EXPECT_EQ(first, static_cast<float>(before));
}

TEST(Llama2c, OtherFilesAreRefusedInOneSentence) {
    const test::TempDir dir;
    const std::string model = test::read_file(data("stories260K.bin"));
    const std::string tokens = test::read_file(data("tok512.bin"));
    const auto with_size = [&](size_t index, int32_t value) {
        std::string changed = model;
        std::memcpy(changed.data() + 4 * index, &value, 4);
        return changed;
    };
    std::string negative_length = tokens;
    negative_length.replace(8, 4, std::string(4, '\xff'));
    const struct {
        std::string name, model, tokens;
    } cases[] = {
        {"empty", "", tokens},
        {"header cut", model.substr(0, 27), tokens},
        {"weights cut", model.substr(0, model.size() - 1), tokens},
        {"too long", model + "1234", tokens},
        {"no heads", with_size(3, 0), tokens},
        {"negative width", with_size(0, -64), tokens},
        {"smallest vocabulary", with_size(5, INT32_MIN), tokens},
        {"huge layers", with_size(2, 1 << 20), tokens},
        {"newer export", with_size(0, 0x616b3432), tokens},
        {"heads that do not divide", with_size(3, 7), tokens},
        {"swapped", tokens, model},
        {"tokens cut", model, tokens.substr(0, tokens.size() - 1)},
        {"tokens too long", model, tokens + "x"},
        {"negative length", model, negative_length},
    };
    for (const auto& c : cases) {
        const auto done = convert_llama2c(dir.write("m.bin", c.model), dir.write("t.bin", c.tokens),
                                          dir.file("o.gguf"));
        ASSERT_FALSE(done) << c.name;
        EXPECT_EQ(done.error().message.back(), '.') << c.name;
    }
    EXPECT_TRUE(test::read_file(dir.file("o.gguf")).empty());
    EXPECT_EQ(
        convert_llama2c(dir.file("absent"), data("tok512.bin"), dir.file("o.gguf")).error().code,
        ErrorCode::not_found);
}

}  // namespace
}  // namespace ridge
