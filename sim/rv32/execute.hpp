// The interpreter: one loop over predecoded records, templated on a timing policy, so that a run
// without timing pays nothing for it.
//
// A policy has
//     void fetch(Hart&, uint32_t pc, uint32_t len);          before an instruction
//     void access(Hart&, Kind, uint32_t address, uint32_t bytes, Touch, Cost&);   loads, stores,
//     amo void branch(Hart&, bool taken, bool backward);         conditional branches void
//     jump_register(Hart&);                             jalr void retire(Hart&, Cost); after an
//     instruction void trap(Hart&);                                      instead of retire
// and charges cycles to the hart in each. access() may replace the instruction's own cost. While an
// instruction executes, h.pc is its address and h.cycle the cycle in which it began (after fetch).
#pragma once

#include <cstring>

#include "sim/rv32/decode.hpp"
#include "sim/rv32/fpu.hpp"
#include "sim/rv32/machine.hpp"

namespace ridge::rv32 {

// Every instruction and every trap takes one cycle.
struct NoTiming {
    void fetch(Hart&, uint32_t, uint32_t) {}
    void access(Hart&, Kind, uint32_t, uint32_t, Touch, Cost&) {}
    void branch(Hart&, bool, bool) {}
    void jump_register(Hart&) {}
    void retire(Hart& h, Cost) { ++h.cycle; }
    void trap(Hart& h) { ++h.cycle; }
};

// Accesses that are not a plain aligned one to memory: device, misaligned, watched, nothing there.
// Returns 0 or the trap's cause, with its value in `trap_value`.
uint32_t slow_load(Machine& m, Hart& h, uint32_t address, uint32_t bytes, uint32_t& value,
                   uint32_t& trap_value);
uint32_t slow_store(Machine& m, Hart& h, uint32_t address, uint32_t bytes, uint32_t value,
                    uint32_t& trap_value);
// lr, sc and the amo operations on a word of memory; the old value goes to `value`.
uint32_t atomic(Machine& m, Hart& h, const Insn& in, uint32_t& value, uint32_t& trap_value);
// Fills the record of the instruction at `pc`; false where nothing can be fetched.
bool fill_record(Machine& m, uint32_t pc, Insn& in);
// Takes a trap and notices where traps do nothing but trap.
void take_trap(Machine& m, Hart& h, uint32_t cause, uint32_t value);

template <class Timing>
class Executor {
  public:
    Executor(Machine& machine, Timing& policy) : m(machine), timing(policy) {}

    void run(Hart& h) {
        uint32_t page_number = ~0u;
        Insn* records = nullptr;
        do {
            const uint32_t pc = h.pc;
            if (pc >> page_shift != page_number) {
                records = m.memory.code_page(pc);
                if (!records) {
                    trap(h, cause_fetch_fault, pc);
                    page_number = ~0u;
                    continue;
                }
                page_number = pc >> page_shift;
            }
            Insn& record = records[(pc & (page_bytes - 1)) >> 1];
            if (record.op == Op::undecoded && !fill_record(m, pc, record)) {
                trap(h, cause_fetch_fault, pc);
                continue;
            }
            const Insn in = record;  // a store may clear the record under execution
            timing.fetch(h, pc, in.len);
            uint32_t next = pc + in.len;
            cost = in.cost;
            trap_value = 0;
            if (const uint32_t cause = one(h, in, pc, next)) {
                if (cause == stopped) return;
                trap(h, cause, trap_value);
                continue;
            }
            h.pc = next;
            ++h.instret;
            timing.retire(h, cost);
        } while (h.cycle < m.queue.horizon);
    }

  private:
    static constexpr uint32_t stopped = ~0u;

    void trap(Hart& h, uint32_t cause, uint32_t value) {
        take_trap(m, h, cause, value);
        timing.trap(h);
    }

    template <typename T>
    uint32_t load(Hart& h, uint32_t address, uint32_t& value) {
        const Page& page = m.memory.page(address);
        timing.access(h, page.kind, address, sizeof(T), Touch::read, cost);
        if (page.data && address % sizeof(T) == 0) [[likely]] {
            T got;
            std::memcpy(&got, page.data + (address & (page_bytes - 1)), sizeof got);
            value = static_cast<uint32_t>(static_cast<int32_t>(got));
            return 0;
        }
        uint32_t raw = 0;
        const uint32_t cause = slow_load(m, h, address, sizeof(T), raw, trap_value);
        if (cause == 0) value = static_cast<uint32_t>(static_cast<int32_t>(static_cast<T>(raw)));
        return cause;
    }

    template <typename T>
    uint32_t store(Hart& h, uint32_t address, uint32_t value) {
        const Page& page = m.memory.page(address);
        timing.access(h, page.kind, address, sizeof(T), Touch::write, cost);
        if (page.data && page.writable && address % sizeof(T) == 0) [[likely]] {
            const auto put = static_cast<T>(value);
            std::memcpy(page.data + (address & (page_bytes - 1)), &put, sizeof put);
            if (page.code) m.memory.forget_code(address, sizeof(T));
            if (m.memory.any_reserved) m.memory.end_reservations(address, sizeof(T));
            return 0;
        }
        return slow_store(m, h, address, sizeof(T), value, trap_value);
    }

    uint32_t csr(Hart& h, const Insn& in, uint32_t operand, uint32_t how, bool writes) {
        const auto number = static_cast<uint32_t>(in.imm);
        uint32_t old = 0;
        if (!m.read_csr(h, number, old)) return cause_illegal;
        if (writes) {
            const uint32_t value = how == 0 ? operand : how == 1 ? old | operand : old & ~operand;
            if (!m.write_csr(h, number, value)) return cause_illegal;
        }
        h.x[in.rd] = old;
        return 0;
    }

    // The rounding mode of an instruction; false where it is none.
    static bool rounding(const Hart& h, const Insn& in, uint32_t& rm) {
        rm = in.rm == dynamic ? h.frm : in.rm;
        return rm <= rmm;
    }

    // Executes one instruction. Returns 0, the cause of a trap, or `stopped`.
    uint32_t one(Hart& h, const Insn& in, uint32_t pc, uint32_t& next);
    uint32_t one_float(Hart& h, const Insn& in);

    bool taken(Hart& h, const Insn& in, uint32_t pc, uint32_t& next, bool condition) {
        if (condition) next = pc + static_cast<uint32_t>(in.imm);
        timing.branch(h, condition, in.imm < 0);
        return condition;
    }

    Machine& m;
    Timing& timing;
    Cost cost{};
    uint32_t trap_value = 0;
};

template <class Timing>
inline uint32_t Executor<Timing>::one(Hart& h, const Insn& in, uint32_t pc, uint32_t& next) {
    const uint32_t a = h.x[in.rs1], b = h.x[in.rs2];
    const auto sa = static_cast<int32_t>(a), sb = static_cast<int32_t>(b);
    const auto imm = static_cast<uint32_t>(in.imm);
    uint32_t& rd = h.x[in.rd];
    switch (in.op) {
        case Op::lui:
            rd = imm;
            return 0;
        case Op::auipc:
            rd = pc + imm;
            return 0;
        case Op::jal:
            rd = next;
            next = pc + imm;
            return 0;
        case Op::jalr:
            rd = next;
            next = (a + imm) & ~1u;
            timing.jump_register(h);
            return 0;
        case Op::beq:
            taken(h, in, pc, next, a == b);
            return 0;
        case Op::bne:
            taken(h, in, pc, next, a != b);
            return 0;
        case Op::blt:
            taken(h, in, pc, next, sa < sb);
            return 0;
        case Op::bge:
            taken(h, in, pc, next, sa >= sb);
            return 0;
        case Op::bltu:
            taken(h, in, pc, next, a < b);
            return 0;
        case Op::bgeu:
            taken(h, in, pc, next, a >= b);
            return 0;
        case Op::lb:
            return load<int8_t>(h, a + imm, rd);
        case Op::lh:
            return load<int16_t>(h, a + imm, rd);
        case Op::lw:
            return load<int32_t>(h, a + imm, rd);
        case Op::lbu:
            return load<uint8_t>(h, a + imm, rd);
        case Op::lhu:
            return load<uint16_t>(h, a + imm, rd);
        case Op::sb:
            return store<uint8_t>(h, a + imm, b);
        case Op::sh:
            return store<uint16_t>(h, a + imm, b);
        case Op::sw:
            return store<uint32_t>(h, a + imm, b);
        case Op::addi:
            rd = a + imm;
            return 0;
        case Op::slti:
            rd = sa < in.imm;
            return 0;
        case Op::sltiu:
            rd = a < imm;
            return 0;
        case Op::xori:
            rd = a ^ imm;
            return 0;
        case Op::ori:
            rd = a | imm;
            return 0;
        case Op::andi:
            rd = a & imm;
            return 0;
        case Op::slli:
            rd = a << imm;
            return 0;
        case Op::srli:
            rd = a >> imm;
            return 0;
        case Op::srai:
            rd = static_cast<uint32_t>(sa >> imm);
            return 0;
        case Op::add:
            rd = a + b;
            return 0;
        case Op::sub:
            rd = a - b;
            return 0;
        case Op::sll:
            rd = a << (b & 31);
            return 0;
        case Op::slt:
            rd = sa < sb;
            return 0;
        case Op::sltu:
            rd = a < b;
            return 0;
        case Op::xor_:
            rd = a ^ b;
            return 0;
        case Op::srl:
            rd = a >> (b & 31);
            return 0;
        case Op::sra:
            rd = static_cast<uint32_t>(sa >> (b & 31));
            return 0;
        case Op::or_:
            rd = a | b;
            return 0;
        case Op::and_:
            rd = a & b;
            return 0;
        case Op::fence:
        case Op::fence_i:
            return 0;  // memory is in order; records follow every store
        case Op::mul:
            rd = a * b;
            return 0;
        case Op::mulh:
            rd = static_cast<uint32_t>((int64_t{sa} * int64_t{sb}) >> 32);
            return 0;
        case Op::mulhsu:
            rd = static_cast<uint32_t>((int64_t{sa} * static_cast<int64_t>(uint64_t{b})) >> 32);
            return 0;
        case Op::mulhu:
            rd = static_cast<uint32_t>((uint64_t{a} * uint64_t{b}) >> 32);
            return 0;
        case Op::div:
            rd = b == 0 ? ~0u : a == 0x80000000u && b == ~0u ? a : static_cast<uint32_t>(sa / sb);
            return 0;
        case Op::divu:
            rd = b == 0 ? ~0u : a / b;
            return 0;
        case Op::rem:
            rd = b == 0 ? a : a == 0x80000000u && b == ~0u ? 0 : static_cast<uint32_t>(sa % sb);
            return 0;
        case Op::remu:
            rd = b == 0 ? a : a % b;
            return 0;
        case Op::lr_w:
        case Op::sc_w:
        case Op::amoswap_w:
        case Op::amoadd_w:
        case Op::amoxor_w:
        case Op::amoand_w:
        case Op::amoor_w:
        case Op::amomin_w:
        case Op::amomax_w:
        case Op::amominu_w:
        case Op::amomaxu_w: {
            const Kind kind = m.memory.page(a).kind;
            timing.access(h, kind, a, 4, in.op == Op::lr_w ? Touch::read : Touch::write, cost);
            return atomic(m, h, in, rd, trap_value);
        }
        case Op::csrrw:
            return csr(h, in, a, 0, true);
        case Op::csrrs:
            return csr(h, in, a, 1, in.rs1 != 0);
        case Op::csrrc:
            return csr(h, in, a, 2, in.rs1 != 0);
        case Op::csrrwi:
            return csr(h, in, in.rs1, 0, true);
        case Op::csrrsi:
            return csr(h, in, in.rs1, 1, in.rs1 != 0);
        case Op::csrrci:
            return csr(h, in, in.rs1, 2, in.rs1 != 0);
        case Op::ecall:
            return cause_ecall_m;
        case Op::ebreak:
            if (!m.stop_at_ebreak) {
                trap_value = pc;
                return cause_breakpoint;
            }
            m.stop = Stop::breakpoint;
            m.queue.stop();
            return stopped;
        case Op::mret:
            h.trap_return();
            next = h.pc;
            m.queue.stop();
            return 0;
        case Op::wfi:
            if (!h.interrupt_pending()) h.asleep = true;
            m.queue.stop();
            return 0;
        case Op::marker:
            if (m.on_marker) m.on_marker(h, imm);
            return 0;
        case Op::custom:
            return m.plugins[in.plugin]->execute(h, m.memory, in, trap_value);
        case Op::undecoded:
        case Op::illegal:
        case Op::count:
            trap_value = imm;
            return cause_illegal;
        default:
            return one_float(h, in);
    }
}

}  // namespace ridge::rv32

#include "sim/rv32/execute_float.hpp"
