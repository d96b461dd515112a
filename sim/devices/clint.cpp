#include "sim/devices/clint.hpp"

namespace ridge::sim {
namespace {
constexpr uint32_t compare_base = 0x4000, time_base = 0xbff8;
uint64_t with_half(uint64_t value, bool high, uint32_t half) {
    return high ? uint64_t{half} << 32 | static_cast<uint32_t>(value) : (value >> 32 << 32) | half;
}
}  // namespace

Clint::Clint(rv32::Machine& machine, uint64_t cycles_per_tick)
    : machine_(machine),
      cycles_per_tick_(cycles_per_tick),
      compare_(machine.harts.size(), ~uint64_t{0}),
      generation_(machine.harts.size(), 0) {
    machine.time = [this](uint64_t cycle) { return time(cycle); };
}

uint32_t Clint::word(uint32_t offset, uint64_t cycle) const {
    const uint32_t hart = offset < compare_base ? offset / 4 : (offset - compare_base) / 8;
    uint64_t value = 0;
    if (offset >= time_base)
        value = time(cycle);
    else if (hart >= compare_.size())
        return 0;
    else if (offset < compare_base)
        return (machine_.harts[hart].mip & rv32::mip_software) ? 1 : 0;
    else
        value = compare_[hart];
    return static_cast<uint32_t>(offset & 4 ? value >> 32 : value);
}

uint32_t Clint::read(rv32::Access& access, uint32_t offset, uint32_t) {
    return word(offset & ~3u, access.cycle);
}

void Clint::write(rv32::Access& access, uint32_t offset, uint32_t bytes, uint32_t value) {
    if (bytes != 4) {
        access.fault = rv32::cause_store_fault;
        return;
    }
    set_word(offset, value, access.cycle);
}

void Clint::set_word(uint32_t offset, uint32_t value, uint64_t cycle) {
    const bool high = (offset & 4) != 0;
    if (offset >= time_base) {
        offset_ = with_half(time(cycle), high, value) - cycle / cycles_per_tick_;
        for (uint32_t h = 0; h < compare_.size(); ++h) rearm(h, cycle);
        return;
    }
    const uint32_t hart = offset < compare_base ? offset / 4 : (offset - compare_base) / 8;
    if (hart >= compare_.size()) return;
    if (offset < compare_base) {
        machine_.set_interrupt(machine_.harts[hart], rv32::mip_software, value & 1);
        return;
    }
    compare_[hart] = with_half(compare_[hart], high, value);
    rearm(hart, cycle);
}

void Clint::rearm(uint32_t hart, uint64_t cycle) {
    const uint64_t tag = ++generation_[hart] << 8 | hart;
    const bool due = time(cycle) >= compare_[hart];
    machine_.set_interrupt(machine_.harts[hart], rv32::mip_timer, due);
    if (due || compare_[hart] == ~uint64_t{0}) return;
    // The first cycle with cycle / cycles_per_tick + offset >= compare.
    const uint64_t ticks = compare_[hart] - offset_;
    uint64_t at = 0;
    if (__builtin_mul_overflow(ticks, cycles_per_tick_, &at)) return;  // never
    machine_.queue.schedule(at, this, tag);
}

void Clint::event(uint64_t, uint64_t tag) {
    const auto hart = static_cast<uint32_t>(tag & 0xff);
    if (tag >> 8 == generation_[hart])
        machine_.set_interrupt(machine_.harts[hart], rv32::mip_timer, true);
}

}  // namespace ridge::sim
