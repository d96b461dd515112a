// The build switches of the firmware: each technique of the report can be left out, so that its
// worth can be measured. All are on (1) unless -DNAME=0 says otherwise; faults and skipped waits
// are for tests. The host build takes the same switches where they change numbers.
#pragma once

// Products by the matrix unit; 0: by the CPU, in the same integers.
#ifndef RIDGE_FW_MAU
#define RIDGE_FW_MAU 1
#endif
// Launches and weights run ahead of the CPU, fed by hart 1; 0: each launch fetches its unit of
// weights, waits for it, runs and is waited for.
#ifndef RIDGE_FW_DOUBLE_BUFFER
#define RIDGE_FW_DOUBLE_BUFFER 1
#endif
// Activations and weights in different banks; 0: activations beside the weights in bank 0 (the ring
// then has three units).
#ifndef RIDGE_FW_BANK_SPLIT
#define RIDGE_FW_BANK_SPLIT 1
#endif
// Four empty launches raise the matrix unit's clock before the first product.
#ifndef RIDGE_FW_WARM_UP
#define RIDGE_FW_WARM_UP 1
#endif
// Embedding rows arrive while the row before is converted; 0: one after the other.
#ifndef RIDGE_FW_PRELOAD
#define RIDGE_FW_PRELOAD 1
#endif
// Launches of many rows, attention in tiles of 8 x 8; 0: one row a launch, scores of all keys at
// once (and so no fused softmax).
#ifndef RIDGE_FW_TILED
#define RIDGE_FW_TILED 1
#endif
// Softmax within the loop over score tiles; 0: scores of all keys first, then three passes over
// them.
#ifndef RIDGE_FW_FUSED_SOFTMAX
#define RIDGE_FW_FUSED_SOFTMAX 1
#endif
// Interrupts are masked where a unit is set up; 0: never.
#ifndef RIDGE_FW_MASKED
#define RIDGE_FW_MASKED 1
#endif
// While a call runs the timer's trap goes to a handler of its own that saves three registers; 0: to
// the general one.
#ifndef RIDGE_FW_ISR_REDIRECT
#define RIDGE_FW_ISR_REDIRECT 1
#endif
// Ring index by `& 0x7F`; 0: by % of a number the compiler does not know.
#ifndef RIDGE_FW_RING_MASK
#define RIDGE_FW_RING_MASK 1
#endif

// Techniques that are not used because they cost more or lose accuracy; 1 tries them.
// Cosines and sines from 128 entries a turn by linear interpolation (image: rope_phase) instead of
// rows by position.
#ifndef RIDGE_FW_ROPE_LERP
#define RIDGE_FW_ROPE_LERP 0
#endif
// The softmax's reciprocal begins with the one before, where that converges, and does one step
// less.
#ifndef RIDGE_FW_NEWTON_SEED
#define RIDGE_FW_NEWTON_SEED 0
#endif
// K and V tiles are copied out of the ring by DMA before each launch instead of read where they
// lie.
#ifndef RIDGE_FW_RELOAD_K
#define RIDGE_FW_RELOAD_K 0
#endif
// Rows behind a norm with the fixed step 1/16 (Q12.4) instead of a scale a row. Weights are as in
// the image (one scale a matrix is the exporter's choice).
#ifndef RIDGE_FW_Q12_4
#define RIDGE_FW_Q12_4 0
#endif
// The same rows at scales that calibration fixed (image: static_mant).
#ifndef RIDGE_FW_STATIC_SCALES
#define RIDGE_FW_STATIC_SCALES 0
#endif

// Marks for the simulator inside of stages: softmax, rotation (their bytes then do not count for
// the stage around).
#ifndef RIDGE_FW_MARKS
#define RIDGE_FW_MARKS 0
#endif
// Last products before a norm in blocks of rows, so that norms run beside them.
#ifndef RIDGE_FW_ROW_BLOCKS
#define RIDGE_FW_ROW_BLOCKS 1
#endif

// A kernel that is wrong on purpose (tests): 1 embedding, 2 norm, 3 RoPE, 4 softmax, 5 SiLU, 6
// head.
#ifndef RIDGE_FW_FAULT
#define RIDGE_FW_FAULT 0
#endif
// A wait that is left out (tests): the number of one of the Wait values of port.h.
#define RIDGE_FW_WAITS 18
#ifndef RIDGE_FW_SKIP_WAIT
#define RIDGE_FW_SKIP_WAIT 0
#endif
