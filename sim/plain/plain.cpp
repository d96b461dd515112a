#include "sim/plain/plain.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace ridge::sim {

using namespace rv32;

PlainMachine::PlainMachine(uint32_t hart_count)
    : Machine(hart_count), finisher(*this), clint(*this, 100) {
    quantum = 64;
    allow_misaligned = true;
    Status made = memory.add_memory("ram", ram_base, ram_bytes, Kind::ram, true);
    if (made) made = memory.add_device("finisher", 0x00100000, Finisher::size, &finisher);
    if (made) made = memory.add_device("clint", 0x02000000, Clint::size, &clint);
    if (made) made = memory.add_device("uart", 0x10000000, Uart::size, &uart);
    assert(made);
}

Status PlainMachine::load(const ElfFile& elf) {
    RIDGE_TRY(load_elf(elf, memory));
    for (Hart& h : harts) h.pc = elf.entry;
    has_tohost_ = elf.find("tohost", tohost_) && memory.bytes(tohost_, 4);
    return {};
}

Stop PlainMachine::run_program(uint64_t most) {
    constexpr uint64_t look_every = 100000;
    uint64_t until = 0;
    while (until < most) {
        until = has_tohost_ ? std::min(most, until + look_every) : most;
        if (const Stop why = run(until); why != Stop::cycle) return why;
        if (!has_tohost_) break;
        uint32_t word = 0;
        std::memcpy(&word, memory.bytes(tohost_, 4), 4);
        if (word & 1) {
            finish(static_cast<int>(word >> 1));
            return stop;
        }
    }
    return Stop::cycle;
}

}  // namespace ridge::sim
