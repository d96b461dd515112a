/* The library of the AI Max 395: prefill and decode of a small decoder from flash, bare metal. Not
 * reentrant; hart 0 calls, hart 1 feeds the matrix unit meanwhile. */
#ifndef RIDGE_BOARDS_AI_MAX_395_PREFILL_H
#define RIDGE_BOARDS_AI_MAX_395_PREFILL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Checks the image at `weights` (in flash, 16-byte aligned; image.h) and prepares the chip.
 * sram_base must be SOC_SRAM_BASE. */
void prefill_init(uint8_t* weights, uint32_t sram_base);
/* A new sequence of seq_len (1 to 128) token ids; writes the logits after the last one, one float
 * for each id of the vocabulary. Both arrays outside of what memory.h lists. */
void prefill_run(int32_t* input_ids, int32_t seq_len, float* logits_out);
void prefill_cleanup(void);

/* Result of the last call of this library: a PrefillStatus (image.h). On error logits_out is as it
 * was. */
int32_t prefill_status(void);
/* Appends one token to the sequence. From the 129th position on the oldest token falls out of the
 * KV ring: attention sees the last 128 positions. */
void decode_step(int32_t token, float* logits_out);
/* Cycles from entry to return of the last prefill_run or decode_step. */
uint64_t prefill_cycles(void);
/* What hart 1 does, for ever: enter with a stack and interrupts masked before the first
 * prefill_run. */
void prefill_feeder(void);
/* Cycles of the longest time interrupts were masked and the hart awake, since prefill_init. */
uint32_t prefill_longest_mask(void);

#ifdef __cplusplus
}
#endif

#endif
