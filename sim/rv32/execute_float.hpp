// The F extension's half of the interpreter; included by execute.hpp alone.
#pragma once

#include "sim/rv32/execute.hpp"

namespace ridge::rv32 {

template <class Timing>
inline uint32_t Executor<Timing>::one_float(Hart& h, const Insn& in) {
    if (!h.float_enabled()) return cause_illegal;
    if (in.op == Op::flw) {
        uint32_t value = 0;
        const uint32_t cause = load<int32_t>(h, h.x[in.rs1] + static_cast<uint32_t>(in.imm), value);
        if (cause == 0) {
            h.f[in.rd] = value;
            h.mstatus |= mstatus_fs;
        }
        return cause;
    }
    if (in.op == Op::fsw)
        return store<uint32_t>(h, h.x[in.rs1] + static_cast<uint32_t>(in.imm), h.f[in.rs2]);
    const uint32_t a = h.f[in.rs1 & 31], b = h.f[in.rs2 & 31], c = h.f[in.rs3 & 31];
    constexpr uint32_t minus = 0x80000000u;
    uint32_t rm = 0;
    if (!rounding(h, in, rm)) return cause_illegal;
    h.mstatus |= mstatus_fs;
    uint32_t& flags = h.fflags;
    uint32_t& fd = h.f[in.rd & 31];
    uint32_t& rd = h.x[in.rd];
    switch (in.op) {
        case Op::fmadd_s:
            fd = f32_fma(a, b, c, rm, flags);
            return 0;
        case Op::fmsub_s:
            fd = f32_fma(a, b, c ^ minus, rm, flags);
            return 0;
        case Op::fnmsub_s:
            fd = f32_fma(a ^ minus, b, c, rm, flags);
            return 0;
        case Op::fnmadd_s:
            fd = f32_fma(a ^ minus, b, c ^ minus, rm, flags);
            return 0;
        case Op::fadd_s:
            fd = f32_add(a, b, rm, flags);
            return 0;
        case Op::fsub_s:
            fd = f32_add(a, b ^ minus, rm, flags);
            return 0;
        case Op::fmul_s:
            fd = f32_mul(a, b, rm, flags);
            return 0;
        case Op::fdiv_s:
            fd = f32_div(a, b, rm, flags);
            return 0;
        case Op::fsqrt_s:
            fd = f32_sqrt(a, rm, flags);
            return 0;
        case Op::fsgnj_s:
            fd = (a & ~minus) | (b & minus);
            return 0;
        case Op::fsgnjn_s:
            fd = (a & ~minus) | (~b & minus);
            return 0;
        case Op::fsgnjx_s:
            fd = a ^ (b & minus);
            return 0;
        case Op::fmin_s:
            fd = f32_min(a, b, flags);
            return 0;
        case Op::fmax_s:
            fd = f32_max(a, b, flags);
            return 0;
        case Op::fcvt_w_s:
            rd = f32_to_i32(a, rm, flags);
            return 0;
        case Op::fcvt_wu_s:
            rd = f32_to_u32(a, rm, flags);
            return 0;
        case Op::fmv_x_w:
            rd = a;
            return 0;
        case Op::feq_s:
            rd = f32_eq(a, b, flags);
            return 0;
        case Op::flt_s:
            rd = f32_lt(a, b, flags);
            return 0;
        case Op::fle_s:
            rd = f32_le(a, b, flags);
            return 0;
        case Op::fclass_s:
            rd = f32_classify(a);
            return 0;
        case Op::fcvt_s_w:
            fd = i32_to_f32(h.x[in.rs1], rm, flags);
            return 0;
        case Op::fcvt_s_wu:
            fd = u32_to_f32(h.x[in.rs1], rm, flags);
            return 0;
        case Op::fmv_w_x:
            fd = h.x[in.rs1];
            return 0;
        default:
            return cause_illegal;
    }
}

}  // namespace ridge::rv32
