// The exit device, as QEMU's virt machine has it: 0x5555 ends with code 0, (code << 16) | 0x3333
// with that code.
#pragma once

#include "sim/rv32/machine.hpp"

namespace ridge::sim {

class Finisher final : public rv32::Device {
  public:
    static constexpr uint32_t size = 0x1000;
    explicit Finisher(rv32::Machine& machine) : machine_(machine) {}

    uint32_t read(rv32::Access&, uint32_t, uint32_t) override { return 0; }
    void write(rv32::Access&, uint32_t offset, uint32_t, uint32_t value) override {
        if (offset != 0) return;
        if ((value & 0xffff) == 0x5555) machine_.finish(0);
        if ((value & 0xffff) == 0x3333) machine_.finish(static_cast<int>(value >> 16));
    }
    uint32_t peek(uint32_t) const override { return 0; }

  private:
    rv32::Machine& machine_;
};

}  // namespace ridge::sim
