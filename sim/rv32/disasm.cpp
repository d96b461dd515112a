#include "sim/rv32/disasm.hpp"

#include <fmt/format.h>

#include <array>

namespace ridge::rv32 {

std::string_view x_name(unsigned reg) {
    static constexpr std::array<std::string_view, 33> names = {
        "zero", "ra", "sp", "gp", "tp",  "t0",  "t1", "t2", "s0", "s1", "a0",
        "a1",   "a2", "a3", "a4", "a5",  "a6",  "a7", "s2", "s3", "s4", "s5",
        "s6",   "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6", "zero"};
    return names[reg < names.size() ? reg : 0];
}

std::string_view f_name(unsigned reg) {
    static constexpr std::array<std::string_view, 32> names = {
        "ft0", "ft1", "ft2", "ft3", "ft4",  "ft5",  "ft6", "ft7", "fs0",  "fs1", "fa0",
        "fa1", "fa2", "fa3", "fa4", "fa5",  "fa6",  "fa7", "fs2", "fs3",  "fs4", "fs5",
        "fs6", "fs7", "fs8", "fs9", "fs10", "fs11", "ft8", "ft9", "ft10", "ft11"};
    return names[reg & 31];
}

std::string disassemble(const Insn& in, uint32_t pc) {
    static constexpr std::array<std::string_view, 8> modes = {"rne", "rtz", "rdn", "rup",
                                                              "rmm", "?",   "?",   "dyn"};
    const OpInfo& op = info(in.op);
    const auto m = op.mnemonic;
    const auto rd = x_name(in.rd), a = x_name(in.rs1), b = x_name(in.rs2);
    const auto fd = f_name(in.rd), fa = f_name(in.rs1), fb = f_name(in.rs2), fc = f_name(in.rs3);
    const uint32_t target = pc + static_cast<uint32_t>(in.imm);
    const bool rounds = op.cost == Cost::fp_arith || op.cost == Cost::fp_div ||
                        op.cost == Cost::fp_sqrt || op.cost == Cost::fp_convert;
    const std::string rm = rounds ? fmt::format(", {}", modes[in.rm & 7]) : "";
    switch (op.format) {
        case Format::r:
            return fmt::format("{} {}, {}, {}", m, rd, a, b);
        case Format::i:
            return fmt::format("{} {}, {}, {}", m, rd, a, in.imm);
        case Format::u:
            if (in.op == Op::marker) return fmt::format("marker {}", in.imm);
            return fmt::format("{} {}, 0x{:x}", m, rd, static_cast<uint32_t>(in.imm) >> 12);
        case Format::j:
            return in.rd == sink ? fmt::format("j 0x{:08x}", target)
                                 : fmt::format("{} {}, 0x{:08x}", m, rd, target);
        case Format::b:
            return fmt::format("{} {}, {}, 0x{:08x}", m, a, b, target);
        case Format::l:
            return fmt::format("{} {}, {}({})", m, rd, in.imm, a);
        case Format::s:
            return fmt::format("{} {}, {}({})", m, b, in.imm, a);
        case Format::csr:
            return fmt::format("{} {}, 0x{:03x}, {}", m, rd, in.imm, a);
        case Format::csri:
            return fmt::format("{} {}, 0x{:03x}, {}", m, rd, in.imm, in.rs1);
        case Format::amo:
            if (in.op == Op::lr_w) return fmt::format("{} {}, ({})", m, rd, a);
            return fmt::format("{} {}, {}, ({})", m, rd, b, a);
        case Format::fl:
            return fmt::format("{} {}, {}({})", m, fd, in.imm, a);
        case Format::fs:
            return fmt::format("{} {}, {}({})", m, fb, in.imm, a);
        case Format::f3:
            return fmt::format("{} {}, {}, {}{}", m, fd, fa, fb, rm);
        case Format::f4:
            return fmt::format("{} {}, {}, {}, {}{}", m, fd, fa, fb, fc, rm);
        case Format::f2:
            return fmt::format("{} {}, {}{}", m, fd, fa, rm);
        case Format::fx:
            return fmt::format("{} {}, {}{}", m, rd, fa, rm);
        case Format::xf:
            return fmt::format("{} {}, {}{}", m, fd, a, rm);
        case Format::fcmp:
            return fmt::format("{} {}, {}, {}", m, rd, fa, fb);
        case Format::none:
            break;
    }
    return std::string(m);
}

}  // namespace ridge::rv32
