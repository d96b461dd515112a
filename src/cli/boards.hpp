// The boards that this program was built with: their files are part of it, so that an installed
// ridge needs neither the source tree nor a cross compiler.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/rv32/elf.hpp"
#include "sim/soc/board.hpp"

namespace ridge::cli {

struct EmbeddedBoard {
    std::string_view name;
    std::span<const uint8_t> toml, firmware, prompts;  // firmware is empty where the build had no
                                                       // cross compiler
};

// In order of name; defined by a generated source (cmake/embed_boards.cmake).
std::span<const EmbeddedBoard> embedded_boards();

// The names of boards whose firmware is inside, comma separated; or a sentence on why none is.
std::string boards_with_firmware();

// The board of that name with its firmware. Errors: not_found with near misses and the list;
// unsupported where this build has no firmware for it.
Result<const EmbeddedBoard*> find_board_with_firmware(const std::string& name);

// Prompts to calibrate with: those of the file, or the board's where `file` is empty. Error: io,
// not_found.
Result<std::string> calibration_text(const EmbeddedBoard& board, const std::string& file);

inline std::string_view text_of(std::span<const uint8_t> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Costs by name, or from the path of a board file; with $RIDGE_BOARDS the names are folders there.
// `profile` may be empty, `assignments` are KEY=VALUE. Error: what was wrong, with what there is.
Result<sim::Board> open_board(const std::string& name, const std::string& profile,
                              const std::vector<std::string>& assignments);

}  // namespace ridge::cli
