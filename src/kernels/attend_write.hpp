// Writing one position into a KV page (kv_page.hpp), shared by the sets as static code.
// Freestanding.
//
// A position is one lane of every K row, so its elements lie 64 bytes apart: stores, not
// arithmetic, are the cost, and wider registers would not help; they do for the 16 positions of a
// key group, which fill whole lines (avx512/attend_write_group.hpp, with these bits). bf16 rounds
// to nearest even; f16 likewise, after clamping to +-65504, because an infinity in V would turn
// masked keys into NaN (0
// * inf); int8 has one scale a vector, absmax / 127, and rounds to nearest even.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/half.hpp"
#include "kernels/kv_page.hpp"

namespace ridge {

// Adds the integer into the mantissa's low bits: rounds to nearest even; |v| <= 127 for finite
// input, anything else is clamped.
static inline uint8_t kv_quantum(float v) {
    const uint32_t magic = 0x4b400000u;  // 1.5 * 2^23
    const int32_t q = static_cast<int32_t>(f32_bits(v + f32_from_bits(magic)) - magic);
    return static_cast<uint8_t>(q > 127 ? 127 : q < -127 ? -127 : q);
}

// absmax / 127, or 0 for a vector below 2^-100, which is stored as zeros.
static inline float kv_vector_scale(const float* x, uint32_t n, float* inverse) {
    float absmax = 0.0f;
    for (uint32_t i = 0; i < n; ++i) {
        const float a = f32_from_bits(f32_bits(x[i]) & 0x7fffffffu);
        if (a > absmax) absmax = a;
    }
    const bool zero = !(absmax >= 7.888609e-31f);
    *inverse = zero ? 0.0f : 127.0f / absmax;
    return zero ? 0.0f : absmax / 127.0f;
}

static inline uint16_t kv_f16(float v) {
    return f16_from_f32(v > 65504.0f ? 65504.0f : v < -65504.0f ? -65504.0f : v);
}

static inline void kv_put(uint8_t* at, KvType type, float v, float inverse) {
    if (type == KvType::f32) {
        __builtin_memcpy(at, &v, 4);
    } else if (type == KvType::int8) {
        *at = kv_quantum(v * inverse);
    } else {
        const uint16_t h = type == KvType::f16 ? kv_f16(v) : bf16_from_f32(v);
        __builtin_memcpy(at, &h, 2);
    }
}

template <KvType type>
static inline void kv_write_as(uint8_t* page, uint32_t head_dim, uint32_t slot, const float* k,
                               const float* v) {
    const size_t element = kv_element_bytes(type);
    const size_t pack = kv_paired(type) ? 2 : 1;
    const size_t padded = kv_padded(head_dim);
    float k_inverse = 0.0f;
    float v_inverse = 0.0f;
    if (type == KvType::int8) {
        const float scales[2] = {kv_vector_scale(k, head_dim, &k_inverse),
                                 kv_vector_scale(v, head_dim, &v_inverse)};
        uint8_t* at = page + kv_scale_offset(type, head_dim) + slot * sizeof(float);
        __builtin_memcpy(at, &scales[0], sizeof(float));
        __builtin_memcpy(at + kv_span * sizeof(float), &scales[1], sizeof(float));
    }
    uint8_t* k_at =
        page + (slot / 16 * 16 * kv_k_rows(type, head_dim) + slot % 16 * pack) * element;
    for (uint32_t d = 0; d < head_dim; ++d)
        kv_put(k_at + (d / pack * 16 * pack + d % pack) * element, type, k[d], k_inverse);
    uint8_t* v_at =
        page + kv_v_offset(type, head_dim) + (slot / pack * padded * pack + slot % pack) * element;
    for (uint32_t d = 0; d < head_dim; ++d)
        kv_put(v_at + d * pack * element, type, v[d], v_inverse);
}

static inline void kv_write(uint8_t* page, KvType type, uint32_t head_dim, uint32_t slot,
                            const float* k, const float* v) {
    switch (type) {
        case KvType::bf16:
            return kv_write_as<KvType::bf16>(page, head_dim, slot, k, v);
        case KvType::f16:
            return kv_write_as<KvType::f16>(page, head_dim, slot, k, v);
        case KvType::f32:
            return kv_write_as<KvType::f32>(page, head_dim, slot, k, v);
        default:
            return kv_write_as<KvType::int8>(page, head_dim, slot, k, v);
    }
}

static inline void kv_write_group(uint8_t* page, KvType type, uint32_t head_dim, uint32_t group,
                                  const float* k, size_t k_stride, const float* v,
                                  size_t v_stride) {
    for (uint32_t i = 0; i < 16; ++i)
        kv_write(page, type, head_dim, 16 * group + i, k + i * k_stride, v + i * v_stride);
}

}  // namespace ridge
