// Instruction plug-ins that make the simulator wrong on purpose.
#pragma once

#include <utility>
#include <vector>

#include "sim/rv32/decode.hpp"
#include "sim/rv32/plugin.hpp"

namespace ridge::test {

inline rv32::Insn decoded(uint32_t word) {
    return rv32::is_wide(word) ? rv32::decode(word)
                               : rv32::decode_compressed(static_cast<uint16_t>(word));
}

// Executes `op` as `wrong`.
class DecodeFault final : public rv32::InstructionPlugin {
  public:
    DecodeFault(rv32::Op op, rv32::Op wrong) : op_(op), wrong_(wrong) {}
    bool decode(uint32_t word, rv32::Insn& in) const override {
        const rv32::Insn right = decoded(word);
        if (right.op != op_) return false;
        in = right;
        in.op = wrong_;
        ++applied;
        return true;
    }
    uint32_t execute(rv32::Hart&, rv32::Memory&, const rv32::Insn&, uint32_t&) override {
        return 0;
    }
    mutable int applied = 0;

  private:
    rv32::Op op_, wrong_;
};

// Rounds static modes toward zero.
class RoundingFault final : public rv32::InstructionPlugin {
  public:
    explicit RoundingFault(rv32::Format format) : format_(format) {}
    bool decode(uint32_t word, rv32::Insn& in) const override {
        const rv32::Insn right = decoded(word);
        if (right.op == rv32::Op::illegal || rv32::info(right.op).format != format_) return false;
        in = right;
        in.rm = 1;
        return true;
    }
    uint32_t execute(rv32::Hart&, rv32::Memory&, const rv32::Insn&, uint32_t&) override {
        return 0;
    }

  private:
    rv32::Format format_;
};

// One fault for every instruction that random programs use.
inline std::vector<std::pair<rv32::Op, rv32::Op>> all_faults() {
    using enum rv32::Op;
    return {
        {lui, auipc},
        {auipc, lui},
        {jal, addi},
        {jalr, addi},
        {beq, bne},
        {bne, beq},
        {blt, bge},
        {bge, blt},
        {bltu, blt},
        {bgeu, bge},
        {lb, lbu},
        {lh, lhu},
        {lw, lh},
        {lbu, lb},
        {lhu, lh},
        {sb, sh},
        {sh, sb},
        {sw, sh},
        {addi, xori},
        {slti, sltiu},
        {sltiu, slti},
        {xori, ori},
        {ori, xori},
        {andi, ori},
        {slli, srli},
        {srli, srai},
        {srai, srli},
        {add, xor_},
        {sub, add},
        {sll, srl},
        {slt, sltu},
        {sltu, slt},
        {xor_, or_},
        {srl, sra},
        {sra, srl},
        {or_, xor_},
        {and_, or_},
        {csrrw, csrrs},
        {csrrs, csrrc},
        {csrrc, csrrs},
        {csrrwi, csrrsi},
        {csrrsi, csrrci},
        {csrrci, csrrsi},
        {mul, mulh},
        {mulh, mulhu},
        {mulhsu, mulh},
        {mulhu, mulhsu},
        {div, divu},
        {divu, div},
        {rem, remu},
        {remu, rem},
        {lr_w, amoadd_w},
        {sc_w, amoswap_w},
        {amoswap_w, amoor_w},
        {amoadd_w, amoxor_w},
        {amoxor_w, amoor_w},
        {amoand_w, amoor_w},
        {amoor_w, amoxor_w},
        {amomin_w, amominu_w},
        {amomax_w, amomaxu_w},
        {amominu_w, amomin_w},
        {amomaxu_w, amomax_w},
        {flw, fmv_w_x},
        {fsw, sh},
        {fmadd_s, fmsub_s},
        {fmsub_s, fmadd_s},
        {fnmsub_s, fnmadd_s},
        {fnmadd_s, fnmsub_s},
        {fadd_s, fsub_s},
        {fsub_s, fadd_s},
        {fmul_s, fdiv_s},
        {fdiv_s, fmul_s},
        {fsqrt_s, fmul_s},
        {fsgnj_s, fsgnjx_s},
        {fsgnjn_s, fsgnj_s},
        {fsgnjx_s, fsgnj_s},
        {fmin_s, fmax_s},
        {fmax_s, fmin_s},
        {fcvt_w_s, fcvt_wu_s},
        {fcvt_wu_s, fcvt_w_s},
        {fmv_x_w, fclass_s},
        {feq_s, fle_s},
        {flt_s, fle_s},
        {fle_s, flt_s},
        {fclass_s, fmv_x_w},
        {fcvt_s_w, fcvt_s_wu},
        {fcvt_s_wu, fcvt_s_w},
        {fmv_w_x, fcvt_s_w},
        {ecall, fence},
        {ebreak, fence},
        {mret, jalr},
    };
}

}  // namespace ridge::test
