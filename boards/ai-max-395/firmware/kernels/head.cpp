// The head on one row: logits, the only floats. They are written at the very end, all of them.
#include "boards/ai-max-395/firmware/run.h"

namespace ridge::fw {

namespace {
constexpr uint32_t in_flight = 8;  // launches ahead of the wait: the queue's length is bounded
}

void head_ahead(uint32_t row) {
    run.head_row = row;
    run.first_launch = 0;
}

void head() {
    const ImageStep& step = run.step;
    FW_STAGE_BEGIN(STAGE_HEAD);
    const uint32_t b = run.constants + run.layers * (run.constants_a + run.constants_b);
    copy_start(constants + run.constants_a, run.image + b + run.constants_a, run.head_b);
    uint32_t launch = 0;
    for (uint32_t row = 0; row < run.vocab; row += run.unit_rows) {
        const Unit u = take_unit();
        const uint32_t n = min_u(run.unit_rows, run.vocab - row);
        const Product p{act_rows + run.head_row * run.dim * 2,
                        run.dim * 2,
                        u.address,
                        run.dim,
                        output_cache + 4 * row,
                        run.vocab * 4,
                        0};
        launch = push_product(p, 0, 1, n, u.number, u.number);
        if (row >= in_flight * run.unit_rows) wait_launch(Wait::head_queue, launch - in_flight);
    }
    copy_wait(Wait::constants_b);
    wait_launch(Wait::head, launch);
    const int32_t* const acc = at<int32_t>(output_cache);
    const int32_t* const m = constants_b();
    const Scale scale = run.scale[run.head_row];
    const Shift to_fixed = shift_by(step.exponent[0] + scale.exponent - step.frac - 64);
    // 2^-F, F within 0 to 31.
    const float unit = 1.0f / static_cast<float>(1u << static_cast<uint32_t>(step.frac));
    for (uint32_t i = 0; i < run.vocab_used; ++i) {
        int32_t z = to_fixed(mulh(mulh(acc[i], m[i]), scale.mantissa));
        if (RIDGE_FW_FAULT == 6) z = -z;
        run.logits[i] = static_cast<float>(z) * unit;
    }
    FW_STAGE_END();
}

}  // namespace ridge::fw
