// What the units of the board share.
#pragma once

#include <array>

#include "sim/rv32/machine.hpp"
#include "sim/soc/banks.hpp"
#include "sim/soc/board.hpp"
#include "sim/soc/flights.hpp"
#include "sim/soc/plic.hpp"
#include "sim/soc/stages.hpp"
#include "sim/soc/trace.hpp"

namespace ridge::sim {

// Time that harts spend reading the status of a busy unit. Reads that follow each other within
// poll_window cycles, the first of which found the unit busy, are one wait.
class Polls {
  public:
    explicit Polls(uint64_t window) : window_(window) {}

    // A hart read the status of `unit` at `cycle`. Returns where a wait ended: [begin, cycle).
    struct Wait {
        uint64_t begin = 0, end = 0;
    };
    Wait read(uint32_t hart, Unit unit, uint64_t cycle, bool busy) {
        State& s = states_[hart];
        Wait over;
        const bool goes_on = s.waiting && s.unit == unit && cycle - s.last <= window_;
        if (s.waiting && !goes_on) over = finish(hart);
        if (goes_on) {
            s.last = cycle;
            if (!busy) over = finish(hart);
        } else if (busy) {
            s = {true, unit, cycle, cycle, s.total};
        }
        return over;
    }
    // Closes an open wait at its last read.
    Wait finish(uint32_t hart) {
        State& s = states_[hart];
        if (!s.waiting) return {};
        s.waiting = false;
        s.total += s.last - s.begin;
        return {s.begin, s.last};
    }
    uint64_t total(uint32_t hart) const { return states_[hart].total; }
    Unit unit(uint32_t hart) const { return states_[hart].unit; }

  private:
    struct State {
        bool waiting = false;
        Unit unit{};
        uint64_t begin = 0, last = 0, total = 0;
    };
    uint64_t window_;
    std::array<State, SOC_HARTS> states_{};
};

// Rows of the trace.
struct Rows {
    std::array<uint32_t, SOC_HARTS> hart{}, stage{};
    std::array<uint32_t, unit_count> unit{};
};

struct Fabric {
    rv32::Machine& machine;
    const Board& board;
    Flights flights{SOC_SRAM_BASE};
    Banks banks;
    Stages stages;
    Trace trace;
    Rows rows;
    Plic plic;
    Polls polls;
    std::array<uint64_t, SOC_HARTS> run_begin{};  // of the hart's slice under way

    Fabric(rv32::Machine& m, const Board& b)
        : machine(m), board(b), plic(m), polls(b.number("report.poll_window")) {}

    // A status register was read: accounts the wait and closes the slices of the hart's row.
    void status_read(uint32_t hart, Unit unit, uint64_t cycle, bool busy) {
        note_wait(hart, polls.read(hart, unit, cycle, busy), unit);
    }
    void note_wait(uint32_t hart, const Polls::Wait& w, Unit unit) {
        if (w.end <= w.begin) return;
        trace.add(rows.hart[hart], run_begin[hart], w.begin, "run");
        trace.add(rows.hart[hart], w.begin, w.end, std::string("poll ") + unit_name(unit));
        run_begin[hart] = w.end;
    }
};

// Poisons the words of a tile; false where it is not SRAM.
inline bool poison(rv32::Memory& memory, const Tile& t) {
    for (uint32_t r = 0; r < t.rows; ++r)
        if (!memory.fill(t.base + r * t.stride, t.bytes, poison_word)) return false;
    return true;
}

// Is every byte of a tile within memory that a unit may use? SRAM only where `writes`.
inline bool usable(const rv32::Memory& memory, const Tile& t, bool writes) {
    const uint64_t extent = t.extent();
    if (extent == 0 || t.base + extent > uint64_t{1} << 32) return false;
    if (!memory.bytes(t.base, extent)) return false;
    return !writes || memory.page(t.base).kind == rv32::Kind::sram;
}

}  // namespace ridge::sim
