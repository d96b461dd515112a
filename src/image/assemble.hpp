// Puts an image together: numbers as boards/ai-max-395/firmware/image.h defines them.
#pragma once

#include <vector>

#include "boards/ai-max-395/firmware/image.h"
#include "image/calibrate.hpp"

namespace ridge::image {

// `header` as plan_image() made it. `q12_4`: weights with the fixed step 1/16, one scale a matrix,
// as the report has them (measured beside rows with a scale each). Error: unsupported where the
// ranges of calibration leave what the chip's integers hold.
Result<std::vector<uint8_t>> assemble(const Decoder& d, const Ranges& ranges, ImageHeader header,
                                      bool q12_4);

}  // namespace ridge::image
