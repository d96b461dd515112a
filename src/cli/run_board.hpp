// ridge run --board: a model exported in memory, run by the board's firmware on the simulated chip.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ridge::cli {

struct BoardRun {
    std::string board, model, prompt, profile;
    std::string calibration;       // file of prompts; empty: those that ship with the board
    std::vector<std::string> set;  // KEY=VALUE of the board file
    uint32_t n = 256;
    bool json = false, ignore_eos = false;
};

// Streams the text to standard output and what it took, in simulated time, to standard error.
// Returns the exit code: 3 where the firmware raced with DMA or MAU, interrupt_code() after Ctrl-C.
int run_on_board(const BoardRun& run);

}  // namespace ridge::cli
