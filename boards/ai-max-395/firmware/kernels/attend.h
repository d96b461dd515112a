// What the two ways through attention share (attend.cpp, attend_unfused.cpp).
#pragma once

#include "boards/ai-max-395/firmware/run.h"

namespace ridge::fw {

inline constexpr int32_t far_below = -(1 << 30);
inline constexpr int32_t lowest = -(20 << 16);  // 2^-20 of a P is nothing

// Statistics of one row and head: the largest score in base 2, 16 fraction bits; sum of P, 8.
struct Row {
    int32_t maximum, sum;
};

// Some slots of the ring for one head.
struct Tile {
    uint32_t head, kv_head, first_slot, slots;
    bool begins, masked;
};

// Up to eight rows of q.
struct Block {
    uint32_t r0, m, layer;
    uint32_t tiles;   // key tiles of each head
    uint32_t masked;  // the tile with the newest keys, or `tiles` where none is masked
    int32_t offset;   // of row 0 within that tile
};

// S of a tile to `out`; O of the tile's head (accumulated unless the tile begins it).
uint32_t push_scores(const Block& b, const Tile& t, uint32_t out, uint32_t out_bytes);
uint32_t push_values(const Block& b, const Tile& t, uint32_t p, uint32_t p_bytes);
// O / l of a head with 8 fraction bits.
void divide(const Block& b, uint32_t head, const Row* rows);
// How far scores are shifted before they meet a row's factor.
static inline uint32_t score_shift(uint32_t kv_head) {
    return static_cast<uint32_t>(leading_zeros(run.head_dim << 22) - 1 + run.step.shift[kv_head]);
}
// P for a score in base 2 that is d below the maximum, d >= `lowest`.
static inline int32_t p_of(const Piece* pieces, int32_t d) {
    const auto whole = static_cast<uint32_t>(8 - (d >> 16));
    return (exp2_piece(pieces, d) + shl(1, whole - 1)) >> whole;
}

// P as the matrix unit takes it.
static inline int16_t p_operand(int32_t p) {
    return static_cast<int16_t>(RIDGE_FW_FAULT == 4 ? p >> 1 : p);
}

void attend_block_unfused(const Block& b);

}  // namespace ridge::fw
