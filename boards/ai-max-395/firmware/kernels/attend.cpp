// Causal attention over the KV ring, eight rows of q against eight slots at a time, with online
// softmax in base 2.
//
//   S = q K^T by the matrix unit, K read where it lies in the ring (rows 1 KB apart)
//   x = mulh(S << pre, X): scores in base 2, 16 fraction bits; pre makes |S << pre| < 2^30 whatever
//       the shift; X holds the row's scale of q, the head's of K and 1 / sqrt(head_dim)
//   m' = max(m, max x), c = 2^(m - m'), p = round(2047 * 2^(x - m')), l = l c + sum p
//   O = O c + p V, the product accumulated by the matrix unit; at the end O / l
// l has 8 fraction bits: at most 128 * 2047 * 2^8 < 2^26. |O| <= 128 * 2047 * 2047 < 2^29.
// The scores of the next tile are computed while the CPU works on this one.
#include "boards/ai-max-395/firmware/kernels/attend.h"

namespace ridge::fw {

namespace {

// Where a launch finds the slots of a tile: in the ring, or copied.
struct Operand {
    uint32_t address, stride;
};
Operand operand_of(const Block& b, const Tile& t, uint32_t part) {
    const uint32_t address = SOC_KV_RING + t.first_slot * SOC_KV_SLOT + part +
                             (b.layer * run.kv_dim + t.kv_head * run.head_dim) * 2;
    if (!RIDGE_FW_RELOAD_K) return {address, SOC_KV_SLOT};
    // Four buffers in turn: two launches may be waiting while one runs.
    const uint32_t bytes = run.head_dim * 2;
    const uint32_t to = reload_tiles + (run.reloads++ & 3u) * (t.slots * bytes);
    copy_rows(to, bytes, address, SOC_KV_SLOT, bytes, t.slots);
    copy_wait(Wait::reload);
    return {to, bytes};
}

}  // namespace

uint32_t push_scores(const Block& b, const Tile& t, uint32_t out, uint32_t out_bytes) {
    const Operand k = operand_of(b, t, 0);
    const uint32_t shift = run.step.shift[t.kv_head];
    Launch l;
    l.q = q_tile + t.head * run.head_dim * 2;
    l.q_stride = run.q_dim * 2;
    l.k = k.address;
    l.k_stride = k.stride;
    l.o = out;
    l.o_stride = out_bytes;
    l.m_n = b.m | t.slots << 16;
    l.depth = run.head_dim;
    l.ctrl = MAU_CTRL_TRANSPOSE_B | launch_attention;
    l.shift = shift == 0 ? MAU_NO_SHIFT : shift;
    l.needs = l.releases = 0;
    return push(l);
}

uint32_t push_values(const Block& b, const Tile& t, uint32_t p, uint32_t p_bytes) {
    const Operand v = operand_of(b, t, slot_value);
    Launch l;
    l.q = p;
    l.q_stride = p_bytes;
    l.k = v.address;
    l.k_stride = v.stride;
    l.o = o_rows + t.head * run.head_dim * 4;
    l.o_stride = run.q_dim * 4;
    l.m_n = b.m | run.head_dim << 16;
    l.depth = t.slots;
    l.ctrl = (t.begins ? 0u : MAU_CTRL_ACCUMULATE) | launch_attention;
    l.shift = MAU_NO_SHIFT;
    l.needs = l.releases = 0;
    return push(l);
}

namespace {

// 2^61 / d. The seeded way begins with the result before where d * y < 2 (it converges), else with
// the line, and saves a step.
uint32_t sum_reciprocal(uint32_t d) {
    if (!RIDGE_FW_NEWTON_SEED) return reciprocal<3>(d);
    const uint32_t line = 3031741621u - mulhu(d, 4042322161u);
    const int32_t good = sign_mask(static_cast<int32_t>(mulhu(d, run.seed) - 0x3fffffffu)) &
                         -static_cast<int32_t>(run.seed != 0);
    uint32_t y = (run.seed & static_cast<uint32_t>(good)) | (line & ~static_cast<uint32_t>(good));
    for (int i = 0; i < 2; ++i) y = mulhu(y, 0x40000000u - mulhu(d, y)) << 3;
    run.seed = y;
    return y;
}

}  // namespace

// O / l with 8 fraction bits: R = 2^61 / (l << z), O * 4 * R * 2^-32 >> (15 - z).
void divide(const Block& b, uint32_t head, const Row* rows) {
    for (uint32_t r = 0; r < b.m; ++r) {
        const Normal l = normalize(rows[r].sum);
        // 16 below, so that it is below 2^31.
        const auto factor =
            static_cast<int32_t>(sum_reciprocal(static_cast<uint32_t>(l.mantissa)) - 16u);
        const Shift shift = shift_by(15 - l.zeros);
        int32_t* const o = at<int32_t>(o_rows) + r * run.q_dim + head * run.head_dim;
        for (uint32_t i = 0; i < run.head_dim; i += 8) {
            int32_t v[8];
            for (uint32_t j = 0; j < 8; ++j) v[j] = o[i + j];
            for (uint32_t j = 0; j < 8; ++j) o[i + j] = shift(mulh(shl(v[j], 2), factor));
        }
    }
}

namespace {

// One row of a tile: scores to P; returns the factor for what came before, 30 fraction bits.
template <bool masked>
inline int32_t softmax_row(const int32_t* s, int16_t* p, Row& row, int32_t factor, uint32_t pre,
                           int32_t limit) {
    const Piece* const pieces = at<Piece>(exp2_pieces);
    int32_t x[tile_rows];
    int32_t largest = row.maximum;
    for (uint32_t j = 0; j < tile_rows; ++j) x[j] = s[j];
    for (uint32_t j = 0; j < tile_rows; ++j) {
        x[j] = mulh(shl(x[j], pre), factor);
        if (masked) {  // keys behind the row's own
            const int32_t beyond = sign_mask(limit - static_cast<int32_t>(j));
            x[j] = (x[j] & ~beyond) | (far_below & beyond);
        }
        largest = max_of(largest, x[j]);
    }
    const int32_t drop = max_of(wrap_sub(row.maximum, largest), lowest);
    const int32_t dropped = sign_mask(drop);  // where the maximum stays, O and l stay exactly
    const int32_t correction =
        (((exp2_piece(pieces, drop) * 2049) >> (-(drop >> 16))) & dropped) | ((1 << 30) & ~dropped);
    row.maximum = largest;
    int32_t sum = 0;
    for (uint32_t j = 0; j < tile_rows; ++j) {
        const int32_t d = max_of(wrap_sub(x[j], largest), lowest);
        x[j] = p_of(pieces, d);
        sum += x[j];
    }
    for (uint32_t j = 0; j < tile_rows; ++j) p[j] = p_operand(x[j]);
    row.sum = mulh(shl(row.sum, 2), correction) + shl(sum, 8);
    return correction;
}

// O of a row and head, times the factor.
inline void rescale(int32_t* o, int32_t correction) {
    for (uint32_t i = 0; i < run.head_dim; i += 8)
        for (uint32_t j = 0; j < 8; ++j) o[i + j] = mulh(shl(o[i + j], 2), correction);
}

template <bool masked>
void softmax_tile(const Block& b, const Tile& t, const int32_t* s, int16_t* p, Row* rows,
                  uint32_t pre, int32_t* corrections) {
    const int32_t* factor = at<int32_t>(score_factors) + t.head;
    for (uint32_t r = 0; r < b.m; ++r) {
        corrections[r] =
            softmax_row<masked>(s, p, rows[r], *factor, pre, b.offset + static_cast<int32_t>(r));
        s += tile_rows;
        p += tile_rows;
        factor += run.heads;
    }
}

void reset(Row* rows) {
    for (uint32_t r = 0; r < tile_rows; ++r) rows[r] = {far_below, 0};
}

// All heads of a block of rows. The tile after the last is never launched.
void attend_block(const Block& b) {
    const uint32_t group = run.heads / run.kv_heads;
    const uint32_t count = run.heads * b.tiles;
    Tile t{0, 0, 0, tile_rows, true, b.masked == 0};
    uint32_t j = 0, in_group = 0, state = 0;
    const auto next = [&](Tile from) {
        from.begins = ++j == b.tiles;
        if (from.begins) {
            j = 0;
            ++from.head;
            if (++in_group == group) {
                in_group = 0;
                ++from.kv_head;
            }
        }
        from.first_slot = j * tile_rows;
        from.masked = j == b.masked;
        return from;
    };
    int32_t corrections[tile_rows];
    uint32_t scores = push_scores(b, t, score_tiles, tile_rows * 4), values = 0;
    for (uint32_t i = 0; i < count; ++i) {
        const Tile now = t;
        const uint32_t mine = scores;
        if (i + 1 < count) {
            t = next(t);
            scores = push_scores(b, t, score_tiles + (~i & 1) * 256, tile_rows * 4);
        }
        Row* const rows = at<Row>(softmax_state) + state * tile_rows;
        if (now.begins) reset(rows);
        const uint32_t pre = score_shift(now.kv_head);
        const uint32_t p = p_tiles + (i & 1) * 128;
        wait_launch(Wait::score, mine);
        const int32_t* const s = at<int32_t>(score_tiles + (i & 1) * 256);
        FW_MARK_BEGIN(STAGE_SOFTMAX);
        if (now.masked)
            softmax_tile<true>(b, now, s, at<int16_t>(p), rows, pre, corrections);
        else
            softmax_tile<false>(b, now, s, at<int16_t>(p), rows, pre, corrections);
        FW_MARK_END();
        if (i > 0) wait_launch(Wait::value_next, values);
        if (!now.begins) {
            int32_t* o = at<int32_t>(o_rows) + now.head * run.head_dim;
            for (uint32_t r = 0; r < b.m; ++r, o += run.q_dim) rescale(o, corrections[r]);
        }
        values = push_values(b, now, p, tile_rows * 2);
        if (now.begins && now.head > 0)  // the head before is whole
            divide(b, now.head - 1, at<Row>(softmax_state) + (state ^ 1) * tile_rows);
        if (t.begins || i + 1 == count) state ^= 1;
    }
    wait_launch(Wait::value, values);
    divide(b, run.heads - 1, at<Row>(softmax_state) + (state ^ 1) * tile_rows);
}

// The block's output as rows for the matrix unit, 12 bits with one scale a row.
void quantize_block(const Block& b) {
    for (uint32_t r = 0; r < b.m; ++r) {
        const int32_t* const o = at<int32_t>(o_rows) + r * run.q_dim;
        int16_t* const to = at<int16_t>(q_rows) + (b.r0 + r) * run.q_dim;
        int32_t largest = 0;
        for (uint32_t i = 0; i < run.q_dim; i += 8)
            for (uint32_t j = 0; j < 8; ++j) largest = max_of(largest, abs_of(o[i + j]));
        const Normal n = normalize(largest);
        const int32_t factor = round_factor(n.mantissa);
        const auto z = static_cast<uint32_t>(n.zeros);
        for (uint32_t i = 0; i < run.q_dim; i += 8) {
            int16_t v[8];
            for (uint32_t j = 0; j < 8; ++j) v[j] = round12(shl(o[i + j], z), factor);
            for (uint32_t j = 0; j < 8; ++j) to[i + j] = v[j];
        }
        run.scale[b.r0 + r] = {
            static_cast<int32_t>(mulhu(static_cast<uint32_t>(n.mantissa), over_2047)),
            n.zeros + 18};
    }
}

}  // namespace

void attend() {
    wait_launch(Wait::result_q, run.first_launch);
    if (RIDGE_FW_RELOAD_K) copy_wait(Wait::constants_b);  // the channel must be free
    for (uint32_t r0 = 0; r0 < run.rows; r0 += tile_rows) {
        Block b;
        b.r0 = r0;
        b.m = min_u(run.rows - r0, tile_rows);
        b.layer = run.step.layer;
        const uint32_t position = run.position + r0, last = position + b.m - 1;
        const bool whole = position >= SOC_KV_SLOTS - 1;  // one row: every slot is seen
        b.tiles = whole ? SOC_KV_SLOTS / tile_rows : last / tile_rows + 1;
        b.masked = whole ? b.tiles : b.tiles - 1;
        b.offset = static_cast<int32_t>(position % tile_rows);
        FW_MARK_BEGIN(STAGE_ROPE);
        rotate_q(r0, b.m);
        FW_MARK_END();
        FW_STAGE_BEGIN(STAGE_ATTENTION);
        if (RIDGE_FW_FUSED_SOFTMAX && RIDGE_FW_TILED)
            attend_block(b);
        else
            attend_block_unfused(b);
        FW_STAGE_END();
        quantize_block(b);
    }
}

}  // namespace ridge::fw
