// residual += pending product; rows for the matrix unit = norm(residual), 12 bits with one scale a
// row.
//
//   x' = x << z, z from the row's largest: |x'| < 2^31        v = mulh(x', G)
//   mean square in units of 2^38 x'^2 (15 bits a value, so the sum of 128 stays below 2^30),
//   epsilon added, its reciprocal root into the row's scale; aq = round(2047 v / max|v|), image.h.
// Three passes over a row of the residual (bank 0), eight values at a time because a change of bank
// costs two cycles.
#include "boards/ai-max-395/firmware/run.h"

namespace ridge::fw {

namespace {

enum class Pending { none, out, down };

// Adds row r of the output cache; returns the bits that any |x| has.
template <Pending pending>
uint32_t add_pending(uint32_t r, const int32_t* multipliers, int32_t exponent) {
    int32_t* const x = at<int32_t>(residual) + r * run.dim;
    const int32_t* const acc = at<int32_t>(output_cache) + r * run.dim;
    int32_t any = 0;
    if (pending == Pending::none) {
        for (uint32_t i = 0; i < run.dim; ++i) any |= near_abs(x[i]);
        return static_cast<uint32_t>(any);
    }
    const Scale scale = run.scale[r];
    // out: e + t - F - 64. down: T = 1, one mulh less; `exponent` has F of up in it already.
    const Shift to_fixed =
        shift_by(pending == Pending::out ? exponent + scale.exponent - run.residual_frac - 64
                                         : exponent - run.hidden_shift[r] - run.residual_frac - 32);
    for (uint32_t i = 0; i < run.dim; i += 8) {
        int32_t z[8];
        for (uint32_t j = 0; j < 8; ++j) z[j] = acc[i + j];
        for (uint32_t j = 0; j < 8; ++j) {
            int32_t y = mulh(z[j], multipliers[i + j]);
            if (pending == Pending::out) y = mulh(y, scale.mantissa);
            const int32_t sum = wrap_add(x[i + j], to_fixed(y));
            x[i + j] = sum;
            any |= near_abs(sum);
        }
    }
    return static_cast<uint32_t>(any);
}

void normalize_row(uint32_t r, uint32_t any, const int32_t* gain, int32_t exponent) {
    const int32_t* const x = at<int32_t>(residual) + r * run.dim;
    int16_t* const to = at<int16_t>(act_rows) + r * run.dim;
    const int32_t zeros = leading_zeros(any | 1u) - 1;
    const auto z = static_cast<uint32_t>(zeros);
    uint32_t squares = 0;
    int32_t largest = 0;
    for (uint32_t i = 0; i < run.dim; i += 8) {
        for (uint32_t j = 0; j < 8; ++j) {
            const int32_t wide = shl(x[i + j], z);
            const int32_t u = wide >> 16;
            squares += static_cast<uint32_t>(u * u) >> 7;
            largest = max_of(largest, abs_of(mulh(wide, gain[i + j])));
        }
    }
    const Normal v = normalize(largest);
    // Mean of x'^2 in units of 2^38; epsilon in the same.
    const int32_t eps_shift = clamp_to(run.eps_exp + 38 - 2 * zeros, 31);
    const uint32_t mean =
        mulhu(squares << 1, run.inverse_dim) +
        (static_cast<uint32_t>(run.eps_mant) >> static_cast<uint32_t>(max_of(eps_shift, 0)));
    const int32_t k = leading_zeros(mean | 1u) & ~1;
    const uint32_t root = reciprocal_root((mean | 1u) << static_cast<uint32_t>(k));
    const auto vz = static_cast<uint32_t>(v.zeros);
    if (RIDGE_FW_Q12_4 || RIDGE_FW_STATIC_SCALES) {
        const int32_t mant = RIDGE_FW_Q12_4 ? 1 << 30 : run.step.static_mant;  // 16 = 2^30 2^-26
        const int32_t exp = RIDGE_FW_Q12_4 ? 26 : run.step.static_exp;
        const auto half_root = static_cast<int32_t>(root >> 1);
        const Shift steps = shift_by(exp + exponent + v.zeros - k / 2 - 32);
        for (uint32_t i = 0; i < run.dim; ++i) {
            const int32_t y = mulh(shl(mulh(shl(x[i], z), gain[i]), vz), half_root);
            to[i] = static_cast<int16_t>(clamp_to(steps(mulh(y, mant)), 2047));
        }
        run.scale[r] = {static_cast<int32_t>(reciprocal<3>(static_cast<uint32_t>(mant)) >> 1),
                        60 - exp};
        return;
    }
    const int32_t factor = round_factor(v.mantissa) >> (RIDGE_FW_FAULT == 2 ? 1 : 0);
    for (uint32_t i = 0; i < run.dim; i += 8) {
        int16_t q[8];
        for (uint32_t j = 0; j < 8; ++j)
            q[j] = round12(shl(mulh(shl(x[i + j], z), gain[i + j]), vz), factor);
        for (uint32_t j = 0; j < 8; ++j) to[i + j] = q[j];
    }
    const uint32_t product = mulhu(static_cast<uint32_t>(v.mantissa), root) << 2;
    run.scale[r] = {static_cast<int32_t>(mulhu(product, over_2047)),
                    13 + v.zeros + exponent - k / 2};
}

template <Pending pending>
void prepare_row(uint32_t r, const ImageStep& step, const int32_t* multipliers, int32_t exponent,
                 const int32_t* gain) {
    const uint32_t any = add_pending<pending>(r, multipliers, exponent);
    normalize_row(r, any, gain, step.exponent[0]);
}

template <Pending pending>
void prepare_rows(const ImageStep& step, const ImageStep& next, const int32_t* multipliers,
                  int32_t exponent, const int32_t* gain) {
    const uint32_t last_block = (run.rows - 1) / block_rows;
    if (next.kind == IMAGE_HEAD) {  // one row is left
        const uint32_t r = run.rows - 1;
        wait_launch(Wait::down, run.block_launch[last_block]);
        prepare_row<pending>(r, step, multipliers, exponent, gain);
        head_ahead(r);
        return;
    }
    for (uint32_t b = 0; b <= last_block; ++b) {
        const uint32_t r0 = b * block_rows, m = min_u(run.rows - r0, block_rows);
        if (pending == Pending::out) wait_launch(Wait::result_out, run.block_launch[b]);
        if (pending == Pending::down) wait_launch(Wait::down, run.block_launch[b]);
        for (uint32_t r = r0; r < r0 + m; ++r)
            prepare_row<pending>(r, step, multipliers, exponent, gain);
        if (next.kind == IMAGE_QKV)
            qkv_ahead(r0, m, b == 0, b == last_block);
        else
            ffn_ahead(r0, m, b == 0, b == last_block);
    }
}

}  // namespace

void prepare() {
    const ImageStep &step = run.step, &next = run.next, &product = run.before;
    FW_STAGE_BEGIN(STAGE_PREPARE);
    if (next.kind == IMAGE_FFN) {
        if (!RIDGE_FW_RELOAD_K) copy_wait(Wait::constants_b);
        const int32_t* const b = constants_b();
        prepare_rows<Pending::out>(step, next, b, product.exponent[0], b + run.dim);
    } else if (step.layer == 0) {
        prepare_rows<Pending::none>(step, next, nullptr, 0, constants_a());
    } else {
        copy_wait(Wait::constants_a);
        prepare_rows<Pending::down>(step, next, constants_b() + 2 * run.dim + 2 * run.hidden,
                                    product.exponent[2] + product.frac, constants_a());
    }
    FW_STAGE_END();
}

}  // namespace ridge::fw
