// Attention without online softmax (RIDGE_FW_FUSED_SOFTMAX=0 or RIDGE_FW_TILED=0): scores of all
// keys of a head, then largest, P and sum, and the conversion for the matrix unit in three passes
// over them, then V. Untiled, one launch takes as many keys as the unit can.
#include "boards/ai-max-395/firmware/kernels/attend.h"

namespace ridge::fw {

namespace {

constexpr uint32_t score_bytes = SOC_KV_SLOTS * 4, p_bytes = SOC_KV_SLOTS * 2;
constexpr uint32_t in_flight = 8;

// Runs `push_tile` over the slots of a head in launches of up to `most`.
template <class PushTile>
void over_slots(uint32_t slots, uint32_t most, uint32_t head, uint32_t kv_head,
                const PushTile& push_tile) {
    uint32_t count = 0;
    for (uint32_t first = 0; first < slots; first += most) {
        const Tile t{head, kv_head, first, min_u(most, slots - first), first == 0, false};
        const uint32_t launch = push_tile(t);
        if (++count % in_flight == 0) wait_launch(Wait::score, launch);
    }
}

void softmax_rows(const Block& b, uint32_t head, uint32_t kv_head, uint32_t slots, Row* rows) {
    const Piece* const pieces = at<Piece>(exp2_pieces);
    const uint32_t pre = score_shift(kv_head);
    for (uint32_t r = 0; r < b.m; ++r) {
        int32_t* const x = at<int32_t>(all_scores + r * score_bytes);
        const int32_t factor = at<int32_t>(score_factors)[r * run.heads + head];
        const uint32_t base = b.masked == b.tiles ? slots : slots - tile_rows;
        const auto seen = static_cast<int32_t>(base) + b.offset + static_cast<int32_t>(r);
        int32_t largest = far_below;
        for (uint32_t j = 0; j < slots; ++j) {
            const int32_t beyond = sign_mask(seen - static_cast<int32_t>(j));
            const int32_t v = mulh(shl(x[j], pre), factor);
            x[j] = (v & ~beyond) | (far_below & beyond);
            largest = max_of(largest, x[j]);
        }
        rows[r].maximum = largest;
    }
    for (uint32_t r = 0; r < b.m; ++r) {
        int32_t* const x = at<int32_t>(all_scores + r * score_bytes);
        int32_t sum = 0;
        for (uint32_t j = 0; j < slots; ++j) {
            x[j] = p_of(pieces, max_of(wrap_sub(x[j], rows[r].maximum), lowest));
            sum += x[j];
        }
        rows[r].sum = shl(sum, 8);
    }
    for (uint32_t r = 0; r < b.m; ++r) {
        const int32_t* const x = at<int32_t>(all_scores + r * score_bytes);
        int16_t* const p = at<int16_t>(all_p + r * p_bytes);
        for (uint32_t j = 0; j < slots; ++j) p[j] = p_operand(x[j]);
    }
}

}  // namespace

void attend_block_unfused(const Block& b) {
    const uint32_t group = run.heads / run.kv_heads;
    const uint32_t slots = b.tiles * tile_rows;
    Row* const rows = at<Row>(softmax_state);
    uint32_t kv_head = 0, in_group = 0;
    for (uint32_t head = 0; head < run.heads; ++head) {
        uint32_t last = 0;
        over_slots(slots, RIDGE_FW_TILED ? tile_rows : MAU_MAX_N, head, kv_head,
                   [&](const Tile& t) {
                       return last = push_scores(b, t, all_scores + t.first_slot * 4, score_bytes);
                   });
        wait_launch(Wait::score, last);
        FW_MARK_BEGIN(STAGE_SOFTMAX);
        softmax_rows(b, head, kv_head, slots, rows);
        FW_MARK_END();
        over_slots(slots, RIDGE_FW_TILED ? tile_rows : MAU_MAX_K, head, kv_head,
                   [&](const Tile& t) {
                       return last = push_values(b, t, all_p + t.first_slot * 2, p_bytes);
                   });
        wait_launch(Wait::value, last);
        divide(b, head, rows);
        if (++in_group == group) {
            in_group = 0;
            ++kv_head;
        }
    }
}

}  // namespace ridge::fw
