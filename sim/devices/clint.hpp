// Core-local interruptor: one software interrupt and one timer comparison a hart, one 64-bit time
// that advances once in `cycles_per_tick` cycles. Layout as SiFive's and QEMU's: msip at 0x0,
// mtimecmp at 0x4000, mtime at 0xbff8.
#pragma once

#include <vector>

#include "sim/rv32/machine.hpp"

namespace ridge::sim {

class Clint final : public rv32::Device, public rv32::EventTarget {
  public:
    static constexpr uint32_t size = 0x10000;

    // Also becomes the machine's source of the CSR time. cycles_per_tick is at least 1.
    Clint(rv32::Machine& machine, uint64_t cycles_per_tick);

    uint32_t read(rv32::Access& access, uint32_t offset, uint32_t bytes) override;
    void write(rv32::Access& access, uint32_t offset, uint32_t bytes, uint32_t value) override;
    uint32_t peek(uint32_t offset) const override { return word(offset, machine_.now); }
    void event(uint64_t cycle, uint64_t tag) override;

    uint64_t time(uint64_t cycle) const { return cycle / cycles_per_tick_ + offset_; }

  private:
    uint32_t word(uint32_t offset, uint64_t cycle) const;
    void set_word(uint32_t offset, uint32_t value, uint64_t cycle);
    void rearm(uint32_t hart, uint64_t cycle);

    rv32::Machine& machine_;
    uint64_t cycles_per_tick_;
    uint64_t offset_ = 0;  // of mtime, when a program set it
    std::vector<uint64_t> compare_;
    std::vector<uint64_t> generation_;  // of the event that is still wanted
};

}  // namespace ridge::sim
