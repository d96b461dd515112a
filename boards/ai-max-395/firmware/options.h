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
// Softmax within the loop over score tiles; 0: scores of all keys first, then softmax over the row.
#ifndef RIDGE_FW_FUSED_SOFTMAX
#define RIDGE_FW_FUSED_SOFTMAX 1
#endif
// Interrupts are masked where a launch is configured; 0: never.
#ifndef RIDGE_FW_MASKED
#define RIDGE_FW_MASKED 1
#endif
// The timer's handler while a prefill runs: 1: the short one, 0: the general one.
#ifndef RIDGE_FW_SHORT_ISR
#define RIDGE_FW_SHORT_ISR 1
#endif
// Ring index by `& 0x7F`; 0: by % of a number the compiler does not know.
#ifndef RIDGE_FW_RING_MASK
#define RIDGE_FW_RING_MASK 1
#endif
// Rows of cosines and sines by position; 0: 128 entries a turn with linear interpolation.
#ifndef RIDGE_FW_ROPE_TABLE
#define RIDGE_FW_ROPE_TABLE 1
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
#ifndef RIDGE_FW_SKIP_WAIT
#define RIDGE_FW_SKIP_WAIT 0
#endif
