#include "image/rows.hpp"

#include <algorithm>
#include <cmath>

namespace ridge::image {

Scaled scale_together(std::span<const double> values) {
    Scaled s;
    double largest = 0;
    for (const double v : values) largest = std::max(largest, std::fabs(v));
    int exponent = 0;
    std::frexp(largest, &exponent);  // largest = m * 2^exponent, m in [0.5, 1)
    s.exponent = largest > 0 ? 31 - exponent : 0;
    for (const double v : values) {
        const double scaled = std::round(std::ldexp(v, s.exponent));
        s.mantissa.push_back(static_cast<int32_t>(std::clamp(scaled, -2147483647.0, 2147483647.0)));
    }
    return s;
}

QuantizedRows quantize_rows(const Matrix& m, std::span<const double> column_factor) {
    QuantizedRows q{m.n, m.k, {}, {}};
    q.values.reserve(m.values.size());
    std::vector<double> row(m.k);
    for (uint32_t r = 0; r < m.n; ++r) {
        double largest = 0;
        for (uint32_t i = 0; i < m.k; ++i) {
            row[i] = m.row(r)[i] * (column_factor.empty() ? 1.0 : column_factor[i]);
            largest = std::max(largest, std::fabs(row[i]));
        }
        const double unit = largest / largest_weight;
        q.scale.push_back(unit);
        for (uint32_t i = 0; i < m.k; ++i) {
            const double steps = unit > 0 ? std::round(row[i] / unit) : 0.0;
            q.values.push_back(
                static_cast<int16_t>(std::clamp<double>(steps, -largest_weight, largest_weight)));
        }
    }
    return q;
}

QuantizedRows quantize_with(const Matrix& m, double unit) {
    QuantizedRows q{m.n, m.k, {}, std::vector<double>(m.n, unit)};
    q.values.reserve(m.values.size());
    for (const float v : m.values)
        q.values.push_back(static_cast<int16_t>(
            std::clamp<double>(std::round(v / unit), -largest_weight, largest_weight)));
    return q;
}

int32_t to_fixed(double value, int frac) {
    return static_cast<int32_t>(
        std::clamp(std::round(std::ldexp(value, frac)), -2147483647.0, 2147483647.0));
}

int32_t frac_for(double largest, double limit, int32_t most) {
    if (!(largest > 0)) return most;
    return std::min(most, static_cast<int32_t>(std::floor(std::log2(limit / largest))));
}

}  // namespace ridge::image
