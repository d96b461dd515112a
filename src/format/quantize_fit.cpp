#include "format/quantize_fit.hpp"

#include "format/fit.hpp"
#include "format/quantize.hpp"

namespace ridge {

namespace {

constexpr int largest_block = 256;

using Encoder = void (*)(const float* x, const float* w, uint8_t* out);

Encoder encoder_of(DType type) {
    switch (type) {
        case DType::q4_0:
            return quantize::fit_q4_0;
        case DType::q4_1:
            return quantize::fit_q4_1;
        case DType::q5_0:
            return quantize::fit_q5_0;
        case DType::q5_1:
            return quantize::fit_q5_1;
        case DType::q8_0:
            return quantize::fit_q8_0;
        case DType::q4_k:
            return quantize::fit_q4_k;
        case DType::q5_k:
            return quantize::fit_q5_k;
        case DType::q6_k:
            return quantize::fit_q6_k;
        case DType::iq4_nl:
            return quantize::fit_iq4_nl;
        default:
            return nullptr;
    }
}

// The importance of one block, scaled so that its sums stay within f32 whatever its unit: its
// largest is 1. All 1 where there is none, or where none of it counts.
void block_importance(const float* from, int n, float* to) {
    float max = 0.0f;
    for (int i = 0; from != nullptr && i < n; ++i) max = from[i] > max ? from[i] : max;
    const bool some = max > 0.0f && max <= 3.0e38f;
    for (int i = 0; i < n; ++i) to[i] = some && from[i] > 0.0f ? from[i] / max : some ? 0.0f : 1.0f;
}

}  // namespace

void quantize_fit(DType type, const float* in, size_t n, const float* importance, uint8_t* out) {
    const Encoder encode = encoder_of(type);
    if (encode == nullptr) return quantize_plain(type, in, n, out);
    const DTypeInfo& format = info(type);
    float w[largest_block];
    for (int i = 0; i < largest_block; ++i) w[i] = 1.0f;
    for (size_t i = 0; i < n; i += format.block, out += format.block_bytes) {
        if (importance != nullptr)
            block_importance(importance + i, static_cast<int>(format.block), w);
        encode(in + i, w, out);
    }
}

}  // namespace ridge
