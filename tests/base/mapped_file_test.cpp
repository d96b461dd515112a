// Read-only file mappings.
#include "base/mapped_file.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "support/temp_dir.hpp"

namespace ridge {
namespace {

TEST(MappedFile, HoldsTheBytesAndSurvivesMoves) {
    const test::TempDir dir;
    auto opened = MappedFile::open(dir.write("f", "some bytes"));
    ASSERT_TRUE(opened) << opened.error().message;
    const uint8_t* data = opened->data();
    MappedFile file = std::move(*opened);
    EXPECT_EQ(file.data(), data);
    EXPECT_EQ(opened->data(), nullptr);
    ASSERT_EQ(file.size(), 10u);
    EXPECT_EQ(std::memcmp(file.data(), "some bytes", 10), 0);
    EXPECT_TRUE(file.contains(data) && file.contains(data + 9));
    EXPECT_FALSE(file.contains(data + 10) || file.contains(nullptr));
    auto other = MappedFile::open(dir.write("g", "else"));
    ASSERT_TRUE(other);
    file = std::move(*other);
    EXPECT_EQ(file.size(), 4u);
    EXPECT_EQ(file.path(), dir.file("g"));
}

TEST(MappedFile, ReadsWithoutMapping) {
    const test::TempDir dir;
    std::string bytes(100000, ' ');
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7 + i / 256);
    auto opened = MappedFile::open(dir.write("f", bytes));
    ASSERT_TRUE(opened) << opened.error().message;
    const MappedFile file = std::move(*opened);
    std::vector<uint8_t> to(bytes.size() + 1, 0xEE);
    for (const size_t at : {size_t{0}, size_t{1}, size_t{4095}, bytes.size() - 1}) {
        ASSERT_TRUE(file.read(file.data() + at, bytes.size() - at, to.data()));
        EXPECT_EQ(std::memcmp(to.data(), bytes.data() + at, bytes.size() - at), 0) << at;
        EXPECT_EQ(to.back(), 0xEE);
    }
    EXPECT_TRUE(file.read(file.data() + bytes.size(), 0, to.data()));
    for (const auto& [at, n] : {std::pair<size_t, size_t>{0, bytes.size() + 1}, {99999, 2}})
        EXPECT_FALSE(file.read(file.data() + at, n, to.data()));
    EXPECT_FALSE(file.read(to.data(), 1, to.data()));
    ASSERT_EQ(::truncate(file.path().c_str(), 50000), 0);
    EXPECT_TRUE(file.read(file.data(), 50000, to.data()));
    const Status cut = file.read(file.data() + 49999, 2, to.data());
    ASSERT_FALSE(cut);
    EXPECT_EQ(cut.error().code, ErrorCode::io);
    EXPECT_NE(cut.error().message.find(file.path()), std::string::npos) << cut.error().message;
    EXPECT_NE(cut.error().message.find("shorter"), std::string::npos) << cut.error().message;
}

TEST(MappedFile, ErrorsNameThePath) {
    const test::TempDir dir;
    const auto message = [](const std::string& path) {
        const auto file = MappedFile::open(path);
        return file ? std::string() : file.error().message;
    };
    EXPECT_NE(message(dir.file("absent")).find(dir.file("absent")), std::string::npos);
    EXPECT_NE(message(dir.path()).find("directory"), std::string::npos);
    EXPECT_NE(message(dir.write("empty", "")).find("is empty"), std::string::npos);
    EXPECT_NE(message("/dev/zero").find("not a regular file"), std::string::npos);
    EXPECT_EQ(MappedFile::open(dir.file("absent")).error().code, ErrorCode::not_found);
    EXPECT_EQ(MappedFile::open(dir.path()).error().code, ErrorCode::io);
    EXPECT_EQ(MappedFile::open(dir.file("empty")).error().code, ErrorCode::bad_file);
    EXPECT_EQ(MappedFile::open(dir.write("file", "x") + "/below").error().code,
              ErrorCode::not_found);
}

}  // namespace
}  // namespace ridge
