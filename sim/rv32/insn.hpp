// One instruction, decoded once: what the interpreter switches on. Compressed instructions become
// the record of what they expand to, with len 2.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace ridge::rv32 {

// What takes cycles (costs.inc).
enum class Cost : uint8_t {
#define RIDGE_COST(id) id,
#include "sim/rv32/costs.inc"
#undef RIDGE_COST
    count
};
inline constexpr size_t cost_count = static_cast<size_t>(Cost::count);
inline constexpr std::array<std::string_view, cost_count> cost_names = {
#define RIDGE_COST(id) #id,
#include "sim/rv32/costs.inc"
#undef RIDGE_COST
};

enum class Op : uint16_t {
#define RIDGE_OP(id, mnemonic, format, cost) id,
#include "sim/rv32/ops.inc"
#undef RIDGE_OP
    count
};

// How an instruction's operands are written.
enum class Format : uint8_t {
    none,
    r,     // rd, rs1, rs2
    i,     // rd, rs1, imm
    u,     // rd, imm
    j,     // rd, target
    b,     // rs1, rs2, target
    l,     // rd, imm(rs1)
    s,     // rs2, imm(rs1)
    csr,   // rd, csr, rs1
    csri,  // rd, csr, uimm
    amo,   // rd, rs2, (rs1)
    fl,    // fd, imm(rs1)
    fs,    // fs2, imm(rs1)
    f3,    // fd, fs1, fs2
    f4,    // fd, fs1, fs2, fs3
    f2,    // fd, fs1
    fx,    // rd, fs1
    xf,    // fd, rs1
    fcmp,  // rd, fs1, fs2
};

struct OpInfo {
    std::string_view mnemonic;
    Format format;
    Cost cost;
};

inline constexpr std::array<OpInfo, static_cast<size_t>(Op::count)> op_infos = {{
#define RIDGE_OP(id, mnemonic, format, cost) {mnemonic, Format::format, Cost::cost},
#include "sim/rv32/ops.inc"
#undef RIDGE_OP
}};

inline const OpInfo& info(Op op) {
    return op_infos[static_cast<size_t>(op)];
}

// Register number that a write to x0 goes to, so that no instruction has to test for it.
inline constexpr uint8_t sink = 32;

struct Insn {
    Op op{};  // Op::undecoded
    uint8_t len = 0;
    Cost cost{};
    uint8_t rd = 0, rs1 = 0, rs2 = 0, rs3 = 0;
    int32_t imm = 0;     // immediate, CSR number, or a plug-in's own
    uint8_t rm = 0;      // rounding mode
    uint8_t plugin = 0;  // which instruction plug-in (Op::custom)
    uint16_t plugin_op = 0;
};
static_assert(sizeof(Insn) == 16);

}  // namespace ridge::rv32
