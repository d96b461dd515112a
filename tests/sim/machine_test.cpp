// The machine around the core: memory, traps, interrupts, two harts, plug-ins, executables.
// Programs are a few words each, with their assembly beside them.
#include <gtest/gtest.h>

#include <cstring>

#include "sim/plain/plain.hpp"
#include "sim/rv32/decode.hpp"
#include "sim/rv32/disasm.hpp"

namespace ridge {
namespace {

using rv32::Stop;
using sim::PlainMachine;
constexpr uint32_t base = PlainMachine::ram_base;

void put(rv32::Machine& m, uint32_t at, std::initializer_list<uint32_t> words) {
    for (const uint32_t w : words) {
        ASSERT_TRUE(m.memory.write(at, &w, 4));
        at += 4;
    }
}
uint32_t word(const rv32::Machine& m, uint32_t at) {
    uint32_t w = 0;
    std::memcpy(&w, m.memory.bytes(at, 4), 4);
    return w;
}

constexpr uint32_t wfi = 0x10500073, ebreak = 0x00100073;

TEST(Machine, MisalignedAndMissingMemoryTrapWithTheAddress) {
    PlainMachine m;
    m.allow_misaligned = false;
    m.stop_at_ebreak = true;
    rv32::Hart& h = m.harts[0];
    put(m, base + 0x100, {ebreak});
    h.mtvec = base + 0x100;
    struct Case {
        uint32_t insn, address, cause;
    };
    for (const Case& c : {Case{0x0000a503, base + 2, rv32::cause_load_misaligned},   // lw a0, 0(ra)
                          Case{0x00a0a023, base + 1, rv32::cause_store_misaligned},  // sw a0, 0(ra)
                          Case{0x0000a503, 0x40000000, rv32::cause_load_fault},
                          Case{0x00a0a023, 0x40000000, rv32::cause_store_fault},
                          Case{0x1000a52f, base + 2, rv32::cause_load_misaligned},  // lr.w a0, (ra)
                          Case{0x00a0a52f, base + 2, rv32::cause_store_misaligned}}) {  // amoadd.w
        put(m, base, {c.insn});
        h.pc = base;
        h.x[1] = c.address;
        EXPECT_EQ(m.run(), Stop::breakpoint);
        EXPECT_EQ(h.mcause, c.cause);
        EXPECT_EQ(h.mtval, c.address);
        EXPECT_EQ(h.mepc, base);
    }
    m.allow_misaligned = true;
    put(m, base, {0x0000a503, ebreak});
    put(m, base + 0x200, {0x44332211, 0x88776655});
    h.pc = base;
    h.x[1] = base + 0x203;
    EXPECT_EQ(m.run(), Stop::breakpoint);
    EXPECT_EQ(h.x[10], 0x77665544u);
}

TEST(Machine, FloatNeedsMstatusFs) {
    PlainMachine m;
    m.stop_at_ebreak = true;
    rv32::Hart& h = m.harts[0];
    put(m, base, {0x00000053, ebreak});  // fadd.s f0, f0, f0
    put(m, base + 0x100, {ebreak});
    h.mtvec = base + 0x100;
    h.pc = base;
    EXPECT_EQ(m.run(), Stop::breakpoint);
    EXPECT_EQ(h.mcause, uint32_t{rv32::cause_illegal});
    EXPECT_EQ(h.pc, base + 0x100);
    h.mstatus |= 1u << 13;
    h.pc = base;
    EXPECT_EQ(m.run(), Stop::breakpoint);
    EXPECT_EQ(h.pc, base + 4);
    EXPECT_EQ(h.mstatus & rv32::mstatus_fs, uint32_t{rv32::mstatus_fs});
}

TEST(Machine, StoresChangeTheCodeThatRunsNext) {
    PlainMachine m;
    m.stop_at_ebreak = true;
    rv32::Hart& h = m.harts[0];
    // sw a0, 8(ra) replaces the addi at base + 8, which ran once before.
    put(m, base, {0x00a0a423, 0x00000013, 0x00100593, ebreak});  // sw; nop; li a1, 1; ebreak
    h.x[1] = base;
    h.x[10] = 0x00100593;
    h.pc = base;
    EXPECT_EQ(m.run(), Stop::breakpoint);
    EXPECT_EQ(h.x[11], 1u);
    h.x[10] = 0x00700593;  // li a1, 7
    h.pc = base;
    EXPECT_EQ(m.run(), Stop::breakpoint);
    EXPECT_EQ(h.x[11], 7u);
}

TEST(Machine, TimerWakesFromWfiAtItsCycle) {
    PlainMachine m;  // mtime advances once in 100 cycles
    m.stop_at_ebreak = true;
    rv32::Hart& h = m.harts[0];
    put(m, base, {0x00a0a023, 0x0000a223, wfi, ebreak});  // sw a0, 0(ra); sw x0, 4(ra); wfi
    h.x[1] = 0x02004000;
    h.x[10] = 5;
    h.mie = rv32::mip_timer;
    h.pc = base;
    EXPECT_EQ(m.run(), Stop::breakpoint);
    EXPECT_EQ(h.cycle, 500u);
    EXPECT_EQ(h.instret, 3u);
    EXPECT_EQ(h.pc, base + 12);  // MIE is off: it goes on without a trap
}

TEST(Machine, InterruptsTrapBetweenInstructionsAndMretReturns) {
    PlainMachine m;
    m.stop_at_ebreak = true;
    rv32::Hart& h = m.harts[0];
    put(m, base, {0x00150513, 0xffdff06f});  // addi a0, a0, 1; j base
    // sw x0, 0(ra), ra being the hart's msip; addi a1, a1, 1; mret
    put(m, base + 0x100, {0x0000a023, 0x00158593, 0x30200073});
    h.mtvec = base + 0x100;
    h.mie = rv32::mip_software;
    h.mstatus |= rv32::mstatus_mie;
    h.x[1] = 0x02000000;
    h.pc = base;
    EXPECT_EQ(m.run(1000), Stop::cycle);
    EXPECT_EQ(h.x[11], 0u);
    m.now = h.cycle;
    m.set_interrupt(h, rv32::mip_software, true);
    EXPECT_EQ(m.run(2000), Stop::cycle);
    EXPECT_EQ(h.x[11], 1u);
    EXPECT_EQ(h.mcause, rv32::interrupt_bit | 3);
    EXPECT_TRUE(h.mstatus & rv32::mstatus_mie);
    EXPECT_GT(h.x[10], 900u);
}

TEST(Machine, MaskedWindowsAreMeasured) {
    PlainMachine m;
    m.stop_at_ebreak = true;
    rv32::Hart& h = m.harts[0];
    // csrsi mstatus, 8; csrci; nop; nop; csrsi; csrci; csrsi; csrci; ebreak
    put(m, base,
        {0x30046073, 0x30047073, 0x00000013, 0x00000013, 0x30046073, 0x30047073, 0x30046073,
         0x30047073, ebreak});
    h.pc = base;
    EXPECT_EQ(m.run(), Stop::breakpoint);
    EXPECT_EQ(h.masked_windows, 2u);  // the last one is still open
    EXPECT_EQ(h.masked_longest, 3u);
}

TEST(Machine, TwoHartsAlternateInCycleOrder) {
    PlainMachine m(2);
    m.quantum = 0;
    // Each hart adds its own number with amoadd.w until a0 rounds are done, and records the old
    // value: in lock step the two see every second sum.
    put(m, base,
        {0x0020a1af,  // amoadd.w gp, sp, (ra)
         0x00322023,  // sw gp, 0(tp)
         0x00420213,  // addi tp, tp, 4
         0xfff50513,  // addi a0, a0, -1
         0xfe0518e3,  // bnez a0, base
         wfi});
    for (rv32::Hart& h : m.harts) {
        h.pc = base;
        h.x[1] = base + 0x1000;
        h.x[2] = 1;
        h.x[4] = base + 0x2000 + 0x1000 * h.id;
        h.x[10] = 50;
    }
    EXPECT_EQ(m.run(), Stop::deadlock);
    EXPECT_EQ(word(m, base + 0x1000), 100u);
    for (uint32_t i = 0; i < 50; ++i) {
        EXPECT_EQ(word(m, base + 0x2000 + 4 * i), 2 * i);
        EXPECT_EQ(word(m, base + 0x3000 + 4 * i), 2 * i + 1);
    }
}

TEST(Machine, AStoreOfTheOtherHartEndsAReservation) {
    PlainMachine m(2);
    m.quantum = 0;
    put(m, base, {0x1000a1af, 0x00000013, 0x00000013, 0x1820a1af, wfi});  // lr.w; nops; sc.w gp, sp
    put(m, base + 0x100, {0x00000013, 0x0020a023, wfi});                  // nop; sw sp, 0(ra)
    for (rv32::Hart& h : m.harts) {
        h.pc = base + 0x100 * h.id;
        h.x[1] = base + 0x1000;
        h.x[2] = 7 + h.id;
    }
    EXPECT_EQ(m.run(), Stop::deadlock);
    EXPECT_EQ(m.harts[0].x[3], 1u);  // failed
    EXPECT_EQ(word(m, base + 0x1000), 8u);
}

// A plug-in instruction: custom-0 word, rd = bit reverse of rs1.
class BitReverse final : public rv32::InstructionPlugin {
  public:
    bool decode(uint32_t w, rv32::Insn& in) const override {
        if ((w & 0x7f) != 0x0b) return false;
        in.len = 4;
        in.cost = rv32::Cost::custom;
        in.rd = static_cast<uint8_t>((w >> 7) & 31);
        in.rs1 = static_cast<uint8_t>((w >> 15) & 31);
        return true;
    }
    uint32_t execute(rv32::Hart& h, rv32::Memory&, const rv32::Insn& in, uint32_t&) override {
        uint32_t r = 0;
        for (int i = 0; i < 32; ++i) r |= ((h.x[in.rs1] >> i) & 1) << (31 - i);
        h.x[in.rd] = r;
        return 0;
    }
};

TEST(Machine, InstructionPluginsAddInstructions) {
    PlainMachine m;
    m.stop_at_ebreak = true;
    put(m, base, {0x0000850b | 10u << 7, ebreak});
    rv32::Hart& h = m.harts[0];
    h.x[1] = 1;
    h.pc = base;
    h.mtvec = base + 4;
    EXPECT_EQ(m.run(), Stop::breakpoint);
    EXPECT_EQ(h.mcause, uint32_t{rv32::cause_illegal});
    PlainMachine with;
    BitReverse plugin;
    with.plugins.push_back(&plugin);
    with.stop_at_ebreak = true;
    put(with, base, {0x0000850b, ebreak});
    with.harts[0].x[1] = 1;
    with.harts[0].pc = base;
    EXPECT_EQ(with.run(), Stop::breakpoint);
    EXPECT_EQ(with.harts[0].x[10], 0x80000000u);
}

TEST(Machine, ALoopOfTrapsStops) {
    PlainMachine m;
    m.harts[0].pc = 0x40000000;  // nothing there, nor at mtvec = 0
    EXPECT_EQ(m.run(), Stop::trap_loop);
}

TEST(Disasm, WritesWhatTheAssemblerReads) {
    EXPECT_EQ(rv32::disassemble(rv32::decode(0x00a0a423), base), "sw a0, 8(ra)");
    EXPECT_EQ(rv32::disassemble(rv32::decode(0xffdff06f), base + 4), "j 0x80000000");
    EXPECT_EQ(rv32::disassemble(rv32::decode(0x00000053), base), "fadd.s ft0, ft0, ft0, rne");
    EXPECT_EQ(rv32::disassemble(rv32::decode(0x0020a1af), base), "amoadd.w gp, sp, (ra)");
    EXPECT_EQ(rv32::disassemble(rv32::decode(0x00100593), base), "addi a1, zero, 1");
}

}  // namespace
}  // namespace ridge
