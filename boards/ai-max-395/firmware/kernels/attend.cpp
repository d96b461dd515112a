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
#include "boards/ai-max-395/firmware/run.h"

namespace ridge::fw {

namespace {

constexpr int32_t far_below = -(1 << 30);
constexpr int32_t lowest = -(20 << 16);  // 2^-20 of a P is nothing

struct Row {
    int32_t maximum, sum;
};

struct Tile {
    uint32_t head, kv_head, first_slot;
    bool begins, masked;
};

struct Block {
    uint32_t r0, m, layer;
    uint32_t tiles;   // key tiles of each head
    uint32_t masked;  // the tile with the newest keys, or `tiles` where none is masked
    int32_t offset;   // of row 0 within that tile
};

uint32_t push_scores(const Block& b, const Tile& t, const ImageStep& step, uint32_t out,
                     uint32_t out_bytes) {
    Launch l;
    l.q = q_tile + t.head * run.head_dim * 2;
    l.q_stride = run.q_dim * 2;
    l.k = SOC_KV_RING + t.first_slot * SOC_KV_SLOT +
          (b.layer * run.kv_dim + t.kv_head * run.head_dim) * 2;
    l.k_stride = SOC_KV_SLOT;
    l.o = out;
    l.o_stride = out_bytes;
    l.m_n = b.m | tile_rows << 16;
    l.depth = run.head_dim;
    l.ctrl = MAU_CTRL_TRANSPOSE_B | launch_attention;
    l.shift = step.shift[t.kv_head] == 0 ? MAU_NO_SHIFT : step.shift[t.kv_head];
    l.needs = l.releases = 0;
    return push(l);
}

uint32_t push_values(const Block& b, const Tile& t, uint32_t p, uint32_t p_bytes) {
    Launch l;
    l.q = p;
    l.q_stride = p_bytes;
    l.k = SOC_KV_RING + t.first_slot * SOC_KV_SLOT + slot_value +
          (b.layer * run.kv_dim + t.kv_head * run.head_dim) * 2;
    l.k_stride = SOC_KV_SLOT;
    l.o = o_rows + t.head * run.head_dim * 4;
    l.o_stride = run.q_dim * 4;
    l.m_n = b.m | run.head_dim << 16;
    l.depth = tile_rows;
    l.ctrl = (t.begins ? 0u : MAU_CTRL_ACCUMULATE) | launch_attention;
    l.shift = MAU_NO_SHIFT;
    l.needs = l.releases = 0;
    return push(l);
}

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
        const auto whole = static_cast<uint32_t>(8 - (d >> 16));
        const int32_t y = exp2_piece(pieces, d);
        x[j] = (y + shl(1, whole - 1)) >> whole;
        if (RIDGE_FW_FAULT == 4) x[j] >>= 1;
        sum += x[j];
    }
    for (uint32_t j = 0; j < tile_rows; ++j) p[j] = static_cast<int16_t>(x[j]);
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

// O / l with 8 fraction bits: R = 2^61 / (l << z), O * 4 * R * 2^-32 >> (15 - z).
void divide(const Block& b, uint32_t head, const Row* rows) {
    for (uint32_t r = 0; r < b.m; ++r) {
        const Normal l = normalize(rows[r].sum);
        const int32_t factor =  // 16 below, so that it is below 2^31
            static_cast<int32_t>(reciprocal<3>(static_cast<uint32_t>(l.mantissa)) - 16u);
        const Shift shift = shift_by(15 - l.zeros);
        int32_t* const o = at<int32_t>(o_rows) + r * run.q_dim + head * run.head_dim;
        for (uint32_t i = 0; i < run.head_dim; i += 8) {
            int32_t v[8];
            for (uint32_t j = 0; j < 8; ++j) v[j] = o[i + j];
            for (uint32_t j = 0; j < 8; ++j) o[i + j] = shift(mulh(shl(v[j], 2), factor));
        }
    }
}

void reset(Row* rows) {
    for (uint32_t r = 0; r < tile_rows; ++r) rows[r] = {far_below, 0};
}

// All heads of a block of rows. The tile after the last is never launched.
void attend_block(const Block& b, const ImageStep& step) {
    const uint32_t group = run.heads / run.kv_heads;
    const uint32_t count = run.heads * b.tiles;
    Tile t{0, 0, 0, true, b.masked == 0};
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
    uint32_t scores = push_scores(b, t, step, score_tiles, tile_rows * 4), values = 0;
    for (uint32_t i = 0; i < count; ++i) {
        const Tile now = t;
        const uint32_t mine = scores;
        if (i + 1 < count) {
            t = next(t);
            scores = push_scores(b, t, step, score_tiles + (~i & 1) * 256, tile_rows * 4);
        }
        Row* const rows = at<Row>(softmax_state) + state * tile_rows;
        if (now.begins) reset(rows);
        const auto pre =
            static_cast<uint32_t>(leading_zeros(run.head_dim << 22) - 1 + step.shift[now.kv_head]);
        const uint32_t p = p_tiles + (i & 1) * 128;
        wait_launch(Wait::score, mine);
        const int32_t* const s = at<int32_t>(score_tiles + (i & 1) * 256);
        if (now.masked)
            softmax_tile<true>(b, now, s, at<int16_t>(p), rows, pre, corrections);
        else
            softmax_tile<false>(b, now, s, at<int16_t>(p), rows, pre, corrections);
        if (i > 0) wait_launch(Wait::value, values);
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
    const ImageStep& step = run.step;
    wait_launch(Wait::result_q, run.first_launch);
    for (uint32_t r0 = 0; r0 < run.rows; r0 += tile_rows) {
        Block b;
        b.r0 = r0;
        b.m = min_u(run.rows - r0, tile_rows);
        b.layer = step.layer;
        const uint32_t position = run.position + r0, last = position + b.m - 1;
        const bool whole = position >= SOC_KV_SLOTS - 1;  // one row: every slot is seen
        b.tiles = whole ? SOC_KV_SLOTS / tile_rows : last / tile_rows + 1;
        b.masked = whole ? b.tiles : b.tiles - 1;
        b.offset = static_cast<int32_t>(position % tile_rows);
        rotate_q(r0, b.m);
        FW_STAGE_BEGIN(STAGE_ATTENTION);
        attend_block(b, step);
        FW_STAGE_END();
        quantize_block(b);
    }
}

}  // namespace ridge::fw
