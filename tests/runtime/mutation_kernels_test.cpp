// The mutation list, kernels: one flipped bit in packed weights, code books, cache pages or masks
// changes what the tests of packing, products, dequantization and attention compare bit for bit.
//
// Bits that cannot show are left out, and said here: the sign of MXFP4's zero (codes 0 and 8 are
// both 0), padding, and in plain types (f32, f16, bf16) the mantissa bits that a product's f32 sum
// rounds away; those show in the bit-for-bit comparison of packing.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "base/half.hpp"
#include "base/quant_blocks.hpp"
#include "format/quantize.hpp"
#include "kernels/kernel_inputs.hpp"
#include "kernels/product_cases.hpp"
#include "kernels/unpack_column.hpp"
#include "support/temp_dir.hpp"

namespace ridge {
namespace {

using test::Weights;

constexpr size_t k = 256;  // one super-block; eight blocks of 32

Weights random_weights(DType type) {
    // Rounded from normal values: no block's scale is 0, under which codes would mean nothing.
    std::vector<std::vector<uint8_t>> rows;
    for (uint32_t c = 0; c < 16; ++c) {
        rows.emplace_back(row_bytes(type, k));
        quantize_plain(type, test::normal_floats(k, c + 1).data(), k, rows.back().data());
    }
    return Weights(type, k, rows);
}

struct Plane {
    const char* name;
    std::vector<size_t> at;  // its bytes' offsets in the pair
};

// What a pair holds of its first group.
std::vector<Plane> planes_of(DType type) {
    const PairLayout layout = pair_layout(type);
    std::vector<Plane> planes;
    const auto add = [&](const char* name, size_t parts, size_t bytes, const auto& first) {
        if (bytes == 0) return;
        planes.push_back({name, {}});
        for (size_t part = 0; part < parts; ++part)
            for (size_t i = 0; i < bytes; ++i) planes.back().at.push_back(first(part) + i);
    };
    const size_t blocks = is_quantized(type) ? k / 32 : pair_units(type, k);
    add("low", blocks, layout.low, [&](size_t b) { return layout.low_of(b, 0); });
    add("high", blocks, layout.high, [&](size_t b) { return layout.high_of(b, 0); });
    add("scale", blocks, layout.scale, [&](size_t b) { return layout.scale_of(b, 0); });
    add("super", 1, layout.super, [&](size_t b) { return layout.super_of(b, 0); });
    return planes;
}

class FlippedBit : public testing::TestWithParam<int> {
  protected:
    DType type() const { return static_cast<DType>(GetParam()); }
};

std::vector<uint32_t> unpacked(const Weights& w, uint8_t* pair) {
    std::vector<uint32_t> bits(16 * k);
    std::vector<float> column(k);
    for (size_t c = 0; c < 16; ++c) {
        unpack_column(w.type, pair, c, k, column.data());
        std::memcpy(&bits[c * k], column.data(), k * 4);
    }
    return bits;
}

// tests/kernels/pack_test.cpp compares unpack_column with dequantize() of the file's rows.
TEST_P(FlippedBit, ChangesWhatPackingIsComparedBy) {
    Weights w = random_weights(type());
    uint8_t* pair = w.packed.data();
    const std::vector<uint32_t> want = unpacked(w, pair);
    for (const Plane& p : planes_of(type())) {
        const bool codes = std::string_view(p.name) == "low";
        size_t silent = 0, tried = 0;
        for (size_t bit = 0; bit < 8 * p.at.size(); bit += codes ? 37 : 3, ++tried) {
            uint8_t& byte = pair[p.at[bit / 8]];
            const auto mask = static_cast<uint8_t>(1u << bit % 8);
            // The sign of a zero: MXFP4 codes 0 and 8.
            const uint8_t nibble = bit % 8 < 4 ? byte & 15 : byte >> 4;
            if (type() == DType::mxfp4 && codes && bit % 4 == 3 && nibble % 8 == 0) continue;
            byte ^= mask;
            silent += unpacked(w, pair) == want;
            byte ^= mask;
        }
        EXPECT_EQ(silent, 0u) << name(type()) << ", plane " << p.name << ", of " << tried;
        EXPECT_GT(tried, 5u);
    }
    EXPECT_EQ(unpacked(w, pair), want);
}

// tests/kernels/product_test.cpp compares products with ref: q8 activations bit for bit.
TEST_P(FlippedBit, ChangesEveryProduct) {
    Weights w = random_weights(type());
    for (const KernelSet* set : test::supported_sets())
        for (const ProductKernel& kernel : set->products) {
            if (kernel.weight != type()) continue;
            std::mt19937 rng(7);
            test::Activations a(rng, kernel.act, 4, k);
            for (const size_t rows : {size_t{1}, size_t{4}}) {  // both loops over the packed bytes
                const auto run = [&] { return test::run_product(kernel.run, w, a, 0, rows, 1); };
                const std::vector<float> want = run();
                ASSERT_EQ(want.size(), 16 * rows);
                size_t silent = 0;  // one row may hold a zero activation where the bit is
                for (const Plane& p : planes_of(type()))
                    for (int i = 0; i < 40; ++i) {
                        size_t bit = rng() % (8 * p.at.size());
                        // Plain types: sign, exponent or a leading mantissa bit.
                        const size_t width =
                            is_quantized(type()) ? 8 : 8 * info(type()).block_bytes;
                        if (!is_quantized(type()))
                            bit = bit / width * width + width - 1 - rng() % 8;
                        uint8_t& byte = w.packed.data()[p.at[bit / 8]];
                        const uint8_t nibble = bit % 8 < 4 ? byte & 15 : byte >> 4;
                        if (type() == DType::mxfp4 && p.name == std::string_view("low") &&
                            nibble % 8 == 0)
                            continue;
                        const auto mask = static_cast<uint8_t>(1u << bit % 8);
                        byte ^= mask;
                        const std::vector<float> got = run();
                        byte ^= mask;
                        ASSERT_EQ(got.size(), want.size());
                        if (std::memcmp(got.data(), want.data(), 4 * got.size()) != 0) continue;
                        EXPECT_EQ(rows, 1u)
                            << kernel.name << ", plane " << p.name << ", bit " << bit;
                        ++silent;
                    }
                EXPECT_LE(silent, 3u) << kernel.name;
                EXPECT_EQ(run(), want);
            }
        }
}

INSTANTIATE_TEST_SUITE_P(Types, FlippedBit, testing::Range(0, static_cast<int>(DType::count_)),
                         [](const auto& p) { return name(static_cast<DType>(p.param)); });

// The code books are constants; what guards them is tests/data/dequant, which PyPI gguf decoded:
// decoded with a book that differs in one bit of one entry it no longer matches.
struct Book {
    const char* type;
    size_t header, block;
    const int8_t* values;
    float (*scale)(const uint8_t* block);
};

TEST(FlippedBitInACodeBook, ContradictsTheFixtures) {
    const Book books[] = {
        {"IQ4_NL", 2, 18, iq4_values,
         [](const uint8_t* b) {
             uint16_t h;
             std::memcpy(&h, b, 2);
             return f32_from_f16(h);
         }},
        {"MXFP4", 1, 17, mxfp4_values, [](const uint8_t* b) { return mxfp4_scale(b[0]); }}};
    for (const Book& book : books) {
        const std::string base = std::string(RIDGE_TEST_DATA "/dequant/") + book.type;
        const std::string blocks = test::read_file(base + ".blocks");
        const std::string expected = test::read_file(base + ".f32");
        const auto matches = [&](const int8_t* values) {
            for (size_t b = 0; b < blocks.size() / book.block; ++b) {
                const auto* data = reinterpret_cast<const uint8_t*>(blocks.data()) + b * book.block;
                for (size_t i = 0; i < 32; ++i) {
                    const uint8_t byte = data[book.header + i % 16];
                    const int8_t value = values[i < 16 ? byte & 15 : byte >> 4];
                    const float w = book.scale(data) * static_cast<float>(value);
                    if (std::memcmp(&w, expected.data() + 4 * (32 * b + i), 4) != 0) return false;
                }
            }
            return true;
        };
        ASSERT_FALSE(blocks.empty()) << base;
        EXPECT_TRUE(matches(book.values)) << book.type;
        for (size_t entry = 0; entry < 16; ++entry)
            for (int bit = 0; bit < 8; ++bit) {
                int8_t mutated[16];
                std::memcpy(mutated, book.values, 16);
                mutated[entry] = static_cast<int8_t>(mutated[entry] ^ (1 << bit));
                EXPECT_FALSE(matches(mutated)) << book.type << " entry " << entry << " bit " << bit;
            }
    }
}

// One span of attention with a visible range [lo, hi).
class FlippedBitInAttention : public testing::TestWithParam<int> {
  protected:
    static constexpr uint32_t dim = 64;
    static constexpr uint16_t lo = 37, hi = 201;
    const std::vector<float> q_ = test::normal_floats(dim, 3, 0.2f);

    std::vector<float> span(const AttendKernels& kernels, KvType type, const uint8_t* page,
                            uint16_t from, uint16_t to) {
        std::vector<float> out(2 + dim);
        test::Bytes scratch(attend_scratch_bytes(dim));
        AttendArgs a{};
        a.page = page;
        a.type = type;
        a.head_dim = dim;
        std::vector<uint16_t> rounded;
        for (const float q : q_) rounded.push_back(bf16_from_f32(q));
        a.q = kv_paired(type) ? static_cast<const void*>(rounded.data()) : q_.data();
        a.n_q = 1;
        a.lo = &from;
        a.hi = &to;
        a.m = &out[0];
        a.l = &out[1];
        a.o = &out[2];
        a.o_stride = dim;
        a.scratch = scratch.data();
        kernels.span(a);
        return out;
    }
};

TEST_P(FlippedBitInAttention, ChangesTheOutput) {
    const auto type = static_cast<KvType>(GetParam());
    for (const KernelSet* set : test::supported_sets()) {
        const AttendKernels& kernels = *set->attend;
        test::Bytes memory(kv_page_bytes(type, dim));
        uint8_t* page = memory.data();
        std::memset(page, 0, kv_page_bytes(type, dim));
        const std::vector<float> keys = test::normal_floats(kv_span * dim, 1);
        const std::vector<float> values = test::normal_floats(kv_span * dim, 2);
        for (uint32_t slot = 0; slot < kv_span; ++slot)
            kernels.write(page, type, dim, slot, &keys[slot * dim], &values[slot * dim]);
        const std::vector<float> want = span(kernels, type, page, lo, hi);
        const auto differs = [&](uint16_t from, uint16_t to) {
            const std::vector<float> got = span(kernels, type, page, from, to);
            return std::memcmp(got.data(), want.data(), 4 * got.size()) != 0;
        };
        EXPECT_FALSE(differs(lo, hi));
        // The mask: one key more or less at either end, or one bit of a border.
        for (const int d : {-1, 1}) {
            EXPECT_TRUE(differs(static_cast<uint16_t>(lo + d), hi)) << set->name;
            EXPECT_TRUE(differs(lo, static_cast<uint16_t>(hi + d))) << set->name;
        }
        for (int bit = 0; bit < 7; ++bit) {
            EXPECT_TRUE(differs(static_cast<uint16_t>(lo ^ (1 << bit)), hi)) << set->name;
            EXPECT_TRUE(differs(lo, static_cast<uint16_t>(hi ^ (1 << bit)))) << set->name;
        }
        // The page: sign, exponent and leading mantissa bits of visible keys and values (all bits
        // of int8 but the low two, which a bf16 weight near 0 may round away), and no other's.
        const size_t bytes = kv_element_bytes(type);
        const size_t width = 8 * bytes;
        std::mt19937 rng(5);
        for (int i = 0; i < 400; ++i) {
            const auto slot = static_cast<uint32_t>(rng() % kv_span);
            const auto d = static_cast<uint32_t>(rng() % dim);
            const bool value = i % 2 != 0;
            // A product of almost 0 changes no weight that is rounded to bf16.
            if (std::abs((value ? values : keys)[slot * dim + d]) < 0.3f || std::abs(q_[d]) < 0.1f)
                continue;
            const bool paired = kv_paired(type);
            const size_t element =
                value ? kv_span * kv_k_rows(type, dim) +
                            (paired ? (slot / 2 * dim + d) * 2 + slot % 2 : slot * dim + d)
                      : (paired ? ((slot / 16 * (dim / 2) + d / 2) * 16 + slot % 16) * 2 + d % 2
                                : (slot / 16 * dim + d) * 16 + slot % 16);
            const size_t bit = width - 1 - rng() % 6;
            // Masked values are multiplied by 0, so they must be finite, as pages keep them.
            if (type != KvType::int8 && bit == width - 2) continue;
            uint8_t& byte = page[element * bytes + bit / 8];
            const auto mask = static_cast<uint8_t>(1u << bit % 8);
            byte ^= mask;
            EXPECT_EQ(differs(lo, hi), slot >= lo && slot < hi)
                << set->name << ", " << (value ? "value" : "key") << " of slot " << slot
                << ", dimension " << d << ", bit " << bit;
            byte ^= mask;
        }
        if (type != KvType::int8) continue;
        for (const uint32_t slot : {37u, 100u, 200u})
            for (const size_t plane : {size_t{0}, size_t{1}})
                for (const size_t bit : {20u, 22u, 25u, 31u}) {
                    uint8_t& byte =
                        page[kv_scale_offset(type, dim) + plane * kv_span * 4 + slot * 4 + bit / 8];
                    const auto mask = static_cast<uint8_t>(1u << bit % 8);
                    byte ^= mask;
                    EXPECT_TRUE(differs(lo, hi)) << set->name << ", scale of slot " << slot;
                    byte ^= mask;
                }
    }
}

constexpr const char* cache_names[] = {"bf16", "f16", "f32", "int8"};
INSTANTIATE_TEST_SUITE_P(Cache, FlippedBitInAttention, testing::Range(0, 4),
                         [](const auto& p) { return cache_names[p.param]; });

}  // namespace
}  // namespace ridge
