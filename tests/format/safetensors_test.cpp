// safetensors files, as the reference writes them and as nobody should.
#include "format/safetensors.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "support/temp_dir.hpp"

namespace ridge {
namespace {

class Safetensors : public testing::Test {
  protected:
    std::string file(const std::string& header, size_t data, uint64_t length = ~0ull) {
        if (length == ~0ull) length = header.size();
        std::string bytes(8, '\0');
        std::memcpy(bytes.data(), &length, 8);
        return bytes + header + std::string(data, '\1');
    }
    Result<SafetensorsFile> open(const std::string& bytes) {
        return SafetensorsFile::open(dir_.write("x.safetensors", bytes));
    }
    void refused(const std::string& bytes, const std::string& word) {
        const auto f = open(bytes);
        ASSERT_FALSE(f) << bytes.substr(0, 200);
        EXPECT_EQ(f.error().code, ErrorCode::bad_file) << f.error().message;
        EXPECT_NE(f.error().message.find(word), std::string::npos) << f.error().message;
        EXPECT_EQ(f.error().message.back(), '.');
        EXPECT_LT(f.error().message.size(), 500u);
        for (const char c : f.error().message) EXPECT_TRUE(c >= 0x20 && c < 0x7f);
    }
    test::TempDir dir_;
};

TEST_F(Safetensors, FilesOfTheReferenceAreRead) {
    const auto f =
        SafetensorsFile::open(std::string(RIDGE_TEST_DATA) + "/hf/qwen3/model.safetensors");
    ASSERT_TRUE(f) << f.error().message;
    EXPECT_EQ(f->tensors().size(), 25u);
    for (const SafeTensor& t : f->tensors()) {
        EXPECT_EQ(t.type, DType::f16);
        if (t.name == "model.layers.0.mlp.down_proj.weight") {
            EXPECT_EQ(t.shape, (std::vector<uint64_t>{32, 48}));
        }
    }
}

TEST_F(Safetensors, SmallFiles) {
    const auto none = open(file("{}", 0));
    ASSERT_TRUE(none) << none.error().message;
    EXPECT_TRUE(none->tensors().empty());
    const auto f = open(file(R"({"__metadata__":{"format":"pt"},)"
                             R"("a":{"dtype":"BF16","shape":[2,3],"data_offsets":[4,16]},)"
                             R"("b":{"dtype":"I64","shape":[],"data_offsets":[16,24]},)"
                             R"("c":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}   )",
                             24));
    ASSERT_TRUE(f) << f.error().message;
    ASSERT_EQ(f->tensors().size(), 3u);
    EXPECT_EQ(f->tensors()[0].type, DType::bf16);
    EXPECT_EQ(f->tensors()[0].bytes, 12u);
    EXPECT_FALSE(f->tensors()[1].type);
    EXPECT_EQ(f->tensors()[1].type_name, "I64");
    EXPECT_EQ(f->tensors()[2].data + 4, f->tensors()[0].data);
}

TEST_F(Safetensors, HeadersThatDoNotFit) {
    for (size_t n = 0; n < 8; ++n) EXPECT_FALSE(open(std::string(n, '\0')));
    for (const uint64_t n : {uint64_t{3}, uint64_t{100}, uint64_t{1} << 31, uint64_t{1} << 63,
                             ~uint64_t{0} - 7, ~uint64_t{0} - 1})
        refused(file("{}", 0, n), "fit");
    refused(file("", 64), "JSON");
    refused(file("[]", 0), "JSON");
    refused(file("{", 0), "JSON");
    refused(file("{}x", 0), "JSON");
    refused(file("{\"a\xff\":{}}", 0), "JSON");
}

TEST_F(Safetensors, EntriesThatAreWrong) {
    const auto entry = [&](const std::string& text, const std::string& word, size_t data = 64) {
        refused(file("{\"a\":" + text + "}", data), word);
    };
    entry("1", "number");
    entry("null", "null");
    entry("\"x\"", "text");
    entry("[1]", "list");
    entry("{}", "incomplete");
    entry(R"({"dtype":"F32","shape":[1]})", "incomplete");
    entry(R"({"dtype":"F32","data_offsets":[0,4]})", "incomplete");
    entry(R"({"dtype":"F32","shape":[1],"data_offsets":[0]})", "incomplete");
    entry(R"({"dtype":"F32","shape":[1],"data_offsets":[0,4,8]})", "incomplete");
    entry(R"({"dtype":"F33","shape":[1],"data_offsets":[0,4]})", "unknown type");
    entry(R"({"dtype":"F32","shape":[-1],"data_offsets":[0,4]})", "negative");
    entry(R"({"dtype":"F32","shape":[1.5],"data_offsets":[0,4]})", "fraction");
    entry(R"({"dtype":"F32","shape":[[1]],"data_offsets":[0,4]})", "list");
    entry(R"({"dtype":"F32","shape":[{}],"data_offsets":[0,4]})", "object");
    entry(R"({"dtype":{},"shape":[1],"data_offsets":[0,4]})", "object");
    entry(R"({"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,4]})", "too many");
    entry(R"({"dtype":"F32","shape":[1],"data_offsets":[4,0]})", "lies at");
    entry(R"({"dtype":"F32","shape":[1],"data_offsets":[64,68]})", "lies at");
    entry(R"({"dtype":"F32","shape":[1],"data_offsets":[0,18446744073709551615]})", "lies at");
    entry(R"({"dtype":"F32","shape":[2],"data_offsets":[0,4]})", "needs 8");
    entry(R"({"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]})", "too many");
    entry(R"({"dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,0]})", "too many");
    entry(R"({"dtype":"F4","shape":[1],"data_offsets":[0,0]})", "too many");
    refused(file(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                 R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                 64),
            "twice");
    refused(file(R"({"__metadata__":{"a":[1]}})", 0), "list");
    refused(file(R"({"__metadata__":{"a":{}}})", 0), "object");
}

TEST_F(Safetensors, DepthCostsNothing) {
    refused(file("{\"a\":" + std::string(1 << 20, '['), 0), "list");
    refused(file(std::string(1 << 20, '{'), 0), "JSON");
    std::string nested;
    for (int i = 0; i < 100000; ++i) nested += "{\"a\":";
    refused(file(nested, 0), "object");
}

}  // namespace
}  // namespace ridge
