// The transmitting half of a 16550-style UART: what is written to register 0 becomes text, the line
// status register says that there is always room.
#pragma once

#include <functional>
#include <string>

#include "sim/rv32/memory.hpp"

namespace ridge::sim {

class Uart final : public rv32::Device {
  public:
    static constexpr uint32_t size = 0x100;
    std::string text;                   // everything sent so far
    std::function<void(char)> on_byte;  // also called for each byte

    uint32_t read(rv32::Access&, uint32_t offset, uint32_t) override { return peek(offset); }
    void write(rv32::Access&, uint32_t offset, uint32_t, uint32_t value) override {
        if (offset != 0) return;
        const auto byte = static_cast<char>(value);
        text.push_back(byte);
        if (on_byte) on_byte(byte);
    }
    uint32_t peek(uint32_t offset) const override { return offset == 5 ? 0x60 : 0; }
};

}  // namespace ridge::sim
