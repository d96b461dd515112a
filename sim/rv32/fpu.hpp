// IEEE 754 binary32 as RISC-V's F extension defines it: integer arithmetic on bit patterns, so the
// result and the flags depend on nothing of the host. Tininess is detected after rounding, every
// NaN that an operation makes is the canonical one (unprivileged specification, chapter "F").
#pragma once

#include <cstdint>

namespace ridge::rv32 {

enum Rounding : uint32_t { rne = 0, rtz = 1, rdn = 2, rup = 3, rmm = 4, dynamic = 7 };

// fflags bits.
inline constexpr uint32_t flag_nx = 1, flag_uf = 2, flag_of = 4, flag_dz = 8, flag_nv = 16;

inline constexpr uint32_t canonical_nan = 0x7fc00000u;

// All take and give bit patterns; `rm` is one of the five modes; flags are or-ed into `fflags`.
uint32_t f32_add(uint32_t a, uint32_t b, uint32_t rm, uint32_t& fflags);
uint32_t f32_mul(uint32_t a, uint32_t b, uint32_t rm, uint32_t& fflags);
uint32_t f32_div(uint32_t a, uint32_t b, uint32_t rm, uint32_t& fflags);
uint32_t f32_sqrt(uint32_t a, uint32_t rm, uint32_t& fflags);
// a * b + c with one rounding.
uint32_t f32_fma(uint32_t a, uint32_t b, uint32_t c, uint32_t rm, uint32_t& fflags);

// fmin and fmax of the specification: minimumNumber and maximumNumber, -0 below +0.
uint32_t f32_min(uint32_t a, uint32_t b, uint32_t& fflags);
uint32_t f32_max(uint32_t a, uint32_t b, uint32_t& fflags);

bool f32_eq(uint32_t a, uint32_t b, uint32_t& fflags);
bool f32_lt(uint32_t a, uint32_t b, uint32_t& fflags);
bool f32_le(uint32_t a, uint32_t b, uint32_t& fflags);

uint32_t f32_to_i32(uint32_t a, uint32_t rm, uint32_t& fflags);
uint32_t f32_to_u32(uint32_t a, uint32_t rm, uint32_t& fflags);
uint32_t i32_to_f32(uint32_t a, uint32_t rm, uint32_t& fflags);
uint32_t u32_to_f32(uint32_t a, uint32_t rm, uint32_t& fflags);

// The ten-bit class mask of fclass.s.
uint32_t f32_classify(uint32_t a);

}  // namespace ridge::rv32
