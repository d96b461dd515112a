// Files beside the models: JSON of a folder, indexes, importance matrices, and outputs that cannot
// take their name. Each is refused by its sentence and leaves nothing.
#include <fmt/format.h>
#include <sys/stat.h>

#include "changed_folder.hpp"
#include "format/gguf_writer.hpp"
#include "format/hf_folder.hpp"
#include "format/imatrix.hpp"
#include "format/json_file.hpp"
#include "format/quantize_model.hpp"
#include "gguf_bytes.hpp"

namespace ridge {
namespace {

using nlohmann::json;

class FileRefusals : public test::ChangedFolder {};

TEST_F(FileRefusals, JsonOfAFolder) {
    const auto read = [&](const std::string& text) {
        const auto j = convert::read_json(dir_.write("x.json", text));
        return j ? std::string("accepted") : j.error().message;
    };
    EXPECT_EQ(read("{}"), "accepted");
    for (const char* text : {"[]", "3", "{", "{\"a\":}", "nonsense"})
        EXPECT_NE(read(text).find("is no JSON object"), std::string::npos) << text;
    EXPECT_NE(read("{\"a\":" + std::string(1000, '[') + std::string(1000, ']') + "}")
                  .find("nests deeper"),
              std::string::npos);
    // A file of more bytes than are read, without its data: a hole.
    const std::string large = dir_.write("large.json", "{");
    std::filesystem::resize_file(large, convert::max_json_bytes + 1);
    const auto j = convert::read_json(large);
    ASSERT_FALSE(j);
    EXPECT_EQ(j.error().code, ErrorCode::unsupported);
    EXPECT_FALSE(convert::read_text_if_any(large));
    EXPECT_FALSE(convert::read_text_if_any(dir_.file("absent")));
    EXPECT_TRUE(convert::read_json_if_any(dir_.file("absent"))->is_null());
    // Numbers that are not what they are asked to be.
    EXPECT_EQ(convert::to_int(json(-3)), -3);
    EXPECT_FALSE(convert::to_int(json(18446744073709551615u)));
    EXPECT_FALSE(convert::to_int(json(1.0)));
    EXPECT_FALSE(convert::to_float(json("1")));
    EXPECT_FALSE(convert::to_float(json(INFINITY)));
    EXPECT_FALSE(convert::to_text(json(1)));
    EXPECT_TRUE(convert::member(json::array(), "a").is_null());
}

TEST_F(FileRefusals, IndexesOfShards) {
    const auto index = [&](const json& files) {
        write("model.safetensors.index.json", json{{"weight_map", files}}.dump());
    };
    copy("qwen2");
    index({{"a", 3}});
    refused(ErrorCode::bad_file, "'something else'");
    index({{"a", std::string("x\0.safetensors", 14)}});
    refused(ErrorCode::bad_file, "no safetensors file of the folder");
    index({{"a", "model.bin"}});
    refused(ErrorCode::bad_file, "'model.bin'");
    json many = json::object();
    for (int i = 0; i < 4097; ++i) many[std::to_string(i)] = fmt::format("{}.safetensors", i);
    index(many);
    refused(ErrorCode::unsupported, "more than 4096 files");
    // One tensor in two files: which of them counts?
    index({{"a", "model.safetensors"}, {"b", "other.safetensors"}});
    std::filesystem::copy(folder_ + "/model.safetensors", folder_ + "/other.safetensors");
    refused(ErrorCode::bad_file, "in two of its files");
    std::filesystem::remove(folder_ + "/model.safetensors.index.json");
    std::filesystem::remove(folder_ + "/model.safetensors");
    refused(ErrorCode::not_found, "no model.safetensors and no index");
}

TEST_F(FileRefusals, OutputsThatCannotTakeTheirName) {
    copy("qwen2");
    std::filesystem::create_directory(dir_.file("out.gguf"));
    const auto folder = convert_folder(folder_, dir_.file("out.gguf"), {});
    ASSERT_FALSE(folder);
    EXPECT_EQ(folder.error().code, ErrorCode::io);
    EXPECT_NE(folder.error().message.find("is a directory"), std::string::npos);
    const auto device = convert_folder(folder_, "/dev/null", {});
    ASSERT_FALSE(device);
    EXPECT_NE(device.error().message.find("no regular file"), std::string::npos);
    struct stat info = {};
    ASSERT_EQ(::stat("/dev/null", &info), 0);
    EXPECT_TRUE(S_ISCHR(info.st_mode)) << "it is a device still";
}

TEST_F(FileRefusals, NamesComeFromTheFolderOrTheWish) {
    copy("qwen2");
    EXPECT_EQ(converted().get_string("general.name"), "folder");
    ConvertOptions options;
    options.name = "mine";
    EXPECT_EQ(converted(options).get_string("general.name"), "mine");
    folder_ += "/";
    EXPECT_EQ(converted().get_string("general.name"), "folder") << "with a slash at its end";
    options.type = "Q4_K";
    EXPECT_NE(
        convert_folder(folder_, dir_.file("o"), options).error().message.find("no type to convert"),
        std::string::npos);
    options.type = "nonsense";
    EXPECT_NE(
        convert_folder(folder_, dir_.file("o"), options).error().message.find("no type to convert"),
        std::string::npos);
}

// The numbers of an importance matrix: sums by the count of their expert, where it saw any token.
TEST(ImatrixFile, SumsAreDividedByTheirCounts) {
    const test::TempDir dir;
    const std::vector<float> sums = {2, 4, 6, 8, 10, 12}, counts = {2, 0, 4};
    const auto write = [&](DType sums_type, DType counts_type) {
        GgufWriter w;
        const auto zeros = [](uint64_t, uint64_t, uint8_t* out) -> Status {
            *out = 0;
            return {};
        };
        if (sums_type == DType::f32)
            EXPECT_TRUE(w.add_tensor("t.in_sum2", DType::f32, {2, 3}, sums.data()));
        else
            EXPECT_TRUE(w.add_tensor("t.in_sum2", sums_type, {1}, zeros));
        if (counts_type == DType::f32)
            EXPECT_TRUE(w.add_tensor("t.counts", DType::f32, {1, 3}, counts.data()));
        else
            EXPECT_TRUE(w.add_tensor("t.counts", counts_type, {1}, zeros));
        EXPECT_TRUE(w.add_tensor("other", DType::f32, {3}, counts.data()));
        EXPECT_TRUE(w.write(dir.file("m.gguf")));
        return ImportanceMatrix::open(dir.file("m.gguf"));
    };
    const auto m = write(DType::f32, DType::f32);
    ASSERT_TRUE(m) << m.error().message;
    ASSERT_NE(m->find("t"), nullptr);
    EXPECT_EQ(*m->find("t"), (std::vector<float>{1, 2, 1, 1, 2.5f, 3}));
    for (const auto& [a, b] :
         {std::pair{DType::bf16, DType::f32}, std::pair{DType::f32, DType::f16}}) {
        const auto other = write(a, b);
        ASSERT_FALSE(other);
        EXPECT_NE(other.error().message.find("'t' is not of type F32"), std::string::npos);
    }
    // Calls of 0: the values stand as they are.
    test::Bytes none;
    none.put<int32_t>(1).put<int32_t>(1).raw("t").put<int32_t>(0).put<int32_t>(1).put(3.0f);
    const auto binary = ImportanceMatrix::open(dir.write("m.dat", none.text()));
    ASSERT_TRUE(binary) << binary.error().message;
    EXPECT_EQ(*binary->find("t"), std::vector<float>{3.0f});
    test::Bytes named;
    named.put<int32_t>(1).put<int32_t>(2000).zeros(4000);
    const auto name = ImportanceMatrix::open(dir.write("m.dat", named.text()));
    ASSERT_FALSE(name);
    EXPECT_NE(name.error().message.find("a name of 2000 bytes"), std::string::npos);
}

TEST(ImatrixFile, AnEmbeddingMayBeCountedByToken) {
    const test::TempDir dir;
    GgufWriter w;
    const std::vector<float> values(64 * 32, 0.25f);
    w.set("general.architecture", "llama");
    ASSERT_TRUE(w.add_tensor("token_embd.weight", DType::f32, {64, 32}, values.data()));
    ASSERT_TRUE(w.write(dir.file("in.gguf")));
    test::Bytes m;  // 32 values for 64 columns: one a token
    m.put<int32_t>(1).put<int32_t>(17).raw("token_embd.weight").put<int32_t>(1).put<int32_t>(32);
    for (int i = 0; i < 32; ++i) m.put(1.0f);
    QuantizeOptions options;
    options.target = "Q8_0";
    options.importance = dir.write("m.dat", m.text());
    const auto report = quantize_model(dir.file("in.gguf"), dir.file("out.gguf"), options);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_FALSE(report->tensors[0].weighted);
}

}  // namespace
}  // namespace ridge
