// Dequantization against what PyPI gguf makes of the same blocks (tests/data/dequant).
#include "format/dequantize.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "support/temp_dir.hpp"

namespace ridge {
namespace {

class Dequantize : public testing::TestWithParam<int> {};

TEST_P(Dequantize, EqualsTheReferenceBitForBit) {
    const auto type = static_cast<DType>(GetParam());
    const std::string base = std::string(RIDGE_TEST_DATA) + "/dequant/" + name(type);
    const std::string blocks = test::read_file(base + ".blocks");
    const std::string expected = test::read_file(base + ".f32");
    const size_t n = expected.size() / 4;
    ASSERT_GE(n, 256u) << base;
    ASSERT_EQ(blocks.size(), row_bytes(type, n));
    // one byte off any alignment, as tensors of odd block sizes are
    std::vector<uint8_t> shifted(blocks.size() + 1);
    std::memcpy(shifted.data() + 1, blocks.data(), blocks.size());
    std::vector<float> out(n);
    dequantize(type, shifted.data() + 1, n, out.data());
    size_t different = 0;
    for (size_t i = 0; i < n; ++i)
        if (std::memcmp(&out[i], expected.data() + 4 * i, 4) != 0) {
            if (different++ < 5) ADD_FAILURE() << name(type) << " weight " << i << ": " << out[i];
        }
    EXPECT_EQ(different, 0u);
}

TEST_P(Dequantize, WritesNothingBeyondTheEnd) {
    const auto type = static_cast<DType>(GetParam());
    const size_t n = 2 * info(type).block;
    const std::vector<uint8_t> blocks(row_bytes(type, n), 0x11);
    std::vector<float> out(n + 1, 123.0f);
    dequantize(type, blocks.data(), n, out.data());
    EXPECT_EQ(out[n], 123.0f);
    dequantize(type, blocks.data(), 0, out.data() + n);
    EXPECT_EQ(out[n], 123.0f);
}

INSTANTIATE_TEST_SUITE_P(Types, Dequantize, testing::Range(0, static_cast<int>(DType::count_)),
                         [](const auto& p) { return name(static_cast<DType>(p.param)); });

}  // namespace
}  // namespace ridge
