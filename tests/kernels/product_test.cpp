// Every product of every kernel set: against ref, against itself in other company, and against
// weights that PyPI gguf decoded (tests/data/dequant), multiplied in double precision.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/product_cases.hpp"
#include "kernels/registry.hpp"
#include "kernels/unpack_column.hpp"
#include "support/temp_dir.hpp"

namespace ridge {
namespace {

using test::Activations;
using test::Codes;
using test::run_product;
using test::Scales;
using test::Values;
using test::Weights;

struct Case {
    const KernelSet* set;
    const ProductKernel* kernel;
};

std::vector<Case> all_cases() {
    std::vector<Case> cases;
    for (const KernelSet& set : kernel_sets())
        for (const ProductKernel& kernel : set.products) cases.push_back({&set, &kernel});
    return cases;
}

ProductFn ref_product(const ProductKernel& kernel) {
    for (const ProductKernel& p : kernel_sets().back().products)
        if (p.weight == kernel.weight && p.act == kernel.act) return p.run;
    return nullptr;
}

Weights random_weights(std::mt19937& rng, DType type, size_t columns, size_t k,
                       Codes codes = Codes::random, Scales scales = Scales::usual) {
    std::vector<std::vector<uint8_t>> rows;
    for (size_t c = 0; c < columns; ++c)
        rows.push_back(test::random_row(rng, type, k, codes, scales));
    return Weights(type, k, rows);
}

class Product : public testing::TestWithParam<Case> {
  protected:
    void SetUp() override {
        if (!GetParam().set->supported())
            GTEST_SKIP() << "this processor has no " << GetParam().set->needs;
    }
    const ProductKernel& kernel() const { return *GetParam().kernel; }
    bool quantized_act() const { return kernel().act == ActFormat::q8; }

    // Odd block counts, one block, one and several super-blocks; for plain types any k.
    std::vector<size_t> sizes() const {
        if (info(kernel().weight).block == 256) return {256, 512, 768};
        if (info(kernel().weight).block == 32) return {32, 96, 256, 576};
        return {1, 2, 7, 32, 97, 256};
    }

    // For q8 activations the formula fixes every bit. For others: k roundings of partial sums, each
    // at most 2^-24 of the sum of magnitudes; twice that, since two orders are compared.
    void expect_close(Weights& w, Activations& a, const std::vector<float>& got,
                      const std::vector<float>& ref, size_t groups) const {
        ASSERT_EQ(got.size(), ref.size()) << kernel().name << " wrote outside its output";
        const size_t columns = 16 * groups;
        size_t wrong = 0;
        std::vector<float> weights(w.k);
        for (size_t c = 0; c < columns && wrong < 3; ++c) {
            if (!quantized_act())
                unpack_column(w.type, w.pair_of(c), c % pair_columns, w.k, weights.data());
            for (size_t at = c; at < got.size(); at += columns) {
                double bound = 0;
                if (!quantized_act()) {
                    for (size_t i = 0; i < w.k; ++i)
                        bound +=
                            std::abs(static_cast<double>(weights[i]) * a.value(at / columns, i));
                    bound *= std::ldexp(static_cast<double>(w.k) + 2, -23);
                }
                const bool same = std::memcmp(&got[at], &ref[at], 4) == 0;
                const double gap = std::abs(static_cast<double>(got[at]) - ref[at]);
                if (!same && (quantized_act() || !(gap <= bound)) && wrong++ < 3)
                    ADD_FAILURE() << kernel().name << " k " << w.k << " rows "
                                  << got.size() / columns << " row " << at / columns << " column "
                                  << c << ": " << got[at] << ", ref " << ref[at];
            }
        }
    }
};

TEST_P(Product, EqualsRefForAnyRowsAndGroups) {
    std::mt19937 rng(1);
    constexpr size_t max_rows = 17, max_groups = 5;
    for (const size_t k : sizes()) {
        Weights w = random_weights(rng, kernel().weight, 16 * max_groups - 3, k);
        Activations a(rng, kernel().act, max_rows, k);
        const auto all = run_product(ref_product(kernel()), w, a, 0, max_rows, max_groups);
        ASSERT_FALSE(all.empty());
        std::vector<float> company;  // the kernel's own bits, all rows and groups together
        for (size_t groups = max_groups; groups >= 1; --groups)
            for (size_t rows = max_rows; rows >= 1; --rows) {
                const auto got = run_product(kernel().run, w, a, 0, rows, groups);
                std::vector<float> ref;
                for (size_t r = 0; r < rows; ++r)
                    ref.insert(ref.end(), all.begin() + static_cast<long>(r * 16 * max_groups),
                               all.begin() + static_cast<long>(r * 16 * max_groups + 16 * groups));
                if (company.empty()) {
                    expect_close(w, a, got, ref, groups);
                    company = got;
                    if (HasFailure()) return;
                }
                ASSERT_EQ(got.size(), ref.size()) << kernel().name;
                for (size_t at = 0; at < got.size(); ++at) {
                    const float together =
                        company[at / (16 * groups) * 16 * max_groups + at % (16 * groups)];
                    ASSERT_EQ(std::memcmp(&got[at], &together, 4), 0)
                        << kernel().name << " k " << k << " rows " << rows << " groups " << groups
                        << " at " << at << ": " << got[at] << ", in company " << together;
                }
            }
    }
}

// Where many rows unpack all of k at once (63 do not yet, 64 do), rows have the bits of few rows,
// with and without read-ahead; K-quants get three super-blocks.
TEST_P(Product, ManyRowsHaveTheBitsOfFew) {
    std::mt19937 rng(9);
    const size_t k = 768;
    Weights w = random_weights(rng, kernel().weight, 45, k);
    Activations a(rng, kernel().act, 70, k);
    std::vector<float> few;
    for (size_t r = 0; r < 70; r += 5) {
        const auto part = run_product(kernel().run, w, a, r, 5, 3);
        few.insert(few.end(), part.begin(), part.end());
    }
    for (const size_t rows : {size_t{63}, size_t{64}, size_t{70}})
        for (const size_t ahead : {size_t{0}, size_t{6144}}) {
            const auto got = run_product(kernel().run, w, a, 0, rows, 3, ahead);
            ASSERT_EQ(got.size(), rows * 48);
            ASSERT_EQ(std::memcmp(got.data(), few.data(), got.size() * 4), 0)
                << kernel().name << " rows " << rows << " read-ahead " << ahead;
        }
}

// A row alone, wherever it stands in the batch, and read with prefetching, has the same bits.
TEST_P(Product, ARowAloneHasTheBitsItHasInABatch) {
    std::mt19937 rng(2);
    const size_t k = sizes().back();
    Weights w = random_weights(rng, kernel().weight, 48, k);
    Activations a(rng, kernel().act, 13, k);
    const auto all = run_product(kernel().run, w, a, 0, 13, 3);
    ASSERT_FALSE(all.empty());
    for (size_t r = 0; r < 13; ++r) {
        const auto one = run_product(kernel().run, w, a, r, 1, 3, 1024);
        ASSERT_EQ(one.size(), 48u);
        EXPECT_EQ(std::memcmp(one.data(), all.data() + 48 * r, 48 * 4), 0)
            << kernel().name << " row " << r;
    }
}

// Where integers are largest: nothing saturates, no sign is lost at -128.
TEST_P(Product, ExtremeCodesAndActivations) {
    std::mt19937 rng(3);
    const size_t k = sizes().back();
    for (const Codes codes : {Codes::lowest, Codes::highest, Codes::random})
        for (const Values values :
             {Values::all_127, Values::all_minus_127, Values::alternating, Values::random}) {
            Weights w = random_weights(rng, kernel().weight, 32, k, codes);
            Activations a(rng, kernel().act, 7, k, values);
            const auto ref = run_product(ref_product(kernel()), w, a, 0, 7, 2);
            expect_close(w, a, run_product(kernel().run, w, a, 0, 7, 2), ref, 2);
            expect_close(w, a, run_product(kernel().run, w, a, 0, 1, 2),
                         {ref.begin(), ref.begin() + 32}, 2);
        }
}

TEST_P(Product, ExtremeScales) {
    std::mt19937 rng(4);
    const size_t k = sizes().back();
    for (const Scales scales : {Scales::largest, Scales::smallest})
        for (const float magnitude : {1e-3f, 1e3f}) {
            if (kernel().act == ActFormat::bf16 && scales == Scales::smallest)
                continue;  // bf16 products may treat subnormals as zero
            Weights w = random_weights(rng, kernel().weight, 32, k, Codes::random, scales);
            // MXFP4's largest scale here is 2^103; sums stay finite at a magnitude below 1e3
            const float m = kernel().weight == DType::mxfp4 ? magnitude * 1e-3f : magnitude;
            Activations a(rng, kernel().act, 6, k, Values::random, m);
            const auto ref = run_product(ref_product(kernel()), w, a, 0, 6, 2);
            for (const float x : ref) ASSERT_TRUE(std::isfinite(x)) << kernel().name;
            expect_close(w, a, run_product(kernel().run, w, a, 0, 6, 2), ref, 2);
        }
}

// The oracle that is not ridge's: decoded weights from PyPI gguf, doubles.
TEST_P(Product, EqualsDecodedWeightsInDoublePrecision) {
    const DType type = kernel().weight;
    const DTypeInfo& format = info(type);
    const std::string base = std::string(RIDGE_TEST_DATA) + "/dequant/" + name(type);
    const std::string blocks = test::read_file(base + ".blocks");
    const std::string values = test::read_file(base + ".f32");
    ASSERT_FALSE(blocks.empty());
    const size_t available = blocks.size() / format.block_bytes;
    std::vector<size_t> finite;  // blocks without infinities, and with room for the sums
    for (size_t b = 0; b < available; ++b) {
        bool usable = true;
        for (size_t i = 0; i < format.block; ++i) {
            float x;
            std::memcpy(&x, values.data() + (b * format.block + i) * 4, 4);
            const bool subnormal = x != 0 && std::abs(x) < 1.2e-38f;
            usable =
                usable && std::abs(x) < 1e37f && !(subnormal && kernel().act == ActFormat::bf16);
        }
        if (usable) finite.push_back(b);
    }
    ASSERT_GE(finite.size(), 4u);
    constexpr size_t columns = 45, rows = 7;
    const size_t k = 512;
    std::vector<std::vector<uint8_t>> file(columns);
    std::vector<std::vector<float>> decoded(columns, std::vector<float>(k));
    for (size_t c = 0; c < columns; ++c)
        for (size_t i = 0; i < k / format.block; ++i) {
            const size_t from = finite[(c * 11 + i) % finite.size()];
            const auto* b =
                reinterpret_cast<const uint8_t*>(blocks.data()) + from * format.block_bytes;
            file[c].insert(file[c].end(), b, b + format.block_bytes);
            std::memcpy(decoded[c].data() + i * format.block,
                        values.data() + from * format.block * 4, format.block * 4);
        }
    Weights w(type, k, file);
    std::mt19937 rng(5);
    Activations a(rng, kernel().act, rows, k, Values::random, 1e-5f);
    const size_t groups = w.groups;
    for (const size_t n : {size_t{1}, size_t{3}, rows}) {
        const auto got = run_product(kernel().run, w, a, 0, n, groups);
        ASSERT_EQ(got.size(), n * 16 * groups) << kernel().name << " wrote outside its output";
        for (size_t c = 0; c < 16 * groups; ++c) {
            // magnitudes of the terms a weight is made of, which may cancel
            std::vector<double> terms(k, 0.0);
            std::vector<double> rounded(k / 16, 0.0);  // minima that the product takes in bf16
            for (size_t i = 0; c < columns && i < k; ++i) {
                terms[i] = std::abs(static_cast<double>(decoded[c][i]));
                if (!packed_spec(type).has_min) continue;
                ColumnBlock b;
                column_block(type, w.pair_of(c), c % pair_columns, i / 32, &b);
                terms[i] += 2 * std::abs(static_cast<double>(b.min[i / 16 % 2]));
                if (packed_spec(type).wide16 && quantized_act())
                    rounded[i / 16] = std::abs(static_cast<double>(b.min[i / 16 % 2]));
            }
            for (size_t r = 0; r < n; ++r) {
                double exact = 0, magnitude = 0;
                for (size_t i = 0; c < columns && i < k; ++i) {
                    exact += static_cast<double>(decoded[c][i]) * a.value(r, i);
                    magnitude += terms[i] * std::abs(a.value(r, i));
                }
                // q8: two roundings a scale block and three in its scales; else k roundings
                const double steps = quantized_act() ? 2.0 * k / 16 + 8 : 1.0 * k + 2;
                double bound = magnitude * std::ldexp(steps, -24) + 1e-44;
                // both factors of a minimum's term are rounded to eight bits
                for (size_t h = 0; h < k / 16; ++h) {
                    double sum = 0;
                    for (size_t i = 16 * h; i < 16 * h + 16; ++i) sum += a.value(r, i);
                    bound += rounded[h] * std::abs(sum) * std::ldexp(1.01, -8);
                }
                ASSERT_LE(std::abs(got[r * 16 * groups + c] - exact), bound)
                    << kernel().name << " row " << r << " of " << n << " column " << c << ": "
                    << got[r * 16 * groups + c] << ", exact " << exact;
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Product, testing::ValuesIn(all_cases()),
                         [](const auto& p) { return std::string(p.param.kernel->name); });

// Kernels are generated from lists: every set names the same products in the same formats.
TEST(ProductLists, EverySetHasEveryProduct) {
    for (const KernelSet& set : kernel_sets()) {
        for (int t = 0; t < static_cast<int>(DType::count_); ++t) {
            const auto type = static_cast<DType>(t);
            const KernelChoice choice{&set};
            EXPECT_NE(choice.product(type, preferred_act(type)), nullptr) << set.name << name(type);
            EXPECT_NE(choice.product(type, ActFormat::f32), nullptr) << set.name << name(type);
        }
        EXPECT_EQ(set.products.size(), kernel_sets().back().products.size()) << set.name;
    }
}

}  // namespace
}  // namespace ridge
