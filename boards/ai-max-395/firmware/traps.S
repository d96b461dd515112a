// The library's traps: waits that sleep until an interrupt, and the timer's tick.
#include "boards/ai-max-395/soc.h"

    .section .text.traps, "ax"

// Sleeps until the line of mie in a0 (software, external) has interrupted: `wait_line(lines)`. The
// handler switches the line off and goes on behind the sleep, whether it came before the sleep (then
// one nop stands for it) or ended it: as many instructions either way, and nothing is ever masked.
// Another interrupt that ends the sleep leads back to it.
    .option push
    .option norvc
    .align 2
    .global wait_line
wait_line:
    csrs mie, a0
wait_sleep:
    wfi
    j wait_sleep
wait_skip:
    nop
    ret
    .option pop

// Anything but the interrupts the firmware uses ends the program with code 99.
    .align 2
fatal:
    li t0, FINISHER_BASE
    li t1, (99 << 16) | 0x3333
    sw t1, 0(t0)
1:  j 1b

// What both handlers do first: saves t0 to t2; an interrupt that ends a wait is served here (its line
// is switched off, the wait's caller clears its cause).
    .macro serve_wait
    addi sp, sp, -16
    sw t0, 0(sp)
    sw t1, 4(sp)
    sw t2, 8(sp)
    csrr t0, mcause
    bgez t0, fatal
    slli t0, t0, 1              // 6 software, 14 timer, 22 external
    addi t1, t0, -14
    beqz t1, 1f
    li t1, 0x808
    csrc mie, t1
    csrr t0, mepc
    la t1, wait_sleep
    sub t0, t0, t1
    snez t0, t0
    slli t0, t0, 2
    la t1, wait_skip
    add t0, t0, t1
    csrw mepc, t0
    lw t2, 8(sp)
    lw t1, 4(sp)
    lw t0, 0(sp)
    addi sp, sp, 16
    mret
1:
    .endm

// The timer: the next tick a period later. The short one saves what it uses, the general one what a
// function may change, and calls it.
    .align 2
    .global trap_short
trap_short:
    serve_wait
    la t1, tick_period
    lw t1, 0(t1)
    li t0, CLINT_MTIMECMP(0)
    lw t2, 0(t0)
    add t1, t1, t2
    sltu t2, t1, t2
    sw t1, 0(t0)
    lw t1, 4(t0)
    add t1, t1, t2
    sw t1, 4(t0)
    lw t2, 8(sp)
    lw t1, 4(sp)
    lw t0, 0(sp)
    addi sp, sp, 16
    mret

    .align 2
    .global trap_general
trap_general:
    serve_wait
    addi sp, sp, -128
    .irp r, 1, 10, 11, 12, 13, 14, 15, 16, 17, 28, 29, 30, 31
    sw x\r, (4 * \r)(sp)
    .endr
    call timer_tick
    .irp r, 1, 10, 11, 12, 13, 14, 15, 16, 17, 28, 29, 30, 31
    lw x\r, (4 * \r)(sp)
    .endr
    addi sp, sp, 128
    lw t2, 8(sp)
    lw t1, 4(sp)
    lw t0, 0(sp)
    addi sp, sp, 16
    mret
