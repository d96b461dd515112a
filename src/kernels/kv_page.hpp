// KV pages: the keys and values of one kv head over one span of positions. Freestanding.
//
// A span is kv_span consecutive positions anchored at a multiple of kv_span; attention reduces each
// span on its own and merges spans in order, so a page is the unit of both memory and arithmetic.
// Layout (P = head_dim padded to 16; lanes are keys for scores and dimensions for values, so that
// both products run over the same tiles as weights do):
//
//   bf16  K [16 groups of 16 keys][ceil(head_dim/2)][16 keys][2]   V [128 key pairs][P][2]
//   int8  K and V as bf16 but one byte an element; then f32 kscale[256], f32 vscale[256]
//   f32   K [16][head_dim][16 keys]                                V [256][P]
//   f16   as f32
//
// Fresh pages are zero. Padding stays zero.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace ridge {

enum class KvType : uint8_t { bf16, f16, f32, int8 };

inline constexpr uint32_t kv_span = 256;

static constexpr size_t kv_element_bytes(KvType t) {
    return t == KvType::f32 ? 4 : t == KvType::int8 ? 1 : 2;
}
static constexpr size_t kv_padded(size_t head_dim) {
    return (head_dim + 15) / 16 * 16;
}
static constexpr bool kv_paired(KvType t) {
    return t == KvType::bf16 || t == KvType::int8;
}
static constexpr size_t kv_k_rows(KvType t, size_t head_dim) {
    return kv_paired(t) ? (head_dim + 1) / 2 * 2 : head_dim;
}
static constexpr size_t kv_v_offset(KvType t, size_t head_dim) {
    return kv_span * kv_k_rows(t, head_dim) * kv_element_bytes(t);
}
static constexpr size_t kv_scale_offset(KvType t, size_t head_dim) {
    return kv_v_offset(t, head_dim) + kv_span * kv_padded(head_dim) * kv_element_bytes(t);
}
static constexpr size_t kv_page_bytes(KvType t, size_t head_dim) {
    return kv_scale_offset(t, head_dim) + (t == KvType::int8 ? kv_span * 8 : 0);
}

}  // namespace ridge
