// The state of one hart: M mode only, as a microcontroller has it.
#pragma once

#include <array>
#include <cstdint>

#include "sim/rv32/insn.hpp"

namespace ridge::rv32 {

// Trap causes (privileged specification, table "Machine cause register").
enum Cause : uint32_t {
    cause_fetch_fault = 1,
    cause_illegal = 2,
    cause_breakpoint = 3,
    cause_load_misaligned = 4,
    cause_load_fault = 5,
    cause_store_misaligned = 6,
    cause_store_fault = 7,
    cause_ecall_m = 11,
};
inline constexpr uint32_t interrupt_bit = 0x80000000u;
inline constexpr uint32_t mip_software = 1u << 3, mip_timer = 1u << 7, mip_external = 1u << 11;
inline constexpr uint32_t mstatus_mie = 1u << 3, mstatus_mpie = 1u << 7;
inline constexpr uint32_t mstatus_fs = 3u << 13, mstatus_mpp = 3u << 11;

struct Hart {
    std::array<uint32_t, 33> x{};  // x[32] takes what is written to x0
    uint32_t pc = 0;
    std::array<uint32_t, 32> f{};
    uint32_t fflags = 0, frm = 0;

    uint64_t cycle = 0;    // simulated time; mcycle is this plus an offset
    uint64_t instret = 0;  // instructions retired
    std::array<uint64_t, cost_count> counts{};

    uint32_t id = 0;
    uint32_t mstatus = mstatus_mpp;
    uint32_t mie = 0, mip = 0;
    uint32_t mtvec = 0, mscratch = 0, mepc = 0, mcause = 0, mtval = 0;
    uint64_t mcycle_offset = 0, minstret_offset = 0;
    bool asleep = false;  // in wfi

    // Windows in which the program itself kept interrupts off: from the write of mstatus that
    // cleared MIE to the one that set it again, in cycles.
    static constexpr uint64_t unmasked = ~uint64_t{0};
    uint64_t masked_since = unmasked, masked_windows = 0, masked_longest = 0;
    bool halted = false;  // by the debugger or for good

    uint64_t traps = 0;
    uint64_t trap_streak = 0, trap_instret = 0;  // traps without an instruction between them

    bool float_enabled() const { return (mstatus & mstatus_fs) != 0; }
    bool interrupt_pending() const { return (mip & mie) != 0; }
    bool interrupt_due() const { return interrupt_pending() && (mstatus & mstatus_mie); }

    void set_mstatus(uint32_t value) {
        const bool was = mstatus & mstatus_mie, is = value & mstatus_mie;
        mstatus = value;
        if (was && !is) masked_since = cycle;
        if (!was && is && masked_since != unmasked) {
            ++masked_windows;
            if (cycle - masked_since > masked_longest) masked_longest = cycle - masked_since;
            masked_since = unmasked;
        }
    }

    void set_x(unsigned r, uint32_t value) {
        if (r != 0) x[r] = value;
    }

    // Enters the trap handler. `at` is the instruction's address.
    void trap(uint32_t cause, uint32_t value, uint32_t at) {
        mcause = cause;
        mtval = value;
        mepc = at;
        mstatus = (mstatus & ~(mstatus_mie | mstatus_mpie)) |
                  ((mstatus & mstatus_mie) ? mstatus_mpie : 0) | mstatus_mpp;
        const uint32_t base = mtvec & ~3u;
        const bool vectored = (mtvec & 1) && (cause & interrupt_bit);
        pc = vectored ? base + 4 * (cause & ~interrupt_bit) : base;
        ++traps;
    }

    void trap_return() {
        mstatus = (mstatus & ~(mstatus_mie | mstatus_mpie)) |
                  ((mstatus & mstatus_mpie) ? mstatus_mie : 0) | mstatus_mpie | mstatus_mpp;
        pc = mepc;
    }
};

}  // namespace ridge::rv32
