// Wo: rows of attention's output times the matrix, into the output cache. The last unit goes row
// block by row block, so that the norm behind can begin on the first rows.
#include "boards/ai-max-395/firmware/run.h"

namespace ridge::fw {

void out() {
    FW_STAGE_BEGIN(STAGE_OUT);
    const uint32_t rows_a_unit = image_unit_rows(run.q_dim);
    for (uint32_t row = 0; row < run.dim; row += rows_a_unit) {
        const Unit u = take_unit();
        const uint32_t n = min_u(rows_a_unit, run.dim - row);
        const Product p{
            q_rows, run.q_dim * 2, u.address, run.q_dim, output_cache + 4 * row, run.dim * 4, 0};
        if (row + rows_a_unit < run.dim) {
            push_product(p, 0, run.rows, n, u.number, u.number);
            continue;
        }
        for (uint32_t b = 0; b * block_rows < run.rows; ++b) {
            const uint32_t r0 = b * block_rows, m = min_u(run.rows - r0, block_rows);
            const bool last = r0 + m == run.rows;
            run.block_launch[b] = push_product(p, r0, m, n, u.number, last ? u.number : 0);
        }
    }
    FW_STAGE_END();
}

}  // namespace ridge::fw
