// From a model file to the image that the AI Max 395's firmware runs: model.bin of
// boards/ai-max-395/firmware/image.h.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "format/gguf.hpp"

namespace ridge::image {

struct Image {
    std::vector<uint8_t> bytes;
    std::string summary;  // one line for people: flash, cache, chunk, calibration
    uint32_t rope_positions = 0;
    uint32_t chunk_rows = 0;
    uint32_t layers = 0;
};

// The image of a model, calibrated with `prompts` (one a line, calibrate.hpp). Equal inputs give
// equal bytes. Errors: unsupported with every reason why the model does not fit, with numbers (from
// the header alone, before a weight is read) or which of its steps the board does not have;
// bad_file; invalid_argument (no prompt).
// `q12_4` gives the weights of the report, a step of 1/16 and one scale a matrix, to measure them.
Result<Image> export_image(const GgufFile& file, std::string_view prompts, bool q12_4 = false);

// Fills in the checksums of an image; for whoever changes one.
void seal_image(std::vector<uint8_t>& image);

// What the firmware's main program is to do with an image: the run request that stands behind it.
struct RunSpec {
    std::vector<int32_t> prompt;  // 1 to 128 ids
    uint32_t generate = 1;
    int32_t stop = -1;     // an id that ends it early; -1: none
    uint32_t tick_us = 0;  // period of the timer's interrupt; 0: off
};
// The image with the request behind it: what flash is to hold.
std::vector<uint8_t> with_run_request(std::span<const uint8_t> image, const RunSpec& spec);

// What a status that the firmware prints means.
std::string status_text(uint32_t status);

}  // namespace ridge::image
