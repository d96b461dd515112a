// Row kernels of every set against double precision, against each other where bits must agree, at
// every tail, at the end of mapped memory, and at the magnitudes the numerics allow.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "base/half.hpp"
#include "kernels/kernel_inputs.hpp"

namespace ridge {
namespace {

using test::Guarded;
using test::normal_floats;

std::vector<size_t> lengths() {
    std::vector<size_t> all;
    for (size_t n = 1; n <= 70; ++n) all.push_back(n);
    all.push_back(576);
    all.push_back(1024);
    return all;
}

// Runs `body(kernels, n)` for every set and length, named in failures.
template <class Body>
void for_every(Body body) {
    for (const KernelSet* set : test::supported_sets())
        for (size_t n : lengths()) {
            SCOPED_TRACE(std::string(set->name) + ", n = " + std::to_string(n));
            body(*set->row, n);
            if (testing::Test::HasFailure()) return;
        }
}

void expect_close(double expected, float actual, double relative, double absolute) {
    EXPECT_NEAR(expected, static_cast<double>(actual), std::abs(expected) * relative + absolute);
}

// Values where activation functions turn, saturate or used to overflow, between random ones.
std::vector<float> gates(size_t n, uint32_t seed) {
    const float special[] = {0.0f,   -0.0f,   1e-8f, -1e-8f, 87.0f, -87.0f, 88.5f, -88.5f,
                             104.0f, -104.0f, 1e5f,  -1e5f,  1e6f,  -1e6f,  3.0f,  -3.0f};
    std::vector<float> values = normal_floats(n, seed, 3.0f);
    for (size_t i = 0; i < n; i += 3) values[i] = special[(i / 3 + n) % std::size(special)];
    return values;
}

double rms(const std::vector<float>& x, float eps) {
    double sum = 0.0;
    for (float v : x) sum += static_cast<double>(v) * static_cast<double>(v);
    return std::sqrt(sum / static_cast<double>(x.size()) + static_cast<double>(eps));
}

TEST(RowKernels, SetsAreNamed) {
    for (const KernelSet* set : test::supported_sets()) EXPECT_STREQ(set->name, set->row->set);
}

TEST(RowKernels, RmsNorm) {
    for (float magnitude : {1e-3f, 1.0f, 1e6f})
        for_every([&](const RowKernels& row, size_t n) {
            const float eps = 1e-5f;
            const std::vector<float> x = normal_floats(n, 1, magnitude);
            const std::vector<float> w = normal_floats(n, 2);
            const Guarded<float> gx(x);
            const Guarded<float> gw(w);
            Guarded<float> y(n);
            row.rms_norm(gx.data(), gw.data(), n, eps, y.data());
            const double root = rms(x, eps);
            for (size_t i = 0; i < n; ++i)
                expect_close(static_cast<double>(x[i]) / root * static_cast<double>(w[i]), y[i],
                             1e-6, 0.0);
            Guarded<float> in_place(x);
            row.rms_norm(in_place.data(), gw.data(), n, eps, in_place.data());
            EXPECT_EQ(y.copy(), in_place.copy());
        });
}

TEST(RowKernels, RmsNormIgnoresAlignment) {
    for (const KernelSet* set : test::supported_sets()) {
        const size_t n = 213;
        const std::vector<float> x = normal_floats(n, 3);
        const std::vector<float> w = normal_floats(n, 4);
        std::vector<float> first(n);
        set->row->rms_norm(x.data(), w.data(), n, 1e-6f, first.data());
        for (size_t shift = 1; shift < 17; ++shift) {
            std::vector<float> moved(n + shift);
            std::copy(x.begin(), x.end(), moved.begin() + static_cast<ptrdiff_t>(shift));
            std::vector<float> y(n);
            set->row->rms_norm(moved.data() + shift, w.data(), n, 1e-6f, y.data());
            EXPECT_EQ(first, y) << set->name << ", shift " << shift;
        }
    }
}

// One row of k values, quantized in parts of `part` values.
std::vector<uint8_t> quantized(const RowKernels& row, const std::vector<float>& x, size_t part) {
    const size_t k = x.size();
    Guarded<uint8_t> out(q8_offsets(k).bytes);
    std::memset(out.data(), 0, out.size());
    for (size_t start = 0; start < k; start += part) {
        const Guarded<float> in(
            std::vector<float>(x.begin() + static_cast<ptrdiff_t>(start),
                               x.begin() + static_cast<ptrdiff_t>(start + part)));
        row.quantize(in.data(), part, out.data(), k, start / 32);
    }
    return out.copy();
}

std::vector<float> blocks_of_many_scales(size_t k, uint32_t seed) {
    std::vector<float> x = normal_floats(k, seed);
    const float scales[] = {1.0f, 1e5f, 1e-6f, 0.0f, 1e-35f, 3.0f, 1e-28f};
    for (size_t i = 0; i < k; ++i) x[i] *= scales[i / 32 % std::size(scales)];
    return x;
}

template <class T>
T field(const std::vector<uint8_t>& row, size_t offset, size_t index) {
    T value;
    std::memcpy(&value, row.data() + offset + index * sizeof(T), sizeof(T));
    return value;
}

TEST(RowKernels, QuantizeMeetsTheDefinition) {
    for (const KernelSet* set : test::supported_sets())
        for (size_t k : {32u, 64u, 96u, 576u, 1536u}) {
            SCOPED_TRACE(std::string(set->name) + ", k = " + std::to_string(k));
            const std::vector<float> x = blocks_of_many_scales(k, 5);
            const std::vector<uint8_t> row = quantized(*set->row, x, k);
            const Q8Offsets at = q8_offsets(k);
            for (size_t b = 0; b < k / 32; ++b) {
                float absmax = 0.0f;
                for (size_t i = 0; i < 32; ++i) absmax = std::max(absmax, std::abs(x[b * 32 + i]));
                if (absmax < 7.8e-31f)
                    absmax = 0.0f;  // counts as zero: 127 / absmax would overflow
                const float scale = absmax / 127.0f;
                EXPECT_EQ(scale, field<float>(row, at.scale, b));
                int32_t sums[2] = {0, 0};
                for (size_t i = 0; i < 32; ++i) {
                    const int q = static_cast<int8_t>(row[b * 32 + i]);
                    const float scaled = absmax == 0.0f ? 0.0f : x[b * 32 + i] * (127.0f / absmax);
                    EXPECT_EQ(static_cast<int>(std::nearbyintf(scaled)), q);
                    sums[i / 16] += q;
                }
                const int32_t sum = sums[0] + sums[1];
                EXPECT_EQ(-128 * sum, field<int32_t>(row, at.bias, b));
                EXPECT_EQ(scale * static_cast<float>(sum), field<float>(row, at.fsum, b));
                for (size_t h = 0; h < 2; ++h) {
                    EXPECT_EQ(-128 * sums[h], field<int32_t>(row, at.bias16, 2 * b + h));
                    EXPECT_EQ(bf16_from_f32(scale * static_cast<float>(sums[h])),
                              field<uint16_t>(row, at.fsum16, 2 * b + h));
                }
            }
        }
}

TEST(RowKernels, QuantizeGivesTheSameBytesInEverySetAndInParts) {
    const RowKernels& ref = *kernel_sets().back().row;
    for (const KernelSet* set : test::supported_sets())
        for (size_t k : {32u, 96u, 192u, 576u, 1536u})
            for (uint32_t seed = 0; seed < 20; ++seed) {
                const std::vector<float> x = blocks_of_many_scales(k, 100 + seed);
                const std::vector<uint8_t> whole = quantized(ref, x, k);
                EXPECT_EQ(whole, quantized(*set->row, x, k)) << set->name << ", k = " << k;
                EXPECT_EQ(whole, quantized(*set->row, x, 32)) << set->name << ", k = " << k;
            }
}

TEST(RowKernels, QuantizeRoundsTiesToEvenAndSurvivesNanAndInfinity) {
    std::vector<float> x(32, 0.0f);
    const float values[] = {127.0f, 0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -126.5f, -127.0f};
    const int expected[] = {127, 0, 2, 2, 0, -2, -126, -127};
    std::copy(std::begin(values), std::end(values), x.begin());
    for (const KernelSet* set : test::supported_sets()) {
        const std::vector<uint8_t> row = quantized(*set->row, x, 32);
        for (size_t i = 0; i < std::size(values); ++i)
            EXPECT_EQ(expected[i], static_cast<int8_t>(row[i])) << set->name << ", " << values[i];
        for (float bad :
             {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
              std::numeric_limits<float>::max()}) {
            std::vector<float> y = x;
            y[17] = bad;
            for (uint8_t q : quantized(*set->row, y, 32)) (void)q;
            y.assign(32, bad);
            const std::vector<uint8_t> all = quantized(*set->row, y, 32);
            for (size_t i = 0; i < 32; ++i)
                EXPECT_NE(-128, static_cast<int8_t>(all[i])) << set->name;
        }
    }
}

// A NaN may hide the block's largest value from its maximum (found by fuzz/model_file): what is
// left must still be 32 values of at most 127 and their sums.
TEST(RowKernels, QuantizeBesideANan) {
    for (const KernelSet* set : test::supported_sets())
        for (size_t k : {32u, 128u})
            for (size_t nan = 0; nan < 32; ++nan)
                for (size_t large = 0; large < 32; ++large) {
                    std::vector<float> x(k, 0.001f);
                    x[large] = 300.0f;  // as a multiple of 0.001 / 127 still an int32
                    x[nan] = std::numeric_limits<float>::quiet_NaN();
                    const std::vector<uint8_t> row = quantized(*set->row, x, k);
                    const Q8Offsets at = q8_offsets(k);
                    for (size_t b = 0; b < k / 32; ++b) {
                        int32_t sum = 0;
                        for (size_t i = 32 * b; i < 32 * b + 32; ++i) {
                            EXPECT_NE(-128, static_cast<int8_t>(row[i])) << set->name;
                            sum += static_cast<int8_t>(row[i]);
                        }
                        int32_t bias = 0;
                        std::memcpy(&bias, row.data() + at.bias + 4 * b, sizeof bias);
                        EXPECT_EQ(-128 * sum, bias) << set->name << ", NaN at " << nan;
                    }
                }
}

TEST(RowKernels, ToBf16) {
    for_every([](const RowKernels& row, size_t n) {
        std::vector<float> x = normal_floats(n, 6, 100.0f);
        for (size_t i = 0; i < n; i += 4)
            x[i] = f32_from_bits(f32_bits(x[i]) & 0xffff8000u);  // ties
        if (n > 2) x[2] = std::numeric_limits<float>::infinity();
        if (n > 5) x[5] = std::numeric_limits<float>::max();
        const Guarded<float> in(x);
        Guarded<uint16_t> out(n + n % 2);
        row.to_bf16(in.data(), n, out.data());
        for (size_t i = 0; i < n; ++i) EXPECT_EQ(bf16_from_f32(x[i]), out[i]) << i;
        if (n % 2 != 0) {
            EXPECT_EQ(0, out[n]);
        }
    });
}

TEST(RowKernels, AddAndScale) {
    for_every([](const RowKernels& row, size_t n) {
        const std::vector<float> x = normal_floats(n, 7, 1e6f);
        const std::vector<float> y = normal_floats(n, 8, 1e3f);
        Guarded<float> sum(x);
        const Guarded<float> in(y);
        row.add(sum.data(), in.data(), n);
        Guarded<float> scaled(x);
        row.scale(scaled.data(), 0.3f, n);
        for (size_t i = 0; i < n; ++i) {
            EXPECT_EQ(x[i] + y[i], sum[i]);
            EXPECT_EQ(x[i] * 0.3f, scaled[i]);
        }
    });
}

TEST(RowKernels, SiluMul) {
    for_every([](const RowKernels& row, size_t n) {
        const std::vector<float> g = gates(n, 9);
        const std::vector<float> u = normal_floats(n, 10);
        Guarded<float> out(g);
        const Guarded<float> up(u);
        row.silu_mul(out.data(), up.data(), n);
        for (size_t i = 0; i < n; ++i) {
            const auto x = static_cast<double>(g[i]);
            expect_close(x / (1.0 + std::exp(-x)) * static_cast<double>(u[i]), out[i], 1e-6, 1e-34);
        }
    });
}

TEST(RowKernels, GeluMul) {
    for_every([](const RowKernels& row, size_t n) {
        const std::vector<float> g = gates(n, 11);
        const std::vector<float> u = normal_floats(n, 12);
        Guarded<float> out(g);
        const Guarded<float> up(u);
        row.gelu_mul(out.data(), up.data(), n);
        for (size_t i = 0; i < n; ++i) {
            const auto x = static_cast<double>(g[i]);
            const double t = 2.0 * std::sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x);
            // exp(-t) multiplies t's rounding error, about 2^-23 |t|
            const double bound = 1e-6 + 2e-7 * std::min(std::abs(t), 90.0);
            expect_close(x / (1.0 + std::exp(-t)) * static_cast<double>(u[i]), out[i], bound,
                         1e-34);
        }
    });
}

TEST(RowKernels, Rope) {
    for_every([](const RowKernels& row, size_t half) {
        const std::vector<float> x = normal_floats(2 * half, 13);
        std::vector<float> cos_sin(2 * half);
        for (size_t i = 0; i < half; ++i) {
            cos_sin[i] = static_cast<float>(std::cos(0.7 * static_cast<double>(i) + 0.1));
            cos_sin[half + i] = static_cast<float>(std::sin(0.7 * static_cast<double>(i) + 0.1));
        }
        Guarded<float> out(x);
        const Guarded<float> table(cos_sin);
        row.rope(out.data(), table.data(), 2 * half);
        for (size_t i = 0; i < half; ++i) {
            const double a = static_cast<double>(x[i]);
            const double b = static_cast<double>(x[half + i]);
            const double c = static_cast<double>(cos_sin[i]);
            const double s = static_cast<double>(cos_sin[half + i]);
            const double bound = 2e-7 * (std::abs(a) + std::abs(b));
            expect_close(a * c - b * s, out[i], 0.0, bound);
            expect_close(b * c + a * s, out[half + i], 0.0, bound);
        }
    });
}

TEST(RowKernels, Softcap) {
    for (float cap : {30.0f, 50.0f})
        for_every([&](const RowKernels& row, size_t n) {
            std::vector<float> x = gates(n, 14);
            for (size_t i = 1; i < n; i += 3) x[i] *= 20.0f;
            Guarded<float> out(x);
            row.softcap(out.data(), cap, n);
            for (size_t i = 0; i < n; ++i)
                expect_close(static_cast<double>(cap) * std::tanh(static_cast<double>(x[i] / cap)),
                             out[i], 6e-7, 0.0);
        });
}

TEST(RowKernels, ArgmaxFindsTheFirstLargest) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const float inf = std::numeric_limits<float>::infinity();
    for_every([&](const RowKernels& row, size_t n) {
        Guarded<float> x(normal_floats(n, 15));
        for (size_t at : {size_t{0}, n / 3, n / 2, n - 1}) {
            Guarded<float> y(x.copy());
            y[at] = 100.0f;
            EXPECT_EQ(at, row.argmax(y.data(), n));
            for (size_t again : {(at + n) / 2, n - 1}) y[again] = 100.0f;  // ties: the first wins
            EXPECT_EQ(at, row.argmax(y.data(), n));
            if (at > 0) {
                y[0] = nan;
                y[at - 1] = nan;
                EXPECT_EQ(at, row.argmax(y.data(), n));
                for (size_t i = 0; i < n; ++i) y[i] = i < at ? nan : -inf;
                EXPECT_EQ(at, row.argmax(y.data(), n));
            }
            for (size_t i = 0; i < n; ++i) y[i] = nan;
            EXPECT_EQ(0u, row.argmax(y.data(), n));
            y[at] = -3.0f;
            EXPECT_EQ(at, row.argmax(y.data(), n));
        }
    });
}

// A gate and up tile's rows in groups of four and fewer give what the unit and the quantizer give
// one after the other, and nothing else of the rows is written.
TEST(RowKernels, UnitAndQuantizationInOne) {
    constexpr size_t k = 96, stride = 80, block = 1;
    const size_t row_bytes = act_row_bytes(ActFormat::q8, k);
    for (const KernelSet* set : test::supported_sets())
        for (size_t rows = 1; rows <= 9; ++rows)
            for (const bool silu : {true, false}) {
                SCOPED_TRACE(std::string(set->name) + ", rows = " + std::to_string(rows));
                const RowKernels& row = *set->row;
                const std::vector<float> tile = gates(rows * stride, static_cast<uint32_t>(rows));
                std::vector<uint8_t> expected(rows * row_bytes, 0xa5), actual = expected;
                for (size_t r = 0; r < rows; ++r) {
                    float gate[32];
                    for (size_t half = 0; half < 2; ++half) {
                        const float* x = &tile[r * stride + 32 * half];
                        std::copy(x, x + 16, gate + 16 * half);
                        (silu ? row.silu_mul : row.gelu_mul)(gate + 16 * half, x + 16, 16);
                    }
                    row.quantize(gate, 32, &expected[r * row_bytes], k, block);
                }
                (silu ? row.silu_q8 : row.gelu_q8)(tile.data(), stride, rows, actual.data(),
                                                   row_bytes, k, block);
                ASSERT_EQ(expected, actual);
            }
}

// Residual, norm and quantization in one give the bits of the three kernels one after the other.
TEST(RowKernels, ResidualNormAndQuantizationInOne) {
    for (const KernelSet* set : test::supported_sets())
        for (const size_t n : {size_t{32}, size_t{96}, size_t{128}, size_t{576}, size_t{1056}})
            for (const bool residual : {true, false})
                for (const bool kept : {true, false}) {
                    SCOPED_TRACE(std::string(set->name) + ", n = " + std::to_string(n));
                    const RowKernels& row = *set->row;
                    const std::vector<float> x = normal_floats(n, 31), w = normal_floats(n, 32);
                    const std::vector<float> y = normal_floats(n, 33, 100.0f);
                    std::vector<float> sum = x;
                    if (residual) row.add(sum.data(), y.data(), n);
                    std::vector<float> normed(n);
                    row.rms_norm(sum.data(), w.data(), n, 1e-5f, normed.data());
                    std::vector<uint8_t> expected(act_row_bytes(ActFormat::q8, n), 0xa5);
                    std::vector<uint8_t> actual = expected;
                    row.quantize(normed.data(), n, expected.data(), n, 0);

                    std::vector<float> out(n), scratch(n + 16);
                    float* aligned = scratch.data();
                    while (reinterpret_cast<uintptr_t>(aligned) % 64 != 0) ++aligned;
                    row.add_norm_q8(x.data(), residual ? y.data() : nullptr,
                                    kept ? out.data() : nullptr, w.data(), n, 1e-5f, actual.data(),
                                    aligned);
                    ASSERT_EQ(expected, actual);
                    if (kept) {
                        ASSERT_EQ(sum, out);
                    }
                }
}

}  // namespace
}  // namespace ridge
