// Copies of a model in other types.
#include "format/requantize.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>
#include <vector>

#include "format/dequantize.hpp"
#include "format/gguf_writer.hpp"
#include "format/quantize.hpp"
#include "format/quantize_model.hpp"
#include "support/random_model.hpp"

namespace ridge {
namespace {

GgufFile open(const std::string& path) {
    auto file = GgufFile::open(path);
    if (!file) throw std::runtime_error(file.error().message);
    return std::move(*file);
}

TEST(Requantize, MatricesChangeAndTheRestStays) {
    const test::TempDir dir;
    ShapeConfig config;
    config.name = "in";
    config.embedding_length = 256;
    config.feed_forward_length = 96;
    config.key_length = 32;
    const std::string in = test::write_model(dir, config);
    for (const DType type : {DType::q8_0, DType::q4_k, DType::bf16}) {
        SCOPED_TRACE(name(type));
        const auto done = requantize(in, dir.file("out.gguf"), type, 2);
        ASSERT_TRUE(done) << done.error().message;
        const GgufFile before = open(in), after = open(dir.file("out.gguf"));
        EXPECT_EQ(before.keys(), after.keys());
        for (const std::string& key : before.keys())
            EXPECT_EQ(before.describe(key), after.describe(key));
        ASSERT_EQ(before.tensors().size(), after.tensors().size());
        for (const TensorInfo& t : before.tensors()) {
            SCOPED_TRACE(t.name);
            const TensorInfo* now = after.find(t.name);
            ASSERT_NE(now, nullptr);
            EXPECT_EQ(now->dims, t.dims);
            if (t.n_dims == 1 || t.dims[0] % info(type).block != 0) {
                EXPECT_EQ(now->type, t.type);
                ASSERT_EQ(now->bytes, t.bytes);
                EXPECT_EQ(std::memcmp(now->data, t.data, t.bytes), 0);
                continue;
            }
            EXPECT_EQ(now->type, type);
            std::vector<float> values(t.elements());
            std::vector<uint8_t> expected(now->bytes);
            dequantize(t.type, t.data, values.size(), values.data());
            quantize_plain(type, values.data(), values.size(), expected.data());
            EXPECT_EQ(std::memcmp(now->data, expected.data(), expected.size()), 0);
        }
    }
}

TEST(Requantize, ToF32IsWhatDequantizeSays) {
    const test::TempDir dir;
    ShapeConfig config;
    config.name = "q4";
    config.type = DType::q4_0;
    config.feed_forward_length = 160;
    const std::string in = test::write_model(dir, config);
    ASSERT_TRUE(requantize(in, dir.file("f32.gguf"), DType::f32));
    const GgufFile before = open(in), after = open(dir.file("f32.gguf"));
    const TensorInfo* t = before.find("blk.1.ffn_down.weight");
    const TensorInfo* now = after.find("blk.1.ffn_down.weight");
    ASSERT_EQ(t->type, DType::q4_0);
    ASSERT_EQ(now->type, DType::f32);
    std::vector<float> values(t->elements());
    dequantize(t->type, t->data, values.size(), values.data());
    EXPECT_EQ(std::memcmp(now->data, values.data(), now->bytes), 0);
}

TEST(Requantize, SplitModelsBecomeOneFile) {
    const test::TempDir dir;
    const std::string in = std::string(RIDGE_TEST_DATA) + "/gguf/x-00001-of-00002.gguf";
    ASSERT_TRUE(requantize(in, dir.file("one.gguf"), DType::f16));
    const GgufFile before = open(in), after = open(dir.file("one.gguf"));
    EXPECT_EQ(after.tensors().size(), before.tensors().size());
    EXPECT_FALSE(after.has("split.count"));
    EXPECT_EQ(after.get_string("general.name"), before.get_string("general.name"));
}

TEST(Requantize, ErrorsAreThoseOfTheReaderAndWriter) {
    const test::TempDir dir;
    const auto absent = requantize(dir.file("absent"), dir.file("out"), DType::f32);
    ASSERT_FALSE(absent);
    EXPECT_EQ(absent.error().code, ErrorCode::not_found);
    const std::string in = test::write_model(dir, ShapeConfig{});
    const auto nowhere = requantize(in, dir.file("no/folder/out"), DType::f32);
    ASSERT_FALSE(nowhere);
    EXPECT_EQ(nowhere.error().code, ErrorCode::io);
}

TEST(Requantize, NoPartThatIsReadIsTheOutput) {
    const test::TempDir dir;
    const std::string parts[] = {"x-00001-of-00002.gguf", "x-00002-of-00002.gguf"};
    for (const std::string& part : parts)
        dir.write(part, test::read_file(RIDGE_TEST_DATA "/gguf/" + part));
    QuantizeOptions options;
    options.allow_requantize = true;
    for (const std::string& part : parts) {
        const auto done = requantize(dir.file(parts[0]), dir.file(part), DType::f32);
        ASSERT_FALSE(done) << part;
        EXPECT_EQ(done.error().code, ErrorCode::invalid_argument);
        const auto smaller = quantize_model(dir.file(parts[0]), dir.file(part), options);
        ASSERT_FALSE(smaller) << part;
        EXPECT_NE(smaller.error().message.find("is a file that is read"), std::string::npos)
            << smaller.error().message;
        EXPECT_EQ(test::read_file(dir.file(part)),
                  test::read_file(RIDGE_TEST_DATA "/gguf/" + part));
    }
}

}  // namespace
}  // namespace ridge
