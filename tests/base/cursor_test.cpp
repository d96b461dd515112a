// The bounds-checked reader and the overflow-checked arithmetic beside it.
#include "base/cursor.hpp"

#include <gtest/gtest.h>

#include "base/checked.hpp"

namespace ridge {
namespace {

TEST(Cursor, ReadsLittleEndianNumbersUnaligned) {
    const uint8_t bytes[] = {0xff, 0x01, 0x02, 0x03, 0x04, 0x00, 0x00, 0x80, 0x3f};
    Cursor cursor(bytes, sizeof bytes);
    uint8_t first = 0;
    uint32_t number = 0;
    float real = 0;
    EXPECT_TRUE(cursor.read(first));
    EXPECT_TRUE(cursor.read(number));
    EXPECT_TRUE(cursor.read(real));
    EXPECT_EQ(first, 0xff);
    EXPECT_EQ(number, 0x04030201u);
    EXPECT_EQ(real, 1.0f);
    EXPECT_EQ(cursor.remaining(), 0u);
    EXPECT_EQ(cursor.offset(), sizeof bytes);
}

TEST(Cursor, AFailedReadChangesNothing) {
    const uint8_t bytes[] = {1, 2, 3};
    Cursor cursor(bytes, sizeof bytes);
    EXPECT_TRUE(cursor.skip(1));
    uint32_t number = 77;
    EXPECT_FALSE(cursor.read(number));
    EXPECT_EQ(number, 77u);
    const uint8_t* at = nullptr;
    for (const uint64_t n : {uint64_t{3}, uint64_t{1} << 32, uint64_t{1} << 63, ~uint64_t{0}}) {
        EXPECT_FALSE(cursor.take(n, at)) << n;
        EXPECT_FALSE(cursor.skip(n)) << n;
    }
    EXPECT_EQ(at, nullptr);
    EXPECT_EQ(cursor.offset(), 1u);
    EXPECT_TRUE(cursor.take(2, at));
    EXPECT_EQ(at, bytes + 1);
    EXPECT_TRUE(cursor.take(0, at)) << "nothing always fits";
    EXPECT_FALSE(cursor.skip(1));
}

TEST(Checked, ReportsOverflowInsteadOfWrapping) {
    constexpr uint64_t most = ~uint64_t{0};
    uint64_t out = 0;
    EXPECT_TRUE(checked_add(most - 1, 1, out));
    EXPECT_EQ(out, most);
    EXPECT_FALSE(checked_add(most, 1, out));
    EXPECT_TRUE(checked_mul(uint64_t{1} << 32, (uint64_t{1} << 32) - 1, out));
    EXPECT_EQ(out, most - 0xffffffffu);
    EXPECT_FALSE(checked_mul(uint64_t{1} << 32, uint64_t{1} << 32, out));
    EXPECT_TRUE(checked_mul(most, 0, out));
    EXPECT_EQ(out, 0u);
}

TEST(Checked, AlignsUpwards) {
    uint64_t out = 0;
    EXPECT_TRUE(checked_align(0, 32, out));
    EXPECT_EQ(out, 0u);
    EXPECT_TRUE(checked_align(1, 32, out));
    EXPECT_EQ(out, 32u);
    EXPECT_TRUE(checked_align(64, 32, out));
    EXPECT_EQ(out, 64u);
    EXPECT_TRUE(checked_align(~uint64_t{0} - 31, 32, out));
    EXPECT_EQ(out, ~uint64_t{0} - 31);
    EXPECT_FALSE(checked_align(~uint64_t{0} - 30, 32, out));
}

}  // namespace
}  // namespace ridge
