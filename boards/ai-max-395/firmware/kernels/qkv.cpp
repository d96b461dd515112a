// K | V | Q of a chunk. K and V become 12-bit numbers in their layer's static scales and go to the
// ring; Q stays int32 in the output cache until attention takes it, eight rows at a time.
//
// A value is converted to fixed point (image.h), biased, clamped to +-65535, K and Q rotated:
//   x' = (x cos - y sin + 2^13) >> 14, and the like for y': at most sqrt(2) * 2^16 * 2^14 < 2^31.
#include "boards/ai-max-395/firmware/run.h"

namespace ridge::fw {

namespace {

constexpr int32_t fixed_limit = 65535;
constexpr int32_t operand_limit = 2047;

Product product_of(uint32_t weights, uint32_t out, uint32_t out_bytes) {
    return {act_rows, run.dim * 2, weights, run.dim, out, out_bytes, 0};
}

struct Converter {
    int32_t mantissa;
    Shift shift;
    int32_t operator()(int32_t acc, int32_t multiplier, int32_t bias) const {
        const int32_t z = shift(mulh(mulh(acc, multiplier), mantissa));
        return clamp_to(wrap_add(z, bias), fixed_limit);
    }
};
Converter converter(uint32_t r, int32_t exponent, int32_t frac) {
    const Scale s = run.scale[r];
    return {s.mantissa, shift_by(exponent + s.exponent - frac - 64)};
}

struct Pair {
    int32_t x, y;
};
// Cosine and sine of row r, pair i / 2.
inline Pair turn(uint32_t r, uint32_t i) {
    if (!RIDGE_FW_ROPE_LERP) {
        const int16_t* const t = at<int16_t>(rope_rows) + r * run.head_dim + i;
        return {t[0], t[1]};
    }
    const uint32_t phase = (run.position + r) * run.phases[i / 2];
    const int16_t* const t = at<int16_t>(rope_rows) + 2 * (phase >> 25);
    const auto f = static_cast<int32_t>((phase >> 9) & 0xffffu);
    return {t[0] + (((t[2] - t[0]) * f) >> 16), t[1] + (((t[3] - t[1]) * f) >> 16)};
}

inline Pair rotate(Pair p, Pair turn) {
    const int32_t c = turn.x, s = turn.y;
    if (RIDGE_FW_FAULT == 3) return p;
    const int32_t half = 1 << (IMAGE_ROPE_FRAC - 1);
    return {wrap_add(wrap_sub(p.x * c, p.y * s), half) >> IMAGE_ROPE_FRAC,
            wrap_add(wrap_add(p.x * s, p.y * c), half) >> IMAGE_ROPE_FRAC};
}

inline int16_t cache_unit(int32_t x) {
    const int32_t half = 1 << (IMAGE_KV_FRAC - 1);
    return static_cast<int16_t>(clamp_to((x + half) >> IMAGE_KV_FRAC, operand_limit));
}

// Row r of K and V into its slot.
void store_kv(const ImageStep& step, uint32_t r) {
    const int32_t* const acc = at<int32_t>(ffn_tiles) + r * 2 * run.kv_dim;
    const int32_t* const m = constants_a() + run.dim;
    const int32_t* const bias = m + run.q_dim + 2 * run.kv_dim;
    const uint32_t slot =
        slot_address(run.position + r) + static_cast<uint32_t>(step.layer) * run.kv_dim * 2;
    const Converter k = converter(r, step.exponent[0], IMAGE_KV_FRAC);
    int16_t* to = at<int16_t>(slot);
    uint32_t d = 0;
    for (uint32_t i = 0; i < run.kv_dim; i += 2) {
        const Pair p =
            rotate({k(acc[i], m[i], bias[i]), k(acc[i + 1], m[i + 1], bias[i + 1])}, turn(r, d));
        to[i] = cache_unit(p.x);
        to[i + 1] = cache_unit(p.y);
        d = d + 2 == run.head_dim ? 0 : d + 2;
    }
    const Converter v = converter(r, step.exponent[1], IMAGE_KV_FRAC);
    to = at<int16_t>(slot + slot_value);
    for (uint32_t i = 0; i < run.kv_dim; i += 2) {
        const uint32_t c = run.kv_dim + i;
        const int16_t a = cache_unit(v(acc[c], m[c], bias[c]));
        const int16_t b = cache_unit(v(acc[c + 1], m[c + 1], bias[c + 1]));
        to[i] = a;
        to[i + 1] = b;
    }
}

}  // namespace

void qkv_ahead(uint32_t r0, uint32_t m, bool first, bool last) {
    if (first) {
        const Unit u = take_unit();
        run.first_unit = u.number;
        run.first_slot = u.address;
    }
    const uint32_t n = min_u(run.unit_rows, 2 * run.kv_dim);
    run.first_launch = push_product(product_of(run.first_slot, ffn_tiles, run.kv_dim * 8), r0, m, n,
                                    run.first_unit, last ? run.first_unit : 0);
}

void qkv() {
    const ImageStep& step = run.step;
    FW_STAGE_BEGIN(STAGE_QKV);
    // Block B of this layer: the down product of the layer before has used its own.
    copy_start(constants + run.constants_a,
               run.image + run.constants +
                   static_cast<uint32_t>(step.layer) * (run.constants_a + run.constants_b) +
                   run.constants_a,
               run.constants_b);
    uint32_t kv_launch = run.first_launch;
    for (uint32_t row = run.unit_rows; row < 2 * run.kv_dim; row += run.unit_rows) {
        const Unit u = take_unit();
        const uint32_t n = min_u(run.unit_rows, 2 * run.kv_dim - row);
        kv_launch = push_product(product_of(u.address, ffn_tiles + 4 * row, run.kv_dim * 8), 0,
                                 run.rows, n, u.number, u.number);
    }
    for (uint32_t row = 0; row < run.q_dim; row += run.unit_rows) {
        const Unit u = take_unit();
        const uint32_t n = min_u(run.unit_rows, run.q_dim - row);
        run.first_launch =
            push_product(product_of(u.address, output_cache + 4 * row, run.q_dim * 4), 0, run.rows,
                         n, u.number, u.number);
    }
    wait_launch(Wait::result_kv, kv_launch);
    FW_MARK_BEGIN(STAGE_ROPE);
    for (uint32_t r = 0; r < run.rows; ++r) store_kv(step, r);
    FW_MARK_END();
    FW_STAGE_END();
}

void rotate_q(uint32_t r0, uint32_t m) {
    const ImageStep &step = run.before, &scores = run.step;
    const int32_t* const multipliers = constants_a() + run.dim + 2 * run.kv_dim;
    const int32_t* const biases = multipliers + run.q_dim + 2 * run.kv_dim;
    const int32_t* const cm = biases + run.q_dim;
    const uint32_t group = run.heads / run.kv_heads;
    for (uint32_t r = r0; r < r0 + m; ++r) {
        int32_t* acc = at<int32_t>(output_cache) + r * run.q_dim;
        int16_t* to = at<int16_t>(q_tile) + (r - r0) * run.q_dim;
        const Converter q = converter(r, step.exponent[2], step.frac);
        const int32_t* mult = multipliers;
        const int32_t* bias = biases;
        uint32_t kv_head = 0, in_group = 0;
        for (uint32_t h = 0; h < run.heads; ++h) {
            int32_t largest = 0;
            for (uint32_t i = 0; i < run.head_dim; i += 2) {
                const Pair p =
                    rotate({q(acc[i], mult[i], bias[i]), q(acc[i + 1], mult[i + 1], bias[i + 1])},
                           turn(r, i));
                acc[i] = p.x;
                acc[i + 1] = p.y;
                largest = max_of(max_of(largest, abs_of(p.x)), abs_of(p.y));
            }
            const Normal n = normalize(largest);
            const int32_t factor = round_factor(n.mantissa);
            const auto z = static_cast<uint32_t>(n.zeros);
            for (uint32_t i = 0; i < run.head_dim; i += 4) {
                int16_t v[4];
                for (uint32_t j = 0; j < 4; ++j) v[j] = round12(shl(acc[i + j], z), factor);
                for (uint32_t j = 0; j < 4; ++j) to[i + j] = v[j];
            }
            // x2 = mulh(S << pre, X): X = qmax CM 2^(80 - z - e - pre), attend.cpp.
            const int32_t shift = scores.shift[kv_head];
            const int32_t pre = leading_zeros(run.head_dim << 22) - 1 + shift;
            at<int32_t>(score_factors)[(r - r0) * run.heads + h] =
                shift_by(n.zeros + scores.exponent[0] + pre - 80)(mulh(n.mantissa, cm[kv_head]));
            acc += run.head_dim;
            to += run.head_dim;
            mult += run.head_dim;
            bias += run.head_dim;
            if (++in_group == group) {
                in_group = 0;
                ++kv_head;
            }
        }
    }
}

}  // namespace ridge::fw
