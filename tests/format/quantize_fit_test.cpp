// Searching quantizers: their error beside llama.cpp's on the same weights (measured by
// tools/golden/quantize_reference.cpp), and hostile input.
#include "format/quantize_fit.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

#include "format/dequantize.hpp"
#include "format/gguf_types.hpp"
#include "format/quantize.hpp"
#include "format/quantize_inputs.hpp"
#include "support/temp_dir.hpp"

namespace ridge {
namespace {

constexpr DType types[] = {DType::q4_0, DType::q4_1, DType::q5_0, DType::q5_1,  DType::q8_0,
                           DType::q4_k, DType::q5_k, DType::q6_k, DType::iq4_nl};

std::vector<uint8_t> encode(DType type, const std::vector<float>& x, size_t columns,
                            const float* importance) {
    const size_t row = row_bytes(type, columns);
    std::vector<uint8_t> blocks(row * (x.size() / columns) + 1, 0xcd);
    for (size_t r = 0; r < x.size() / columns; ++r)
        quantize_fit(type, &x[r * columns], columns, importance, &blocks[r * row]);
    EXPECT_EQ(blocks.back(), 0xcd) << "wrote beyond the end";
    return blocks;
}

std::vector<float> round_trip(DType type, const std::vector<float>& x, size_t columns,
                              const float* importance) {
    std::vector<float> y(x.size());
    dequantize(type, encode(type, x, columns, importance).data(), x.size(), y.data());
    return y;
}

class QuantizeFit : public testing::TestWithParam<DType> {};

TEST_P(QuantizeFit, ErrorIsAtMostThatOfTheReference) {
    const auto reference = nlohmann::json::parse(
        test::read_file(std::string(RIDGE_TEST_DATA) + "/quantize/reference.json"));
    const std::vector<float> importance = test::quant_importance();
    size_t compared = 0;
    for (size_t kind = 0; kind < std::size(test::quant_inputs); ++kind) {
        const std::vector<float> x = test::quant_input(kind);
        for (const auto& r : reference) {
            if (r.at("type") != name(GetParam()) || r.at("input") != test::quant_inputs[kind])
                continue;
            const float* w = r.at("importance").get<bool>() ? importance.data() : nullptr;
            const double error = std::sqrt(
                test::quant_error_squared(x, round_trip(GetParam(), x, test::quant_columns, w), w));
            EXPECT_LE(error, 1.02 * r.at("error").get<double>()) << r.dump();
            ++compared;
        }
    }
    EXPECT_EQ(compared, 2 * std::size(test::quant_inputs));
}

TEST_P(QuantizeFit, ImportanceMovesErrorToWhereItMattersLess) {
    const std::vector<float> x = test::quant_input(0), w = test::quant_importance();
    const auto plain = round_trip(GetParam(), x, test::quant_columns, nullptr);
    const auto weighted = round_trip(GetParam(), x, test::quant_columns, w.data());
    EXPECT_LT(test::quant_error_squared(x, weighted, w.data()),
              test::quant_error_squared(x, plain, w.data()));
    EXPECT_GT(test::quant_error_squared(x, weighted, nullptr),
              test::quant_error_squared(x, plain, nullptr));
}

TEST_P(QuantizeFit, TheUnitOfImportanceAndAllZerosDoNotMatter) {
    std::vector<float> x = test::quant_input(0), w = test::quant_importance();
    x.resize(test::quant_columns);
    const auto before = encode(GetParam(), x, x.size(), w.data());
    for (float& v : w) v *= 0x1p-60f;
    EXPECT_EQ(encode(GetParam(), x, x.size(), w.data()), before);
    const std::vector<float> zero(x.size(), 0.0f);
    EXPECT_EQ(encode(GetParam(), x, x.size(), zero.data()),
              encode(GetParam(), x, x.size(), nullptr));
}

TEST_P(QuantizeFit, NeverMuchWorseThanPlainRoundingOnAnyBlock) {
    const size_t block = info(GetParam()).block;
    for (size_t kind = 0; kind < std::size(test::quant_inputs); ++kind) {
        const std::vector<float> x = test::quant_input(kind);
        for (size_t i = 0; i < x.size(); i += block * 7) {
            const std::vector<float> one(&x[i], &x[i] + block);
            std::vector<uint8_t> blocks(row_bytes(GetParam(), block));
            std::vector<float> plain(block);
            quantize_plain(GetParam(), one.data(), block, blocks.data());
            dequantize(GetParam(), blocks.data(), block, plain.data());
            const double ours = test::quant_error_squared(
                one, round_trip(GetParam(), one, block, nullptr), nullptr);
            if (one == std::vector<float>(block, 0.0f)) continue;
            EXPECT_LE(ours, 1.02 * test::quant_error_squared(one, plain, nullptr) + 1e-12)
                << test::quant_inputs[kind] << " at " << i;
        }
    }
}

TEST_P(QuantizeFit, ZerosAndConstantsComeBack) {
    for (const float v : round_trip(GetParam(), std::vector<float>(256, 0.0f), 256, nullptr))
        EXPECT_EQ(v, 0.0f);
    for (const float c : {0.5f, -0.5f})
        for (const float v : round_trip(GetParam(), std::vector<float>(256, c), 256, nullptr))
            EXPECT_NEAR(v, c, 1e-3f);
}

TEST_P(QuantizeFit, TakesAnyBits) {
    const float inf = std::numeric_limits<float>::infinity();
    const float nan = std::numeric_limits<float>::quiet_NaN();
    std::vector<float> x(1024, 1.0f), w(1024, 1.0f);
    x[0] = nan;
    x[40] = inf;
    x[80] = -inf;
    x[120] = 3e38f;
    x[160] = 1e-42f;
    x[200] = -0.0f;
    for (size_t i = 256; i < 512; ++i) x[i] = nan;
    for (size_t i = 512; i < 768; ++i) x[i] = i % 2 == 0 ? 3e38f : -3e38f;
    for (size_t i = 768; i < 1024; ++i) x[i] = 1e-40f;
    w[10] = nan;
    w[300] = inf;
    w[600] = -1.0f;
    for (const float* importance :
         {static_cast<const float*>(nullptr), static_cast<const float*>(w.data())}) {
        const auto blocks = encode(GetParam(), x, x.size(), importance);
        EXPECT_EQ(blocks, encode(GetParam(), x, x.size(), importance));
        std::vector<float> y(x.size());
        dequantize(GetParam(), blocks.data(), y.size(), y.data());
        for (const float v : y) EXPECT_TRUE(std::isfinite(v));
    }
}

INSTANTIATE_TEST_SUITE_P(Types, QuantizeFit, testing::ValuesIn(types),
                         [](const auto& p) { return name(p.param); });

TEST(QuantizeFitOthers, TypesWithoutASearchAreRoundedPlainly) {
    const std::vector<float> x = test::quant_input(0);
    for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::q2_k, DType::mxfp4}) {
        std::vector<uint8_t> plain(row_bytes(type, x.size())), fit(plain.size());
        quantize_plain(type, x.data(), x.size(), plain.data());
        quantize_fit(type, x.data(), x.size(), nullptr, fit.data());
        EXPECT_EQ(plain, fit) << name(type);
    }
}

}  // namespace
}  // namespace ridge
