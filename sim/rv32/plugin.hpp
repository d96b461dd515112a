// An instruction plug-in: a board's own instructions beside RV32IMAFC, without touching the core.
#pragma once

#include <cstdint>

#include "sim/rv32/hart.hpp"
#include "sim/rv32/memory.hpp"

namespace ridge::rv32 {

class InstructionPlugin {
  public:
    virtual ~InstructionPlugin() = default;

    // Asked before the core. True: the word is the plug-in's; it has set in.plugin_op, imm, rd,
    // rs1, rs2, rs3 as it likes, in.len (2 or 4) and in.cost. A destination x0 must become `sink`.
    // Where it also sets in.op, the word is another encoding of that instruction of the core.
    virtual bool decode(uint32_t word, Insn& in) const = 0;

    // Executes one instruction; h.pc is still its address and moves on by itself. Returns 0, or the
    // cause of a trap, with its value in `trap_value`. Loads and stores go through the machine's
    // memory and are charged by the plug-in (h.counts, h.cycle) beyond in.cost.
    virtual uint32_t execute(Hart& h, Memory& memory, const Insn& in, uint32_t& trap_value) = 0;

    // CSRs of its own; false: not the plug-in's.
    virtual bool read_csr(const Hart&, uint32_t, uint32_t&) { return false; }
    virtual bool write_csr(Hart&, uint32_t, uint32_t) { return false; }
};

}  // namespace ridge::rv32
