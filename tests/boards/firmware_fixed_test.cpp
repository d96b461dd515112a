// The firmware's integer arithmetic against double precision and the standard library.
#include "boards/ai-max-395/firmware/fixed.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "boards/ai-max-395/firmware/exp2_table.h"
#include "boards/ai-max-395/firmware/rope_circle.h"

namespace ridge::fw {
namespace {

std::mt19937& random_bits() {
    static std::mt19937 engine(395);
    return engine;
}
int32_t random_int() {  // of any magnitude
    const auto x = static_cast<int32_t>(random_bits()());
    return x >> (random_bits()() % 32);
}

TEST(FirmwareFixed, SelectionsAreThoseOfTheStandardLibrary) {
    for (int i = 0; i < 200'000; ++i) {
        const int32_t a = random_int() / 2, b = random_int() / 2;
        ASSERT_EQ(min_of(a, b), std::min(a, b)) << a << " " << b;
        ASSERT_EQ(max_of(a, b), std::max(a, b)) << a << " " << b;
        ASSERT_EQ(abs_of(a), std::abs(a)) << a;
        const int32_t limit = std::abs(b);
        ASSERT_EQ(clamp_to(a, limit), std::clamp(a, -limit, limit)) << a << " " << limit;
        const auto x = static_cast<uint32_t>(random_int());
        ASSERT_EQ(leading_zeros(x), std::countl_zero(x)) << x;
    }
    EXPECT_EQ(leading_zeros(0), 32);
    for (int bit = 0; bit < 32; ++bit) EXPECT_EQ(leading_zeros(1u << bit), 31 - bit);
}

TEST(FirmwareFixed, ShiftsRoundHalfUp) {
    for (int i = 0; i < 100'000; ++i) {
        const int32_t y = random_int() / 4;
        const auto n = static_cast<int32_t>(random_bits()() % 31);
        const double exact = std::floor(std::ldexp(double{static_cast<double>(y)}, -n) + 0.5);
        ASSERT_EQ(shift_by(n)(y), exact) << y << " >> " << n;
    }
    EXPECT_EQ(shift_by(-4)(3), 48);
    EXPECT_EQ(shift_by(0)(-7), -7);
    EXPECT_EQ(shift_by(1)(-1), 0);
    EXPECT_EQ(shift_by(500)(1 << 29), 0);
}

TEST(FirmwareFixed, ReciprocalsConverge) {
    double worst3 = 0, worst2 = 0;
    const auto check = [&](uint32_t d) {
        const double exact = std::ldexp(1.0, 61) / d;
        worst3 = std::max(worst3, std::abs(reciprocal<3>(d) / exact - 1));
        worst2 = std::max(worst2, std::abs(reciprocal<2>(d) / exact - 1));
    };
    for (uint64_t d = 1u << 30; d <= 1u << 31; d += 4093) check(static_cast<uint32_t>(d));
    check(1u << 30);
    check((1u << 31) - 1);
    check(1u << 31);
    EXPECT_LT(worst3, 2e-8);
    EXPECT_LT(worst2, 2e-5);
    EXPECT_GT(worst2, 1e-6)
        << "two steps of Newton's method cannot be better than the third makes it";
    // What `divide` and the rounding factors rest on: at most 2^31 + 15.
    for (uint32_t d = 1u << 30; d < (1u << 30) + 100'000; ++d)
        ASSERT_LE(reciprocal<3>(d), (1u << 31) + 15) << d;
}

TEST(FirmwareFixed, ReciprocalRootsConverge) {
    double worst = 0;
    for (uint64_t v = 1u << 30; v < uint64_t{1} << 32; v += 65'521) {
        const double exact = std::ldexp(1.0, 46) / std::sqrt(static_cast<double>(v));
        worst = std::max(worst, std::abs(reciprocal_root(static_cast<uint32_t>(v)) / exact - 1));
    }
    EXPECT_LT(worst, 1e-7);
}

TEST(FirmwareFixed, ExponentialIsGoodEverywhere) {
    double worst = 0;
    for (int32_t x = -(24 << 16); x <= 0; ++x) {
        const double whole = std::ldexp(1.0, x >> 16);
        const double exact = std::exp2(x / 65536.0) * exp2_one;
        worst = std::max(worst, std::abs(exp2_piece(exp2_table, x) * whole / exact - 1));
    }
    EXPECT_LT(worst, 1.2e-4);
    EXPECT_GT(worst, 1.1e-4) << "16 chords an octave cannot be better";
}

TEST(FirmwareFixed, TwelveBitsAreRoundedToNearest) {
    for (int i = 0; i < 20'000; ++i) {
        const int32_t largest = std::max(std::abs(random_int() / 2), 5000);
        const auto value = static_cast<int32_t>(
            std::uniform_int_distribution<int64_t>(-int64_t{largest}, largest)(random_bits()));
        const Normal n = normalize(largest);
        const int16_t q =
            round12(shl(value, static_cast<uint32_t>(n.zeros)), round_factor(n.mantissa));
        const double exact = 2047.0 * value / largest;
        ASSERT_LE(std::abs(q - exact), 0.5 + 1e-4) << value << " of " << largest;
        ASSERT_LE(std::abs(q), 2047);
    }
}

TEST(FirmwareFixed, RopeCircleIsOneTurn) {
    for (int i = 0; i <= 128; ++i) {
        EXPECT_NEAR(rope_circle[i][0], 16384 * std::cos(2 * M_PI * i / 128), 0.5 + 1e-9) << i;
        EXPECT_NEAR(rope_circle[i][1], 16384 * std::sin(2 * M_PI * i / 128), 0.5 + 1e-9) << i;
    }
}

}  // namespace
}  // namespace ridge::fw
