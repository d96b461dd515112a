// The gated FFN over tiles of 32 hidden columns: gate and up of the next tile are multiplied while
// the CPU computes silu(gate) * up of this one, which the down product then takes as 32 of its K.
//
//   g = gate * log2(e) and u = up * ln 2, both in fixed point; h = g / (1 + 2^-g) * u
//   sigmoid(|g|) = 1 / (1 + 2^-|g|) by Newton's method (two steps: 2e-5), mirrored for g < 0
//   hq = h >> s, one s a row for all tiles; where a tile needs a larger one, the row's accumulator
//   is shifted by the difference first
// |acc| of down <= 2^22 * hidden, hidden <= 504: below 2^31.
#include "boards/ai-max-395/firmware/run.h"

namespace ridge::fw {

namespace {

constexpr uint32_t tile_columns = IMAGE_HIDDEN_TILE;
constexpr uint32_t gu_bytes = 2 * tile_columns * 4;  // of a row of a gate | up tile

uint32_t tile_width(uint32_t t) {
    return min_u(tile_columns, run.hidden - t * tile_columns);
}
uint32_t gu_tile(uint32_t t) {
    return ffn_tiles + (t & 1) * ffn_tile_bytes;
}
uint32_t hidden_tile(uint32_t t) {
    return q_rows + (t & 1) * hidden_tile_bytes;
}
uint32_t down_block(uint32_t n0) {
    return min_u(MAU_MAX_N, run.dim - n0);
}

// Launches of rows r0 .. r0 + m of a gate | up tile, its units being at `unit`, `unit2`.
uint32_t push_gate_up(uint32_t t, const Unit& gate, const Unit& up, uint32_t r0, uint32_t m,
                      bool release) {
    const uint32_t w = tile_width(t), out = gu_tile(t);
    const Product p{act_rows, run.dim * 2, gate.address, run.dim, out, gu_bytes, 0};
    if (run.tile_units == 1)
        return push_product(p, r0, m, 2 * w, gate.number, release ? gate.number : 0);
    push_product(p, r0, m, w, gate.number, release ? gate.number : 0);
    const Product q{act_rows, run.dim * 2, up.address, run.dim, out + 4 * w, gu_bytes, 0};
    return push_product(q, r0, m, w, up.number, release ? up.number : 0);
}

uint32_t push_tile(uint32_t t) {
    const Unit gate = take_unit();
    const Unit up = run.tile_units == 1 ? gate : take_unit();
    return push_gate_up(t, gate, up, 0, run.rows, true);
}

uint32_t push_down(uint32_t t, const Unit& u, uint32_t r0, uint32_t m, bool release) {
    const uint32_t w = tile_width(t);
    uint32_t launch = 0;
    for (uint32_t n0 = 0; n0 < run.dim; n0 += MAU_MAX_N) {
        const uint32_t n = down_block(n0);
        const Product p{
            hidden_tile(t),        tile_columns * 2, u.address + n0 * w * 2,           w,
            output_cache + 4 * n0, run.dim * 4,      t == 0 ? 0u : MAU_CTRL_ACCUMULATE};
        launch = push_product(p, r0, m, n, u.number,
                              release && n0 + MAU_MAX_N >= run.dim ? u.number : 0);
    }
    return launch;
}

struct Row {
    Shift gate, up;
    int32_t mantissa;
};

// h of a row of the tile over its gates; returns the largest |h|.
int32_t gated_row(int32_t* gate, const int32_t* up, const int32_t* m, uint32_t w, const Row& row) {
    const Piece* const pieces = at<Piece>(exp2_pieces);
    int32_t largest = 0;
    for (uint32_t i = 0; i < w; ++i) {
        const int32_t g = row.gate(mulh(mulh(gate[i], m[i]), row.mantissa));
        const int32_t u = row.up(mulh(mulh(up[i], m[w + i]), row.mantissa));
        const int32_t s = sign_mask(g);
        const int32_t x = max_of(wrap_sub(s, g ^ s), -(24 << 16));  // -|g|
        // 2^x with 30 fraction bits, 1 + 2^x with 30.
        const int32_t power = (exp2_piece(pieces, x) * 2049) >> (-(x >> 16));
        const uint32_t y =
            reciprocal<2>((1u << 30) + static_cast<uint32_t>(power));  // 2^31 sigmoid
        const int32_t half = static_cast<int32_t>(y >> 1);             // 2^30 ...
        int32_t sigmoid = wrap_sub(half ^ s, s) + ((1 << 30) & s);
        if (RIDGE_FW_FAULT == 5) sigmoid = 1 << 30;
        const int32_t silu = mulh(shl(g, 2), sigmoid);
        const auto h = static_cast<int32_t>((static_cast<int64_t>(silu) * u) >> IMAGE_GATE_FRAC);
        gate[i] = h;
        largest = max_of(largest, abs_of(h));
    }
    return largest;
}

// Rows of a tile: silu(gate) * up as 12-bit numbers, the accumulator brought to their scale.
void gated_rows(const ImageStep& step, uint32_t t, uint32_t r0, uint32_t m) {
    const uint32_t w = tile_width(t);
    const int32_t* const multipliers = constants_b() + 2 * run.dim + 2 * t * tile_columns;
    for (uint32_t r = r0; r < r0 + m; ++r) {
        const Scale scale = run.scale[r];
        const Row row{shift_by(step.exponent[0] + scale.exponent - IMAGE_GATE_FRAC - 64),
                      shift_by(step.exponent[1] + scale.exponent - step.frac - 64), scale.mantissa};
        int32_t* const gate = at<int32_t>(gu_tile(t)) + r * 2 * tile_columns;
        const int32_t largest = gated_row(gate, gate + w, multipliers, w, row);
        // hq <= 2047 after rounding: the bits of largest * (1 + 2^-11) decide.
        const int32_t before = run.hidden_shift[r];
        const int32_t bits = 32 - leading_zeros(static_cast<uint32_t>(largest) +
                                                (static_cast<uint32_t>(largest) >> 11));
        const int32_t s = max_of(before, bits - 11);
        run.hidden_shift[r] = s;
        const Shift shift = shift_by(s);
        int16_t* const to = at<int16_t>(hidden_tile(t)) + r * tile_columns;
        for (uint32_t i = 0; i < w; i += 8) {
            int16_t v[8];
            for (uint32_t j = 0; j < 8; ++j) v[j] = static_cast<int16_t>(shift(gate[i + j]));
            for (uint32_t j = 0; j < 8; ++j) to[i + j] = v[j];
        }
        if (t == 0) continue;
        const Shift less = shift_by(s - before);
        int32_t* const acc = at<int32_t>(output_cache) + r * run.dim;
        for (uint32_t i = 0; i < run.dim; i += 8)
            for (uint32_t j = 0; j < 8; ++j)
                acc[i + j] = wrap_add(acc[i + j], less.half) >> less.right;
    }
}

}  // namespace

void ffn_ahead(uint32_t r0, uint32_t m, bool first, bool last) {
    if (first) {
        const Unit gate = take_unit();
        const Unit up = run.tile_units == 1 ? gate : take_unit();
        run.first_unit = gate.number;
        run.first_slot = gate.address;
        run.second_unit = up.number;
        run.second_slot = up.address;
    }
    run.first_launch = push_gate_up(0, {run.first_slot, run.first_unit},
                                    {run.second_slot, run.second_unit}, r0, m, last);
}

void ffn() {
    const ImageStep& step = run.step;
    FW_STAGE_BEGIN(STAGE_FFN);
    // Block A of what comes next: attention has used this layer's.
    const uint32_t next = static_cast<uint32_t>(step.layer) + 1;
    if (next < run.layers || run.last_chunk)
        copy_start(constants,
                   run.image + run.constants + next * (run.constants_a + run.constants_b),
                   run.constants_a);
    for (uint32_t r = 0; r < run.rows; ++r) run.hidden_shift[r] = 0;
    const uint32_t tiles = (run.hidden + tile_columns - 1) / tile_columns;
    uint32_t gate_up = run.first_launch, down = 0;
    for (uint32_t t = 0; t < tiles; ++t) {
        const uint32_t mine = gate_up;
        if (t + 1 < tiles) gate_up = push_tile(t + 1);
        wait_launch(Wait::gate_up, mine);
        if (t > 0) wait_launch(Wait::down, down);
        const Unit u = take_unit();
        if (t + 1 < tiles) {
            gated_rows(step, t, 0, run.rows);
            down = push_down(t, u, 0, run.rows, true);
            continue;
        }
        for (uint32_t b = 0; b * block_rows < run.rows; ++b) {
            const uint32_t r0 = b * block_rows, m = min_u(run.rows - r0, block_rows);
            gated_rows(step, t, r0, m);
            run.block_launch[b] = push_down(t, u, r0, m, r0 + m == run.rows);
        }
    }
    FW_STAGE_END();
}

}  // namespace ridge::fw
