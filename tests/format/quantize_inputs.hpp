// The weights that quantizers are compared on, made from a seed by integer arithmetic, exact f32
// sums and products alone, so that ridge's tests and tools/golden/quantize_reference.cpp (which
// measures llama.cpp's quantizers) have the same bits. Includes nothing of ridge.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ridge::test {

inline constexpr size_t quant_rows = 48, quant_columns = 512;
inline constexpr const char* quant_inputs[] = {"bell", "heavy",   "flat",     "outliers",
                                               "rows", "shifted", "positive", "large"};

class QuantRandom {
  public:
    explicit QuantRandom(uint64_t seed) : state_(seed) {}
    // splitmix64; 24 bits to [-1, 1), multiples of 2^-23
    float unit() {
        uint64_t z = state_ += 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        z ^= z >> 31;
        return static_cast<float>(z >> 40) * 0x1p-23f - 1.0f;
    }

  private:
    uint64_t state_;
};

// quant_rows rows of quant_columns weights of the kind with this index in quant_inputs.
inline std::vector<float> quant_input(size_t kind) {
    QuantRandom random(1000 + kind);
    std::vector<float> x(quant_rows * quant_columns);
    for (size_t i = 0; i < x.size(); ++i) {
        const float a = random.unit(), b = random.unit(), c = random.unit(), d = random.unit();
        const float bell = (a + b) + (c + d);  // nearly normal, deviation 1.15
        switch (kind) {
            case 0:
                x[i] = 0.02f * bell;
                break;
            case 1:  // heavy tails: a normal times a skewed size
                x[i] = 0.05f * bell * (c * c) * (d * d);
                break;
            case 2:
                x[i] = 0.125f * a;
                break;
            case 3:  // one weight in 64 is ten times as large
                x[i] = 0.02f * bell * (i * 37 % 64 == 5 ? 10.0f : 1.0f);
                break;
            case 4:  // sub-blocks of very different size, some of zeros
                x[i] = 0.01f * bell * static_cast<float>(i / 16 * 7 % 9);
                break;
            case 5:
                x[i] = 0.02f * bell + 0.03f;
                break;
            case 6:
                x[i] = 0.02f * (bell < 0.0f ? -bell : bell);
                break;
            default:
                x[i] = 40.0f * bell;
        }
    }
    return x;
}

// The importance of each column: squares spread over four orders of magnitude.
inline std::vector<float> quant_importance() {
    QuantRandom random(77);
    std::vector<float> w(quant_columns);
    for (float& v : w) {
        const float a = random.unit(), b = random.unit();
        v = 0.01f + 100.0f * (a * a) * (a * a) * (b * b);
    }
    return w;
}

// Root of the weighted mean squared error over that of the weights; importance may be null.
inline double quant_error_squared(const std::vector<float>& x, const std::vector<float>& y,
                                  const float* importance) {
    double error = 0, power = 0;
    for (size_t i = 0; i < x.size(); ++i) {
        const double w =
            importance != nullptr ? static_cast<double>(importance[i % quant_columns]) : 1.0;
        const double e = static_cast<double>(x[i]) - static_cast<double>(y[i]);
        error += w * e * e;
        power += w * static_cast<double>(x[i]) * static_cast<double>(x[i]);
    }
    return error / power;
}

}  // namespace ridge::test
