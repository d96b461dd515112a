// The avx2 kernel set: declarations generated from kernels.inc. Freestanding.
#pragma once

#include "kernels/contract.hpp"

namespace ridge::avx2 {

#define RIDGE_PRODUCT(function, weight, act) void function(const ProductArgs&);
#include "kernels/avx2/kernels.inc"
#undef RIDGE_PRODUCT

extern const RowKernels row_kernels;
extern const AttendKernels attend_kernels;

}  // namespace ridge::avx2
