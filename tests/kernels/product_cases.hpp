// Operands for product tests: random and extreme weights and activations, with every byte that a
// kernel must not depend on (padding, gaps between groups, scratch, output beyond its extents) set
// to a poison that reads as NaN.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "base/half.hpp"
#include "kernels/contract.hpp"
#include "kernels/pack.hpp"
#include "kernels/packed.hpp"

namespace ridge::test {

constexpr uint8_t poison = 0xff;

// Bytes that begin on a 64-byte border, all poison.
class Bytes {
  public:
    explicit Bytes(size_t n) : storage_(n + 64, poison) {}
    Bytes(Bytes&&) = default;  // a copy would lie at another distance from a border
    uint8_t* data() {
        const auto at = reinterpret_cast<uintptr_t>(storage_.data());
        return storage_.data() + (64 - at % 64) % 64;
    }

  private:
    std::vector<uint8_t> storage_;
};

enum class Codes { random, lowest, highest };
enum class Scales { usual, largest, smallest };

inline void put_half(uint8_t* p, uint16_t h) {
    std::memcpy(p, &h, 2);
}

// A finite f16 of either sign.
inline uint16_t random_half(std::mt19937& rng, Scales scales) {
    const auto sign = static_cast<uint16_t>((rng() & 1) << 15);
    if (scales == Scales::largest) return static_cast<uint16_t>(sign | 0x7bff);
    if (scales == Scales::smallest) return static_cast<uint16_t>(sign | (rng() % 4));  // subnormal
    return static_cast<uint16_t>(sign | (0x1c00 + rng() % 0x1000));
}

// One file row of k weights: random bytes, then finite scales where the type keeps them.
inline std::vector<uint8_t> random_row(std::mt19937& rng, DType type, size_t k,
                                       Codes codes = Codes::random, Scales scales = Scales::usual) {
    std::vector<uint8_t> row(row_bytes(type, k));
    for (uint8_t& byte : row)
        byte = codes == Codes::random ? static_cast<uint8_t>(rng())
                                      : static_cast<uint8_t>(codes == Codes::lowest ? 0 : 0xff);
    const size_t bytes = info(type).block_bytes;
    for (uint8_t* b = row.data(); b < row.data() + row.size(); b += bytes) {
        const auto half = [&](size_t at) { put_half(b + at, random_half(rng, scales)); };
        switch (type) {
            case DType::f32: {
                const float f = f32_from_f16(random_half(rng, scales));
                std::memcpy(b, &f, 4);
                break;
            }
            case DType::bf16:
                put_half(b, bf16_from_f32(f32_from_f16(random_half(rng, Scales::usual))));
                break;
            case DType::mxfp4:
                b[0] = static_cast<uint8_t>(scales == Scales::usual     ? 110 + rng() % 30
                                            : scales == Scales::largest ? 230
                                                                        : rng() % 3);
                break;
            case DType::q2_k:
                half(80), half(82);
                break;
            case DType::q3_k:
                half(108);
                break;
            case DType::q6_k:
                half(208);
                break;
            case DType::q4_1:
            case DType::q5_1:
            case DType::q4_k:
            case DType::q5_k:
                half(0), half(2);
                break;
            default:
                half(0);
        }
        if (type == DType::q8_0 && codes == Codes::lowest) std::memset(b + 2, 0x80, 32);
        if (type == DType::q8_0 && codes == Codes::highest) std::memset(b + 2, 0x7f, 32);
    }
    return row;
}

// Pairs of column groups with a poisoned gap of 64 bytes between them, and poison in what no
// column and no block of k fills.
struct Weights {
    Weights(DType t, size_t k_, const std::vector<std::vector<uint8_t>>& rows)
        : type(t),
          k(k_),
          groups((rows.size() + 15) / 16),
          pair_bytes(ridge::pair_bytes(t, k_) + 64),
          packed(pair_bytes * ((groups + 1) / 2)) {
        const PairLayout at = pair_layout(type);
        for (size_t first = 0; first < rows.size(); first += pair_columns) {
            uint8_t* pair = packed.data() + first / pair_columns * pair_bytes;
            std::vector<const uint8_t*> pointers;
            for (size_t c = first; c < rows.size() && c < first + pair_columns; ++c)
                pointers.push_back(rows[c].data());
            const size_t n = std::min(pointers.size(), group_columns);
            pack_pair(type, pointers.data(), n, pointers.size() - n, k, pair);
            if (!is_quantized(type)) continue;
            for (size_t b = 0; b < pair_units(type, k) * at.blocks; ++b)
                for (size_t g = 0; g < 2; ++g) {
                    if (b < k / 32 && (g == 0 || pointers.size() > n)) continue;
                    std::memset(pair + at.low_of(b, g), poison, at.low);
                    std::memset(pair + at.high_of(b, g), poison, at.high);
                    std::memset(pair + at.scale_of(b, g), poison, at.scale);
                    std::memset(pair + at.super_of(b, g), poison, at.super);
                }
        }
    }
    // The pair of output column c; its column there is c % pair_columns.
    uint8_t* pair_of(size_t c) { return packed.data() + c / pair_columns * pair_bytes; }

    DType type;
    size_t k, groups, pair_bytes;
    Bytes packed;
};

enum class Values { random, all_127, all_minus_127, alternating };

// Activation rows in the kernel's format; value(r, i) is what element i of row r stands for.
struct Activations {
    Activations(std::mt19937& rng, ActFormat f, size_t rows_, size_t k_,
                Values values = Values::random, float magnitude = 0.01f)
        : format(f),
          rows(rows_),
          k(k_),
          stride(act_row_bytes(f, k_) + 64),
          bytes(stride * rows_),
          exact(rows_ * k_) {
        for (size_t r = 0; r < rows; ++r) {
            uint8_t* row = bytes.data() + r * stride;
            if (format == ActFormat::q8)
                fill_q8(rng, row, exact.data() + r * k, values, magnitude);
            else
                fill_float(rng, row, exact.data() + r * k, magnitude);
        }
    }
    double value(size_t r, size_t i) const { return exact[r * k + i]; }

    ActFormat format;
    size_t rows, k, stride;
    Bytes bytes;
    std::vector<double> exact;

  private:
    void fill_q8(std::mt19937& rng, uint8_t* row, double* stands_for, Values values,
                 float magnitude) const {
        const Q8Offsets at = q8_offsets(k);
        const auto put = [row](size_t to, auto x) { std::memcpy(row + to, &x, sizeof x); };
        for (size_t b = 0; b < k / 32; ++b) {
            const float scale = magnitude * static_cast<float>(1 + rng() % 1000) / 500.0f;
            int32_t half_sum[2] = {0, 0};
            for (size_t i = 0; i < 32; ++i) {
                int q = static_cast<int>(rng() % 255) - 127;
                if (values == Values::all_127) q = 127;
                if (values == Values::all_minus_127) q = -127;
                if (values == Values::alternating) q = i % 2 == 0 ? 127 : -127;
                row[32 * b + i] = static_cast<uint8_t>(q);
                half_sum[i / 16] += q;
                stands_for[32 * b + i] = static_cast<double>(scale) * q;
            }
            const int32_t sum = half_sum[0] + half_sum[1];
            put(at.scale + 4 * b, scale);
            put(at.bias + 4 * b, -128 * sum);
            put(at.fsum + 4 * b, scale * static_cast<float>(sum));
            for (size_t h = 0; h < 2; ++h) {
                put(at.bias16 + 4 * (2 * b + h), -128 * half_sum[h]);
                put(at.fsum16 + 2 * (2 * b + h),
                    bf16_from_f32(scale * static_cast<float>(half_sum[h])));
            }
        }
    }
    void fill_float(std::mt19937& rng, uint8_t* row, double* stands_for, float magnitude) const {
        for (size_t i = 0; i < k; ++i) {
            float x = magnitude * (static_cast<float>(rng() % 20001) - 10000.0f) / 100.0f;
            if (format == ActFormat::bf16) {
                const uint16_t h = bf16_from_f32(x);
                x = f32_from_bf16(h);
                std::memcpy(row + 2 * i, &h, 2);
            } else {
                std::memcpy(row + 4 * i, &x, 4);
            }
            stands_for[i] = x;
        }
        if (format == ActFormat::bf16 && k % 2 == 1) std::memset(row + 2 * k, 0, 2);
    }
};

// Runs a product over the first `groups` groups and `rows` rows from `row0`, and checks that it
// wrote nothing else. Returns rows x 16 groups values; empty where something else was touched.
inline std::vector<float> run_product(ProductFn run, Weights& w, Activations& a, size_t row0,
                                      size_t rows, size_t groups, size_t prefetch = 0) {
    const size_t columns = 16 * groups, stride = columns + 16,
                 scratch_bytes = product_scratch_bytes(w.k);
    Bytes out((rows * stride + 16) * 4), scratch(scratch_bytes + 64);
    run({w.packed.data(), w.pair_bytes, groups, w.k, a.bytes.data() + row0 * a.stride, a.stride,
         rows, reinterpret_cast<float*>(out.data()), stride, scratch.data(), prefetch});
    std::vector<float> result(rows * columns);
    bool clean = true;
    for (size_t r = 0; r < rows; ++r) {
        std::memcpy(result.data() + r * columns, out.data() + r * stride * 4, columns * 4);
        for (size_t x = columns * 4; x < stride * 4; ++x)
            clean = clean && out.data()[r * stride * 4 + x] == poison;
    }
    for (size_t x = 0; x < 64; ++x)
        clean = clean && out.data()[rows * stride * 4 + x] == poison &&
                scratch.data()[scratch_bytes + x] == poison;
    return clean ? result : std::vector<float>{};
}

}  // namespace ridge::test
