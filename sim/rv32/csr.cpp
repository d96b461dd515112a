// CSRs (privileged specification, "CSR Listing"): those of a hart with M mode only.
#include "sim/rv32/machine.hpp"

namespace ridge::rv32 {
namespace {

uint32_t low(uint64_t v) {
    return static_cast<uint32_t>(v);
}
uint32_t high(uint64_t v) {
    return static_cast<uint32_t>(v >> 32);
}
uint64_t with_low(uint64_t v, uint32_t part) {
    return (v >> 32 << 32) | part;
}
uint64_t with_high(uint64_t v, uint32_t part) {
    return uint64_t{part} << 32 | low(v);
}

constexpr uint32_t misa = 1u << 30 | 1u << ('I' - 'A') | 1u << ('M' - 'A') | 1u << ('A' - 'A') |
                          1u << ('F' - 'A') | 1u << ('C' - 'A');
constexpr uint32_t interrupts = mip_software | mip_timer | mip_external;

// Counters and events 3 to 31 exist and stay zero.
bool is_idle_counter(uint32_t n) {
    return (n >= 0xb03 && n <= 0xb1f) || (n >= 0xb83 && n <= 0xb9f) || (n >= 0x323 && n <= 0x33f) ||
           n == 0x320 || n == 0x306;
}

}  // namespace

bool Machine::read_csr(const Hart& h, uint32_t number, uint32_t& value) const {
    for (InstructionPlugin* plugin : plugins)
        if (plugin->read_csr(h, number, value)) return true;
    switch (number) {
        case 0x001:
            value = h.fflags;
            return h.float_enabled();
        case 0x002:
            value = h.frm;
            return h.float_enabled();
        case 0x003:
            value = h.frm << 5 | h.fflags;
            return h.float_enabled();
        case 0x300:
            value = h.mstatus;
            if ((value & mstatus_fs) == mstatus_fs) value |= 0x80000000u;  // SD
            return true;
        case 0x301:
            value = misa;
            return true;
        case 0x304:
            value = h.mie;
            return true;
        case 0x305:
            value = h.mtvec;
            return true;
        case 0x310:
            value = 0;
            return true;  // mstatush
        case 0x340:
            value = h.mscratch;
            return true;
        case 0x341:
            value = h.mepc;
            return true;
        case 0x342:
            value = h.mcause;
            return true;
        case 0x343:
            value = h.mtval;
            return true;
        case 0x344:
            value = h.mip;
            return true;
        case 0xb00:
        case 0xc00:
            value = low(h.cycle + h.mcycle_offset);
            return true;
        case 0xb80:
        case 0xc80:
            value = high(h.cycle + h.mcycle_offset);
            return true;
        case 0xb02:
        case 0xc02:
            value = low(h.instret + h.minstret_offset);
            return true;
        case 0xb82:
        case 0xc82:
            value = high(h.instret + h.minstret_offset);
            return true;
        case 0xc01:
            value = low(time(h.cycle));
            return true;
        case 0xc81:
            value = high(time(h.cycle));
            return true;
        case 0xf11:
        case 0xf12:
        case 0xf13:
        case 0xf15:
            value = 0;
            return true;
        case 0xf14:
            value = h.id;
            return true;
        default:
            value = 0;
            return is_idle_counter(number);
    }
}

bool Machine::write_csr(Hart& h, uint32_t number, uint32_t value) {
    for (InstructionPlugin* plugin : plugins)
        if (plugin->write_csr(h, number, value)) return true;
    if (number >> 10 == 3) return false;                         // read only
    const uint64_t instret = h.instret + 1 + h.minstret_offset;  // a write counts from the next on
    switch (number) {
        case 0x001:
            h.fflags = value & 31;
            break;
        case 0x002:
            h.frm = value & 7;
            break;
        case 0x003:
            h.fflags = value & 31;
            h.frm = (value >> 5) & 7;
            break;
        case 0x300:
            h.set_mstatus((value & (mstatus_mie | mstatus_mpie | mstatus_fs)) | mstatus_mpp);
            queue.stop();
            return true;
        case 0x301:
        case 0x310:
            return true;
        case 0x304:
            h.mie = value & interrupts;
            queue.stop();
            return true;
        case 0x305:
            h.mtvec = value & ~2u;
            return true;
        case 0x340:
            h.mscratch = value;
            return true;
        case 0x341:
            h.mepc = value & ~1u;
            return true;
        case 0x342:
            h.mcause = value;
            return true;
        case 0x343:
            h.mtval = value;
            return true;
        case 0x344:
            return true;  // all bits belong to devices
        case 0xb00:
            h.mcycle_offset = with_low(h.cycle + h.mcycle_offset, value) - h.cycle;
            return true;
        case 0xb80:
            h.mcycle_offset = with_high(h.cycle + h.mcycle_offset, value) - h.cycle;
            return true;
        case 0xb02:
            h.minstret_offset = with_low(instret, value) - h.instret - 1;
            return true;
        case 0xb82:
            h.minstret_offset = with_high(instret, value) - h.instret - 1;
            return true;
        default:
            return is_idle_counter(number);
    }
    if (!h.float_enabled()) return false;
    h.mstatus |= mstatus_fs;
    return true;
}

}  // namespace ridge::rv32
