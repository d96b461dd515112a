/* The flash image of the float baseline: this header, then f32 arrays at byte offsets from its
 * start. C and C++; shared by the firmware and tools/board_baseline.cpp. */
#ifndef RIDGE_BOARDS_AI_MAX_395_BASELINE_FLOAT_IMAGE_H
#define RIDGE_BOARDS_AI_MAX_395_BASELINE_FLOAT_IMAGE_H

#include <stdint.h>

#define FLOAT_IMAGE_MAGIC 0x66393533u /* "395f" */
#define FLOAT_IMAGE_MAX_LAYERS 16
#define FLOAT_IMAGE_MAX_TOKENS 64 /* what the KV region holds of f32 keys and values */
#define FLOAT_IMAGE_VERSION 1u

struct FloatLayer {
    uint32_t norms;          /* [2][dim]: before attention, before the FFN */
    uint32_t q, k, v, out;   /* [rows][columns], row-major as in the GGUF */
    uint32_t gate, up, down; /* down: [dim][hidden] */
};

struct FloatImage {
    uint32_t magic, version;
    uint32_t layers, dim, hidden, heads, kv_heads, head_dim, vocab;
    float epsilon;
    uint32_t embedding, final_norm, head;
    uint32_t rope; /* [FLOAT_IMAGE_MAX_TOKENS][head_dim]: cosine and sine of each pair */
    uint32_t tokens;
    int32_t ids[FLOAT_IMAGE_MAX_TOKENS];
    struct FloatLayer layer[FLOAT_IMAGE_MAX_LAYERS];
};

/* Stages that the firmware marks (SOC_MARK). */
#define FLOAT_STAGE_PREFILL 1
#define FLOAT_STAGE_PRODUCT 2 /* matrix products, staging of their weights included */
#define FLOAT_STAGE_DMA 3     /* ... of it: waiting for weights */
#define FLOAT_STAGE_SCORES 4
#define FLOAT_STAGE_SOFTMAX 5
#define FLOAT_STAGE_VALUES 6
#define FLOAT_STAGE_ROPE 7
#define FLOAT_STAGE_NORM 8
#define FLOAT_STAGE_GLU 9
#define FLOAT_STAGE_TILE 10 /* the inner loops of products */

#endif
