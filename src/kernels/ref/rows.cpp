// Row kernels in plain C++: the oracle of the vector sets and the code of boards. Freestanding.
//
// Everything is f32, one element after another; sums of squares use 16 partial sums so that their
// rounding error grows with n / 16. Magnitudes: 1e6 squared times 1e5 elements is 1e17, far below
// f32's end.
#include "base/half.hpp"
#include "kernels/fused_rows.hpp"
#include "kernels/ref/rows_math.hpp"
#include "kernels/ref/set.hpp"

namespace ridge::ref {
namespace {

void rms_norm(const float* x, const float* w, size_t n, float eps, float* y) {
    float lane[16] = {};
    for (size_t i = 0; i < n; ++i) lane[i % 16] += x[i] * x[i];
    for (size_t half = 8; half > 0; half /= 2)
        for (size_t i = 0; i < half; ++i) lane[i] += lane[i + half];
    const float inverse = 1.0f / __builtin_sqrtf(lane[0] / static_cast<float>(n) + eps);
    for (size_t i = 0; i < n; ++i) y[i] = x[i] * inverse * w[i];
}

float magnitude(float v) {
    return f32_from_bits(f32_bits(v) & 0x7fffffffu);
}

// Round to nearest even by the addition that leaves the integer in the mantissa's low bits;
// anything outside (NaN, infinity) is clamped as an integer.
int32_t quantum(float v) {
    const uint32_t magic = 0x4b400000u;  // 1.5 * 2^23
    const auto q = static_cast<int32_t>(f32_bits(v + f32_from_bits(magic)) - magic);
    return q > 127 ? 127 : q < -127 ? -127 : q;
}

// Blocks whose largest magnitude is below 2^-100 count as zero: 127 / absmax might overflow.
constexpr float smallest_absmax = 7.888609e-31f;

void quantize(const float* x, size_t n, uint8_t* row, size_t k, size_t block0) {
    const Q8Offsets at = q8_offsets(k);
    auto* values = reinterpret_cast<int8_t*>(row) + block0 * 32;
    auto* scale = reinterpret_cast<float*>(row + at.scale) + block0;
    auto* bias = reinterpret_cast<int32_t*>(row + at.bias) + block0;
    auto* bias16 = reinterpret_cast<int32_t*>(row + at.bias16) + 2 * block0;
    auto* fsum = reinterpret_cast<float*>(row + at.fsum) + block0;
    auto* fsum16 = reinterpret_cast<uint16_t*>(row + at.fsum16) + 2 * block0;
    for (size_t b = 0; b < n / 32; ++b, x += 32, values += 32) {
        float absmax = 0.0f;
        for (size_t i = 0; i < 32; ++i)
            if (magnitude(x[i]) > absmax) absmax = magnitude(x[i]);
        const bool zero = !(absmax >= smallest_absmax);
        const float inverse = zero ? 0.0f : 127.0f / absmax;
        scale[b] = zero ? 0.0f : absmax / 127.0f;
        int32_t sum[2] = {0, 0};
        for (size_t i = 0; i < 32; ++i) {
            const int32_t q = quantum(x[i] * inverse);
            values[i] = static_cast<int8_t>(q);
            sum[i / 16] += q;
        }
        bias[b] = -128 * (sum[0] + sum[1]);
        fsum[b] = scale[b] * static_cast<float>(sum[0] + sum[1]);
        for (size_t h = 0; h < 2; ++h) {
            bias16[2 * b + h] = -128 * sum[h];
            fsum16[2 * b + h] = bf16_from_f32(scale[b] * static_cast<float>(sum[h]));
        }
    }
}

void to_bf16(const float* x, size_t n, uint16_t* out) {
    for (size_t i = 0; i < n; ++i) out[i] = bf16_from_f32(x[i]);
    if (n % 2 != 0) out[n] = 0;
}

void add(float* x, const float* y, size_t n) {
    for (size_t i = 0; i < n; ++i) x[i] += y[i];
}

void scale(float* x, float s, size_t n) {
    for (size_t i = 0; i < n; ++i) x[i] *= s;
}

void silu_mul(float* gate, const float* up, size_t n) {
    for (size_t i = 0; i < n; ++i) gate[i] = gate[i] * sigmoid(gate[i]) * up[i];
}

// 0.5 x (1 + tanh(u)) = x sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3): nothing cancels.
void gelu_mul(float* gate, const float* up, size_t n) {
    for (size_t i = 0; i < n; ++i) {
        const float x = gate[i];
        gate[i] = x * sigmoid(x * (1.59576912f + 0.0713548163f * (x * x))) * up[i];
    }
}

void rope(float* x, const float* cos_sin, size_t n_rot) {
    const size_t half = n_rot / 2;
    for (size_t i = 0; i < half; ++i) {
        const float c = cos_sin[i];
        const float s = cos_sin[half + i];
        const float a = x[i];
        const float b = x[half + i];
        x[i] = a * c - b * s;
        x[half + i] = b * c + a * s;
    }
}

void softcap(float* x, float cap, size_t n) {
    for (size_t i = 0; i < n; ++i) x[i] = cap * tanh_f32(x[i] / cap);
}

uint32_t argmax(const float* x, size_t n) {
    size_t best = 0;
    for (size_t i = 1; i < n; ++i)
        if (x[i] > x[best] || (x[best] != x[best] && x[i] == x[i])) best = i;
    return static_cast<uint32_t>(best);
}

}  // namespace

const RowKernels row_kernels = {"ref",
                                rms_norm,
                                add_norm_rows<add, rms_norm, quantize>,
                                quantize,
                                to_bf16,
                                add,
                                scale,
                                silu_mul,
                                gelu_mul,
                                glu_rows<silu_mul, quantize>,
                                glu_rows<gelu_mul, quantize>,
                                rope,
                                softcap,
                                argmax};

}  // namespace ridge::ref
