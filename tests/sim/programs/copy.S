// Copies 4 KB from flash by DMA, multiplies an 8 x 128 x 8 tile on the MAU, prints "ok" and ends.
// NO_DMA_WAIT and NO_MAU_WAIT leave waits out; the access after it is at `after_dma`, `after_mau`.
#include "boards/ai-max-395/soc.h"

    .section .text.start
    .global _start
_start:
    csrr t0, mhartid
    bnez t0, park
    li s0, DMA_CHANNEL(0)
    li t0, SOC_FLASH_BASE
    sw t0, DMA_SRC(s0)
    li t0, SOC_Q_BUFFER
    sw t0, DMA_DST(s0)
    li t0, 2048
    sw t0, DMA_LEN(s0)
    li t0, DMA_CTRL_START
    sw t0, DMA_CTRL(s0)
    li s1, DMA_CHANNEL(1)
    li t0, SOC_FLASH_BASE + 2048
    sw t0, DMA_SRC(s1)
    li t0, SOC_KT_BUFFER
    sw t0, DMA_DST(s1)
    li t0, 2048
    sw t0, DMA_LEN(s1)
    li t0, DMA_CTRL_START
    sw t0, DMA_CTRL(s1)
#ifndef NO_DMA_WAIT
1:  lw t0, DMA_STATUS(s0)
    andi t0, t0, DMA_STATUS_BUSY
    bnez t0, 1b
1:  lw t0, DMA_STATUS(s1)
    andi t0, t0, DMA_STATUS_BUSY
    bnez t0, 1b
#endif
    li t1, SOC_Q_BUFFER
after_dma:
    lw t2, 0(t1)

    li s2, MAU_BASE
    sw x0, MAU_CTRL(s2)
    sw t1, MAU_Q_ADDR(s2)
    li t0, 256
    sw t0, MAU_Q_STRIDE(s2)
    li t0, SOC_KT_BUFFER
    sw t0, MAU_K_ADDR(s2)
    li t0, 16
    sw t0, MAU_K_STRIDE(s2)
    li t1, SOC_OUTPUT_CACHE
    sw t1, MAU_O_ADDR(s2)
    li t0, 32
    sw t0, MAU_O_STRIDE(s2)
    li t0, 8 | 8 << 16
    sw t0, MAU_DIM_M_N(s2)
    li t0, 128
    sw t0, MAU_DIM_K(s2)
    li t0, MAU_NO_SHIFT
    sw t0, MAU_SHIFT(s2)
    sw x0, MAU_CLAMP(s2)
    li t0, 1
    sw t0, MAU_START(s2)
#ifndef NO_MAU_WAIT
1:  lw t0, MAU_STATUS(s2)
    andi t0, t0, MAU_STATUS_DONE
    beqz t0, 1b
#endif
after_mau:
    lw a0, 0(t1)
    li t0, UART_BASE
    li t1, 'o'
    sb t1, 0(t0)
    li t1, 'k'
    sb t1, 0(t0)
    li t1, '\n'
    sb t1, 0(t0)
    li t0, FINISHER_BASE
    li t1, 0x5555
    sw t1, 0(t0)
park:
    wfi
    j park
