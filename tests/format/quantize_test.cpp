// Plain rounding: error ceilings, exact representation of what a type can represent, hostile input.
#include "format/quantize.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "format/dequantize.hpp"

namespace ridge {
namespace {

std::vector<float> round_trip(DType type, const std::vector<float>& x) {
    std::vector<uint8_t> blocks(row_bytes(type, x.size()) + 1, 0xcd);
    quantize_plain(type, x.data(), x.size(), blocks.data());
    EXPECT_EQ(blocks.back(), 0xcd) << "wrote beyond the end";
    std::vector<float> out(x.size());
    dequantize(type, blocks.data(), x.size(), out.data());
    return out;
}

// Root mean square error over root mean square.
double relative_error(const std::vector<float>& x, const std::vector<float>& y) {
    double error = 0, power = 0;
    for (size_t i = 0; i < x.size(); ++i) {
        error += std::pow(static_cast<double>(x[i]) - static_cast<double>(y[i]), 2);
        power += std::pow(static_cast<double>(x[i]), 2);
    }
    return std::sqrt(error / power);
}

struct Ceiling {
    DType type;
    double normal, uniform;  // relative error on Gaussian and on uniform weights
};

// a tenth above what was measured when this was written
constexpr Ceiling ceilings[] = {
    {DType::f32, 0.0, 0.0},       {DType::f16, 2.3e-4, 2.1e-4},  {DType::bf16, 1.8e-3, 1.7e-3},
    {DType::q4_0, 0.094, 0.071},  {DType::q4_1, 0.086, 0.067},   {DType::q5_0, 0.047, 0.035},
    {DType::q5_1, 0.042, 0.033},  {DType::q8_0, 0.0059, 0.0042}, {DType::q2_k, 0.30, 0.25},
    {DType::q3_k, 0.163, 0.138},  {DType::q4_k, 0.081, 0.062},   {DType::q5_k, 0.041, 0.032},
    {DType::q6_k, 0.020, 0.0155}, {DType::iq4_nl, 0.087, 0.076}, {DType::iq4_xs, 0.087, 0.076},
    {DType::mxfp4, 0.126, 0.159},
};

class Quantize : public testing::TestWithParam<Ceiling> {};

TEST_P(Quantize, StaysUnderItsErrorCeiling) {
    std::mt19937 random(7);
    std::normal_distribution<float> normal(0.0f, 0.02f);
    std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
    std::vector<float> x(64 * 256), y(64 * 256);
    for (float& v : x) v = normal(random);
    for (float& v : y) v = uniform(random);
    const double on_normal = relative_error(x, round_trip(GetParam().type, x));
    const double on_uniform = relative_error(y, round_trip(GetParam().type, y));
    RecordProperty("normal", std::to_string(on_normal));
    RecordProperty("uniform", std::to_string(on_uniform));
    EXPECT_LE(on_normal, GetParam().normal);
    EXPECT_LE(on_uniform, GetParam().uniform);
}

TEST_P(Quantize, KeepsZeroAndSign) {
    const DType type = GetParam().type;
    for (const float v : round_trip(type, std::vector<float>(256, 0.0f))) EXPECT_EQ(v, 0.0f);
    std::vector<float> x(256);
    for (size_t i = 0; i < x.size(); ++i) x[i] = (i % 3 == 0 ? -1.0f : 1.0f);
    const std::vector<float> y = round_trip(type, x);
    for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(y[i], x[i], 0.4f) << i;
}

TEST_P(Quantize, TakesAnyBits) {
    const float inf = std::numeric_limits<float>::infinity();
    const float nan = std::numeric_limits<float>::quiet_NaN();
    std::vector<float> x(512, 1.0f);
    x[0] = nan;
    x[40] = inf;
    x[80] = -inf;
    x[120] = 3e38f;
    x[160] = 1e-42f;
    x[200] = -0.0f;
    for (size_t i = 256; i < 512; ++i) x[i] = nan;
    EXPECT_EQ(round_trip(GetParam().type, x).size(), x.size());
}

INSTANTIATE_TEST_SUITE_P(Types, Quantize, testing::ValuesIn(ceilings),
                         [](const auto& p) { return name(p.param.type); });

TEST(QuantizePlain, CodesOnTheGridComeBackExactly) {
    // multiples of 1/8 that use the full range of each symmetric type
    std::vector<float> x(256);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 16) * 0.125f - 1.0f;
    for (const DType type : {DType::q4_0, DType::q4_1, DType::q5_0})
        EXPECT_EQ(round_trip(type, x), x) << name(type);
    // e2m1 values themselves
    const float e2m1[] = {0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f};
    for (size_t i = 0; i < x.size(); ++i) x[i] = e2m1[i % 8] * (i % 16 < 8 ? 0.25f : -0.25f);
    EXPECT_EQ(round_trip(DType::mxfp4, x), x);
}

}  // namespace
}  // namespace ridge
