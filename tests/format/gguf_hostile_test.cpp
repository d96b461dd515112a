// Hostile and damaged GGUF files, each built here: open() answers every one with one sentence that
// names the file, quickly and without memory in proportion to what the file claims.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <functional>

#include "format/gguf.hpp"
#include "gguf_bytes.hpp"
#include "support/temp_dir.hpp"

namespace ridge {
namespace {

using gguf::ValueType;
using test::Bytes;

constexpr uint64_t huge_counts[] = {1u << 20,   1ull << 31, 1ull << 32,
                                    1ull << 60, 1ull << 63, ~0ull};

// Peak resident memory of this process, in KiB.
long peak_kib() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

class Hostile : public testing::Test {
  protected:
    // Opens the bytes as a file and expects an error of `code` whose sentence holds `word`.
    void refused(const std::string& what, const std::string& bytes, const std::string& word,
                 ErrorCode code = ErrorCode::bad_file) {
        SCOPED_TRACE(what);
        const std::string path = dir_.write("h.gguf", bytes);
        const std::clock_t start = std::clock();  // of the processor: a busy machine is no fault
        const auto file = GgufFile::open(path);
        const std::clock_t took = std::clock() - start;
        ASSERT_FALSE(file);
        const std::string& message = file.error().message;
        EXPECT_EQ(file.error().code, code) << message;
        EXPECT_NE(message.find(word), std::string::npos) << message;
        EXPECT_NE(message.find(path), std::string::npos) << message;
        EXPECT_EQ(message.back(), '.') << message;
        EXPECT_LT(message.size(), 600u) << message;
        for (const char c : message) EXPECT_TRUE(c >= 0x20 && c < 0x7f) << message;
        EXPECT_LT(took, CLOCKS_PER_SEC / 10);
    }
    void accepted(const std::string& what, const std::string& bytes) {
        const auto file = GgufFile::open(dir_.write("h.gguf", bytes));
        EXPECT_TRUE(file) << what << ": " << file.error().message;
    }
    // One tensor described by `entry`, with `data` zero bytes behind.
    static std::string with_tensor(const std::function<void(Bytes&)>& entry, size_t data = 256) {
        Bytes b;
        b.header(1, 0);
        entry(b);
        return b.pad().zeros(data).text();
    }
    static std::string with_value(const std::function<void(Bytes&)>& value) {
        Bytes b;
        b.header(0, 1);
        value(b);
        return b.text();
    }

    test::TempDir dir_;
};

TEST_F(Hostile, Headers) {
    refused("empty", "", "empty");
    Bytes whole;
    whole.header(0, 0);
    for (size_t n = 1; n < 24; ++n)
        refused("header of " + std::to_string(n), whole.text().substr(0, n),
                n < 4 ? "not a GGUF file" : "truncated");
    refused("text", "Once upon a time there was a text file.\n", "not a GGUF file");
    refused("reversed magic", "FUGG" + whole.text().substr(4), "not a GGUF file");
    refused("zeros", std::string(4096, '\0'), "not a GGUF file");
    for (const uint32_t version : {0u, 1u, 4u, 1u << 31, 0xffffffffu})
        refused("version " + std::to_string(version), Bytes().header(0, 0, version).text(),
                version == 1u << 31 ? "big-endian" : "version", ErrorCode::unsupported);
    for (const uint32_t version : {0x02000000u, 0x03000000u})
        refused("big-endian", Bytes().header(0, 0, version).text(), "big-endian",
                ErrorCode::unsupported);
    accepted("no values, no tensors", whole.text());
}

TEST_F(Hostile, CountsLargerThanTheFile) {
    const long before = peak_kib();
    for (const uint64_t n : huge_counts) {
        refused("values", Bytes().header(0, n).zeros(64).text(), "truncated");
        refused("tensors", Bytes().header(n, 0).zeros(64).text(), "truncated");
        refused("both", Bytes().header(n, n).zeros(64).text(), "truncated");
    }
    refused("one more value than fits", Bytes().header(0, 5).zeros(4 * 14 + 13).text(),
            "truncated");
    // as many as fit, but more than the limits: a file of zeros would be long
    refused("too many values", Bytes().header(0, gguf::max_keys + 1).zeros(14 * 65537).text(),
            "more than ridge reads", ErrorCode::unsupported);
    EXPECT_LT(peak_kib() - before, 64 * 1024);
}

TEST_F(Hostile, Keys) {
    refused("empty key", with_value([](Bytes& b) { b.string("").zeros(32); }), "empty");
    for (const uint64_t n : huge_counts)
        refused("key length", with_value([&](Bytes& b) { b.put(n).zeros(64); }), "key");
    refused("key beyond the file", with_value([](Bytes& b) { b.put<uint64_t>(100).zeros(64); }),
            "truncated");
    refused("not UTF-8", with_value([](Bytes& b) { b.value("a\xff", ValueType::u8, 'x'); }),
            "ASCII");
    refused("line feed", with_value([](Bytes& b) { b.value("a\nb", ValueType::u8, 'x'); }),
            "ASCII");
    refused("NUL", with_value([](Bytes& b) { b.value({"a\0b", 3}, ValueType::u8, 'x'); }), "ASCII");
    Bytes twice;
    twice.header(0, 2).value("k", ValueType::u8, 'x').value("k", ValueType::u16, uint16_t{1});
    refused("twice", twice.text(), "twice");
}

TEST_F(Hostile, Values) {
    for (const uint32_t type : {13u, 14u, 255u, 1u << 31, 0xffffffffu}) {
        refused("type", with_value([&](Bytes& b) { b.string("k").put(type).zeros(64); }), "type");
        refused("element type", with_value([&](Bytes& b) {
                    b.string("k").type(ValueType::array).put(type).zeros(64);
                }),
                "type");
    }
    for (const uint8_t truth : {uint8_t{2}, uint8_t{3}, uint8_t{255}})
        refused("truth value",
                with_value([&](Bytes& b) { b.value("k", ValueType::boolean, truth); }), "truth");
    refused("truth values", with_value([&](Bytes& b) {
                b.string("k").type(ValueType::array).type(ValueType::boolean);
                b.put<uint64_t>(3).put<uint8_t>(1).put<uint8_t>(0).put<uint8_t>(7);
            }),
            "truth");
    for (uint32_t t = 0; t < static_cast<uint32_t>(ValueType::count_); ++t) {
        const auto type = static_cast<ValueType>(t);
        if (gguf::value_bytes(type) > 1)
            refused("cut value", with_value([&](Bytes& b) {
                        b.string("key").put(t).zeros(gguf::value_bytes(type) - 1);
                    }),
                    "truncated");
        if (type == ValueType::array) continue;
        for (const uint64_t n : huge_counts)
            refused("array count", with_value([&](Bytes& b) {
                        b.string("k").type(ValueType::array).put(t).put(n).zeros(64);
                    }),
                    "truncated");
    }
    for (const uint64_t n : huge_counts) {
        refused("string length", with_value([&](Bytes& b) {
                    b.string("k").type(ValueType::string).put(n).zeros(64);
                }),
                "truncated");
        refused("length in an array", with_value([&](Bytes& b) {
                    b.string("k").type(ValueType::array).type(ValueType::string);
                    b.put<uint64_t>(2).string("fine").put(n).zeros(64);
                }),
                "truncated");
    }
    accepted("empty arrays and strings", Bytes()
                                             .header(0, 3)
                                             .string("a")
                                             .type(ValueType::array)
                                             .type(ValueType::string)
                                             .put<uint64_t>(0)
                                             .string("b")
                                             .type(ValueType::array)
                                             .type(ValueType::f64)
                                             .put<uint64_t>(0)
                                             .string("c")
                                             .type(ValueType::string)
                                             .put<uint64_t>(0)
                                             .text());
}

TEST_F(Hostile, NestedArraysAreRefusedWithoutRecursion) {
    for (const size_t depth : {1u, 2u, 1000u, 100000u}) {
        Bytes b;
        b.header(0, 1).string("k").type(ValueType::array);
        for (size_t i = 0; i < depth; ++i) b.type(ValueType::array).put<uint64_t>(1);
        b.type(ValueType::u8).put<uint64_t>(0);
        refused("depth " + std::to_string(depth), b.text(), "array of arrays");
    }
    const auto file = GgufFile::open(std::string(RIDGE_TEST_DATA) + "/gguf/nested_array.gguf");
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().code, ErrorCode::bad_file);
}

TEST_F(Hostile, Alignment) {
    const auto aligned = [](auto value, ValueType type) {
        Bytes b;
        b.header(1, 1).value("general.alignment", type, value).tensor("w", 8, 8);
        return b.pad(1 << 12).zeros(4096).text();
    };
    for (const uint32_t a : {0u, 1u, 3u, 4u, 33u, 1u << 21, 1u << 31, 0xffffffffu})
        refused("alignment " + std::to_string(a), aligned(a, ValueType::u32), "alignment");
    refused("alignment 2^63", aligned(1ull << 63, ValueType::u64), "alignment");
    refused("alignment -8", aligned(int32_t{-8}, ValueType::i32), "alignment");
    refused("alignment 32.0", aligned(32.0f, ValueType::f32), "alignment");
    for (const uint32_t a : {8u, 32u, 64u, 4096u})
        accepted("alignment " + std::to_string(a), aligned(a, ValueType::u32));
}

TEST_F(Hostile, TensorShapes) {
    const auto shaped = [](uint32_t n_dims, std::vector<uint64_t> dims, uint32_t type = 0) {
        return with_tensor([&](Bytes& b) {
            b.string("w").put(n_dims);
            for (const uint64_t d : dims) b.put(d);
            b.put(type).put<uint64_t>(0);
        });
    };
    accepted("8 x 8", shaped(2, {8, 8}));
    for (const uint32_t n : {0u, 5u, 9u, 0xffffffffu})
        refused("dimensions", shaped(n, {1, 1, 1, 1, 1, 1, 1, 1, 1}), "dimensions");
    refused("zero", shaped(2, {8, 0}), "is 0");
    refused("zero first", shaped(3, {0, 8, 8}), "is 0");
    refused("negative", shaped(2, {8, ~0ull}), "2^63");
    refused("wraps 2^32", shaped(2, {1u << 16, 1u << 16}), "truncated");
    refused("wraps 2^31", shaped(2, {1u << 16, 1u << 15}), "truncated");
    refused("wraps 2^63", shaped(2, {1ull << 32, 1ull << 31}), "2^63");
    refused("wraps 2^64", shaped(4, {1ull << 32, 1ull << 32, 2, 1}), "2^63");
    refused("wraps to 1", shaped(2, {0x5555555555555555ull, 3}), "2^63");
    refused("bytes wrap", shaped(1, {(1ull << 62) + 8}), "2^64");
    refused("bytes wrap to little", shaped(2, {32, (1ull << 58) - 1}, 2), "truncated");
    refused("half a block", shaped(2, {48, 4}, 2), "block");
    refused("half a super-block", shaped(2, {128, 4}, 12), "block");
}

TEST_F(Hostile, TensorTypes) {
    for (const uint32_t type : {4u, 5u, 9u, 15u, 16u, 24u, 27u, 28u, 31u, 33u, 34u, 36u, 38u, 40u,
                                41u, 99u, 1u << 31, 0xffffffffu}) {
        const auto bytes =
            with_tensor([&](Bytes& b) { b.tensor("blk.0.ffn_up.weight", 256, 1, type); });
        refused("type", bytes, "number " + std::to_string(type), ErrorCode::unsupported);
        refused("type", bytes, "'blk.0.ffn_up.weight'", ErrorCode::unsupported);
        refused("type", bytes, "MXFP4", ErrorCode::unsupported);
    }
    refused("named", with_tensor([](Bytes& b) { b.tensor("w", 256, 1, 16); }), "IQ2_XXS",
            ErrorCode::unsupported);
}

TEST_F(Hostile, TensorNames) {
    const auto named = [](std::string_view name) {
        return with_tensor([&](Bytes& b) { b.tensor(name, 8, 8); });
    };
    accepted("64 bytes", named(std::string(64, 'n')));
    refused("65 bytes", named(std::string(65, 'n')), "65");
    refused("empty", named(""), "empty");
    refused("control", named("a\x1b[31m"), "ASCII");
    for (const uint64_t n : huge_counts)
        refused("length", with_tensor([&](Bytes& b) { b.put(n).zeros(64); }), "name");
    Bytes twice;
    twice.header(2, 0).tensor("w", 8, 1).tensor("w", 8, 1, 0, 32).pad().zeros(64);
    refused("twice", twice.text(), "twice");
}

TEST_F(Hostile, TensorOffsets) {
    const auto at = [](uint64_t offset) {
        return with_tensor([&](Bytes& b) { b.tensor("w", 8, 8, 0, offset); }, 256 + 32);
    };
    accepted("at the end", at(32));
    refused("unaligned", at(8), "alignment");
    refused("one row too far", at(64), "truncated");
    for (const uint64_t offset : {1ull << 31, 1ull << 32, 1ull << 63, ~0ull - 31, ~0ull - 255})
        refused("offset " + std::to_string(offset), at(offset), "truncated");
    // overlapping tensors are inside the file: allowed
    Bytes same;
    same.header(2, 0).tensor("a", 8, 8).tensor("b", 8, 8).pad().zeros(256);
    accepted("overlapping", same.text());
}

// Every prefix of a whole file: inside the header, the tables, the padding and the data.
TEST_F(Hostile, EveryTruncation) {
    Bytes b;
    b.header(2, 3).value("general.alignment", ValueType::u32, 32u);
    b.string("words").type(ValueType::array).type(ValueType::string).put<uint64_t>(2);
    b.string("one").string("three");
    b.string("text").type(ValueType::string).string("some text");
    b.tensor("a", 8, 2).tensor("b", 32, 3, 2, 64).pad().zeros(64 + 54);
    accepted("whole", b.text());
    for (size_t n = 0; n < b.size(); ++n)
        refused("first " + std::to_string(n), b.text().substr(0, n), n >= 4 ? "truncated" : "");
}

// Each byte of the header and tables changed to each of some values: any answer, but an answer;
// what is accepted keeps its promises.
TEST_F(Hostile, EveryByteChanged) {
    Bytes b;
    b.header(1, 2).value("k", ValueType::u32, 7u);
    b.string("words").type(ValueType::array).type(ValueType::string).put<uint64_t>(1).string("one");
    b.tensor("w", 32, 4, 8).pad().zeros(136);
    int opened = 0;
    for (size_t i = 0; i < b.size() - 136; ++i)
        for (const int value : {0, 1, 2, 8, 9, 0x7f, 0x80, 0xff}) {
            std::string bytes = b.text();
            bytes[i] = static_cast<char>(value);
            const std::string path = dir_.write("m.gguf", bytes);
            auto file = GgufFile::open(path);
            if (!file) {
                EXPECT_NE(file.error().message.find(path), std::string::npos);
                continue;
            }
            ++opened;
            uint64_t sum = 0;
            for (const TensorInfo& t : file->tensors())
                for (uint64_t j = 0; j < t.bytes; ++j) sum += t.data[j];
            EXPECT_EQ(sum, 0u) << "data outside the file";
            for (const std::string& key : file->keys()) EXPECT_FALSE(file->describe(key).empty());
        }
    EXPECT_GT(opened, 50);
}

TEST_F(Hostile, ThingsThatAreNoFiles) {
    const auto absent = GgufFile::open(dir_.file("absent.gguf"));
    ASSERT_FALSE(absent);
    EXPECT_EQ(absent.error().code, ErrorCode::not_found);
    EXPECT_NE(absent.error().message.find("absent.gguf"), std::string::npos);
    const auto folder = GgufFile::open(dir_.path());
    ASSERT_FALSE(folder);
    EXPECT_NE(folder.error().message.find("directory"), std::string::npos);
    ASSERT_EQ(mkfifo(dir_.file("pipe").c_str(), 0600), 0);
    EXPECT_FALSE(GgufFile::open(dir_.file("pipe"))) << "and does not wait for a writer";
    EXPECT_FALSE(GgufFile::open("/dev/null"));
    EXPECT_FALSE(GgufFile::open(""));
}

TEST_F(Hostile, SplitFiles) {
    const auto part = [](uint64_t number, uint64_t count, int32_t total, const char* tensor) {
        Bytes b;
        b.header(1, 3).value("split.no", ValueType::u16, static_cast<uint16_t>(number));
        b.value("split.count", ValueType::u16, static_cast<uint16_t>(count));
        b.value("split.tensors.count", ValueType::i32, total);
        return b.tensor(tensor, 8, 1).pad().zeros(32).text();
    };
    const auto error = [](const std::string& path) {
        const auto file = GgufFile::open(path);
        return file ? std::string() : file.error().message;
    };
    const std::string first = dir_.write("s-00001-of-00002.gguf", part(0, 2, 2, "a"));
    const std::string second = dir_.file("s-00002-of-00002.gguf");
    EXPECT_NE(error(first).find(second), std::string::npos) << "missing part is named";
    dir_.write("s-00002-of-00002.gguf", part(1, 2, 2, "b"));
    EXPECT_EQ(error(first), "");
    EXPECT_NE(error(second).find("open its first part"), std::string::npos);
    dir_.write("s-00002-of-00002.gguf", part(1, 2, 2, "a"));
    EXPECT_NE(error(first).find("two parts"), std::string::npos);
    dir_.write("s-00002-of-00002.gguf", part(0, 2, 2, "b"));
    EXPECT_NE(error(first).find("part 2 of 2"), std::string::npos);
    dir_.write("s-00002-of-00002.gguf", part(1, 3, 2, "b"));
    EXPECT_NE(error(first).find("part 2 of 2"), std::string::npos);
    dir_.write("s-00002-of-00002.gguf", "GGUF");
    EXPECT_NE(error(first).find("truncated"), std::string::npos);
    dir_.write("s-00001-of-00002.gguf", part(0, 2, 3, "a"));
    dir_.write("s-00002-of-00002.gguf", part(1, 2, 3, "b"));
    EXPECT_NE(error(first).find("split.tensors.count"), std::string::npos);
    // names that do not say which part they are; more parts than exist
    EXPECT_NE(error(dir_.write("x.gguf", part(0, 2, 2, "a"))).find("named"), std::string::npos);
    EXPECT_NE(error(dir_.write("s-00001-of-00003.gguf", part(0, 2, 2, "a"))).find("named"),
              std::string::npos);
    EXPECT_NE(error(dir_.write("s-00001-of-65535.gguf", part(0, 65535, 2, "a"))).find("at most"),
              std::string::npos);
    EXPECT_EQ(error(dir_.write("s-00001-of-00001.gguf", part(0, 1, 1, "a"))), "");
}

}  // namespace
}  // namespace ridge
