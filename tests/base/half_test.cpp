// f16 and bf16 against the compiler's own conversions (every f16 value) and the definition of
// rounding to nearest even.
#include "base/half.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ridge {
namespace {

// The value of an f16 by the definition, in double.
double f16_value(uint16_t h) {
    const int exponent = (h >> 10) & 31;
    const int mantissa = h & 1023;
    const double magnitude =
        exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
    return (h & 0x8000) != 0 ? -magnitude : magnitude;
}

TEST(Half, EveryF16HasItsValueAndComesBack) {
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
        const auto h = static_cast<uint16_t>(bits);
        const float f = f32_from_f16(h);
        if ((h & 0x7c00) == 0x7c00) {
            if ((h & 0x3ff) != 0) {
                ASSERT_TRUE(std::isnan(f)) << bits;
                ASSERT_TRUE((f16_from_f32(f) & 0x7c00) == 0x7c00 && (f16_from_f32(f) & 0x3ff) != 0);
                continue;
            }
            ASSERT_TRUE(std::isinf(f)) << bits;
        } else {
            ASSERT_EQ(static_cast<double>(f), f16_value(h)) << bits;
        }
        ASSERT_EQ(std::signbit(f), (h & 0x8000) != 0) << bits;
        ASSERT_EQ(f16_from_f32(f), h) << bits;
    }
}

// Between each two neighbours: just below the middle goes down, just above goes up, the middle goes
// to the even one.
TEST(Half, F16RoundsToNearestEven) {
    for (uint32_t bits = 0; bits < 0x7bff; ++bits) {
        const auto low = static_cast<uint16_t>(bits), high = static_cast<uint16_t>(bits + 1);
        const auto middle = static_cast<float>((f16_value(low) + f16_value(high)) / 2);  // exact
        ASSERT_EQ(f16_from_f32(middle), bits % 2 == 0 ? low : high) << bits;
        ASSERT_EQ(f16_from_f32(std::nextafter(middle, 0.0f)), low) << bits;
        ASSERT_EQ(f16_from_f32(std::nextafter(middle, 1e6f)), high) << bits;
        ASSERT_EQ(f16_from_f32(-middle), (bits % 2 == 0 ? low : high) | 0x8000) << bits;
    }
    EXPECT_EQ(f16_from_f32(65519.996f), 0x7bff);  // below the middle of 65504 and 65536
    EXPECT_EQ(f16_from_f32(65520.0f), 0x7c00);
    EXPECT_EQ(f16_from_f32(1e38f), 0x7c00);
    EXPECT_EQ(f16_from_f32(-std::numeric_limits<float>::infinity()), 0xfc00);
    EXPECT_EQ(f16_from_f32(1e-8f), 0x0000);
}

TEST(Half, Bf16RoundsToNearestEven) {
    for (uint32_t bits = 0; bits < 0x7f80; ++bits) {
        const auto low = static_cast<uint16_t>(bits), high = static_cast<uint16_t>(bits + 1);
        ASSERT_EQ(bf16_from_f32(f32_from_bf16(low)), low);
        const float middle = f32_from_bits((bits << 16) | 0x8000u);
        ASSERT_EQ(bf16_from_f32(middle), bits % 2 == 0 ? low : high) << bits;
        ASSERT_EQ(bf16_from_f32(f32_from_bits((bits << 16) | 0x7fffu)), low) << bits;
        ASSERT_EQ(bf16_from_f32(f32_from_bits((bits << 16) | 0x8001u)), high) << bits;
    }
    EXPECT_EQ(bf16_from_f32(std::numeric_limits<float>::max()), 0x7f80);
    EXPECT_EQ(bf16_from_f32(-std::numeric_limits<float>::infinity()), 0xff80);
    EXPECT_TRUE(std::isnan(f32_from_bf16(bf16_from_f32(std::nanf("")))));
    EXPECT_TRUE(std::isnan(f32_from_bf16(bf16_from_f32(f32_from_bits(0x7f800001u)))));
}

}  // namespace
}  // namespace ridge
