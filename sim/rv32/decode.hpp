// Words to records. Every word gives a record; what is no instruction of RV32IMAFC, Zicsr or
// Zifencei gives Op::illegal.
#pragma once

#include "sim/rv32/insn.hpp"

namespace ridge::rv32 {

// True where the low half word begins a four-byte instruction.
inline bool is_wide(uint32_t low_half) {
    return (low_half & 3) == 3;
}

Insn decode(uint32_t word);             // a four-byte instruction
Insn decode_compressed(uint16_t half);  // a two-byte instruction: the record of its expansion

}  // namespace ridge::rv32
