// The memory map of the firmware: every buffer, where it lies, how long it lives and what it shares
// its place with. Banks are those of soc.h; c = rows of a chunk (at most 32), d = dim, q = heads *
// head_dim, kv = kv_heads * head_dim.
//
// | place         | bytes   | bank | holds, in order of time                                      |
// |---------------|---------|------|--------------------------------------------------------------|
// | q rows        | 8,192   | 2    | embedding rows int16 [c][d]; output of attention int16
// [c][q];| |               |         |      | in the FFN two hidden tiles int16 [c][32] | | act
// rows      | 8,192   | 3    | normalised rows int16 [c][d], prepare to their last product; | | |
// |      | in attention the rotated q of 8 rows int16 [8][q]            | | rope          | 4,096
// | 1    | cosines and sines of the chunk's positions                   | | softmax       | 4,096
// | 5    | two score tiles int32 [8][8]; two P tiles int16 [8][8];      | |               | | |
// statistics and score factors of 8 rows; pieces of 2^f        | | FFN tiles     | 16,384  | 5    |
// K, V int32 [c][2 kv] in qkv; O int32 [8][q] in attention;    | |               |         |      |
// gate and up int32, two of [c][64]                            | | firmware data | 8,192   | 5    |
// .data, .bss, ids, logits, stacks                             | | output cache  | 16,384  | 4    |
// Q int32 [c][q] until rotated; result of Wo int32 [c][d];     | |               |         |      |
// accumulator of down int32 [c][d]; head int32 [vocab]         | | weights       | 40,960  | 0    |
// five units, a ring                                           | | constants     | 8,192   | 0    |
// blocks A and B of the layer (image.h)                        | | residual      | 16,384  | 0    |
// int32 [c][d], the whole chunk                                | | KV ring       | 131,072 | 6, 7 |
// 128 slots: K of all layers (512 bytes), V of all layers      |
#pragma once

#include <stdint.h>

#include "boards/ai-max-395/firmware/image.h"
#include "boards/ai-max-395/firmware/options.h"

namespace ridge::fw {

// The host build keeps the SRAM in an array.
#ifdef RIDGE_FW_HOST
extern uint8_t host_sram[SOC_SRAM_BYTES];
static inline uint8_t* sram(uint32_t address) {
    return host_sram + (address - SOC_SRAM_BASE);
}
#else
static inline uint8_t* sram(uint32_t address) {
    return reinterpret_cast<uint8_t*>(address);
}
#endif

template <class T>
static inline T* at(uint32_t address) {
    return reinterpret_cast<T*>(sram(address));
}

inline constexpr uint32_t ring_units = RIDGE_FW_BANK_SPLIT ? SOC_WEIGHT_UNITS : 3u;
inline constexpr uint32_t weight_ring = SOC_WEIGHTS;
inline constexpr uint32_t q_rows = RIDGE_FW_BANK_SPLIT ? SOC_Q_BUFFER : SOC_WEIGHTS + 24576u;
inline constexpr uint32_t act_rows = RIDGE_FW_BANK_SPLIT ? SOC_KT_BUFFER : SOC_WEIGHTS + 32768u;
inline constexpr uint32_t rope_rows = SOC_ROPE;
inline constexpr uint32_t ffn_tiles = SOC_FFN_TILES;
inline constexpr uint32_t ffn_tile_bytes = 8192u;
inline constexpr uint32_t hidden_tile_bytes = IMAGE_MAX_CHUNK * IMAGE_HIDDEN_TILE * 2u;
inline constexpr uint32_t output_cache = SOC_OUTPUT_CACHE;
inline constexpr uint32_t constants = SOC_LAYER_CONSTANTS;
inline constexpr uint32_t residual = SOC_RESIDUAL;

inline constexpr uint32_t tile_rows = 8u;                       // of scores, and of a row block
inline constexpr uint32_t score_tiles = SOC_SOFTMAX;            // 2 x 256
inline constexpr uint32_t p_tiles = SOC_SOFTMAX + 512u;         // 2 x 128
inline constexpr uint32_t softmax_state = SOC_SOFTMAX + 768u;   // 128: two of {maximum, sum}[8]
inline constexpr uint32_t exp2_pieces = SOC_SOFTMAX + 896u;     // 128
inline constexpr uint32_t score_factors = SOC_SOFTMAX + 1024u;  // int32 [8][heads], 512
inline constexpr uint32_t warm_up_area = SOC_SOFTMAX + 2048u;   // 48, zeros: empty launches
inline constexpr uint32_t q_tile = act_rows;                    // int16 [8][q]
inline constexpr uint32_t reload_tiles = act_rows + 2048u;      // K and V copied out of the ring
inline constexpr uint32_t o_rows = SOC_FFN_TILES + 8192u;       // int32 [8][q]
// Unfused softmax: scores (int32) and P (int16) of all keys, [8][128].
inline constexpr uint32_t all_scores = SOC_FFN_TILES;
inline constexpr uint32_t all_p = SOC_FFN_TILES + 4096u;

inline constexpr uint32_t slot_value = 512u;  // where V begins in a slot

static_assert(exp2_pieces + 128u <= SOC_SOFTMAX + 4096u);
static_assert(2u * hidden_tile_bytes <= 8192u && 2u * ffn_tile_bytes == 16384u);
static_assert(weight_ring + ring_units * SOC_WEIGHT_UNIT <= constants);

// Address of a position's slot. The ring holds the last 128 positions.
static inline uint32_t slot_index(uint32_t position) {
#if RIDGE_FW_RING_MASK
    return position & (SOC_KV_SLOTS - 1u);
#else
    uint32_t slots = SOC_KV_SLOTS;
    __asm__("" : "+r"(slots));
    return position % slots;
#endif
}
static inline uint32_t slot_address(uint32_t position) {
    return SOC_KV_RING + slot_index(position) * SOC_KV_SLOT;
}

}  // namespace ridge::fw
