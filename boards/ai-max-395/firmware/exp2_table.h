// 2^f in 16 pieces an octave, exp2_piece() of fixed.h: chords of 2^f, each lowered so that its
// largest errors to both sides are equal (1.2e-4 of the value), in units of 1 / exp2_one.
#pragma once

#include "boards/ai-max-395/firmware/fixed.h"

namespace ridge::fw {

inline constexpr Piece exp2_table[16] = {
    {523971, 23198}, {547169, 24225}, {571394, 25298}, {596692, 26418},
    {623109, 27587}, {650697, 28809}, {679506, 30084}, {709590, 31416},
    {741006, 32807}, {773813, 34260}, {808073, 35776}, {843849, 37360},
    {881210, 39014}, {920224, 40742}, {960966, 42546}, {1003512, 44429},
};

}  // namespace ridge::fw
