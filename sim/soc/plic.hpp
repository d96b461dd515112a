// The interrupt controller of the board: three lines, pending from completion to claim.
#pragma once

#include <array>

#include "boards/ai-max-395/soc.h"
#include "sim/rv32/machine.hpp"

namespace ridge::sim {

class Plic final : public rv32::Device {
  public:
    static constexpr uint32_t size = 0x1000;
    explicit Plic(rv32::Machine& machine) : machine_(machine) {}

    void raise(uint32_t source) {
        pending_ |= 1u << source;
        update();
    }
    uint32_t read(rv32::Access&, uint32_t offset, uint32_t) override {
        for (uint32_t h = 0; h < SOC_HARTS; ++h) {
            if (offset != PLIC_CLAIM(h)) continue;
            const uint32_t ready = pending_ & enable_[h];
            for (uint32_t s = PLIC_SOURCE_MAU; s <= PLIC_SOURCE_DMA1; ++s)
                if ((ready >> s) & 1) {
                    pending_ &= ~(1u << s);
                    update();
                    return s;
                }
            return 0;
        }
        return peek(offset);
    }
    void write(rv32::Access&, uint32_t offset, uint32_t, uint32_t value) override {
        constexpr uint32_t lines =
            1u << PLIC_SOURCE_MAU | 1u << PLIC_SOURCE_DMA0 | 1u << PLIC_SOURCE_DMA1;
        for (uint32_t h = 0; h < SOC_HARTS; ++h)
            if (offset == PLIC_ENABLE(h)) enable_[h] = value & lines;
        update();
    }
    uint32_t peek(uint32_t offset) const override {
        if (offset == PLIC_PENDING) return pending_;
        for (uint32_t h = 0; h < SOC_HARTS; ++h)
            if (offset == PLIC_ENABLE(h)) return enable_[h];
        return 0;
    }

  private:
    void update() {
        for (uint32_t h = 0; h < SOC_HARTS; ++h) {
            rv32::Hart& hart = machine_.harts[h];
            const bool on = (pending_ & enable_[h]) != 0;
            if (on != ((hart.mip & rv32::mip_external) != 0))
                machine_.set_interrupt(hart, rv32::mip_external, on);
        }
    }
    rv32::Machine& machine_;
    uint32_t pending_ = 0;
    std::array<uint32_t, SOC_HARTS> enable_{};
};

}  // namespace ridge::sim
