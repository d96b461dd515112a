// 32-bit RISC-V executables. The file is hostile input: every offset and count is checked against
// the file's size before it is used.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "sim/rv32/memory.hpp"

namespace ridge::rv32 {

struct ElfSegment {
    uint32_t address = 0;      // where the bytes are loaded (physical address)
    uint32_t run_address = 0;  // where the program expects them
    uint32_t memory_bytes = 0;
    std::vector<uint8_t> bytes;
};

struct ElfSymbol {
    std::string name;
    uint32_t address = 0;
    uint32_t bytes = 0;
    bool function = false;
};

struct ElfFile {
    uint32_t entry = 0;
    std::vector<ElfSegment> segments;
    std::vector<ElfSymbol> symbols;  // functions and objects, in order of address

    // Address of a symbol by name; false where there is none.
    bool find(const std::string& name, uint32_t& address) const;
    // "name+0x12", or an empty text where no function covers the address.
    std::string place(uint32_t address) const;
};

// Errors: not_found, io (from the file), bad_file (what is wrong, at which offset), unsupported (no
// 32-bit little-endian RISC-V executable; RV32E or a float ABI of double width).
Result<ElfFile> read_elf(const std::string& path);
Result<ElfFile> parse_elf(const uint8_t* data, size_t size, const std::string& name);

// Copies the segments into memory; what lies behind a segment's file bytes is zeroed where the
// segment runs where it is loaded. Error: a segment outside of memory.
Status load_elf(const ElfFile& elf, Memory& memory);

}  // namespace ridge::rv32
