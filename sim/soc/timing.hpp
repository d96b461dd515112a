// The timing policy of the board's harts: what an instruction costs, instruction fetch, branches,
// banks. Every cycle is charged through charge(), which counts its reason; so a hart's cycles are
// the sum of counts times costs.
#pragma once

#include <array>
#include <vector>

#include "sim/soc/fabric.hpp"

namespace ridge::sim {

class SocTiming {
  public:
    SocTiming(Fabric& fabric, const Board& board);

    void fetch(rv32::Hart& h, uint32_t pc, uint32_t len) {
        State& s = states_[h.id];
        const uint32_t first = pc >> line_shift_, last = (pc + len - 1) >> line_shift_;
        if (first != s.fetch_line) fetch_line(h, s, first);
        if (last != first) fetch_line(h, s, last);
    }

    void access(rv32::Hart& h, rv32::Kind kind, uint32_t address, uint32_t bytes, rv32::Touch touch,
                rv32::Cost& cost) {
        State& s = states_[h.id];
        switch (kind) {
            case rv32::Kind::sram: {
                const uint32_t bank = bank_of(address);
                if (bank != s.bank) {
                    if (s.bank != no_bank) charge(h, rv32::Cost::bank_change);
                    s.bank = bank;
                }
                ++s.sram_accesses;
                if (const uint64_t beats = fabric_.banks.wait(bank, h.cycle))
                    charge(h, rv32::Cost::bank_wait, beats);
                fabric_.flights.access(address, bytes, touch, {h.id, h.pc, h.cycle});
                fabric_.stages.touch(h.id, address, bytes);
                break;
            }
            case rv32::Kind::rom:
            case rv32::Kind::flash:
                if (address >> line_shift_ != s.data_line) {
                    s.data_line = address >> line_shift_;
                    cost = kind == rv32::Kind::rom ? rv32::Cost::line_load : rv32::Cost::flash_load;
                }
                break;
            case rv32::Kind::device:
                cost = touch == rv32::Touch::read ? rv32::Cost::mmio_load : rv32::Cost::mmio_store;
                break;
            default:
                break;
        }
    }

    void branch(rv32::Hart& h, bool taken, bool backward) {  // backward taken, forward not
        if (taken != backward) charge(h, rv32::Cost::mispredict);
    }
    void jump_register(rv32::Hart& h) { charge(h, rv32::Cost::mispredict); }
    void retire(rv32::Hart& h, rv32::Cost cost) { charge(h, cost); }
    void trap(rv32::Hart& h) { charge(h, rv32::Cost::trap); }

    void charge(rv32::Hart& h, rv32::Cost cost, uint64_t times = 1) {
        const auto c = static_cast<size_t>(cost);
        h.counts[c] += times;
        h.cycle += times * costs_[c];
    }

    const std::array<uint64_t, rv32::cost_count>& costs() const { return costs_; }
    // Sum of counts times costs: must be the hart's cycle.
    uint64_t recomputed(const rv32::Hart& h) const;
    uint64_t sram_accesses(uint32_t hart) const { return states_[hart].sram_accesses; }

  private:
    struct Way {
        uint32_t line = ~0u;
        uint64_t used = 0;
    };
    struct State {
        uint32_t fetch_line = ~0u;  // of the last instruction
        uint32_t data_line = ~0u;   // in the read buffer for ROM and flash
        uint32_t bank = no_bank;    // of the last SRAM access
        uint64_t sram_accesses = 0, fetches = 0;
        std::vector<Way> ways;
    };
    void fetch_line(rv32::Hart& h, State& s, uint32_t line);

    Fabric& fabric_;
    std::array<uint64_t, rv32::cost_count> costs_;
    uint32_t line_shift_, sets_, way_count_;
    std::array<State, SOC_HARTS> states_;
};

}  // namespace ridge::sim
