// Writes self-checking programs of random RV32IMAFC instructions, as assembly text: the assembler
// is the encoder, so nothing of the simulator's decoder is in them. After every block a program
// prints a hash of x, f, fcsr, what traps it took, and its memory; two machines that print the same
// text executed every block alike. Made for QEMU's virt machine and PlainMachine.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace ridge::test {

class RandomProgram {
  public:
    // `blocks` blocks of `block` random instructions, executed `rounds` times.
    RandomProgram(uint32_t seed, int blocks, int block, int rounds) : random_(seed) {
        begin(rounds);
        for (int b = 0; b < blocks; ++b) {
            reseed();
            for (int i = 0; i < block; ++i) instruction();
            line("jal x29, checkpoint");
        }
        end();
    }

    const std::string& text() const { return text_; }

  private:
    // x31: base of memory, x30: table of values, x29: link of checkpoints, x28: addresses, sp: into
    // memory. The others are random.
    std::mt19937 random_;
    std::string text_;

    uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_()) % n; }
    bool chance(uint32_t percent) { return below(100) < percent; }
    template <size_t N>
    const char* any(const char* const (&of)[N]) {
        return of[below(N)];
    }
    template <typename... Args>
    void line(fmt::format_string<Args...> format, Args&&... args) {
        text_ += "    ";
        text_ += fmt::format(format, std::forward<Args>(args)...);
        text_ += '\n';
    }

    std::string xs() {  // a source: any register
        return fmt::format("x{}", below(32));
    }
    std::string xd() {  // a destination
        uint32_t r = below(28);
        if (r == 2) r = 27;
        return fmt::format("x{}", r);
    }
    std::string xc() { return fmt::format("x{}", 8 + below(8)); }
    std::string f() { return fmt::format("f{}", below(32)); }
    std::string fc() { return fmt::format("f{}", 8 + below(8)); }
    const char* rounding() { return any({"rne", "rtz", "rdn", "rup", "rmm", "dyn", "dyn", "dyn"}); }
    int imm12() { return static_cast<int>(below(4096)) - 2048; }

    void integer() {
        if (chance(50)) {
            line("{} {}, {}, {}",
                 any({"add", "sub", "sll", "slt", "sltu", "xor", "srl", "sra", "or", "and"}), xd(),
                 xs(), xs());
        } else if (chance(60)) {
            line("{} {}, {}, {}", any({"addi", "slti", "sltiu", "xori", "ori", "andi"}), xd(), xs(),
                 imm12());
        } else if (chance(60)) {
            line("{} {}, {}, {}", any({"slli", "srli", "srai"}), xd(), xs(), below(32));
        } else {
            line("{} {}, {}", any({"lui", "auipc"}), xd(), below(1u << 20));
        }
    }

    void multiply() {
        line("{} {}, {}, {}", any({"mul", "mulh", "mulhsu", "mulhu", "div", "divu", "rem", "remu"}),
             xd(), xs(), xs());
    }

    void memory() {
        switch (below(6)) {
            case 0:
                line("{} {}, {}(x31)", any({"lb", "lbu"}), xd(), below(1024));
                break;
            case 1:
                line("{} {}, {}(x31)", any({"lh", "lhu"}), xd(), below(512) * 2);
                break;
            case 2:
                line("lw {}, {}(x31)", xd(), below(256) * 4);
                break;
            case 3:
                line("sb {}, {}(x31)", xs(), below(1024));
                break;
            case 4:
                line("sh {}, {}(x31)", xs(), below(512) * 2);
                break;
            default:
                line("sw {}, {}(x31)", xs(), below(256) * 4);
                break;
        }
    }

    void atomics() {
        line("addi x28, x31, {}", below(256) * 4);
        if (chance(20)) {
            line("lr.w {}, (x28)", xd());
            integer();
            line("sc.w {}, {}, (x28)", xd(), xs());
            if (chance(50)) line("sc.w {}, {}, (x28)", xd(), xs());
            return;
        }
        line("{} {}, {}, (x28)",
             any({"amoswap.w", "amoadd.w", "amoxor.w", "amoand.w", "amoor.w", "amomin.w",
                  "amomax.w", "amominu.w", "amomaxu.w"}),
             xd(), xs());
    }

    void floating() {
        switch (below(10)) {
            case 0:
            case 1:
                line("{} {}, {}, {}, {}, {}", any({"fmadd.s", "fmsub.s", "fnmsub.s", "fnmadd.s"}),
                     f(), f(), f(), f(), rounding());
                break;
            case 2:
            case 3:
                line("{} {}, {}, {}, {}", any({"fadd.s", "fsub.s", "fmul.s", "fdiv.s"}), f(), f(),
                     f(), rounding());
                break;
            case 4:
                line("fsqrt.s {}, {}, {}", f(), f(), rounding());
                break;
            case 5:
                line("{} {}, {}, {}", any({"fsgnj.s", "fsgnjn.s", "fsgnjx.s", "fmin.s", "fmax.s"}),
                     f(), f(), f());
                break;
            case 6:
                line("{} {}, {}, {}", any({"feq.s", "flt.s", "fle.s"}), xd(), f(), f());
                break;
            case 7:
                line("{} {}, {}, {}", any({"fcvt.w.s", "fcvt.wu.s"}), xd(), f(), rounding());
                break;
            case 8:
                if (chance(70))
                    line("{} {}, {}, {}", any({"fcvt.s.w", "fcvt.s.wu"}), f(), xs(), rounding());
                else if (chance(50))
                    line("fclass.s {}, {}", xd(), f());
                else if (chance(50))
                    line("fmv.w.x {}, {}", f(), xs());
                else
                    line("fmv.x.w {}, {}", xd(), f());
                break;
            default:
                if (chance(60))
                    line("flw {}, {}(x30)", f(), below(64) * 4);
                else if (chance(50))
                    line("flw {}, {}(x31)", f(), below(256) * 4);
                else
                    line("fsw {}, {}(x31)", f(), below(256) * 4);
        }
    }

    void status() {
        switch (below(6)) {
            case 0:
                line("csrrwi {}, frm, {}", xd(), below(5));
                break;
            case 1:
                line("{} {}, mscratch, {}", any({"csrrw", "csrrs", "csrrc"}), xd(), xs());
                break;
            case 2:
                line("{} {}, mscratch, {}", any({"csrrwi", "csrrsi", "csrrci"}), xd(), below(32));
                break;
            case 3:
                line("{} {}, fflags, {}", any({"csrrw", "csrrs", "csrrc"}), xd(), xs());
                break;
            case 4:
                line("csrrsi {}, fcsr, 0", xd());
                break;
            default:
                line("csrrci {}, fflags, {}", xd(), below(32));
                break;
        }
    }

    void flow() {
        switch (below(4)) {
            case 0:
            case 1:
                line("{} {}, {}, 1f", any({"beq", "bne", "blt", "bge", "bltu", "bgeu"}), xs(),
                     xs());
                plain();
                if (chance(50)) plain();
                text_ += "1:\n";
                break;
            case 2:
                line("jal {}, 1f", xd());
                plain();
                text_ += "1:\n";
                break;
            default:
                line("la x28, 1f");
                line("jalr {}, 0(x28)", xd());
                plain();
                text_ += "1:\n";
        }
    }

    void compressed() {
        switch (below(22)) {
            case 0:
                line("c.addi4spn {}, sp, {}", xc(), 4 + below(255) * 4);
                break;
            case 1:
                line("addi x8, x31, {}", below(128) * 4);
                line("{} {}, {}(x8)", any({"c.lw", "c.sw"}), xc(), below(32) * 4);
                break;
            case 2:
                line("addi x9, x31, {}", below(128) * 4);
                line("{} {}, {}(x9)", any({"c.flw", "c.fsw"}), fc(), below(32) * 4);
                break;
            case 3:
                line("c.addi x{}, {}", 3 + below(25), 1 + below(31));
                break;
            case 4:
                line("c.addi x{}, -{}", 3 + below(25), 1 + below(32));
                break;
            case 5:
                line("c.jal 1f");
                plain();
                text_ += "1:\n";
                break;
            case 6:
                line("c.li x{}, {}", 3 + below(25), static_cast<int>(below(64)) - 32);
                break;
            case 7:
                line("c.lui x{}, {}", 3 + below(25), 1 + below(31));
                break;
            case 8:
                line("c.addi16sp sp, {}", 16 * (1 + below(31)));
                line("c.addi16sp sp, -{}", 16 * 31);
                line("la sp, memory + 256");
                break;
            case 9:
                line("{} {}, {}", any({"c.srli", "c.srai"}), xc(), 1 + below(31));
                break;
            case 10:
                line("c.andi {}, {}", xc(), static_cast<int>(below(64)) - 32);
                break;
            case 11:
            case 12:
                line("{} {}, {}", any({"c.sub", "c.xor", "c.or", "c.and"}), xc(), xc());
                break;
            case 13:
                line("c.j 1f");
                plain();
                text_ += "1:\n";
                break;
            case 14:
                line("{} {}, 1f", any({"c.beqz", "c.bnez"}), xc());
                plain();
                text_ += "1:\n";
                break;
            case 15:
                line("c.slli x{}, {}", 3 + below(25), 1 + below(31));
                break;
            case 16:
                line("c.lwsp x{}, {}(sp)", 3 + below(25), below(64) * 4);
                break;
            case 17:
                line("{} {}, {}(sp)", any({"c.flwsp", "c.fswsp"}), f(), below(64) * 4);
                break;
            case 18:
                line("c.swsp {}, {}(sp)", xs(), below(64) * 4);
                break;
            case 19:
                line("{} x{}, x{}", any({"c.mv", "c.add"}), 3 + below(25), 1 + below(28));
                break;
            case 20:
                line("la x28, 1f");
                line("{} x28", any({"c.jr", "c.jalr"}));
                plain();
                text_ += "1:\n";
                break;
            default:
                line("c.nop");
        }
    }

    void trapping() {
        switch (below(5)) {
            case 0:
                line("ecall");
                break;
            case 1:
                line(".word {}", any({"0xffffffff", "0x00000057", "0x7b200073"}));
                break;
            case 2:
                line(".half 0");
                break;
            case 3:
                line("c.ebreak");
                break;
            default:
                line("lui x28, 0x08000");
                line("{} x28, 0(x28)", any({"lw", "sw", "lh", "sb"}));
        }
    }

    // Fresh values: otherwise floats end as NaN and integers as zero.
    void reseed() {
        for (int i = 0; i < 6; ++i) line("flw {}, {}(x30)", f(), below(64) * 4);
        for (int i = 0; i < 4; ++i) line("lw {}, {}(x30)", xd(), below(64) * 4);
        for (int i = 0; i < 2; ++i) line("li {}, 0x{:08x}", xd(), static_cast<uint32_t>(random_()));
        line("csrwi fflags, 0");
    }

    void plain() {
        const uint32_t what = below(100);
        if (what < 40)
            integer();
        else if (what < 50)
            multiply();
        else if (what < 65)
            memory();
        else
            floating();
    }

    void instruction() {
        const uint32_t what = below(1000);
        if (what < 550)
            plain();
        else if (what < 600)
            atomics();
        else if (what < 750)
            floating();
        else if (what < 780)
            status();
        else if (what < 850)
            flow();
        else if (what < 990)
            compressed();
        else
            trapping();
        if (chance(8)) line("flw {}, {}(x30)", f(), below(64) * 4);
    }

    void begin(int rounds) {
        text_ = fmt::format(R"(
    .option rvc
    .global _start
_start:
    la x1, trap
    csrw mtvec, x1
    li x1, 0x6000
    csrs mstatus, x1
    li x1, {}
    la x2, rounds
    sw x1, 0(x2)
    la x31, memory
    la x30, table
    la sp, memory + 256
    csrw mscratch, x0
)",
                            rounds);
        for (int r = 1; r < 30; ++r)  // what the machine's own boot code left in them is not ours
            if (r != 2) line("li x{}, {}", r, r);
        for (int r = 0; r < 32; ++r) line("flw f{}, {}(x30)", r, 4 * r);
        text_ += "again:\n";
    }

    void end() {
        text_ += R"(
    la x31, memory
    la x28, rounds
    lw x29, 0(x28)
    addi x29, x29, -1
    sw x29, 0(x28)
    beqz x29, done
    la x28, again
    jr x28
done:
    li x1, 0x100000
    li x2, 0x5555
    sw x2, 0(x1)
1:  j 1b

checkpoint:
    la x31, saved
)";
        for (int r = 1; r < 30; ++r) line("sw x{}, {}(x31)", r, 4 * r);
        for (int r = 0; r < 32; ++r) line("fsw f{}, {}(x31)", r, 128 + 4 * r);
        text_ += R"(
    csrr x1, fcsr
    sw x1, 0(x31)
    csrr x1, mscratch
    sw x1, 120(x31)
    la x2, trapped
    lw x1, 0(x2)
    sw x1, 124(x31)
    li x5, 0x811c9dc5
    li x6, 16777619
    li x7, 64
1:  lw x1, 0(x31)
    xor x5, x5, x1
    mul x5, x5, x6
    srli x1, x5, 15
    xor x5, x5, x1
    addi x31, x31, 4
    addi x7, x7, -1
    bnez x7, 1b
    la x31, memory
    li x7, 256
1:  lw x1, 0(x31)
    xor x5, x5, x1
    mul x5, x5, x6
    srli x1, x5, 15
    xor x5, x5, x1
    addi x31, x31, 4
    addi x7, x7, -1
    bnez x7, 1b
    li x31, 0x10000000
    li x7, 8
1:  srli x1, x5, 28
    slli x5, x5, 4
    addi x1, x1, 48
    li x2, 58
    blt x1, x2, 2f
    addi x1, x1, 39
2:  sb x1, 0(x31)
    addi x7, x7, -1
    bnez x7, 1b
    li x1, 10
    sb x1, 0(x31)
    la x31, saved
)";
        for (int r = 1; r < 30; ++r) line("lw x{}, {}(x31)", r, 4 * r);
        text_ += R"(
    la x31, memory
    jr x29

)";
        // The handler keeps two registers in memory, folds cause and address into a word and skips
        // the instruction.
        text_ += R"(
    .balign 4
trap:
    la x31, frame
    sw x1, 0(x31)
    sw x2, 4(x31)
    sw x3, 8(x31)
    la x1, trapped
    lw x2, 0(x1)
    csrr x3, mcause
    xor x2, x2, x3
    slli x3, x2, 5
    add x2, x2, x3
    csrr x3, mepc
    xor x2, x2, x3
    sw x2, 0(x1)
    lhu x1, 0(x3)
    andi x1, x1, 3
    addi x1, x1, -3
    addi x3, x3, 2
    bnez x1, 1f
    addi x3, x3, 2
1:  csrw mepc, x3
    lw x1, 0(x31)
    lw x2, 4(x31)
    lw x3, 8(x31)
    la x31, memory
    mret
)";
        text_ += "\n    .balign 16\ntable:\n";
        static constexpr uint32_t values[] = {
            0x00000000, 0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000,
            0x7f800001, 0xffc00001, 0xff923456, 0x00000001, 0x80000001, 0x007fffff, 0x807fffff,
            0x00800000, 0x80800000, 0x7f7fffff, 0xff7fffff, 0x4f000000, 0xcf000000, 0x4f800000,
            0x4effffff, 0x3effffff, 0x3f000000, 0x3f000001, 0xbf000000, 0x40200000, 0xc0200000,
            0x3fc00000, 0x33800000, 0x34000000, 0x1f800000, 0x1fffffff, 0x5f7fffff, 0x00ffffff,
            0x01000000, 0x7fffffff, 0xffffffff, 0x0000ffff, 0xffff0000};
        size_t n = 0;
        for (const uint32_t v : values) line(".word 0x{:08x}", v), ++n;
        for (; n < 64; ++n) {
            // Numbers of all sizes, many near one.
            const uint32_t fraction = below(1u << 23), sign = below(2) << 31;
            const uint32_t exponent = n % 2 ? below(255) : 120 + below(16);
            line(".word 0x{:08x}", sign | exponent << 23 | fraction);
        }
        text_ +=
            "\n    .balign 16\nsaved: .space 256\nframe: .space 16\ntrapped: .word 0\nrounds: "
            ".word 0\n"
            "    .balign 1024\nmemory:\n";
        for (int i = 0; i < 512; ++i) line(".word 0x{:08x}", static_cast<uint32_t>(random_()));
    }
};

}  // namespace ridge::test
