// The address space: memories as direct pointers, devices behind calls. The space is cut into pages
// of 64 KiB; a page is a piece of one memory, belongs to devices, or is empty.
//
// Pages that code runs from also hold a record for each half word (Insn), filled when first
// executed and cleared when the bytes change, whoever changes them.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "sim/rv32/insn.hpp"

namespace ridge::rv32 {

struct Hart;

inline constexpr unsigned page_shift = 16;
inline constexpr uint32_t page_bytes = 1u << page_shift;

// One access of a hart to a device. The device sets `fault` (a trap cause) to refuse it.
struct Access {
    Hart& hart;
    uint32_t pc;
    uint64_t cycle;  // in which the instruction began
    uint32_t fault = 0;
    uint32_t fault_value = 0;  // mtval; 0: the address of the access
};

// A device plug-in: registers behind addresses. Offsets count from its base; bytes is 1, 2 or 4.
// peek is a debugger's read: it changes nothing.
class Device {
  public:
    virtual ~Device() = default;
    virtual uint32_t read(Access& access, uint32_t offset, uint32_t bytes) = 0;
    virtual void write(Access& access, uint32_t offset, uint32_t bytes, uint32_t value) = 0;
    virtual uint32_t peek(uint32_t offset) const = 0;
};

// What a page is made of; costs depend on it.
enum class Kind : uint8_t { none, ram, sram, rom, flash, device };

struct Page {
    uint8_t* data = nullptr;  // direct pointer, or null: empty, device, or watched
    Insn* code = nullptr;     // records, once code was executed here
    Kind kind = Kind::none;
    bool writable = false;
};

enum class Touch : uint8_t { read = 1, write = 2, both = 3 };  // bits

class Memory {
  public:
    Memory();

    // Adds a memory of whole pages, filled with `fill` (a repeated word). Errors: overlap, size.
    Status add_memory(const std::string& name, uint32_t base, uint32_t bytes, Kind kind,
                      bool writable, uint32_t fill = 0);
    // Adds a device at [base, base + bytes); devices may share a page with each other.
    Status add_device(const std::string& name, uint32_t base, uint32_t bytes, Device* device);

    const Page& page(uint32_t address) const { return pages_[address >> page_shift]; }
    Page& page(uint32_t address) { return pages_[address >> page_shift]; }

    // The device at an address and the offset in it; null where there is none.
    Device* device(uint32_t address, uint32_t& offset) const;

    // The bytes of a memory, or null where [address, address + bytes) is not within one.
    const uint8_t* bytes(uint32_t address, uint64_t bytes) const;

    // Writes memory (also ROM) from outside: loaders, DMA, debugger. False where it is not memory.
    bool write(uint32_t address, const void* data, uint64_t bytes);
    bool fill(uint32_t address, uint64_t bytes, uint32_t word);

    // Records of the page that holds `address`; null where no code can be.
    Insn* code_page(uint32_t address);
    // A store hit a page with records: the instructions that overlap it are decoded again.
    void forget_code(uint32_t address, uint32_t bytes);

    // Watched addresses lose their direct pointers; an access calls watched() on the way.
    void watch(uint32_t address, uint32_t bytes, Touch touch);
    void unwatch(uint32_t address, uint32_t bytes, Touch touch);
    struct Hit {
        bool hit = false;
        uint32_t address = 0;
        Touch touch{};  // what the watch was for
    };
    void watched(uint32_t address, uint32_t bytes, Touch touch);
    Hit last_hit;

    struct Area {
        std::string name;
        uint32_t base = 0;
        uint32_t bytes = 0;
        Kind kind = Kind::none;
        bool writable = false;
        Device* device = nullptr;
        // Zero pages of the host's until written: a big memory costs what is used of it.
        std::unique_ptr<uint8_t[], void (*)(void*)> data{nullptr, std::free};
    };
    const std::vector<std::unique_ptr<Area>>& areas() const { return areas_; }
    const Area* area(uint32_t address) const;

    // Word reservations of lr.w, one a hart; a store by anyone ends them.
    static constexpr uint32_t unreserved = 1;  // no word has an odd address
    std::array<uint32_t, 8> reserved{};
    bool any_reserved = false;
    void reserve(uint32_t hart, uint32_t address);
    void end_reservations(uint32_t address, uint32_t bytes);

  private:
    struct Watch {
        uint32_t address, bytes;
        Touch touch;
    };
    void refresh_pages();
    Area* find(uint32_t address) const;

    std::vector<Page> pages_;
    std::vector<std::unique_ptr<Area>> areas_;
    std::vector<std::unique_ptr<Insn[]>> code_;
    std::vector<Watch> watches_;
};

}  // namespace ridge::rv32
