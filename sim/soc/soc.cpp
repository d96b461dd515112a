#include "sim/soc/soc.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "sim/rv32/execute.hpp"

namespace ridge::sim {

Soc::Soc(Board numbers)
    : Machine(SOC_HARTS),
      board(std::move(numbers)),
      fabric(*this, board),
      finisher(*this),
      clint(*this, board.number("clock.cpu_mhz") * 1'000'000 / board.number("clock.mtime_hz")),
      dma(fabric),
      mau(fabric),
      timing(fabric, board) {
    using rv32::Kind;
    Status made = memory.add_memory("rom", SOC_ROM_BASE, SOC_ROM_WINDOW, Kind::rom, false);
    if (made)
        made =
            memory.add_memory("sram", SOC_SRAM_BASE, SOC_SRAM_BYTES, Kind::sram, true, poison_word);
    if (made)
        made = memory.add_memory("flash", SOC_FLASH_BASE, SOC_FLASH_BYTES, Kind::flash, false);
    if (made) made = memory.add_device("finisher", FINISHER_BASE, Finisher::size, &finisher);
    if (made) made = memory.add_device("clint", CLINT_BASE, Clint::size, &clint);
    if (made) made = memory.add_device("plic", PLIC_BASE, Plic::size, &fabric.plic);
    if (made) made = memory.add_device("uart", UART_BASE, Uart::size, &uart);
    if (made) made = memory.add_device("mau", MAU_BASE, Mau::size, &mau);
    if (made) made = memory.add_device("dma", DMA_BASE, Dma::size, &dma);
    assert(made);
    for (uint32_t i = 0; i < SOC_HARTS; ++i) {
        fabric.rows.hart[i] = fabric.trace.add_row(fmt::format("hart {}", i));
        fabric.rows.stage[i] = fabric.trace.add_row(fmt::format("hart {} stages", i));
    }
    for (size_t u = 0; u < unit_count; ++u)
        fabric.rows.unit[u] = fabric.trace.add_row(unit_name(static_cast<Unit>(u)));
    on_marker = [this](rv32::Hart& h, uint32_t id) { mark(h, id); };
}

Status Soc::load(const rv32::ElfFile& elf) {
    uint64_t image = 0;
    for (const rv32::ElfSegment& s : elf.segments)
        if (s.address < SOC_ROM_WINDOW)
            image = std::max(image, uint64_t{s.address} + s.bytes.size());
    if (image > SOC_ROM_LIMIT)
        return fail(ErrorCode::unsupported,
                    fmt::format("the image needs {} bytes of ROM, {} more than the board's {}",
                                image, image - SOC_ROM_LIMIT, SOC_ROM_LIMIT));
    RIDGE_TRY(load_elf(elf, memory));
    for (rv32::Hart& h : harts) h.pc = elf.entry;
    return {};
}

Status Soc::load_flash(const uint8_t* data, size_t bytes) {
    if (bytes > SOC_FLASH_BYTES)
        return fail(ErrorCode::unsupported,
                    fmt::format("the flash image has {} bytes, {} more than the board's flash",
                                bytes, bytes - SOC_FLASH_BYTES));
    memory.write(SOC_FLASH_BASE, data, bytes);
    return {};
}

void Soc::execute(rv32::Hart& h) {
    rv32::Executor<SocTiming>(*this, timing).run(h);
}
void Soc::charge_trap(rv32::Hart& h) {
    timing.trap(h);
}

void Soc::charge_sleep(rv32::Hart& h, uint64_t cycles) {
    const Unit unit = fabric.polls.unit(h.id);
    fabric.note_wait(h.id, fabric.polls.finish(h.id), unit);
    fabric.trace.add(fabric.rows.hart[h.id], fabric.run_begin[h.id], h.cycle, "run");
    const uint64_t begin = h.cycle;
    timing.charge(h, rv32::Cost::sleep, cycles);
    fabric.trace.add(fabric.rows.hart[h.id], begin, h.cycle, "sleep");
    fabric.run_begin[h.id] = h.cycle;
}

void Soc::mark(rv32::Hart& h, uint32_t id) {
    if (id != 0) return fabric.stages.open(h.id, id, h.cycle, h.instret);
    const Stages::Open closed = fabric.stages.close(h.id, h.cycle, h.instret);
    if (closed.id != 0)
        fabric.trace.add(fabric.rows.stage[h.id], closed.cycle, h.cycle,
                         fmt::format("stage {}", closed.id));
}

uint64_t Soc::cycles() const {
    uint64_t last = 0;
    for (const rv32::Hart& h : harts) last = std::max(last, h.cycle);
    return last;
}

void Soc::close() {
    for (rv32::Hart& h : harts) {
        while (fabric.stages.current(h.id) != 0) mark(h, 0);
        const Unit unit = fabric.polls.unit(h.id);
        fabric.note_wait(h.id, fabric.polls.finish(h.id), unit);
        fabric.trace.add(fabric.rows.hart[h.id], fabric.run_begin[h.id], h.cycle, "run");
        fabric.run_begin[h.id] = h.cycle;
    }
}

bool Soc::accounts_match() const {
    return std::all_of(harts.begin(), harts.end(),
                       [this](const rv32::Hart& h) { return timing.recomputed(h) == h.cycle; });
}

}  // namespace ridge::sim
