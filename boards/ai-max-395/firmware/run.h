// What the kernels share: the model's shape, the pass under way, products by weight unit.
#pragma once

#include "boards/ai-max-395/firmware/fixed.h"
#include "boards/ai-max-395/firmware/port.h"

namespace ridge::fw {

inline constexpr uint32_t block_rows = RIDGE_FW_ROW_BLOCKS ? tile_rows : IMAGE_MAX_CHUNK;
inline constexpr uint32_t max_blocks = IMAGE_MAX_CHUNK / tile_rows;

struct Run {
    // The model (prefill_init).
    const uint8_t* image;
    const ImageStep* steps;
    const ImageUnit* units;
    uint32_t n_steps, layer_units, all_units;
    uint32_t dim, layers, heads, kv_heads, head_dim, q_dim, kv_dim, hidden, vocab, vocab_used;
    uint32_t chunk_rows, rope_positions;
    int32_t residual_frac, embedding_frac, eps_mant, eps_exp;
    uint32_t inverse_dim;    // 2^32 / dim
    const uint32_t* phases;  // ImageHeader::rope_phase
    uint32_t embedding, rope, constants, constants_a, constants_b, head_b;  // offsets, bytes
    uint32_t unit_rows, tile_units;

    // The chunk.
    ImageStep before, step, next;  // the step under way and its neighbours, out of flash
    const int32_t* ids;
    float* logits;
    uint32_t position, rows;
    bool last_chunk;
    uint32_t unit, slot;  // units taken in this pass; place of the next one in the ring
    // The step whose first products `ahead` launched: their units, the last launch.
    uint32_t first_unit, first_slot, second_unit, second_slot, first_launch;
    uint32_t head_row;
    uint32_t block_launch[max_blocks];  // last launch of each row block of a pending product
    Scale scale[IMAGE_MAX_CHUNK];       // of the MAU's rows: act rows, output of attention
    int32_t hidden_shift[IMAGE_MAX_CHUNK];
    volatile uint32_t ring_head;  // slot of the next position; slot_busy while one claims
    uint32_t seed;                // the last reciprocal (RIDGE_FW_NEWTON_SEED)
    uint32_t reloads;             // copies so far (RIDGE_FW_RELOAD_K)
    bool ring_lost;               // a slot was not the one expected
};
extern Run run;

static inline uint32_t min_u(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

// Block A of the layer, block B, their parts.
static inline const int32_t* constants_a() {
    return at<int32_t>(constants);
}
static inline const int32_t* constants_b() {
    return at<int32_t>(constants + run.constants_a);
}

// The next unit of the stream.
struct Unit {
    uint32_t address, number;  // units up to `number` must have arrived
};
static inline Unit take_unit() {
    const Unit u{weight_ring + run.slot * SOC_WEIGHT_UNIT, run.unit + 1};
    ++run.unit;
    run.slot = run.slot + 1 == ring_units ? 0 : run.slot + 1;
    return u;
}

// out[r][0 .. n) = rows[r] x weights' rows 0 .. n, rows r0 .. r0 + m.
struct Product {
    uint32_t rows, row_bytes;  // operand
    uint32_t weights, depth;
    uint32_t out, out_bytes;  // result, bytes from row to row
    uint32_t accumulate;      // MAU_CTRL_ACCUMULATE or 0
};
static inline uint32_t push_product(const Product& p, uint32_t r0, uint32_t m, uint32_t n,
                                    uint32_t needs, uint32_t releases) {
    Launch l;
    l.q = p.rows + r0 * p.row_bytes;
    l.q_stride = p.row_bytes;
    l.k = p.weights;
    l.k_stride = 2 * p.depth;
    l.o = p.out + r0 * p.out_bytes;
    l.o_stride = p.out_bytes;
    l.m_n = m | n << 16;
    l.depth = p.depth;
    l.ctrl = MAU_CTRL_TRANSPOSE_B | p.accumulate;
    l.shift = MAU_NO_SHIFT;
    l.needs = needs;
    l.releases = releases;
    return push(l);
}

// kernels/*.cpp. A prepare launches the first products of the step behind it (`ahead`) as soon as
// rows are ready; that step launches the rest. They work on run.step.
void embed();
void prepare();
void qkv();
void attend();
void out();
void ffn();
void head();
void qkv_ahead(uint32_t r0, uint32_t m, bool first, bool last);
void ffn_ahead(uint32_t r0, uint32_t m, bool first, bool last);
void head_ahead(uint32_t row);
// Rotated, quantized q of rows r0 .. r0 + m into the q tile, their score factors.
void rotate_q(uint32_t r0, uint32_t m);

// The slot of the next position: safe with both harts claiming. Returns its index.
uint32_t ring_claim(volatile uint32_t* head);
void ring_reset(volatile uint32_t* head);

// Checks an image: a PrefillStatus; fills the model part of `run` where it is PREFILL_OK.
int32_t load_image(const uint8_t* image, uint32_t flash_bytes);

}  // namespace ridge::fw
