/* The firmware image of the AI Max 395, model.bin: every byte of it, and what every integer in it
 * means. C and C++, freestanding; firmware, host build and exporter include this file.
 *
 * All numbers are little-endian, all structures have no padding, all offsets count from the start
 * of the image (which lies at SOC_FLASH_BASE) and are multiples of 16. Sections, in this order:
 *
 *     ImageHeader | ImageStep[steps] | ImageUnit[units] | embedding | rope | constants | weights
 *
 * NUMERICS. `mulh(a, b)` is the upper half of a 32 x 32 bit signed product (floor).
 *
 * Weights:     w = wq * s[row], wq a 12-bit number (|wq| <= 2047) in an int16, s[row] = M[row] *
 * 2^-e: M int32, 0 <= M < 2^31, the largest of a matrix in [2^30, 2^31); e of the step.
 * Activations: a = aq * T * 2^-t, |aq| <= 2047, aq rounded to nearest, T and t of the token: chosen
 *              on the chip from the row's largest value.
 * Product:     acc = sum(wq * aq), int32; |acc| <= 2^22 * K, K <= 511, never overflows. In a fixed
 *              point of F fraction bits it is
 *              fixed(acc) = z >> n (half up) with z = mulh(mulh(acc, M), T), n = e + t - F - 64
 *              (z << -n where n < 0).
 * Residual:    int32, F = header.residual_frac. The exporter takes F such that four times the
 *              largest value of calibration stays below 2^31 (and F <= 24).
 * Norm gain:   g = G * 2^-e, G int32, |G| < 2^31, the largest in [2^30, 2^31).
 *              Prepare: v = residual * g; aq = round(2047 * v / max|v|); the reciprocal of the root
 *              mean square goes into T and t only. epsilon * 2^(2 * residual_frac) =
 *              eps_mant * 2^-eps_exp, eps_mant in [2^30, 2^31).
 * K and V:     static 12-bit scales sk, sv per layer and KV head, from calibration. M of a row of K
 *              (V) contains 1 / sk (1 / sv): s[row] = scale of the row's weights / sk[head].
 *              fixed(acc) has F = IMAGE_KV_FRAC and counts 1/16 of a cache unit; + bias; clamped to
 *              +-65535; K rotated; rounded to units; clamped to +-2047.
 * Q:           F = step.frac (exporter: calibration's largest |q| * 2^F <= 32767); + bias; clamped
 *              to +-65535; rotated; then per token and head qq = round(2047 * q / qmax), where qmax
 *              is that head row's largest |q| in units of 2^-F.
 * Bias:        int32 in the same fixed point as what it is added to; zeros where a model has none.
 * RoPE:        pairs (2i, 2i + 1) of a head (the exporter permutes the rows of Q and K of models
 *              that pair i with i + head_dim / 2). cos and sin are round(2^14 * x), int16;
 *              x' = (x cos - y sin + 2^13) >> 14, y' = (x sin + y cos + 2^13) >> 14.
 * Scores:      S = (sum(qq * kq) + half) >> score_shift by the MAU (int32 result; 0: no shift); in
 *              base 2, x2 = S * qmax * C[kv head], C = CM * 2^-score_exp =
 *              2^score_shift * sk * log2(e) / (sqrt(head_dim) * 2047 * 2^F of Q), CM int32 >= 0,
 *              the largest of the layer in [2^30, 2^31). x2 has 16 fraction bits; must stay below
 *              2^14 in magnitude. p = round(2047 * 2^(x2 - running maximum)), online over tiles of
 *              8 keys.
 * Output:      o = sum(p * vq) / sum(p), 8 fraction bits, in cache units of V; aq per token over
 * all heads. Columns of Wo are multiplied by sv[KV head of the column] before they are quantized,
 * so that all heads share the token's scale. Gate, up:    M of gate contains log2(e), M of up
 * ln(2): with g2 = gate * log2(e) (F = 16), silu(gate) * up = g2 / (1 + 2^-g2) * (up * ln 2). up
 * has F = step.frac; the product too: hq = h >> s (half up), one s >= 0 per token, raised when a
 * tile needs it (the accumulator's row is shifted with it). Down:        acc over all hidden tiles,
 * fixed with T = 1, t = F of up - s. Head:        F = step.frac; logit = float(fixed) * 2^-F, the
 * one conversion to float. Embedding:   int16, F = header.embedding_frac; residual = e <<
 * (residual_frac - embedding_frac), the difference 0 to 30. */
#ifndef RIDGE_BOARDS_AI_MAX_395_IMAGE_H
#define RIDGE_BOARDS_AI_MAX_395_IMAGE_H

#include <stdint.h>

#include "boards/ai-max-395/soc.h"

#define IMAGE_MAGIC 0x35393352u /* "R395" */
#define IMAGE_VERSION 1u
#define IMAGE_ALIGN 16u
#define IMAGE_KV_FRAC 4
#define IMAGE_GATE_FRAC 16
#define IMAGE_ROPE_FRAC 14
#define IMAGE_HIDDEN_TILE 32u /* columns of a tile of the FFN's hidden layer */
#define IMAGE_MAX_CHUNK 32u   /* rows of a prefill chunk */
#define IMAGE_MAX_DIM 128u    /* of the residual, and of all heads together */
#define IMAGE_MAX_HIDDEN 504u /* 2^22 * K stays within int32 */
#define IMAGE_MAX_VOCAB 512u  /* logits are 4 bytes each in 8 KB with data and stacks */

struct ImageHeader {
    uint32_t magic, version;
    uint32_t header_bytes; /* sizeof(ImageHeader) */
    uint32_t image_bytes;  /* all of it, a multiple of 16 */
    /* Over the image's 32-bit words but these two: sum = sum of words, sums = sum of the values
     * that `sum` takes after each word; both modulo 2^32. */
    uint32_t sum, sums;
    uint32_t dim; /* residual width; multiple of 8, <= 128 */
    uint32_t layers;
    uint32_t heads;          /* heads * head_dim <= 128, a multiple of 8 */
    uint32_t kv_heads;       /* divides heads; layers * kv_heads * head_dim <= 256 */
    uint32_t head_dim;       /* 8, 16, 24, ... 64 */
    uint32_t hidden;         /* of the FFN, padded with zeros to a multiple of 8, <= 504 */
    uint32_t vocab;          /* <= 512, a multiple of 4 (padded: see vocab_used) */
    uint32_t vocab_used;     /* ids below it are valid, logits beyond it are not written */
    uint32_t chunk_rows;     /* image_chunk_rows() */
    uint32_t rope_positions; /* 128 or more */
    int32_t residual_frac, embedding_frac;
    int32_t eps_mant, eps_exp;
    uint32_t steps, units; /* counts */
    uint32_t steps_offset, units_offset;
    uint32_t embedding_offset;         /* int16[vocab][dim] */
    uint32_t rope_offset;              /* int16[rope_positions][head_dim / 2][2]: cos, sin */
    uint32_t constants_offset;         /* blocks, below */
    uint32_t constants_a, constants_b; /* bytes of a layer's blocks A and B, multiples of 16 */
    uint32_t head_b;                   /* bytes of block B of the head */
    uint32_t weights_offset;
    uint32_t weights_bytes;
    uint32_t model_id[4]; /* the exporter's: first 16 bytes of a digest of the model; printed */
    /* Turns a position of pair i < 28, times 2^32 (modulo 2^32); zeros where the exporter gives
     * none. Read by RIDGE_FW_ROPE_LERP alone. */
    uint32_t rope_phase[28];
};

/* The program: embed | per layer: prepare, qkv, attend, out, prepare, ffn | prepare, head. The
 * firmware refuses any other list. */
enum ImageStepKind {
    IMAGE_EMBED = 1,
    IMAGE_PREPARE = 2, /* residual += pending product; rows for the MAU = norm(residual) */
    IMAGE_QKV = 3,     /* K | V | Q, bias, RoPE; K and V into the ring */
    IMAGE_ATTEND = 4,
    IMAGE_OUT = 5, /* Wo */
    IMAGE_FFN = 6, /* gate, up, down over hidden tiles */
    IMAGE_HEAD = 7 /* last row only, as its prepare */
};

struct ImageStep {
    uint16_t kind;
    uint16_t layer; /* `layers` for the last prepare and the head */
    uint16_t rows;  /* of the matrix: qkv (heads + 2 kv_heads) * head_dim, out dim, ffn hidden, head
                       vocab; 0 elsewhere */
    uint16_t depth; /* K: qkv, ffn, head dim; out heads * head_dim; 0 elsewhere */
    uint32_t first_unit, units; /* of this step */
    int32_t frac;               /* F: qkv of Q; ffn of up; head of logits */
    /* Exponents e: prepare {gain}; qkv {K, V, Q}; attend {score_exp}; out {Wo}; ffn {gate, up,
     * down}; head {head}. */
    int32_t exponent[3];
    uint8_t shift[16]; /* attend: score_shift per KV head (0 to 12); else zero */
    /* prepare: rows as 12-bit numbers at a scale fixed by calibration, aq = a * static_mant *
     * 2^-static_exp (2047 over the largest |a| seen; static_mant in [2^30, 2^31)). Read by
     * RIDGE_FW_STATIC_SCALES alone; zeros where the exporter gives none. */
    int32_t static_mant, static_exp;
    uint32_t reserved[2];
};

/* WEIGHT UNITS. Each is a block of rows of int16[rows][depth], contiguous, at most 8,192 bytes (a
 * slot of the SRAM ring), read whole by one transfer; units lie in flash without gaps in the order
 * in which they are read. With R = image_unit_rows(depth) rows a unit (the last of a group fewer):
 *
 *   qkv   group 1: rows of K then of V; group 2: rows of Q
 *   out   rows of Wo
 *   ffn   hidden tiles t of width w = 32 (the last: what remains). GU(t) = w rows of gate, then w
 *         rows of up: one unit where 2 * 32 * depth * 2 <= 8192, else two (gate, up). D(t) = the
 *         down matrix's columns of the tile, int16[dim][w]: one unit.
 *         Order: GU(0) GU(1) D(0) GU(2) D(1) ... GU(T-1) D(T-2) D(T-1).
 *   head  rows of the head */
struct ImageUnit {
    uint32_t offset, bytes;
};

/* CONSTANTS. For layer 0 .. layers - 1 block A then block B, then both of the head; int32 each,
 * in this order, each block padded with zeros to a multiple of 16 bytes:
 *   A        gain of the attention norm [dim] | M of K, V, Q [2 kv + q] | bias of K, V, Q [2 kv +
 * q] | CM of the scores [kv_heads] B        M of Wo [dim] | gain of the FFN norm [dim] | per hidden
 * tile: M of gate [w], of up [w] | M of down [dim] head A   gain of the last norm [dim]   (size
 * constants_a, padded) head B   M of the head [vocab]         (size head_b) constants_a +
 * max(constants_b, head_b) <= 8192. */

/* Rows of a weight unit. */
static inline uint32_t image_unit_rows(uint32_t depth) {
    const uint32_t rows = SOC_WEIGHT_UNIT / (2u * depth);
    return rows > MAU_MAX_N ? MAU_MAX_N : rows / 8u * 8u;
}
static inline uint32_t image_tile_units(uint32_t depth) {
    return 4u * IMAGE_HIDDEN_TILE * depth <= SOC_WEIGHT_UNIT ? 1u : 2u;
}
static inline uint32_t image_round16(uint32_t bytes) {
    return (bytes + 15u) / 16u * 16u;
}
static inline uint32_t image_constants_a(const struct ImageHeader* h) {
    const uint32_t rows = (h->heads + 2u * h->kv_heads) * h->head_dim;
    return image_round16(4u * (h->dim + 2u * rows + h->kv_heads));
}
static inline uint32_t image_constants_b(const struct ImageHeader* h) {
    return image_round16(4u * (3u * h->dim + 2u * h->hidden));
}

/* Rows of a chunk that the memory map has room for, up to 32, in steps of 8; 0: none. */
static inline uint32_t image_chunk_rows(uint32_t dim, uint32_t q_dim, uint32_t kv_dim) {
    for (uint32_t c = IMAGE_MAX_CHUNK; c >= 8u; c -= 8u) {
        const uint32_t wide = dim > q_dim ? dim : q_dim;
        if (c * dim * 4u > 16384u) continue;    /* residual */
        if (c * wide * 4u > 16384u) continue;   /* int32 results of Q, Wo, down: output cache */
        if (c * wide * 2u > 8192u) continue;    /* rows for the MAU; q; attention output */
        if (c * kv_dim * 8u > 16384u) continue; /* int32 results of K and V: FFN tiles */
        return c;
    }
    return 0u;
}

/* RUN REQUEST, read by the firmware's main program: right behind the image, at image_bytes rounded
 * up to 64. `sequences` of RunSequence follow RunRequest, each followed by its `prompt` ids
 * (int32).
 *
 * Output on the UART, one line each, numbers decimal:
 *   status S                                after prefill_init; S != 0 ends the program
 *   sequence I
 *   prefill status=S cycles=C instret=N     prefill_status(), mcycle and minstret across the call
 *   logits X X X ...                        RUN_PRINT_LOGITS: after each call, 8 hex digits a float
 *   token ID cycles=C                       each token, greedy (lowest id among equals), with the
 *                                           cycles of the call that gave its logits
 *   end status=S masked=C                   the longest masked window so far
 *   done
 * Exit code 0, or the first status that was not 0. The first token is the one after prefill;
 * `generate` tokens in all; decode_step is called generate - 1 times. `stop` ends a sequence early
 * (that token is printed); -1: never. */
#define RUN_MAGIC 0x31515252u /* "RRQ1" */
#define RUN_VERSION 1u
#define RUN_ALIGN 64u
#define RUN_PRINT_LOGITS 1u
#define RUN_FORCED                                                                    \
    2u /* the prompt holds all ids: prefill takes the first `prefill`, decode_step is \
          fed the rest in order; tokens are printed all the same */
struct RunRequest {
    uint32_t magic, version;
    uint32_t bytes; /* of request and sequences */
    uint32_t sequences;
    uint32_t tick_us; /* period of the timer interrupt; 0: off */
    uint32_t
        delay; /* turns of an idle loop before the first sequence: shifts the phase of the tick */
    uint32_t reserved[2];
};
struct RunSequence {
    uint32_t prompt;   /* ids that follow */
    uint32_t prefill;  /* without RUN_FORCED: = prompt; 1 to 128 */
    uint32_t generate; /* 1 or more; with RUN_FORCED: 1 + prompt - prefill */
    uint32_t flags;
    int32_t stop;
    uint32_t reserved[3];
};

/* prefill_status() */
enum PrefillStatus {
    PREFILL_OK = 0,
    PREFILL_NOT_READY = 1, /* no prefill_init, or it failed, or cleanup since */
    PREFILL_BAD_BASE = 2,  /* sram_base is not SOC_SRAM_BASE, or weights not in flash, aligned */
    PREFILL_BAD_MAGIC = 3,
    PREFILL_BAD_VERSION = 4,
    PREFILL_BAD_SIZE = 5, /* a size or offset leaves the image, or the image the flash */
    PREFILL_BAD_CHECKSUM = 6,
    PREFILL_BAD_SHAPE = 7,    /* dimensions that the memory map has no room for */
    PREFILL_BAD_PROGRAM = 8,  /* steps, units or constants that do not belong to the shape */
    PREFILL_BAD_LENGTH = 9,   /* seq_len not 1 to 128 */
    PREFILL_BAD_TOKEN = 10,   /* an id outside the vocabulary */
    PREFILL_BAD_POINTER = 11, /* null ids or logits */
    PREFILL_NO_SEQUENCE = 12, /* decode_step before prefill_run */
    PREFILL_TOO_LONG = 13,    /* position beyond the RoPE table */
    PREFILL_DEVICE = 14,      /* MAU or DMA reported an error */
    PREFILL_BAD_REQUEST = 15  /* the main program found no run request */
};

/* Stages marked for the simulator (SOC_MARK). */
#define STAGE_EMBED 1
#define STAGE_PREPARE 2
#define STAGE_QKV 3
#define STAGE_ATTENTION 4
#define STAGE_OUT 5
#define STAGE_FFN 6
#define STAGE_HEAD 7
#define STAGE_SOFTMAX 8 /* with RIDGE_FW_MARKS, inside of attention */
#define STAGE_ROPE 9    /* with RIDGE_FW_MARKS: rotation of K and Q */

#ifdef __cplusplus
static_assert(sizeof(ImageHeader) == 256 && sizeof(ImageStep) == 64 && sizeof(ImageUnit) == 8);
static_assert(sizeof(RunRequest) == 32 && sizeof(RunSequence) == 32);
#endif

#endif
