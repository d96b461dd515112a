/* clang-format off */
/* The AI Max 395 as software sees it: every address, register, bit and limit, once. Firmware, host
 * build and simulator include this file; whoever has a chip changes it here. Costs in cycles are not
 * here but in board.toml. C and C++, needs nothing.
 *
 * [S] is stated by the report, the rest resolves what it leaves open (docs/boards/ai-max-395.md). */
#ifndef RIDGE_BOARDS_AI_MAX_395_SOC_H
#define RIDGE_BOARDS_AI_MAX_395_SOC_H

#define SOC_HARTS 2u                /* [S] */
#define SOC_CPU_MHZ 1800u           /* [S] */
#define SOC_MTIME_HZ 1000000u       /* [S] */

/* --- memories ------------------------------------------------------------------------------- */
#define SOC_ROM_BASE 0x00000000u
#define SOC_ROM_WINDOW 0x00010000u  /* the address window */
#define SOC_ROM_LIMIT 46080u        /* [S] 45 KB of image */
#define SOC_TEXT_LIMIT 32768u       /* [S] 32 KB of code */
#define SOC_SRAM_BASE 0x20000000u   /* [S] */
#define SOC_SRAM_BYTES 0x00040000u  /* [S] 256 KB */
#define SOC_FLASH_BASE 0x30000000u
#define SOC_FLASH_BYTES 0x01000000u

/* The banks, in order of address: X(base, bytes, bank). Eight banks, one port each [S]. */
#define SOC_BANK_COUNT 8u
#define SOC_BANK_TABLE(X)        \
    X(0x20000000u, 0x02000u, 2u) \
    X(0x20002000u, 0x02000u, 3u) \
    X(0x20004000u, 0x01000u, 1u) \
    X(0x20005000u, 0x07000u, 5u) \
    X(0x2000c000u, 0x04000u, 4u) \
    X(0x20010000u, 0x10000u, 0u) \
    X(0x20020000u, 0x10000u, 6u) \
    X(0x20030000u, 0x10000u, 7u)

/* What lies where (docs/boards/ai-max-395.md has lifetimes and overlaps). */
#define SOC_Q_BUFFER 0x20000000u        /* [S] 8 KB, bank 2 */
#define SOC_KT_BUFFER 0x20002000u       /* 8 KB, bank 3 */
#define SOC_ROPE 0x20004000u            /* 4 KB, bank 1 */
#define SOC_SOFTMAX 0x20005000u         /* 4 KB, bank 5 */
#define SOC_FFN_TILES 0x20006000u       /* 16 KB, bank 5 */
#define SOC_FIRMWARE_DATA 0x2000a000u   /* 8 KB, bank 5: data, token ids, logits, stacks */
#define SOC_OUTPUT_CACHE 0x2000c000u    /* 16 KB, bank 4 */
#define SOC_WEIGHTS 0x20010000u         /* 40 KB, bank 0: five units of 8 KB */
#define SOC_WEIGHT_UNIT 8192u
#define SOC_WEIGHT_UNITS 5u
#define SOC_LAYER_CONSTANTS 0x2001a000u /* 8 KB, bank 0 */
#define SOC_RESIDUAL 0x2001c000u        /* 16 KB, bank 0 */
#define SOC_KV_RING 0x20020000u         /* 128 KB, banks 6 and 7 */
#define SOC_KV_SLOTS 128u               /* [S] */
#define SOC_KV_SLOT 1024u

/* --- CLINT: software interrupts and time ------------------------------------------------------ */
#define CLINT_BASE 0x02000000u
#define CLINT_MSIP(hart) (CLINT_BASE + 4u * (hart))
#define CLINT_MTIMECMP(hart) (CLINT_BASE + 0x4000u + 8u * (hart))
#define CLINT_MTIME (CLINT_BASE + 0xbff8u) /* 64 bit: read high, low, high */

/* --- interrupt controller: three lines ---------------------------------------------------------
 * A line becomes pending when its unit completes with its interrupt enabled, and is cleared by
 * reading CLAIM (the lowest pending enabled source of that hart, or 0). */
#define PLIC_BASE 0x0c000000u
#define PLIC_PENDING 0x00u       /* read only, bit = source */
#define PLIC_ENABLE(hart) (0x04u + 4u * (hart))
#define PLIC_CLAIM(hart) (0x0cu + 4u * (hart))
#define PLIC_SOURCE_MAU 1u
#define PLIC_SOURCE_DMA0 2u
#define PLIC_SOURCE_DMA1 3u

/* --- of the model, no part of the chip -------------------------------------------------------- */
#define UART_BASE 0x10000000u     /* +0 transmits a byte, +5 bit 5: there is room */
#define FINISHER_BASE 0x00100000u /* 0x5555: success; (code << 16) | 0x3333: that code */
/* `slti x0, x0, n`, a hint that does nothing on a chip, marks stages for the simulator: n > 0 opens
 * stage n on this hart, 0 closes the innermost. */
#define SOC_MARK(n) __asm__ volatile("slti x0, x0, %0" ::"i"(n))

/* --- MAU: out = Q x K, int16 containers of 12-bit numbers --------------------------------------
 * Q is M x DIM_K, row-major. K is DIM_K x N, row-major; with TRANSPOSE_B it is N x DIM_K (rows of
 * weights). Strides are bytes from row to row. One launch is twelve stores [S], START the last.
 * Operands outside [-2048, 2047] are clamped and set STATUS_SATURATED. Products are at most 2^22,
 * so a depth of 128 stays below 2^29 and four accumulated launches (K <= 511) within int32. */
#define MAU_BASE 0x40000000u
#define MAU_CTRL 0x00u
#define MAU_Q_ADDR 0x04u
#define MAU_Q_STRIDE 0x08u
#define MAU_K_ADDR 0x0cu
#define MAU_K_STRIDE 0x10u
#define MAU_O_ADDR 0x14u
#define MAU_O_STRIDE 0x18u
#define MAU_DIM_M_N 0x1cu  /* M | N << 16, each 1 to 64 */
#define MAU_DIM_K 0x20u    /* 1 to 128 */
#define MAU_SHIFT 0x24u    /* rounding right shift (half up), 0 to 30; 31: none */
#define MAU_CLAMP 0x28u    /* c > 0: results within [-c - 1, c]; 0: no limit but the type's */
#define MAU_START 0x2cu    /* writing 1 starts */
#define MAU_STATUS 0x30u   /* read; writing clears the sticky bits that are 1 */

#define MAU_CTRL_TRANSPOSE_B 1u
#define MAU_CTRL_ACCUMULATE 2u /* int32 results are added to O; needs SHIFT 31 and no INT16 */
#define MAU_CTRL_INT16 4u      /* results are int16 (saturated), else int32 */
#define MAU_CTRL_IRQ 8u

#define MAU_STATUS_DONE 1u       /* [S] */
#define MAU_STATUS_BUSY 2u
#define MAU_STATUS_SATURATED 4u  /* sticky: an operand was clamped */
#define MAU_STATUS_ALIGNMENT 8u  /* sticky: an operand was not aligned; START raised an exception */
#define MAU_STATUS_WARM 16u      /* runs at full clock */
#define MAU_STATUS_CONFIG 32u    /* sticky: a launch that cannot be; START raised an exception */

#define MAU_MAX_M 64u
#define MAU_MAX_N 64u
#define MAU_MAX_K 128u
#define MAU_ALIGN 16u /* [S] bytes: addresses, and strides where there is more than one row */
#define MAU_NO_SHIFT 31u
#define MAU_OPERAND_MIN (-2048) /* [S] */
#define MAU_OPERAND_MAX 2047

/* --- DMA: two channels [S] ---------------------------------------------------------------------
 * Copies LEN bytes, or ROWS rows of LEN bytes each, from flash, ROM or SRAM into SRAM. */
#define DMA_BASE 0x40010000u
#define DMA_CHANNELS 2u
#define DMA_CHANNEL(c) (DMA_BASE + 0x20u * (c))
#define DMA_SRC 0x00u
#define DMA_DST 0x04u
#define DMA_LEN 0x08u
#define DMA_CTRL 0x0cu
#define DMA_STATUS 0x10u     /* read; writing clears DONE and ERROR */
#define DMA_ROWS 0x14u       /* 0 and 1: one row */
#define DMA_SRC_STRIDE 0x18u /* bytes from row to row */
#define DMA_DST_STRIDE 0x1cu

#define DMA_CTRL_START 1u
#define DMA_CTRL_IRQ 2u
#define DMA_STATUS_BUSY 1u
#define DMA_STATUS_DONE 2u
#define DMA_STATUS_ERROR 4u

#define DMA_MAX_BYTES 16384u /* [S] of one transfer, all rows together */
#define DMA_ALIGN 4u         /* addresses, lengths, strides */

#endif
