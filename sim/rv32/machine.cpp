#include "sim/rv32/machine.hpp"

#include <algorithm>

#include "sim/rv32/execute.hpp"

namespace ridge::rv32 {

Machine::Machine(uint32_t hart_count) : harts(hart_count) {
    for (uint32_t i = 0; i < hart_count; ++i) harts[i].id = i;
}

void Machine::execute(Hart& h) {
    NoTiming timing;
    Executor<NoTiming>(*this, timing).run(h);
}
void Machine::charge_trap(Hart& h) {
    ++h.cycle;
}
void Machine::charge_sleep(Hart& h, uint64_t cycles) {
    h.cycle += cycles;
}

Hart* Machine::next_hart() {
    Hart* first = nullptr;
    for (Hart& h : harts)
        if (!h.asleep && !h.halted && (!first || h.cycle < first->cycle)) first = &h;
    return first;
}

void Machine::set_interrupt(Hart& h, uint32_t bits, bool on) {
    h.mip = on ? h.mip | bits : h.mip & ~bits;
    queue.stop();
    if (h.asleep && h.interrupt_pending()) {
        h.asleep = false;
        if (now > h.cycle) charge_sleep(h, now - h.cycle);
    }
}

void Machine::turn(Hart& h, uint64_t until) {
    if (h.interrupt_due()) {
        const uint32_t due = h.mip & h.mie;
        const uint32_t number = due & mip_external ? 11 : due & mip_software ? 3 : 7;
        take_trap(*this, h, interrupt_bit | number, 0);
        charge_trap(h);
        return;
    }
    uint64_t horizon = std::min(queue.next(), until);
    for (const Hart& other : harts) {
        if (&other == &h || other.asleep || other.halted) continue;
        horizon = std::min(horizon, other.cycle + quantum + (h.id < other.id ? 1 : 0));
    }
    queue.horizon = horizon;
    now = h.cycle;
    execute(h);
}

Stop Machine::run(uint64_t until) {
    stop = Stop::none;
    while (stop == Stop::none) advance(until);
    if (stop == Stop::exit) settle();
    return stop;
}

void Machine::advance(uint64_t until) {
    Hart* const h = next_hart();
    const uint64_t event = queue.next();
    if (h ? event <= h->cycle : event < until) {
        now = event;
        queue.dispatch();
    } else if (h ? h->cycle >= until : event != EventQueue::never) {
        stop = Stop::cycle;
    } else if (!h) {
        stop = until == EventQueue::never ? Stop::deadlock : Stop::cycle;
    } else {
        turn(*h, until);
    }
}

void Machine::step() {
    stop = Stop::none;
    Hart* h = next_hart();
    while (stop == Stop::none) {  // events that are due, then one instruction
        const uint64_t before = h ? h->instret + h->traps : 0;
        advance(h ? h->cycle + 1 : EventQueue::never);
        if (!h) {
            h = next_hart();
            if (h) return;  // someone woke
            continue;
        }
        if (h->instret + h->traps != before) return;
        h = next_hart();
    }
}

void Machine::settle() {
    uint64_t last = now;
    for (const Hart& h : harts) last = std::max(last, h.cycle);
    for (Hart& h : harts)
        if (h.asleep && last > h.cycle) charge_sleep(h, last - h.cycle);
}

bool Machine::peek(uint32_t address, uint8_t& byte) const {
    if (const uint8_t* at = memory.bytes(address, 1)) {
        byte = *at;
        return true;
    }
    uint32_t offset = 0;
    const Device* device = memory.device(address, offset);
    if (!device) return false;
    byte = static_cast<uint8_t>(device->peek(offset & ~3u) >> (8 * (offset & 3)));
    return true;
}

}  // namespace ridge::rv32
