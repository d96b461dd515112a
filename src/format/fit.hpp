// The searching quantizers of one block each, and the fit of a scale and a minimum that several
// share. Internal to quantize_fit.cpp and fit_*.cpp.
#pragma once

#include <cstdint>

#include "format/fit_math.hpp"

namespace ridge::quantize {

// x = scale * q + min, q = 0..levels.
struct Affine {
    float scale, min;
};

// What least squares finds for the codes that `at` gives n weights (at most 32, a multiple of 4),
// and how much it takes off the error, measured against the weighted mean. With `below_zero` the
// minimum is at most 0.
struct AffineBest {
    Affine fit;
    float gain;
};
AffineBest affine_best(const float* x, const float* w, int n, int levels, const Affine& at,
                       bool below_zero);

// Sum of w * (decoded - x)^2.
float affine_error(const float* x, const float* w, int n, int levels, const Affine& at);

// The best fit that the search finds.
Affine fit_affine(const float* x, const float* w, int n, int levels, bool below_zero);

// One block: x and w are its 32 or 256 weights and their importance.
void fit_q4_0(const float* x, const float* w, uint8_t* out);
void fit_q4_1(const float* x, const float* w, uint8_t* out);
void fit_q5_0(const float* x, const float* w, uint8_t* out);
void fit_q5_1(const float* x, const float* w, uint8_t* out);
void fit_q8_0(const float* x, const float* w, uint8_t* out);
void fit_iq4_nl(const float* x, const float* w, uint8_t* out);
void fit_q4_k(const float* x, const float* w, uint8_t* out);
void fit_q5_k(const float* x, const float* w, uint8_t* out);
void fit_q6_k(const float* x, const float* w, uint8_t* out);

}  // namespace ridge::quantize
