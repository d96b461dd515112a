#include "sim/rv32/elf.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/mapped_file.hpp"

namespace ridge::rv32 {
namespace {

struct Header {
    uint8_t ident[16];
    uint16_t type, machine;
    uint32_t version, entry, phoff, shoff, flags;
    uint16_t ehsize, phentsize, phnum, shentsize, shnum, shstrndx;
};
static_assert(sizeof(Header) == 52);
struct ProgramHeader {
    uint32_t type, offset, vaddr, paddr, filesz, memsz, flags, align;
};
struct SectionHeader {
    uint32_t name, type, flags, addr, offset, size, link, info, addralign, entsize;
};
struct SymbolEntry {
    uint32_t name, value, size;
    uint8_t info, other;
    uint16_t shndx;
};
static_assert(sizeof(SymbolEntry) == 16);

constexpr uint16_t machine_riscv = 243, type_executable = 2;
constexpr uint32_t segment_load = 1, section_symbols = 2;
constexpr uint32_t flag_float_abi = 6, flag_float_single = 2, flag_rve = 8;
constexpr uint32_t most_memory = 1u << 30;  // of one segment

struct File {
    const uint8_t* data;
    size_t size;
    const std::string& name;

    template <typename T>
    bool read(uint64_t offset, T& out) const {
        if (offset > size || sizeof(T) > size - offset) return false;
        std::memcpy(&out, data + offset, sizeof(T));
        return true;
    }
    bool holds(uint64_t offset, uint64_t bytes) const {
        return offset <= size && bytes <= size - offset;
    }
    tl::unexpected<Error> bad(const std::string& what) const {
        return fail(ErrorCode::bad_file, fmt::format("{}: {}", name, what));
    }
};

Status read_segments(const File& file, const Header& h, ElfFile& elf) {
    if (h.phnum == 0) return file.bad("it has no program headers; link it as an executable");
    if (h.phentsize != sizeof(ProgramHeader)) return file.bad("program headers of a wrong size");
    uint64_t total = 0;
    for (uint32_t i = 0; i < h.phnum; ++i) {
        ProgramHeader p;
        if (!file.read(uint64_t{h.phoff} + uint64_t{i} * sizeof p, p))
            return file.bad(fmt::format("program header {} lies outside of the file", i));
        if (p.type != segment_load || p.memsz == 0) continue;
        if (!file.holds(p.offset, p.filesz))
            return file.bad(
                fmt::format("segment {} ({} bytes at offset {}) lies outside of the file", i,
                            p.filesz, p.offset));
        total += p.memsz;
        if (p.filesz > p.memsz || total > most_memory ||
            uint64_t{p.paddr} + p.memsz > uint64_t{1} << 32 ||
            uint64_t{p.vaddr} + p.memsz > uint64_t{1} << 32)
            return file.bad(fmt::format("segment {} has an impossible size", i));
        const uint8_t* const from = file.data + p.offset;
        elf.segments.push_back({p.paddr, p.vaddr, p.memsz, {from, from + p.filesz}});
    }
    if (elf.segments.empty()) return file.bad("no segment of it is to be loaded");
    return {};
}

// Symbols are for people: what is broken in them is left out, not refused.
void read_symbols(const File& file, const Header& h, ElfFile& elf) {
    if (h.shentsize != sizeof(SectionHeader)) return;
    for (uint32_t i = 0; i < h.shnum; ++i) {
        SectionHeader s, strings;
        if (!file.read(uint64_t{h.shoff} + uint64_t{i} * sizeof s, s)) return;
        if (s.type != section_symbols || s.link >= h.shnum) continue;
        if (!file.read(uint64_t{h.shoff} + uint64_t{s.link} * sizeof s, strings)) return;
        if (!file.holds(s.offset, s.size) || !file.holds(strings.offset, strings.size)) return;
        const char* const text = reinterpret_cast<const char*>(file.data + strings.offset);
        for (uint64_t at = 0; at + sizeof(SymbolEntry) <= s.size; at += sizeof(SymbolEntry)) {
            SymbolEntry e;
            if (!file.read(s.offset + at, e) || e.name == 0 || e.name >= strings.size) continue;
            const uint32_t kind = e.info & 15;
            if (kind > 2 || e.shndx == 0) continue;
            const size_t length = strnlen(text + e.name, strings.size - e.name);
            std::string name(text + e.name, length);
            if (name.empty() || name[0] == '$') continue;  // mapping symbols
            elf.symbols.push_back({std::move(name), e.value, e.size, kind == 2});
        }
    }
    // By name where addresses are equal; libstdc++ 12's stable_sort is deprecated for clang 19.
    std::sort(elf.symbols.begin(), elf.symbols.end(), [](const ElfSymbol& a, const ElfSymbol& b) {
        return a.address != b.address ? a.address < b.address : a.name < b.name;
    });
}

}  // namespace

bool ElfFile::find(const std::string& name, uint32_t& address) const {
    for (const ElfSymbol& s : symbols)
        if (s.name == name) {
            address = s.address;
            return true;
        }
    return false;
}

std::string ElfFile::place(uint32_t address) const {
    const ElfSymbol* best = nullptr;
    for (const ElfSymbol& s : symbols) {
        if (s.address > address) break;
        if (s.function && (s.bytes == 0 || address - s.address < s.bytes)) best = &s;
    }
    if (!best) return {};
    if (address == best->address) return best->name;
    return fmt::format("{}+0x{:x}", best->name, address - best->address);
}

Result<ElfFile> parse_elf(const uint8_t* data, size_t size, const std::string& name) {
    const File file{data, size, name};
    Header h;
    if (!file.read(0, h) || std::memcmp(h.ident,
                                        "\x7f"
                                        "ELF",
                                        4) != 0)
        return file.bad("this is no ELF file");
    if (h.ident[4] != 1 || h.ident[5] != 1 || h.machine != machine_riscv ||
        h.type != type_executable)
        return fail(ErrorCode::unsupported,
                    fmt::format("{}: only 32-bit little-endian RISC-V executables run here; link "
                                "with -march=rv32imafc -mabi=ilp32f",
                                name));
    if ((h.flags & flag_rve) || (h.flags & flag_float_abi) > flag_float_single)
        return fail(
            ErrorCode::unsupported,
            fmt::format("{}: its ABI is not ilp32 or ilp32f (flags 0x{:x})", name, h.flags));
    ElfFile elf;
    elf.entry = h.entry;
    RIDGE_TRY(read_segments(file, h, elf));
    read_symbols(file, h, elf);
    return elf;
}

Result<ElfFile> read_elf(const std::string& path) {
    RIDGE_ASSIGN(const MappedFile file, MappedFile::open(path));
    return parse_elf(file.data(), file.size(), path);
}

Status load_elf(const ElfFile& elf, Memory& memory) {
    for (const ElfSegment& s : elf.segments) {
        const bool fits =
            s.bytes.empty() || memory.write(s.address, s.bytes.data(), s.bytes.size());
        const auto rest = static_cast<uint32_t>(s.memory_bytes - s.bytes.size());
        const auto end = static_cast<uint32_t>(s.address + s.bytes.size());
        bool zeroed = true;
        if (rest != 0 && s.address == s.run_address) zeroed = memory.fill(end, rest, 0);
        if (!fits || !zeroed)
            return fail(ErrorCode::bad_file,
                        fmt::format("a segment of {} bytes at 0x{:08x} lies outside of the board's "
                                    "memory; check the linker script",
                                    s.memory_bytes, s.address));
    }
    return {};
}

}  // namespace ridge::rv32
