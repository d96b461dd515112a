// Files that the writer writes come back through the reader.
#include "format/gguf_writer.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <limits>

#include "format/gguf.hpp"
#include "support/temp_dir.hpp"

namespace ridge {
namespace {

TEST(GgufWriter, EveryValueTypeComesBack) {
    GgufWriter writer;
    writer.set("v.u8", uint8_t{255});
    writer.set("v.i8", int8_t{-128});
    writer.set("v.u16", uint16_t{65535});
    writer.set("v.i16", int16_t{-32768});
    writer.set("v.u32", uint32_t{4294967295u});
    writer.set("v.i32", std::numeric_limits<int32_t>::min());
    writer.set("v.u64", std::numeric_limits<uint64_t>::max());
    writer.set("v.i64", std::numeric_limits<int64_t>::min());
    writer.set("v.f32", 0.1f);
    writer.set("v.f64", 0.1);
    writer.set("v.yes", true);
    writer.set("v.text", "first");
    writer.set("v.text", "second");  // replaces
    writer.set_strings("v.words", std::vector<std::string>{"a", "", "ccc"});
    writer.set_array("v.floats", std::vector<float>{1.5f, -2.0f});
    writer.set_array("v.ints", std::vector<int32_t>{-1, 0, 7});
    writer.set_bools("v.bools", std::vector<uint8_t>{1, 0, 2});
    const test::TempDir dir;
    const auto status = writer.write(dir.file("v.gguf"));
    ASSERT_TRUE(status) << status.error().message;
    auto file = GgufFile::open(dir.file("v.gguf"));
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(file->version(), 3u);
    EXPECT_EQ(file->get_uint("v.u8"), 255u);
    EXPECT_EQ(file->get_int("v.i8"), -128);
    EXPECT_EQ(file->get_uint("v.u16"), 65535u);
    EXPECT_EQ(file->get_int("v.i16"), -32768);
    EXPECT_EQ(file->get_uint("v.u32"), 4294967295u);
    EXPECT_EQ(file->get_int("v.i32"), std::numeric_limits<int32_t>::min());
    EXPECT_EQ(file->get_uint("v.u64"), std::numeric_limits<uint64_t>::max());
    EXPECT_EQ(file->get_int("v.i64"), std::numeric_limits<int64_t>::min());
    EXPECT_EQ(file->get_float("v.f32"), static_cast<double>(0.1f));
    EXPECT_EQ(file->get_float("v.f64"), 0.1);
    EXPECT_EQ(file->get_bool("v.yes"), true);
    EXPECT_EQ(file->get_string("v.text"), "second");
    EXPECT_EQ(file->get_strings("v.words"), (std::vector<std::string_view>{"a", "", "ccc"}));
    EXPECT_EQ(file->get_floats("v.floats"), (std::vector<float>{1.5f, -2.0f}));
    EXPECT_EQ(file->get_ints("v.ints"), (std::vector<int64_t>{-1, 0, 7}));
    EXPECT_EQ(file->get_ints("v.bools"), (std::vector<int64_t>{1, 0, 1}));
    EXPECT_EQ(file->keys().size(), 16u);
}

TEST(GgufWriter, AValueCopiedAsEncodedIsTheSame) {
    GgufWriter first;
    first.set_strings("k", std::vector<std::string>{"x", "yy"});
    const test::TempDir dir;
    ASSERT_TRUE(first.write(dir.file("1.gguf")));
    auto one = GgufFile::open(dir.file("1.gguf"));
    ASSERT_TRUE(one);
    const auto encoded = one->encoded_value("k");
    GgufWriter second;
    second.set_encoded("k", {reinterpret_cast<const char*>(encoded.data()), encoded.size()});
    ASSERT_TRUE(second.write(dir.file("2.gguf")));
    EXPECT_EQ(test::read_file(dir.file("1.gguf")), test::read_file(dir.file("2.gguf")));
    EXPECT_TRUE(one->encoded_value("absent").empty());
}

// Rows of a tensor larger than the chunks it is written in, for any number of threads.
TEST(GgufWriter, TensorsAreTheSameForAnyNumberOfThreads) {
    const test::TempDir dir;
    std::string reference;
    for (const unsigned threads : {1u, 2u, 3u}) {
        GgufWriter writer;
        const float small[3] = {1.0f, 2.0f, 3.0f};
        ASSERT_TRUE(writer.add_tensor("small", DType::f32, {3}, small));
        const auto source = [](uint64_t row, uint64_t count, uint8_t* out) -> Status {
            for (uint64_t i = 0; i < count * 34 * 4; ++i)
                out[i] = static_cast<uint8_t>((row + i / 136) * 7 + i % 136);
            return {};
        };
        ASSERT_TRUE(writer.add_tensor("large", DType::q8_0, {128, 100, 201}, source));
        const std::string path = dir.file("t.gguf");
        const auto status = writer.write(path, threads);
        ASSERT_TRUE(status) << status.error().message;
        const std::string bytes = test::read_file(path);
        if (reference.empty()) reference = bytes;
        EXPECT_EQ(bytes, reference);
    }
    auto file = GgufFile::open(dir.file("t.gguf"));
    ASSERT_TRUE(file) << file.error().message;
    const TensorInfo* large = file->find("large");
    ASSERT_NE(large, nullptr);
    EXPECT_EQ(large->rows(), 20100u);
    EXPECT_EQ(large->bytes, 20100u * 136);
    for (const uint64_t row : {0u, 1u, 12345u, 20099u})
        for (uint64_t i = 0; i < 136; ++i)
            ASSERT_EQ(large->data[row * 136 + i], static_cast<uint8_t>(row * 7 + i)) << row;
    EXPECT_EQ(file->find("small")->n_dims, 1u);
}

TEST(GgufWriter, RefusesWhatNoReaderTakes) {
    GgufWriter writer;
    const float x[64] = {};
    EXPECT_TRUE(writer.add_tensor("w", DType::f32, {8, 8}, x));
    EXPECT_FALSE(writer.add_tensor("w", DType::f32, {8}, x)) << "twice";
    EXPECT_FALSE(writer.add_tensor("", DType::f32, {8}, x));
    EXPECT_FALSE(writer.add_tensor(std::string(65, 'n'), DType::f32, {8}, x));
    EXPECT_FALSE(writer.add_tensor("a", DType::q4_0, {48}, x)) << "block";
    EXPECT_FALSE(writer.add_tensor("b", DType::f32, {}, x));
    EXPECT_FALSE(writer.add_tensor("c", DType::f32, {1, 1, 1, 1, 1}, x));
    EXPECT_FALSE(writer.add_tensor("d", DType::f32, {4, 0}, x));
    EXPECT_FALSE(writer.add_tensor("e", DType::f32, {1, 1ull << 40, 1ull << 40}, x));
}

TEST(GgufWriter, AFailureLeavesNoFile) {
    const test::TempDir dir;
    GgufWriter writer;
    const auto broken = [](uint64_t, uint64_t, uint8_t*) -> Status {
        return fail(ErrorCode::internal, "The source failed.");
    };
    ASSERT_TRUE(writer.add_tensor("w", DType::f32, {1024, 1024}, broken));
    const auto status = writer.write(dir.file("f.gguf"), 2);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().message, "The source failed.");
    EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
    const auto nowhere = writer.write(dir.file("no/such/folder/f.gguf"));
    ASSERT_FALSE(nowhere);
    EXPECT_EQ(nowhere.error().code, ErrorCode::io);
}

}  // namespace
}  // namespace ridge
