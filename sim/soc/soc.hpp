// The AI Max 395, simulated: two harts, ROM, banked SRAM, flash, MAU, DMA, timer, interrupts, UART
// and exit device, with the costs of a board file. What it says of time is a simulation of a chip
// that does not exist.
#pragma once

#include <memory>
#include <string>

#include "sim/devices/clint.hpp"
#include "sim/devices/finisher.hpp"
#include "sim/devices/uart.hpp"
#include "sim/rv32/elf.hpp"
#include "sim/soc/dma.hpp"
#include "sim/soc/fabric.hpp"
#include "sim/soc/mau.hpp"
#include "sim/soc/timing.hpp"

namespace ridge::sim {

class Soc final : public rv32::Machine {
  public:
    explicit Soc(Board board);

    // Program into ROM and SRAM; both harts start at its entry. Errors: outside of memory, an image
    // over the ROM limit.
    Status load(const rv32::ElfFile& elf);
    // The content of flash, from its start. Error: larger than flash.
    Status load_flash(const uint8_t* data, size_t bytes);

    const Board board;
    Fabric fabric;
    Uart uart;
    Finisher finisher;
    Clint clint;
    Dma dma;
    Mau mau;
    SocTiming timing;

    // The last cycle any hart has reached.
    uint64_t cycles() const;
    // Closes open slices of the trace and open waits; call once, after the run.
    void close();
    // True where every hart's cycles are the sum of its events times their costs.
    bool accounts_match() const;

  protected:
    void execute(rv32::Hart& h) override;
    void charge_trap(rv32::Hart& h) override;
    void charge_sleep(rv32::Hart& h, uint64_t cycles) override;

  private:
    void mark(rv32::Hart& h, uint32_t id);
};

// Why a run ended, in words.
std::string describe_stop(const Soc& soc, const rv32::ElfFile* symbols);
// What every unit does at the machine's cycle.
std::string describe_moment(const Soc& soc, const rv32::ElfFile* symbols);
// The counters: cycles by cause, shares, races.
std::string report(const Soc& soc, const rv32::ElfFile* symbols);
// The same for programs.
std::string report_json(const Soc& soc, const rv32::ElfFile* symbols);

}  // namespace ridge::sim
