// The C extension (unprivileged specification, chapter "C"): quadrants 0 to 2, RV32 with F.
#include "sim/rv32/decode.hpp"

namespace ridge::rv32 {
namespace {

uint32_t bit(uint32_t half, unsigned at, unsigned to) {
    return ((half >> at) & 1) << to;
}
uint32_t bits(uint32_t half, unsigned high, unsigned low, unsigned to) {
    return ((half >> low) & ((2u << (high - low)) - 1)) << to;
}
int32_t sign_extend(uint32_t value, unsigned width) {
    return static_cast<int32_t>(value << (32 - width)) >> (32 - width);
}

uint8_t full(uint32_t half, unsigned low) {
    return static_cast<uint8_t>(bits(half, low + 4, low, 0));
}
uint8_t popular(uint32_t half, unsigned low) {
    return static_cast<uint8_t>(8 + bits(half, low + 2, low, 0));
}
uint8_t dest(uint8_t rd) {
    return rd == 0 ? sink : rd;
}

Insn make(Op op, uint8_t rd, uint8_t rs1, uint8_t rs2, int32_t imm) {
    Insn in;
    in.op = op;
    in.len = 2;
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

int32_t imm_ci(uint32_t h) {
    return sign_extend(bit(h, 12, 5) | bits(h, 6, 2, 0), 6);
}
int32_t imm_word(uint32_t h) {  // of c.lw, c.sw and their float forms
    return static_cast<int32_t>(bits(h, 12, 10, 3) | bit(h, 6, 2) | bit(h, 5, 6));
}
int32_t imm_lwsp(uint32_t h) {
    return static_cast<int32_t>(bit(h, 12, 5) | bits(h, 6, 4, 2) | bits(h, 3, 2, 6));
}
int32_t imm_swsp(uint32_t h) {
    return static_cast<int32_t>(bits(h, 12, 9, 2) | bits(h, 8, 7, 6));
}
int32_t imm_jump(uint32_t h) {
    return sign_extend(bit(h, 12, 11) | bit(h, 11, 4) | bits(h, 10, 9, 8) | bit(h, 8, 10) |
                           bit(h, 7, 6) | bit(h, 6, 7) | bits(h, 5, 3, 1) | bit(h, 2, 5),
                       12);
}
int32_t imm_branch(uint32_t h) {
    return sign_extend(
        bit(h, 12, 8) | bits(h, 11, 10, 3) | bits(h, 6, 5, 6) | bits(h, 4, 3, 1) | bit(h, 2, 5), 9);
}

Insn quadrant0(uint32_t h) {
    const uint8_t rd = popular(h, 2), rs1 = popular(h, 7);
    switch (h >> 13) {
        case 0: {
            const uint32_t imm =
                bits(h, 12, 11, 4) | bits(h, 10, 7, 6) | bit(h, 6, 2) | bit(h, 5, 3);
            if (imm == 0) return illegal();
            return make(Op::addi, rd, 2, 0, static_cast<int32_t>(imm));
        }
        case 2:
            return make(Op::lw, rd, rs1, 0, imm_word(h));
        case 3:
            return make(Op::flw, rd, rs1, 0, imm_word(h));
        case 6:
            return make(Op::sw, sink, rs1, rd, imm_word(h));
        case 7:
            return make(Op::fsw, sink, rs1, rd, imm_word(h));
        default:
            return illegal();
    }
}

Insn arithmetic(uint32_t h) {  // quadrant 1, function 4
    const uint8_t rd = popular(h, 7), rs2 = popular(h, 2);
    const auto shift = static_cast<int32_t>(bits(h, 6, 2, 0));
    switch (bits(h, 11, 10, 0)) {
        case 0:
            return bit(h, 12, 0) ? illegal() : make(Op::srli, rd, rd, 0, shift);
        case 1:
            return bit(h, 12, 0) ? illegal() : make(Op::srai, rd, rd, 0, shift);
        case 2:
            return make(Op::andi, rd, rd, 0, imm_ci(h));
        default:
            break;
    }
    if (bit(h, 12, 0)) return illegal();
    static constexpr Op ops[4] = {Op::sub, Op::xor_, Op::or_, Op::and_};
    return make(ops[bits(h, 6, 5, 0)], rd, rd, rs2, 0);
}

Insn quadrant1(uint32_t h) {
    const uint8_t rd = full(h, 7);
    switch (h >> 13) {
        case 0:
            return make(Op::addi, dest(rd), rd, 0, imm_ci(h));
        case 1:
            return make(Op::jal, 1, 0, 0, imm_jump(h));
        case 2:
            return make(Op::addi, dest(rd), 0, 0, imm_ci(h));
        case 3: {
            if (imm_ci(h) == 0) return illegal();
            if (rd != 2) return make(Op::lui, dest(rd), 0, 0, imm_ci(h) * 4096);
            const int32_t imm = sign_extend(
                bit(h, 12, 9) | bit(h, 6, 4) | bit(h, 5, 6) | bits(h, 4, 3, 7) | bit(h, 2, 5), 10);
            return make(Op::addi, 2, 2, 0, imm);
        }
        case 4:
            return arithmetic(h);
        case 5:
            return make(Op::jal, sink, 0, 0, imm_jump(h));
        case 6:
            return make(Op::beq, sink, popular(h, 7), 0, imm_branch(h));
        default:
            return make(Op::bne, sink, popular(h, 7), 0, imm_branch(h));
    }
}

Insn quadrant2(uint32_t h) {
    const uint8_t rd = full(h, 7), rs2 = full(h, 2);
    switch (h >> 13) {
        case 0:
            if (bit(h, 12, 0)) return illegal();
            return make(Op::slli, dest(rd), rd, 0, static_cast<int32_t>(bits(h, 6, 2, 0)));
        case 2:
            return rd == 0 ? illegal() : make(Op::lw, rd, 2, 0, imm_lwsp(h));
        case 3:
            return make(Op::flw, rd, 2, 0, imm_lwsp(h));
        case 4:
            if (rs2 != 0)
                return bit(h, 12, 0) ? make(Op::add, dest(rd), rd, rs2, 0)
                                     : make(Op::add, dest(rd), 0, rs2, 0);
            if (rd == 0) return bit(h, 12, 0) ? make(Op::ebreak, sink, 0, 0, 0) : illegal();
            return make(Op::jalr, bit(h, 12, 0) ? uint8_t{1} : sink, rd, 0, 0);
        case 6:
            return make(Op::sw, sink, 2, rs2, imm_swsp(h));
        case 7:
            return make(Op::fsw, sink, 2, rs2, imm_swsp(h));
        default:
            return illegal();
    }
}

}  // namespace

Insn decode_compressed(uint16_t half) {
    switch (half & 3) {
        case 0:
            return quadrant0(half);
        case 1:
            return quadrant1(half);
        default:
            return quadrant2(half);
    }
}

}  // namespace ridge::rv32
