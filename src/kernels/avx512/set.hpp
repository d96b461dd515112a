// The avx512 kernel set: declarations generated from kernels.inc. Freestanding.
#pragma once

#include "kernels/contract.hpp"

namespace ridge::avx512 {

#define RIDGE_PRODUCT(function, weight, act) void function(const ProductArgs&);
#include "kernels/avx512/kernels.inc"
#undef RIDGE_PRODUCT

extern const RowKernels row_kernels;
extern const AttendKernels attend_kernels;

}  // namespace ridge::avx512
