// Attention over one span in plain C++: the oracle of the vector sets. Freestanding.
//
// For each query: scores by one dot product a visible key, their maximum, p = exp(s - max), and the
// weighted sum of values, key after key. With bf16 and int8 pages p is rounded to bf16 as
// the vector sets round it; l then sums the rounded p (bf16) or, where p takes the value's scale
// before rounding (int8), the p themselves. Only visible keys are read. Scores and p live in
// scratch.
#include "base/half.hpp"
#include "kernels/attend_heads.hpp"
#include "kernels/attend_write.hpp"
#include "kernels/ref/rows_math.hpp"
#include "kernels/ref/set.hpp"

namespace ridge::ref {
namespace {

constexpr float minus_infinity = -__builtin_inff();

float element(const uint8_t* base, KvType type, size_t index) {
    if (type == KvType::int8)
        return static_cast<float>(reinterpret_cast<const int8_t*>(base)[index]);
    if (type == KvType::f32) return reinterpret_cast<const float*>(base)[index];
    const uint16_t h = reinterpret_cast<const uint16_t*>(base)[index];
    return type == KvType::f16 ? f32_from_f16(h) : f32_from_bf16(h);
}

size_t k_index(KvType type, uint32_t head_dim, size_t key, size_t d) {
    const size_t pack = kv_paired(type) ? 2 : 1;
    return key / 16 * 16 * kv_k_rows(type, head_dim) + d / pack * 16 * pack + key % 16 * pack +
           d % pack;
}

size_t v_index(KvType type, uint32_t head_dim, size_t key, size_t d) {
    const size_t pack = kv_paired(type) ? 2 : 1;
    return key / pack * kv_padded(head_dim) * pack + d * pack + key % pack;
}

float query(const AttendArgs& a, uint32_t i, uint32_t d) {
    const size_t at = i * kv_padded(a.head_dim) + d;
    return kv_paired(a.type) ? f32_from_bf16(static_cast<const uint16_t*>(a.q)[at])
                             : static_cast<const float*>(a.q)[at];
}

float rounded(KvType type, float v) {
    return kv_paired(type) ? f32_from_bf16(bf16_from_f32(v)) : v;
}

float page_scale(const AttendArgs& a, size_t key, bool of_value) {
    if (a.type != KvType::int8) return 1.0f;
    const auto* scales =
        reinterpret_cast<const float*>(a.page + kv_scale_offset(a.type, a.head_dim));
    return scales[key + (of_value ? kv_span : 0)];
}

void span_of_one(const AttendArgs& a, uint32_t i) {
    const uint32_t lo = a.lo[i];
    const uint32_t hi = a.hi[i];
    float* o = a.o + i * a.o_stride;
    auto* p = reinterpret_cast<float*>(a.scratch);
    for (size_t d = 0; d < kv_padded(a.head_dim); ++d) o[d] = 0.0f;
    float m = minus_infinity;
    for (uint32_t key = lo; key < hi; ++key) {
        float s = 0.0f;
        for (uint32_t d = 0; d < a.head_dim; ++d)
            s += query(a, i, d) * element(a.page, a.type, k_index(a.type, a.head_dim, key, d));
        p[key] = s * page_scale(a, key, false);
        if (a.softcap != 0.0f) p[key] = a.softcap * tanh_f32(p[key] / a.softcap);
        if (p[key] > m) m = p[key];
    }
    float l = 0.0f;
    const uint8_t* values = a.page + kv_v_offset(a.type, a.head_dim);
    for (uint32_t key = lo; key < hi; ++key) {
        const float e = exp_neg(p[key] - m);
        const float weight = rounded(a.type, e * page_scale(a, key, true));
        l += a.type == KvType::bf16 ? weight : e;
        for (uint32_t d = 0; d < a.head_dim; ++d)
            o[d] += weight * element(values, a.type, v_index(a.type, a.head_dim, key, d));
    }
    a.m[i] = m;
    a.l[i] = l;
}

void span(const AttendArgs& a) {
    for (uint32_t i = 0; i < a.n_q; ++i) span_of_one(a, i);
}

void merge(float* m, float* l, float* o, float m2, float l2, const float* o2, size_t n) {
    if (m2 == minus_infinity) return;
    const bool first = *m == minus_infinity;
    const float top = m2 > *m ? m2 : *m;
    const float keep = first ? 0.0f : exp_neg(*m - top);
    const float take = exp_neg(m2 - top);
    for (size_t i = 0; i < n; ++i) o[i] = first ? o2[i] : o[i] * keep + o2[i] * take;
    *l = first ? l2 : *l * keep + l2 * take;
    *m = top;
}

void finish(float l, const float* o, float* out, size_t n) {
    const float inverse = l == 0.0f ? 0.0f : 1.0f / l;
    for (size_t i = 0; i < n; ++i) out[i] = l == 0.0f ? 0.0f : o[i] * inverse;
}

void heads(const HeadArgs& a) {
    heads_by_rows(row_kernels, a);
}

}  // namespace

const AttendKernels attend_kernels = {"ref", heads, span, merge, finish, kv_write, kv_write_group};

}  // namespace ridge::ref
