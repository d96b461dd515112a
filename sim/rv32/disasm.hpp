// Records as assembly text, for debuggers and reports.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/rv32/insn.hpp"

namespace ridge::rv32 {

std::string_view x_name(unsigned reg);  // ABI names; the sink is "zero"
std::string_view f_name(unsigned reg);
// `pc` is the instruction's address: targets are printed absolute.
std::string disassemble(const Insn& in, uint32_t pc);

}  // namespace ridge::rv32
