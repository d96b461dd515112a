#include "sim/rv32/decode.hpp"

#include "sim/rv32/fpu.hpp"

namespace ridge::rv32 {
namespace {

uint32_t bits(uint32_t word, unsigned high, unsigned low) {
    return (word >> low) & ((2u << (high - low)) - 1);
}
uint8_t reg(uint32_t word, unsigned low) {
    return static_cast<uint8_t>(bits(word, low + 4, low));
}
// A destination: x0 becomes the sink.
uint8_t dest(uint32_t word) {
    const uint8_t rd = reg(word, 7);
    return rd == 0 ? sink : rd;
}

int32_t imm_i(uint32_t w) {
    return static_cast<int32_t>(w) >> 20;
}
int32_t imm_s(uint32_t w) {
    return (static_cast<int32_t>(w & 0xfe000000u) >> 20) | static_cast<int32_t>(bits(w, 11, 7));
}
int32_t imm_b(uint32_t w) {
    const uint32_t low = bits(w, 7, 7) << 11 | bits(w, 30, 25) << 5 | bits(w, 11, 8) << 1;
    return (static_cast<int32_t>(w & 0x80000000u) >> 19) | static_cast<int32_t>(low);
}
int32_t imm_j(uint32_t w) {
    const uint32_t low = (w & 0xff000u) | bits(w, 20, 20) << 11 | bits(w, 30, 21) << 1;
    return (static_cast<int32_t>(w & 0x80000000u) >> 11) | static_cast<int32_t>(low);
}

Insn make(Op op, uint8_t rd, uint8_t rs1, uint8_t rs2, int32_t imm) {
    Insn in;
    in.op = op;
    in.len = 4;
    in.cost = info(op).cost;
    in.rd = rd;
    in.rs1 = rs1;
    in.rs2 = rs2;
    in.imm = imm;
    return in;
}

Insn illegal() {
    return make(Op::illegal, sink, 0, 0, 0);
}

Insn decode_op_imm(uint32_t w) {
    static constexpr Op ops[8] = {Op::addi, Op::slli, Op::slti, Op::sltiu,
                                  Op::xori, Op::srli, Op::ori,  Op::andi};
    const uint32_t f3 = bits(w, 14, 12);
    Op op = ops[f3];
    int32_t imm = imm_i(w);
    if (f3 == 1 || f3 == 5) {
        const uint32_t f7 = bits(w, 31, 25);
        if (f3 == 5 && f7 == 0x20)
            op = Op::srai;
        else if (f7 != 0)
            return illegal();
        imm = static_cast<int32_t>(bits(w, 24, 20));
    }
    // slti x0, x0, n is a hint the specification leaves to users: a marker for the simulator.
    if (op == Op::slti && bits(w, 11, 7) == 0 && bits(w, 19, 15) == 0) op = Op::marker;
    return make(op, dest(w), reg(w, 15), 0, imm);
}

Insn decode_op(uint32_t w) {
    static constexpr Op base[8] = {Op::add,  Op::sll, Op::slt, Op::sltu,
                                   Op::xor_, Op::srl, Op::or_, Op::and_};
    static constexpr Op multiply[8] = {Op::mul, Op::mulh, Op::mulhsu, Op::mulhu,
                                       Op::div, Op::divu, Op::rem,    Op::remu};
    const uint32_t f3 = bits(w, 14, 12), f7 = bits(w, 31, 25);
    Op op = Op::illegal;
    if (f7 == 0)
        op = base[f3];
    else if (f7 == 1)
        op = multiply[f3];
    else if (f7 == 0x20 && f3 == 0)
        op = Op::sub;
    else if (f7 == 0x20 && f3 == 5)
        op = Op::sra;
    else
        return illegal();
    return make(op, dest(w), reg(w, 15), reg(w, 20), 0);
}

Insn decode_amo(uint32_t w) {
    if (bits(w, 14, 12) != 2) return illegal();
    Op op = Op::illegal;
    switch (bits(w, 31, 27)) {
        case 0x02:
            op = reg(w, 20) == 0 ? Op::lr_w : Op::illegal;
            break;
        case 0x03:
            op = Op::sc_w;
            break;
        case 0x01:
            op = Op::amoswap_w;
            break;
        case 0x00:
            op = Op::amoadd_w;
            break;
        case 0x04:
            op = Op::amoxor_w;
            break;
        case 0x0c:
            op = Op::amoand_w;
            break;
        case 0x08:
            op = Op::amoor_w;
            break;
        case 0x10:
            op = Op::amomin_w;
            break;
        case 0x14:
            op = Op::amomax_w;
            break;
        case 0x18:
            op = Op::amominu_w;
            break;
        case 0x1c:
            op = Op::amomaxu_w;
            break;
        default:
            break;
    }
    if (op == Op::illegal) return illegal();
    return make(op, dest(w), reg(w, 15), reg(w, 20), 0);
}

Insn decode_system(uint32_t w) {
    const uint32_t f3 = bits(w, 14, 12);
    if (f3 == 0) {
        switch (w) {
            case 0x00000073:
                return make(Op::ecall, sink, 0, 0, 0);
            case 0x00100073:
                return make(Op::ebreak, sink, 0, 0, 0);
            case 0x30200073:
                return make(Op::mret, sink, 0, 0, 0);
            case 0x10500073:
                return make(Op::wfi, sink, 0, 0, 0);
            default:
                return illegal();
        }
    }
    static constexpr Op ops[8] = {Op::illegal, Op::csrrw,  Op::csrrs,  Op::csrrc,
                                  Op::illegal, Op::csrrwi, Op::csrrsi, Op::csrrci};
    if (ops[f3] == Op::illegal) return illegal();
    return make(ops[f3], dest(w), reg(w, 15), 0, static_cast<int32_t>(bits(w, 31, 20)));
}

Insn with_rounding(Insn in, uint32_t w) {
    in.rm = static_cast<uint8_t>(bits(w, 14, 12));
    return in.rm == 5 || in.rm == 6 ? illegal() : in;
}

Insn decode_float(uint32_t w) {
    const uint32_t f7 = bits(w, 31, 25), f3 = bits(w, 14, 12), rs2 = bits(w, 24, 20);
    const uint8_t fd = reg(w, 7);
    const auto f = [&](Op op) { return make(op, fd, reg(w, 15), reg(w, 20), 0); };
    const auto x = [&](Op op) { return make(op, dest(w), reg(w, 15), reg(w, 20), 0); };
    switch (f7) {
        case 0x00:
            return with_rounding(f(Op::fadd_s), w);
        case 0x04:
            return with_rounding(f(Op::fsub_s), w);
        case 0x08:
            return with_rounding(f(Op::fmul_s), w);
        case 0x0c:
            return with_rounding(f(Op::fdiv_s), w);
        case 0x2c:
            return rs2 == 0 ? with_rounding(f(Op::fsqrt_s), w) : illegal();
        case 0x10:
            if (f3 > 2) return illegal();
            return f(f3 == 0 ? Op::fsgnj_s : f3 == 1 ? Op::fsgnjn_s : Op::fsgnjx_s);
        case 0x14:
            return f3 > 1 ? illegal() : f(f3 == 0 ? Op::fmin_s : Op::fmax_s);
        case 0x50:
            if (f3 > 2) return illegal();
            return x(f3 == 0 ? Op::fle_s : f3 == 1 ? Op::flt_s : Op::feq_s);
        case 0x60:
            if (rs2 > 1) return illegal();
            return with_rounding(x(rs2 == 0 ? Op::fcvt_w_s : Op::fcvt_wu_s), w);
        case 0x68:
            if (rs2 > 1) return illegal();
            return with_rounding(f(rs2 == 0 ? Op::fcvt_s_w : Op::fcvt_s_wu), w);
        case 0x70:
            if (rs2 != 0 || f3 > 1) return illegal();
            return x(f3 == 0 ? Op::fmv_x_w : Op::fclass_s);
        case 0x78:
            return rs2 == 0 && f3 == 0 ? f(Op::fmv_w_x) : illegal();
        default:
            return illegal();
    }
}

Insn decode_fused(uint32_t w, Op op) {
    if (bits(w, 26, 25) != 0) return illegal();
    Insn in = make(op, reg(w, 7), reg(w, 15), reg(w, 20), 0);
    in.rs3 = reg(w, 27);
    return with_rounding(in, w);
}

}  // namespace

Insn decode(uint32_t w) {
    const uint32_t f3 = bits(w, 14, 12);
    switch (w & 0x7f) {
        case 0x37:
            return make(Op::lui, dest(w), 0, 0, static_cast<int32_t>(w & 0xfffff000u));
        case 0x17:
            return make(Op::auipc, dest(w), 0, 0, static_cast<int32_t>(w & 0xfffff000u));
        case 0x6f:
            return make(Op::jal, dest(w), 0, 0, imm_j(w));
        case 0x67:
            return f3 == 0 ? make(Op::jalr, dest(w), reg(w, 15), 0, imm_i(w)) : illegal();
        case 0x63: {
            static constexpr Op ops[8] = {Op::beq, Op::bne, Op::illegal, Op::illegal,
                                          Op::blt, Op::bge, Op::bltu,    Op::bgeu};
            if (ops[f3] == Op::illegal) return illegal();
            return make(ops[f3], sink, reg(w, 15), reg(w, 20), imm_b(w));
        }
        case 0x03: {
            static constexpr Op ops[8] = {Op::lb,  Op::lh,  Op::lw,      Op::illegal,
                                          Op::lbu, Op::lhu, Op::illegal, Op::illegal};
            if (ops[f3] == Op::illegal) return illegal();
            return make(ops[f3], dest(w), reg(w, 15), 0, imm_i(w));
        }
        case 0x23: {
            if (f3 > 2) return illegal();
            const Op op = f3 == 0 ? Op::sb : f3 == 1 ? Op::sh : Op::sw;
            return make(op, sink, reg(w, 15), reg(w, 20), imm_s(w));
        }
        case 0x13:
            return decode_op_imm(w);
        case 0x33:
            return decode_op(w);
        case 0x0f:
            if (f3 > 1) return illegal();
            return make(f3 == 0 ? Op::fence : Op::fence_i, sink, 0, 0, 0);
        case 0x73:
            return decode_system(w);
        case 0x2f:
            return decode_amo(w);
        case 0x07:
            return f3 == 2 ? make(Op::flw, reg(w, 7), reg(w, 15), 0, imm_i(w)) : illegal();
        case 0x27:
            return f3 == 2 ? make(Op::fsw, sink, reg(w, 15), reg(w, 20), imm_s(w)) : illegal();
        case 0x43:
            return decode_fused(w, Op::fmadd_s);
        case 0x47:
            return decode_fused(w, Op::fmsub_s);
        case 0x4b:
            return decode_fused(w, Op::fnmsub_s);
        case 0x4f:
            return decode_fused(w, Op::fnmadd_s);
        case 0x53:
            return decode_float(w);
        default:
            return illegal();
    }
}

}  // namespace ridge::rv32
