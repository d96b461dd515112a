// A board with the shipped numbers, its harts asleep unless a program is loaded.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <initializer_list>
#include <memory>

#include "sim/external.hpp"
#include "sim/soc/soc.hpp"

namespace ridge::test {

inline std::unique_ptr<sim::Soc> board(std::initializer_list<const char*> set = {},
                                       const char* profile = "report") {
    auto numbers = sim::Board::load(RIDGE_SOURCE_DIR "/boards/ai-max-395/board.toml");
    if (!numbers) {
        ADD_FAILURE() << numbers.error().message;
        return nullptr;
    }
    EXPECT_TRUE(numbers->apply_profile(profile));
    for (const char* s : set) EXPECT_TRUE(numbers->set(s)) << s;
    return std::make_unique<sim::Soc>(std::move(*numbers));
}

// The devices alone: both harts stand still.
inline std::unique_ptr<sim::Soc> quiet_board(std::initializer_list<const char*> set = {},
                                             const char* profile = "report") {
    auto soc = board(set, profile);
    for (rv32::Hart& h : soc->harts) h.halted = true;
    return soc;
}

// A store or load of hart 0 to a device, in the cycle the machine is in; the trap's cause or 0.
inline uint32_t poke(sim::Soc& soc, uint32_t address, uint32_t value, uint32_t pc = 0) {
    uint32_t offset = 0;
    rv32::Device* const device = soc.memory.device(address, offset);
    rv32::Access access{soc.harts[0], pc, soc.now};
    device->write(access, offset, 4, value);
    return access.fault;
}
inline uint32_t look(sim::Soc& soc, uint32_t address) {
    uint32_t offset = 0;
    rv32::Device* const device = soc.memory.device(address, offset);
    rv32::Access access{soc.harts[0], 0, soc.now};
    return device->read(access, offset, 4);
}

template <typename T>
T in_memory(const sim::Soc& soc, uint32_t address) {
    T value{};
    std::memcpy(&value, soc.memory.bytes(address, sizeof value), sizeof value);
    return value;
}

// Events up to and with `cycle` happen, and it becomes the present.
inline void pass(sim::Soc& soc, uint64_t cycle) {
    soc.run(cycle + 1);
    soc.now = cycle;
}

inline Result<rv32::ElfFile> program(const Workspace& files, const std::string& name,
                                     const std::string& defines = "") {
    const std::string folder = RIDGE_SOURCE_DIR "/tests/sim/programs/";
    const std::string elf = files.file(name + ".elf");
    if (!cross_build(folder + name + ".S", elf,
                     defines + " -I" RIDGE_SOURCE_DIR " -T " + folder +
                         "board.ld -Wl,-N -Wl,--no-warn-rwx-segments"))
        return fail(ErrorCode::internal, name + " does not build");
    return rv32::read_elf(elf);
}

}  // namespace ridge::test
