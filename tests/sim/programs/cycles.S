// Measures single things on hart 0: the difference of two reads of mcycle goes to results[n]. Every
// measurement runs twice, so that the second finds its code in the instruction cache; the test
// computes by hand what it must be. Before each, the last SRAM access was to results: bank 5.
#include "boards/ai-max-395/soc.h"

    .section .text.start
    .global _start
_start:
    csrr t0, mhartid
    bnez t0, park
    li t0, 0x6000
    csrs mstatus, t0
    la s11, results
    addi s6, s11, 124
    li s10, SOC_Q_BUFFER            // bank 2
    li s9, SOC_FLASH_BASE
    la s8, constant
    li s7, PLIC_BASE                // +0 pending, +4 enable
    sw x0, 0(s10)
    sw x0, 64(s11)
    li a2, 77
    li a3, -5
    j measure
park:
    wfi
    j park

.macro MEASURE n, body
    .balign 32
    li s2, 2
9:  csrr s0, mcycle
    \body
    csrr s1, mcycle
    sub s1, s1, s0
    sw s1, 4*\n(s11)
    addi s2, s2, -1
    bnez s2, 9b
.endm

measure:
    MEASURE 0, "nop"
    MEASURE 1, "mul a0, a2, a3"
    MEASURE 2, "rem a0, a2, a3"
    MEASURE 3, "fmadd.s f0, f1, f2, f3"
    MEASURE 4, "fdiv.s f0, f1, f2"
    MEASURE 5, "fmv.x.w a0, f0"
    MEASURE 6, "lw a0, 64(s11)"
    MEASURE 7, "lw a0, 0(s10)"
    MEASURE 8, "lw a0, 0(s10); lw a0, 64(s11); sw a0, 4(s10)"
    MEASURE 9, "lw a0, 0(s8); lw a0, 4(s8); lw a0, 32(s8)"
    MEASURE 10, "lw a0, 0(s9); lw a0, 32(s9)"
    MEASURE 11, "lw a0, 0(s7)"
    MEASURE 12, "sw x0, 4(s7)"
    MEASURE 13, "beq x0, x0, 1f; nop; 1: nop"
    MEASURE 14, "bne x0, x0, 1f; 1: nop"
    MEASURE 15, "li a0, 3; 1: addi a0, a0, -1; bnez a0, 1b"
    MEASURE 16, "jal function"
    MEASURE 17, "amoswap.w a0, a2, (s6)"
    MEASURE 18, "fcvt.w.s a0, f1"
    MEASURE 19, "csrr a0, mscratch"
    MEASURE 20, "slti x0, x0, 0"
    .balign 32
    li t0, FINISHER_BASE
    li t1, 0x5555
    sw t1, 0(t0)
1:  j 1b

function:
    ret

    .balign 32
constant:
    .word 1, 2, 3, 4, 5, 6, 7, 8, 9, 10

    .section .bss
    .balign 64
results:
    .space 128
