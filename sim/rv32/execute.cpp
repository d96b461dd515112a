#include "sim/rv32/execute.hpp"

namespace ridge::rv32 {

uint32_t slow_load(Machine& m, Hart& h, uint32_t address, uint32_t bytes, uint32_t& value,
                   uint32_t& trap_value) {
    trap_value = address;
    value = 0;
    if (address % bytes != 0 && !m.allow_misaligned) return cause_load_misaligned;
    if (const uint8_t* from = m.memory.bytes(address, bytes)) {
        m.memory.watched(address, bytes, Touch::read);
        std::memcpy(&value, from, bytes);
        return 0;
    }
    uint32_t offset = 0;
    Device* device = m.memory.device(address, offset);
    if (!device || address % bytes != 0) return cause_load_fault;
    m.now = h.cycle;
    Access access{h, h.pc, h.cycle};
    value = device->read(access, offset, bytes);
    if (access.fault == 0) return 0;
    if (access.fault_value) trap_value = access.fault_value;
    return access.fault;
}

uint32_t slow_store(Machine& m, Hart& h, uint32_t address, uint32_t bytes, uint32_t value,
                    uint32_t& trap_value) {
    trap_value = address;
    if (address % bytes != 0 && !m.allow_misaligned) return cause_store_misaligned;
    if (m.memory.bytes(address, bytes)) {
        if (!m.memory.page(address).writable) return cause_store_fault;
        m.memory.watched(address, bytes, Touch::write);
        m.memory.write(address, &value, bytes);
        return 0;
    }
    uint32_t offset = 0;
    Device* device = m.memory.device(address, offset);
    if (!device || address % bytes != 0) return cause_store_fault;
    m.now = h.cycle;
    Access access{h, h.pc, h.cycle};
    device->write(access, offset, bytes, value);
    if (access.fault == 0) return 0;
    if (access.fault_value) trap_value = access.fault_value;
    return access.fault;
}

uint32_t atomic(Machine& m, Hart& h, const Insn& in, uint32_t& value, uint32_t& trap_value) {
    const uint32_t address = h.x[in.rs1], operand = h.x[in.rs2];
    const bool loads_only = in.op == Op::lr_w;
    trap_value = address;
    if (address % 4 != 0) return loads_only ? cause_load_misaligned : cause_store_misaligned;
    const uint8_t* const at = m.memory.bytes(address, 4);
    if (!at || (!loads_only && !m.memory.page(address).writable))
        return loads_only ? cause_load_fault : cause_store_fault;
    uint32_t old = 0;
    std::memcpy(&old, at, 4);
    m.memory.watched(address, 4, loads_only ? Touch::read : Touch::write);
    if (in.op == Op::lr_w) {
        m.memory.reserve(h.id, address);
        value = old;
        return 0;
    }
    if (in.op == Op::sc_w) {
        const bool held = m.memory.reserved[h.id] == address;
        m.memory.reserve(h.id, Memory::unreserved);
        if (held) m.memory.write(address, &operand, 4);
        value = held ? 0 : 1;
        return 0;
    }
    const auto so = static_cast<int32_t>(old), sn = static_cast<int32_t>(operand);
    uint32_t result = 0;
    switch (in.op) {
        case Op::amoswap_w:
            result = operand;
            break;
        case Op::amoadd_w:
            result = old + operand;
            break;
        case Op::amoxor_w:
            result = old ^ operand;
            break;
        case Op::amoand_w:
            result = old & operand;
            break;
        case Op::amoor_w:
            result = old | operand;
            break;
        case Op::amomin_w:
            result = so < sn ? old : operand;
            break;
        case Op::amomax_w:
            result = so > sn ? old : operand;
            break;
        case Op::amominu_w:
            result = old < operand ? old : operand;
            break;
        default:
            result = old > operand ? old : operand;
            break;  // amomaxu.w
    }
    m.memory.write(address, &result, 4);
    value = old;
    return 0;
}

bool fill_record(Machine& m, uint32_t pc, Insn& in) {
    const uint8_t* at = m.memory.bytes(pc, 2);
    if (!at) return false;
    uint16_t low = 0, high = 0;
    std::memcpy(&low, at, 2);
    if (is_wide(low)) {
        const uint8_t* const rest = m.memory.bytes(pc + 2, 2);
        if (!rest) return false;
        std::memcpy(&high, rest, 2);
        m.memory.code_page(pc + 2);  // a store there must find the record
    }
    const uint32_t word = uint32_t{high} << 16 | low;
    for (size_t i = 0; i < m.plugins.size(); ++i) {
        Insn own;
        own.rd = sink;
        if (m.plugins[i]->decode(word, own)) {
            if (own.op == Op::undecoded) own.op = Op::custom;
            own.plugin = static_cast<uint8_t>(i);
            in = own;
            return true;
        }
    }
    in = is_wide(low) ? decode(word) : decode_compressed(low);
    if (in.op == Op::illegal) in.imm = static_cast<int32_t>(word);
    return true;
}

void take_trap(Machine& m, Hart& h, uint32_t cause, uint32_t value) {
    constexpr uint64_t loop_length = 64;
    h.trap(cause, value, h.pc);
    if (h.instret != h.trap_instret) h.trap_streak = 0;
    h.trap_instret = h.instret;
    if (++h.trap_streak >= loop_length) {
        m.stop = Stop::trap_loop;
        m.queue.stop();
    }
}

}  // namespace ridge::rv32
