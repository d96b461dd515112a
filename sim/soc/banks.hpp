// The SRAM's banks: which address lies in which, and who has to wait. A bank serves one access a
// cycle. MAU and DMA go first: their accesses are streams spread evenly over a transfer's time.
#pragma once

#include <array>
#include <cstdint>

#include "boards/ai-max-395/soc.h"

namespace ridge::sim {

inline constexpr uint32_t no_bank = 255;

// Bank of an SRAM address, no_bank outside.
inline uint32_t bank_of(uint32_t address) {
    struct Table {
        std::array<uint8_t, SOC_SRAM_BYTES / 4096> bank{};
        constexpr Table() {
#define RIDGE_BANK(base, bytes, number)           \
    for (uint32_t p = 0; p < (bytes) / 4096; ++p) \
        bank[((base) - SOC_SRAM_BASE) / 4096 + p] = static_cast<uint8_t>(number);
            SOC_BANK_TABLE(RIDGE_BANK)
#undef RIDGE_BANK
        }
    };
    static constexpr Table table;
    const uint32_t page = (address - SOC_SRAM_BASE) >> 12;
    return page < table.bank.size() ? table.bank[page] : no_bank;
}

// One unit's accesses to one bank: `words` of them, evenly over `cycles` from `start` on.
struct Stream {
    uint32_t bank = no_bank;
    uint64_t start = 0, cycles = 1, words = 0;

    bool busy(uint64_t at) const {
        if (at < start || at >= start + cycles) return false;
        const uint64_t t = at - start;
        return (t + 1) * words / cycles > t * words / cycles;
    }
};

class Banks {
  public:
    static constexpr size_t stream_slots =
        7;  // MAU: Q, K, O; each DMA channel: source, destination

    void set_stream(size_t slot, const Stream& s) {
        streams_[slot] = s;
        used_ = 0;
        for (const Stream& x : streams_)
            if (x.bank != no_bank) used_ |= 1u << x.bank;
    }
    void clear_stream(size_t slot) { set_stream(slot, {}); }

    // A hart's access to `bank` at `cycle`: how many beats it waits before it is served.
    uint64_t wait(uint32_t bank, uint64_t cycle) {
        uint64_t at = cycle < free_[bank] ? free_[bank] : cycle;
        if ((used_ >> bank) & 1)
            while (taken(bank, at)) ++at;
        free_[bank] = at + 1;
        return at - cycle;
    }

  private:
    bool taken(uint32_t bank, uint64_t at) const {
        for (const Stream& s : streams_)
            if (s.bank == bank && s.busy(at)) return true;
        return false;
    }

    std::array<uint64_t, SOC_BANK_COUNT> free_{};  // first cycle in which a bank is free
    std::array<Stream, stream_slots> streams_{};
    uint32_t used_ = 0;
};

}  // namespace ridge::sim
