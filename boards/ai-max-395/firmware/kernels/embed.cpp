// Embedding rows of the chunk by DMA, one descriptor a token, and the residual made of them:
// residual = e << (residual_frac - embedding_frac). The next row arrives while one is converted
// (256 bytes take 384 cycles, converting 128 values some 600). With them come the layer's first
// constants and the RoPE rows of the chunk's positions.
#include "boards/ai-max-395/firmware/rope_circle.h"
#include "boards/ai-max-395/firmware/run.h"

namespace ridge::fw {

namespace {

void fetch_row(uint32_t r) {
    const uint32_t bytes = run.dim * 2;
    const uint32_t id = static_cast<uint32_t>(run.ids[r]);
    copy_start(q_rows + r * bytes, run.image + run.embedding + id * bytes, bytes);
}

void convert_row(uint32_t r, uint32_t shift) {
    const int16_t* const from = at<int16_t>(q_rows) + r * run.dim;
    int32_t* const to = at<int32_t>(residual) + r * run.dim;
    for (uint32_t i = 0; i < run.dim; i += 8) {
        int32_t x[8];
        for (uint32_t j = 0; j < 8; ++j) x[j] = from[i + j];
        for (uint32_t j = 0; j < 8; ++j) to[i + j] = shl(x[j], shift);
    }
}

}  // namespace

void embed() {
    FW_STAGE_BEGIN(STAGE_EMBED);
    copy_start(constants, run.image + run.constants, run.constants_a);
    copy_wait(Wait::constants_a);
    if (RIDGE_FW_ROPE_LERP) {
        for (uint32_t i = 0; i < 258; ++i) at<int16_t>(rope_rows)[i] = rope_circle[i / 2][i % 2];
    } else {
        const uint32_t bytes = run.head_dim * 2;
        copy_start(rope_rows, run.image + run.rope + run.position * bytes, run.rows * bytes);
        copy_wait(Wait::rope);
    }
    auto shift = static_cast<uint32_t>(run.residual_frac - run.embedding_frac);
    if (RIDGE_FW_FAULT == 1) ++shift;
    fetch_row(0);
    for (uint32_t r = 0; r < run.rows; ++r) {
        copy_wait(Wait::embedding);
        if (RIDGE_FW_PRELOAD && r + 1 < run.rows) fetch_row(r + 1);
        convert_row(r, shift);
        if (!RIDGE_FW_PRELOAD && r + 1 < run.rows) fetch_row(r + 1);
        run.ring_lost |= ring_claim(&run.ring_head) != slot_index(run.position + r);
    }
    FW_STAGE_END();
}

}  // namespace ridge::fw
