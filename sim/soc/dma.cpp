#include "sim/soc/dma.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace ridge::sim {

Dma::Dma(Fabric& fabric)
    : fabric_(fabric),
      cpu_mhz_(fabric.board.number("clock.cpu_mhz")),
      dma_rate_(fabric.board.number("dma.mb_per_s")),
      flash_rate_(fabric.board.number("flash.mb_per_s")),
      beat_(fabric.board.number("dma.beat_bytes")) {}

uint32_t Dma::peek(uint32_t offset) const {
    const Channel& ch = channels_[offset / 0x20 % DMA_CHANNELS];
    switch (offset & 0x1f) {
        case DMA_SRC:
            return ch.src;
        case DMA_DST:
            return ch.dst;
        case DMA_LEN:
            return ch.len;
        case DMA_CTRL:
            return ch.irq ? DMA_CTRL_IRQ : 0;
        case DMA_STATUS:
            return (ch.busy ? DMA_STATUS_BUSY : 0) | (ch.done ? DMA_STATUS_DONE : 0) |
                   (ch.error ? DMA_STATUS_ERROR : 0);
        case DMA_ROWS:
            return ch.rows;
        case DMA_SRC_STRIDE:
            return ch.src_stride;
        case DMA_DST_STRIDE:
            return ch.dst_stride;
        default:
            return 0;
    }
}

uint32_t Dma::read(rv32::Access& access, uint32_t offset, uint32_t) {
    const uint32_t c = offset / 0x20;
    if ((offset & 0x1f) == DMA_STATUS)
        fabric_.status_read(access.hart.id, unit(c), access.cycle, channels_[c].busy);
    return peek(offset);
}

void Dma::write(rv32::Access& access, uint32_t offset, uint32_t bytes, uint32_t value) {
    if (bytes != 4) {
        access.fault = rv32::cause_store_fault;
        return;
    }
    const uint32_t c = offset / 0x20;
    Channel& ch = channels_[c];
    switch (offset & 0x1f) {
        case DMA_SRC:
            ch.src = value;
            break;
        case DMA_DST:
            ch.dst = value;
            break;
        case DMA_LEN:
            ch.len = value;
            break;
        case DMA_ROWS:
            ch.rows = value;
            break;
        case DMA_SRC_STRIDE:
            ch.src_stride = value;
            break;
        case DMA_DST_STRIDE:
            ch.dst_stride = value;
            break;
        case DMA_STATUS:
            if (value & DMA_STATUS_DONE) ch.done = false;
            if (value & DMA_STATUS_ERROR) ch.error = false;
            break;
        case DMA_CTRL:
            if (!ch.busy) ch.irq = (value & DMA_CTRL_IRQ) != 0;
            if (value & DMA_CTRL_START) start(access, c);
            break;
        default:
            break;
    }
}

void Dma::start(rv32::Access& access, uint32_t c) {
    Channel& ch = channels_[c];
    const Flights::Who who{access.hart.id, access.pc, access.cycle};
    if (ch.busy) {
        fabric_.flights.start_while_busy(unit(c), who);
        ch.error = true;
        ++counters_[c].errors;
        return;
    }
    const uint32_t rows = std::max(ch.rows, 1u);
    const Tile from{ch.src, ch.len, rows, rows > 1 ? ch.src_stride : 0};
    const Tile to{ch.dst, ch.len, rows, rows > 1 ? ch.dst_stride : 0};
    const uint64_t total = uint64_t{ch.len} * rows;
    const uint32_t odd = from.base | to.base | ch.len | from.stride | to.stride;
    rv32::Memory& memory = fabric_.machine.memory;
    ch.done = false;
    if (total == 0 || total > DMA_MAX_BYTES || odd % DMA_ALIGN ||
        (rows > 1 && to.stride < ch.len) || !usable(memory, from, false) ||
        !usable(memory, to, true) || from.overlaps(to)) {
        ch.error = true;
        ++counters_[c].errors;
        return;
    }
    fabric_.flights.begin(unit(c), {from}, {to}, who);
    fabric_.stages.touch(who.hart, from);
    fabric_.stages.touch(who.hart, to);
    poison(memory, to);
    ch.busy = true;
    ch.from = from;
    ch.to = to;
    ch.from_flash = memory.page(from.base).kind == rv32::Kind::flash;
    ch.begin = ch.since = access.cycle;
    ch.work = total * cpu_mhz_ * 2;
    ch.rate = 0;
    ++counters_[c].transfers;
    counters_[c].bytes += total;
    if (ch.from_flash) counters_[c].flash_bytes += total;
    share(access.cycle);
}

uint64_t Dma::bytes_left(const Channel& ch, uint64_t cycle) const {
    const uint64_t done = std::min(ch.work, (cycle - ch.since) * ch.rate);
    return (ch.work - done + cpu_mhz_ * 2 - 1) / (cpu_mhz_ * 2);
}

void Dma::share(uint64_t cycle) {
    const auto both = [&](auto&& f) { return f(channels_[0]) && f(channels_[1]); };
    const bool two = both([](const Channel& ch) { return ch.busy; });
    const bool two_flash = two && both([](const Channel& ch) { return ch.from_flash; });
    const uint64_t total = 2 * dma_rate_;
    std::array<uint64_t, DMA_CHANNELS> cap{}, rate{};
    for (uint32_t c = 0; c < DMA_CHANNELS; ++c)
        cap[c] = channels_[c].from_flash ? (two_flash ? flash_rate_ : 2 * flash_rate_) : total;
    for (uint32_t c = 0; c < DMA_CHANNELS; ++c) {
        const uint64_t mine =
            two ? std::max(total / 2, total - std::min(cap[1 - c], total / 2)) : total;
        rate[c] = std::min(cap[c], mine);
    }
    for (uint32_t c = 0; c < DMA_CHANNELS; ++c) {
        Channel& ch = channels_[c];
        if (!ch.busy) continue;
        ch.work -= std::min(ch.work, (cycle - ch.since) * ch.rate);
        ch.since = cycle;
        ch.rate = rate[c];
        const uint64_t cycles = std::max<uint64_t>(1, (ch.work + ch.rate - 1) / ch.rate);
        const uint64_t left = bytes_left(ch, cycle),
                       total_bytes = uint64_t{ch.to.bytes} * ch.to.rows;
        const uint64_t done = total_bytes - std::min(left, total_bytes - 1) - 1;
        const auto row = static_cast<uint32_t>(done / ch.to.bytes);
        const auto column = static_cast<uint32_t>(done % ch.to.bytes);
        const uint64_t beats = (left + beat_ - 1) / beat_;
        const uint32_t source = ch.from.base + row * ch.from.stride + column;
        const uint32_t target = ch.to.base + row * ch.to.stride + column;
        fabric_.banks.set_stream(3 + 2 * c, {bank_of(source), cycle, cycles, beats});
        fabric_.banks.set_stream(4 + 2 * c, {bank_of(target), cycle, cycles, beats});
        fabric_.machine.queue.schedule(cycle + cycles, this, ++ch.generation << 1 | c);
    }
}

void Dma::event(uint64_t cycle, uint64_t tag) {
    const auto c = static_cast<uint32_t>(tag & 1);
    if (channels_[c].busy && channels_[c].generation == tag >> 1) finish(c, cycle);
}

void Dma::finish(uint32_t c, uint64_t cycle) {
    Channel& ch = channels_[c];
    rv32::Memory& memory = fabric_.machine.memory;
    for (uint32_t r = 0; r < ch.to.rows; ++r) {
        const uint8_t* const from = memory.bytes(ch.from.base + r * ch.from.stride, ch.from.bytes);
        memory.write(ch.to.base + r * ch.to.stride, from, ch.to.bytes);
    }
    fabric_.flights.end(unit(c));
    fabric_.banks.clear_stream(3 + 2 * c);
    fabric_.banks.clear_stream(4 + 2 * c);
    counters_[c].busy_cycles += cycle - ch.begin;
    if (fabric_.trace.enabled)
        fabric_.trace.add(fabric_.rows.unit[c], ch.begin, cycle,
                          fmt::format("{} B", uint64_t{ch.to.bytes} * ch.to.rows),
                          fmt::format("0x{:08x} to 0x{:08x}", ch.from.base, ch.to.base));
    ch.busy = false;
    ch.done = true;
    ch.from_flash = false;
    share(cycle);
    if (ch.irq) fabric_.plic.raise(c == 0 ? PLIC_SOURCE_DMA0 : PLIC_SOURCE_DMA1);
}

uint64_t Dma::busy_until(uint32_t c, uint64_t cycle) const {
    const Channel& ch = channels_[c];
    return counters_[c].busy_cycles + (ch.busy && cycle > ch.begin ? cycle - ch.begin : 0);
}

std::string Dma::doing(uint32_t c, uint64_t cycle) const {
    const Channel& ch = channels_[c];
    if (!ch.busy) return "idle";
    const uint64_t total = uint64_t{ch.to.bytes} * ch.to.rows;
    return fmt::format("copies 0x{:08x} to 0x{:08x}: {} of {} bytes done, since cycle {}",
                       ch.from.base, ch.to.base, total - bytes_left(ch, cycle), total, ch.begin);
}

}  // namespace ridge::sim
