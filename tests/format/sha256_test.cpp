// SHA-256 against the examples of FIPS 180-2 (appendix B) and against coreutils' sha256sum.
#include "format/sha256.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <memory>

#include "support/temp_dir.hpp"

namespace ridge {
namespace {

std::string sum_of(const std::string& text) {
    Sha256 s;
    s.add(text.data(), text.size());
    return s.finish();
}

TEST(Sha256, PublishedExamples) {
    EXPECT_EQ(sum_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(sum_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    EXPECT_EQ(sum_of(std::string(1000000, 'a')),
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    EXPECT_EQ(sum_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

// Lengths around a block's end, given in pieces of every size.
TEST(Sha256, PiecesMakeNoDifferenceAndFilesAgreeWithSha256sum) {
    const test::TempDir dir;
    for (const size_t n : {0u, 1u, 55u, 56u, 63u, 64u, 65u, 119u, 120u, 128u, 1000u}) {
        std::string text;
        for (size_t i = 0; i < n; ++i) text += static_cast<char>(i * 37 + n);
        const std::string whole = sum_of(text);
        for (size_t piece = 1; piece < 130; piece += 3) {
            Sha256 s;
            for (size_t i = 0; i < n; i += piece) s.add(&text[i], std::min(piece, n - i));
            ASSERT_EQ(s.finish(), whole) << n << " in pieces of " << piece;
        }
        const std::string path = dir.write("f", text);
        const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(("sha256sum " + path).c_str(), "r"),
                                                         pclose);
        char theirs[65] = {};
        ASSERT_EQ(std::fread(theirs, 1, 64, pipe.get()), 64u);
        EXPECT_EQ(whole, theirs) << n;
        EXPECT_EQ(*sha256_of_file(path), theirs) << n;
    }
}

TEST(Sha256, FilesThatCannotBeRead) {
    const test::TempDir dir;
    const auto absent = sha256_of_file(dir.file("absent"));
    ASSERT_FALSE(absent);
    EXPECT_EQ(absent.error().code, ErrorCode::not_found);
    EXPECT_NE(absent.error().message.find("absent"), std::string::npos);
    const auto folder = sha256_of_file(dir.path());  // opens, and does not read
    ASSERT_FALSE(folder);
    EXPECT_EQ(folder.error().code, ErrorCode::io);
    EXPECT_NE(folder.error().message.find("Reading"), std::string::npos);
}

TEST(Sha256, WhatLooksLikeOne) {
    EXPECT_TRUE(is_sha256(std::string(32, 'a') + std::string(32, 'F')));
    EXPECT_FALSE(is_sha256(std::string(63, 'a')));
    EXPECT_FALSE(is_sha256(std::string(65, 'a')));
    EXPECT_FALSE(is_sha256(std::string(63, 'a') + "g"));
    EXPECT_FALSE(is_sha256(""));
}

}  // namespace
}  // namespace ridge
