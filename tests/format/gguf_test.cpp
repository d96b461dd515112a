// Well-formed GGUF files: values and tensors written by PyPI gguf (tests/data/gguf).
#include "format/gguf.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "gguf_bytes.hpp"
#include "support/temp_dir.hpp"

namespace ridge {
namespace {

using nlohmann::json;

std::string data(const std::string& name) {
    return std::string(RIDGE_TEST_DATA) + "/gguf/" + name;
}

json read_json(const std::string& name) {
    return json::parse(std::ifstream(data(name)));
}

uint64_t fnv1a64(const uint8_t* bytes, uint64_t n) {
    uint64_t h = 0xcbf29ce484222325u;
    for (uint64_t i = 0; i < n; ++i) h = (h ^ bytes[i]) * 0x100000001b3u;
    return h;
}

void expect_values(const GgufFile& file, const json& metadata) {
    for (const json& item : metadata) {
        const std::string key = item["key"];
        const std::string type = item["type"];
        const json& value = item["value"];
        SCOPED_TRACE(key);
        ASSERT_TRUE(file.has(key));
        if (type == "string") {
            EXPECT_EQ(file.get_string(key), value.get<std::string>());
            EXPECT_FALSE(file.get_uint(key) || file.get_float(key) || file.get_bool(key));
        } else if (type == "bool") {
            EXPECT_EQ(file.get_bool(key), value.get<bool>());
            EXPECT_FALSE(file.get_uint(key) || file.get_int(key) || file.get_float(key));
        } else if (type == "float32" || type == "float64") {
            EXPECT_EQ(file.get_float(key), value.get<double>());
            EXPECT_FALSE(file.get_int(key) || file.get_uint(key));
        } else if (type == "array") {
            const std::string element = item["element"];
            if (element == "string") {
                const auto strings = file.get_strings(key);
                ASSERT_TRUE(strings);
                ASSERT_EQ(strings->size(), value.size());
                for (size_t i = 0; i < value.size(); ++i)
                    EXPECT_EQ((*strings)[i], value[i].get<std::string>());
                EXPECT_FALSE(file.get_ints(key) || file.get_floats(key));
            } else if (element == "float32") {
                const auto floats = file.get_floats(key);
                ASSERT_TRUE(floats);
                ASSERT_EQ(floats->size(), value.size());
                for (size_t i = 0; i < value.size(); ++i)
                    EXPECT_EQ((*floats)[i], value[i].get<float>());
                EXPECT_FALSE(file.get_ints(key) || file.get_strings(key));
            } else if (element == "float64") {
                EXPECT_FALSE(file.get_floats(key)) << "0.1 is no float";
            } else if (element == "uint64") {
                EXPECT_FALSE(file.get_ints(key)) << "2^64 - 1 is no int64";
            } else {
                const auto ints = file.get_ints(key);
                ASSERT_TRUE(ints);
                ASSERT_EQ(ints->size(), value.size());
                for (size_t i = 0; i < value.size(); ++i)
                    EXPECT_EQ((*ints)[i], value[i].is_boolean() ? value[i].get<bool>()
                                                                : value[i].get<int64_t>());
            }
        } else if (value.is_number_unsigned()) {
            EXPECT_EQ(file.get_uint(key), value.get<uint64_t>());
            if (value.get<uint64_t>() <= INT64_MAX)
                EXPECT_EQ(file.get_int(key), value.get<int64_t>());
            else
                EXPECT_FALSE(file.get_int(key));
        } else {
            EXPECT_EQ(file.get_int(key), value.get<int64_t>());
            EXPECT_EQ(file.get_uint(key).has_value(), value.get<int64_t>() >= 0);
        }
    }
}

void expect_tensors(std::span<const TensorInfo> tensors, const json& expected) {
    ASSERT_EQ(tensors.size(), expected.size());
    for (size_t i = 0; i < tensors.size(); ++i) {
        const json& e = expected[i];
        SCOPED_TRACE(tensors[i].name);
        EXPECT_EQ(tensors[i].name, e["name"].get<std::string>());
        EXPECT_EQ(name(tensors[i].type), e["type"].get<std::string>());
        EXPECT_EQ(tensors[i].bytes, e["bytes"].get<uint64_t>());
        ASSERT_EQ(tensors[i].n_dims, e["dimensions"].size());
        uint64_t rows = 1;
        for (size_t d = 0; d < e["dimensions"].size(); ++d) {
            EXPECT_EQ(tensors[i].dims[d], e["dimensions"][d].get<uint64_t>());
            if (d > 0) rows *= e["dimensions"][d].get<uint64_t>();
        }
        EXPECT_EQ(tensors[i].rows(), rows);
        EXPECT_EQ(fnv1a64(tensors[i].data, tensors[i].bytes),
                  std::stoull(e["fnv1a64"].get<std::string>(), nullptr, 16));
    }
}

TEST(Gguf, ReadsEveryValueTypeAndTensor) {
    const json expected = read_json("all_types.json");
    for (const char* name : {"all_types.gguf", "all_types_v2.gguf"}) {
        SCOPED_TRACE(name);
        auto file = GgufFile::open(data(name));
        ASSERT_TRUE(file) << file.error().message;
        EXPECT_EQ(file->version(), std::string(name) == "all_types.gguf" ? 3u : 2u);
        EXPECT_EQ(file->file_bytes(), expected["file_bytes"].get<uint64_t>());
        expect_values(*file, expected["metadata"]);
        expect_tensors(file->tensors(), expected["tensors"]);
        EXPECT_EQ(file->keys().size(), expected["metadata"].size());
    }
}

TEST(Gguf, ReadsSplitFilesFromTheFirstPart) {
    const json expected = read_json("split.json");
    auto opened = GgufFile::open(data("x-00001-of-00002.gguf"));
    ASSERT_TRUE(opened) << opened.error().message;
    const GgufFile file = std::move(*opened);  // views survive a move
    expect_values(file, expected["metadata"]);
    json tensors = json::array();
    uint64_t bytes = 0;
    for (const json& part : expected["files"]) {
        bytes += part["file_bytes"].get<uint64_t>();
        for (const json& t : part["tensors"]) tensors.push_back(t);
    }
    expect_tensors(file.tensors(), tensors);
    EXPECT_EQ(file.file_bytes(), bytes);
    for (const TensorInfo& t : file.tensors()) EXPECT_EQ(file.find(t.name), &t);
}

TEST(Gguf, AbsentKeysAndTensorsAreNotFound) {
    auto file = GgufFile::open(data("all_types.gguf"));
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(file->find("no.such.tensor"), nullptr);
    EXPECT_FALSE(file->has("no.such.key"));
    EXPECT_FALSE(file->get_uint("no.such.key") || file->get_int("no.such.key") ||
                 file->get_float("no.such.key") || file->get_bool("no.such.key") ||
                 file->get_string("no.such.key") || file->get_strings("no.such.key") ||
                 file->get_floats("no.such.key") || file->get_ints("no.such.key"));
    EXPECT_EQ(file->describe("no.such.key"), "(absent)");
}

TEST(Gguf, DescribesValuesInOneLine) {
    using gguf::ValueType;
    test::Bytes b;
    b.header(0, 7);
    b.string("a.bytes").type(ValueType::string);
    b.string("\xc3\xa9\xff\x1b[\xc2\x9b\xe0\x80\x80\xed\xa0\x80\xf0\x9f\x98\x80\xe2\x82");
    b.string("a.long").type(ValueType::string).string(std::string(159, 'x') + "\xc3\xa9yz");
    b.value("a.flag", ValueType::boolean, uint8_t{1});
    b.value("a.half", ValueType::f32, 0.5f);
    b.string("a.text").type(ValueType::string).string("two\nlines \"quoted\"");
    b.string("a.list").type(ValueType::array).type(ValueType::i16).put<uint64_t>(8);
    for (int16_t i = 0; i < 8; ++i) b.put<int16_t>(static_cast<int16_t>(-i));
    b.string("a.words").type(ValueType::array).type(ValueType::string).put<uint64_t>(2);
    b.string("x").string("");
    const test::TempDir dir;
    auto file = GgufFile::open(dir.write("d.gguf", b.text()));
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(file->describe("a.bytes"),
              "\"\xc3\xa9\\xff\\x1b["
              "\\xc2\\x9b\\xe0\\x80\\x80\\xed\\xa0\\x80\xf0\x9f\x98\x80\\xe2\\x82\"");
    EXPECT_EQ(file->describe("a.long"), "\"" + std::string(159, 'x') + "\xc3\xa9\"... (163 bytes)");
    EXPECT_EQ(file->describe("a.flag"), "true");
    EXPECT_EQ(file->describe("a.half"), "0.5");
    EXPECT_EQ(file->describe("a.text"), "\"two\\nlines \\\"quoted\\\"\"");
    EXPECT_EQ(file->describe("a.list"), "[0, -1, -2, -3, -4, -5, ... (8 elements)]");
    EXPECT_EQ(file->describe("a.words"), "[\"x\", \"\"]");
}

}  // namespace
}  // namespace ridge
