// Packing and its reference reading, on the blocks and values of tests/data/dequant.
#include "kernels/pack.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "format/dequantize.hpp"
#include "kernels/packed.hpp"
#include "kernels/unpack_column.hpp"
#include "support/temp_dir.hpp"

namespace ridge {
namespace {

// 32 rows of k weights cut from a type's fixture, each starting at another block.
struct Rows {
    std::vector<std::vector<uint8_t>> bytes;
    std::vector<const uint8_t*> pointers;
    std::vector<std::vector<float>> values;  // what PyPI gguf makes of them
};

Rows fixture_rows(DType type, size_t k) {
    const std::string base = std::string(RIDGE_TEST_DATA) + "/dequant/" + name(type);
    const std::string blocks = test::read_file(base + ".blocks");
    const std::string expected = test::read_file(base + ".f32");
    const DTypeInfo& format = info(type);
    const size_t available = blocks.size() / format.block_bytes;
    Rows rows;
    rows.bytes.resize(pair_columns);
    rows.values.resize(pair_columns);
    for (size_t c = 0; c < pair_columns; ++c) {
        rows.bytes[c].push_back(0);  // odd addresses
        rows.values[c].resize(k);
        for (size_t i = 0; i < k / format.block; ++i) {
            const size_t from = (c * 5 + i) % available;
            const auto* b =
                reinterpret_cast<const uint8_t*>(blocks.data()) + from * format.block_bytes;
            rows.bytes[c].insert(rows.bytes[c].end(), b, b + format.block_bytes);
            std::memcpy(rows.values[c].data() + i * format.block,
                        expected.data() + from * format.block * 4, format.block * 4);
        }
        rows.pointers.push_back(rows.bytes[c].data() + 1);
    }
    return rows;
}

class Pack : public testing::TestWithParam<int> {
  protected:
    DType type() const { return static_cast<DType>(GetParam()); }
    // 32-types at odd block counts, the others at one and at several super-blocks, plain odd k too
    std::vector<size_t> sizes() const {
        if (info(type()).block == 256) return {256, 512, 768};
        if (info(type()).block == 32) return {32, 96, 256, 576};
        return {1, 7, 32, 97, 100};
    }
};

TEST_P(Pack, UnpacksToWhatTheFileHolds) {
    for (const size_t k : sizes()) {
        const Rows rows = fixture_rows(type(), k);
        std::vector<uint8_t> pair(pair_bytes(type(), k), 0xa5);
        pack_pair(type(), rows.pointers.data(), 16, 16, k, pair.data());
        std::vector<float> out(k + 1, 7.0f);
        for (size_t c = 0; c < pair_columns; ++c) {
            unpack_column(type(), pair.data(), c, k, out.data());
            size_t different = 0;
            for (size_t i = 0; i < k; ++i)
                different += std::memcmp(&out[i], &rows.values[c][i], 4) != 0 ? 1 : 0;
            ASSERT_EQ(different, 0u) << name(type()) << " k " << k << " column " << c;
            ASSERT_EQ(out[k], 7.0f);
        }
    }
}

// Columns of each group: the last pair of a matrix, and a gate beside its up, both cut short.
constexpr size_t part_pairs[][2] = {{1, 0}, {5, 0}, {16, 0}, {16, 3}, {5, 5}, {0, 2}};

TEST_P(Pack, MissingColumnsAreZero) {
    for (const size_t k : sizes())
        for (const auto& n : part_pairs) {
            const Rows rows = fixture_rows(type(), k);
            std::vector<uint8_t> pair(pair_bytes(type(), k), 0xa5);
            pack_pair(type(), rows.pointers.data(), n[0], n[1], k, pair.data());
            std::vector<float> out(k);
            for (size_t c = 0; c < pair_columns; ++c) {
                unpack_column(type(), pair.data(), c, k, out.data());
                const size_t group = c / group_columns;
                const size_t row = group * n[0] + c % group_columns;
                const bool there = c % group_columns < n[group];
                for (size_t i = 0; i < k; ++i) {
                    if (there)
                        ASSERT_EQ(std::memcmp(&out[i], &rows.values[row][i], 4), 0)
                            << c << " " << i;
                    else
                        ASSERT_EQ(out[i], 0.0f) << name(type()) << " " << c << " " << i;
                }
            }
        }
}

TEST_P(Pack, WritesTheWholePairAndNothingElse) {
    for (const size_t k : sizes())
        for (const auto& n : {part_pairs[0], part_pairs[3], part_pairs[5]}) {
            const Rows rows = fixture_rows(type(), k);
            const size_t bytes = pair_bytes(type(), k);
            std::vector<uint8_t> a(bytes + 64, 0xa5), b(bytes + 64, 0x5a);
            pack_pair(type(), rows.pointers.data(), n[0], n[1], k, a.data());
            pack_pair(type(), rows.pointers.data(), n[0], n[1], k, b.data());
            ASSERT_EQ(std::memcmp(a.data(), b.data(), bytes), 0) << name(type()) << " k " << k;
            for (size_t i = bytes; i < bytes + 64; ++i) {
                ASSERT_EQ(a[i], 0xa5);
                ASSERT_EQ(b[i], 0x5a);
            }
        }
}

// Every bit of a block counts: flipping one changes the packed pair, so no scale or code is lost.
TEST_P(Pack, KeepsEveryBitOfTheBlock) {
    const size_t k = info(type()).block == 1 ? 3 : info(type()).block;
    Rows rows = fixture_rows(type(), k);
    std::vector<uint8_t> before(pair_bytes(type(), k)), after(before.size());
    pack_pair(type(), rows.pointers.data(), 16, 16, k, before.data());
    for (size_t bit = 0; bit < row_bytes(type(), k) * 8; ++bit) {
        uint8_t& byte = rows.bytes[bit % 2 == 0 ? 4 : 21][1 + bit / 8];
        byte = static_cast<uint8_t>(byte ^ (1u << bit % 8));
        pack_pair(type(), rows.pointers.data(), 16, 16, k, after.data());
        byte = static_cast<uint8_t>(byte ^ (1u << bit % 8));
        ASSERT_NE(before, after) << name(type()) << " bit " << bit;
    }
}

TEST_P(Pack, StaysWithinSixPercentOfTheFile) {
    for (const size_t k : {size_t{512}, size_t{768}, size_t{2048}}) {
        const double file = static_cast<double>(pair_columns * row_bytes(type(), k));
        EXPECT_LE(static_cast<double>(packed_bytes(type(), pair_columns, k)), 1.06 * file)
            << name(type());
    }
}

// What aligned loads and read-ahead rest on.
TEST_P(Pack, UnitsAreWholeCacheLines) {
    const PairLayout at = pair_layout(type());
    EXPECT_EQ(at.bytes % 64, 0u);
    EXPECT_EQ(at.scale_at % 64, 0u);
    EXPECT_EQ(at.codes_at % 64, 0u);
    EXPECT_EQ(pair_bytes(type(), 768) * 2, pair_bytes(type(), 1536));
}

INSTANTIATE_TEST_SUITE_P(Types, Pack, testing::Range(0, static_cast<int>(DType::count_)),
                         [](const auto& p) { return name(static_cast<DType>(p.param)); });

// The layout itself, spelled out for one block: quads of four k, low plane pairs quad i with i + 4.
TEST(PackLayout, UnitOfQ5_0) {
    std::vector<uint8_t> block(22);
    block[0] = 0x34;
    block[1] = 0x12;
    for (size_t j = 0; j < 16; ++j)  // weight j has code j, weight j + 16 has code 16 + j
        block[6 + j] = static_cast<uint8_t>(j | (j << 4));
    block[4] = block[5] = 0xff;
    std::vector<uint8_t> pair(pair_bytes(DType::q5_0, 32));
    ASSERT_EQ(pair.size(), 2u * (256 + 64 + 32));
    const uint8_t* rows[] = {block.data(), block.data()};
    pack_pair(DType::q5_0, rows, 1, 1, 32, pair.data());
    for (size_t g = 0; g < 2; ++g) {
        for (size_t i = 0; i < 4; ++i)
            for (size_t x = 0; x < 4; ++x) {
                const size_t q = 4 * i + x;
                EXPECT_EQ(pair[64 + 256 * g + 64 * i + x], q | (q << 4));
                EXPECT_EQ(pair[64 + 256 * g + 64 * i + 4 + x], 0);  // column 1 is missing
            }
        for (size_t x = 0; x < 4; ++x) EXPECT_EQ(pair[576 + 64 * g + x], 0xf0);  // quads 4..7
        EXPECT_EQ(pair[32 * g], 0x34);
        EXPECT_EQ(pair[32 * g + 1], 0x12);
    }
}

// A unit of a type with super-blocks: d and dmin, scales of eight blocks, then their codes.
TEST(PackLayout, UnitsByType) {
    const PairLayout q4_k = pair_layout(DType::q4_k);
    EXPECT_EQ(q4_k.super_of(3, 1), 64u);
    EXPECT_EQ(q4_k.scale_of(0, 0), 128u);
    EXPECT_EQ(q4_k.scale_of(7, 1), 128u + 15 * 32);
    EXPECT_EQ(q4_k.low_of(0, 0), 640u);
    EXPECT_EQ(q4_k.low_of(7, 1), 640u + 7 * 512 + 256);
    EXPECT_EQ(q4_k.super_of(8, 0), 4736u);
    const PairLayout q6_k = pair_layout(DType::q6_k);
    EXPECT_EQ(q6_k.low_of(1, 1), 64u + 8 * 64 + 768 + 256);
    EXPECT_EQ(q6_k.high_of(1, 1), 64u + 8 * 64 + 768 + 512 + 128);
    EXPECT_EQ(pair_layout(DType::q4_0).bytes, 576u);
    EXPECT_EQ(pair_layout(DType::q4_1).bytes, 640u);
    EXPECT_EQ(pair_layout(DType::q8_0).bytes, 1088u);
    EXPECT_EQ(pair_layout(DType::q6_k).bytes, 6720u);
    EXPECT_EQ(pair_layout(DType::mxfp4).bytes, 1088u);
    EXPECT_EQ(pair_bytes(DType::mxfp4, 96), 2u * 1088);
    EXPECT_EQ(pair_bytes(DType::bf16, 7), 4u * 128);
}

}  // namespace
}  // namespace ridge
