#include "cli/boards.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "cli/common.hpp"
#include "cli/names.hpp"

namespace ridge::cli {
namespace {

const EmbeddedBoard* find(const std::string& name) {
    for (const EmbeddedBoard& b : embedded_boards())
        if (b.name == name) return &b;
    return nullptr;
}

std::vector<std::string> names(bool with_firmware) {
    std::vector<std::string> list;
    for (const EmbeddedBoard& b : embedded_boards())
        if (!with_firmware || !b.firmware.empty()) list.emplace_back(b.name);
    return list;
}

tl::unexpected<Error> no_board(const std::string& name, const std::vector<std::string>& there,
                               const std::string& more) {
    const std::string near = nearest_name(name, there);
    return fail(ErrorCode::not_found,
                fmt::format("there is no board '{}'{}; --board takes {}{}", name,
                            near.empty() ? "" : " (did you mean '" + near + "'?)",
                            fmt::join(there, ", "), more));
}

Result<sim::Board> load_costs(const std::string& name) {
    std::error_code ignored;
    const bool path = name.find('/') != std::string::npos || name.ends_with(".toml");
    if (path && !std::filesystem::exists(name, ignored))
        return fail(ErrorCode::not_found, fmt::format("there is no board file '{}'", name));
    if (path) return sim::Board::load(name);
    if (const char* const folder = std::getenv("RIDGE_BOARDS")) {
        const std::string file = std::string(folder) + "/" + name + "/board.toml";
        if (std::filesystem::exists(file, ignored)) return sim::Board::load(file);
    }
    if (const EmbeddedBoard* const b = find(name))
        return sim::Board::parse(std::string(text_of(b->toml)), name + "/board.toml");
    return no_board(name, names(false),
                    ", the path of a board file, or (sim) rv32: a plain machine");
}

}  // namespace

std::string boards_with_firmware() {
    const auto list = names(true);
    if (list.empty())
        return "none: this ridge was built without riscv64-unknown-elf-g++, so it holds no "
               "firmware";
    return fmt::format("{}", fmt::join(list, ", "));
}

Result<const EmbeddedBoard*> find_board_with_firmware(const std::string& name) {
    const EmbeddedBoard* const b = find(name);
    if (!b) return no_board(name, names(false), "");
    if (b->firmware.empty())
        return fail(ErrorCode::unsupported,
                    fmt::format("this ridge was built without riscv64-unknown-elf-g++ and holds no "
                                "firmware for {}; install gcc-riscv64-unknown-elf and build again",
                                name));
    return b;
}

Result<std::string> calibration_text(const EmbeddedBoard& board, const std::string& file) {
    if (file.empty()) return std::string(text_of(board.prompts));
    return read_text(file);
}

Result<sim::Board> open_board(const std::string& name, const std::string& profile,
                              const std::vector<std::string>& assignments) {
    RIDGE_ASSIGN(sim::Board board, load_costs(name));
    if (!profile.empty()) RIDGE_TRY(board.apply_profile(profile));
    for (const std::string& assignment : assignments) RIDGE_TRY(board.set(assignment));
    return board;
}

}  // namespace ridge::cli
