// Entry of both harts: hart 0 prepares memory and runs main; hart 1 feeds the matrix unit.
#include "boards/ai-max-395/soc.h"

    .section .text.start, "ax"
    .global _start
_start:
    la t0, trap_general
    csrw mtvec, t0
    li t0, 0x2000               // mstatus.FS: floats are used once, at the logits
    csrs mstatus, t0
    csrw mie, zero
    csrr t0, mhartid
    bnez t0, second
    la sp, stack0_top
    la a0, data_begin
    la a1, data_end
    la a2, data_rom
1:  bgeu a0, a1, 2f
    lw t0, 0(a2)
    sw t0, 0(a0)
    addi a0, a0, 4
    addi a2, a2, 4
    j 1b
2:  la a0, bss_begin
    la a1, bss_end
3:  bgeu a0, a1, 4f
    sw zero, 0(a0)
    addi a0, a0, 4
    j 3b
4:  li t0, CLINT_MSIP(1)
    li t1, 1
    sw t1, 0(t0)
    call main
    // The exit code of the program: a0, 0 is success.
    li t0, FINISHER_BASE
    li t1, 0x5555
    beqz a0, 5f
    slli t1, a0, 16
    li t2, 0x3333
    or t1, t1, t2
5:  sw t1, 0(t0)
6:  wfi
    j 6b

second:
    la sp, stack1_top
    li t0, 8                    // wait for hart 0 to have cleared .bss
    csrw mie, t0
    wfi
    call prefill_feeder
    j 6b
