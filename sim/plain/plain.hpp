// A machine without a board's costs, laid out as QEMU's virt: RAM at 0x80000000, UART, exit device,
// CLINT. It runs any rv32imafc executable and is what instruction tests compare.
#pragma once

#include "sim/devices/clint.hpp"
#include "sim/devices/finisher.hpp"
#include "sim/devices/uart.hpp"
#include "sim/rv32/elf.hpp"
#include "sim/rv32/machine.hpp"

namespace ridge::sim {

class PlainMachine final : public rv32::Machine {
  public:
    static constexpr uint32_t ram_base = 0x80000000u, ram_bytes = 64u << 20;

    explicit PlainMachine(uint32_t hart_count = 1);
    // Loads a program and sets the harts to its entry. Where it has a symbol tohost (the way
    // riscv-tests end), a word written there ends the run: 1 is success, (n << 1) | 1 is n.
    Status load(const rv32::ElfFile& elf);

    Uart uart;
    Finisher finisher;
    Clint clint;

    // Runs to the end, at most `most` cycles; looks at tohost now and then.
    rv32::Stop run_program(uint64_t most);

  private:
    bool has_tohost_ = false;
    uint32_t tohost_ = 0;
};

}  // namespace ridge::sim
