// What is in flight: the operands and results of DMA transfers and MAU launches that have started
// and not completed. Results hold poison until they complete; whoever reads a result or overwrites
// an operand or a result before that is a race, and is written down with its program counter.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/rv32/memory.hpp"

namespace ridge::sim {

enum class Unit : uint8_t { dma0, dma1, mau, count };
inline constexpr size_t unit_count = static_cast<size_t>(Unit::count);
inline const char* unit_name(Unit u) {
    static constexpr std::array<const char*, unit_count> names = {"DMA 0", "DMA 1", "MAU"};
    return names[static_cast<size_t>(u)];
}

// What a word holds whose result has not arrived; outside of 12 bits as int16, and SRAM's content
// before anything was written.
inline constexpr uint32_t poison_word = 0xbadabadau;

// `rows` rows of `bytes` bytes, `stride` apart.
struct Tile {
    uint32_t base = 0, bytes = 0, rows = 1, stride = 0;

    uint64_t extent() const { return rows == 0 ? 0 : uint64_t{rows - 1} * stride + bytes; }
    bool overlaps(uint32_t address, uint64_t size) const;
    bool overlaps(const Tile& other) const;
};

struct Race {
    enum class Kind : uint8_t { read_result, write_result, write_operand, start_while_busy };
    Kind kind{};
    Unit unit{};  // whose transfer or launch it is
    uint32_t hart = 0;
    uint32_t pc = 0;
    uint64_t cycle = 0;
    uint32_t address = 0;
    uint64_t times = 1;  // how often this kind met this unit from this pc
    std::string by;      // "hart 0", or the unit that was started there
};
std::string describe(const Race& race);

class Flights {
  public:
    // `sram_base` and up to 64 pages of 4 KiB.
    explicit Flights(uint32_t sram_base) : sram_base_(sram_base) {}

    struct Who {
        uint32_t hart, pc;
        uint64_t cycle;
    };
    // Starts a flight of `unit`; what it touches of other flights are races of `who`.
    void begin(Unit unit, std::vector<Tile> operands, std::vector<Tile> results, const Who& who);
    void end(Unit unit);

    // An access of a hart, quick where no flight is near.
    void access(uint32_t address, uint32_t bytes, rv32::Touch touch, const Who& who) {
        const uint32_t first = (address - sram_base_) >> 12;
        if (first >= 64) return;
        const uint64_t mask = touch == rv32::Touch::read ? results_mask_ : any_mask_;
        if ((mask >> first) & 1) slow_access(address, bytes, touch, who);
    }
    void start_while_busy(Unit unit, const Who& who);

    const std::vector<Race>& races() const { return races_; }
    uint64_t race_count() const { return race_count_; }

  private:
    struct Flight {
        bool active = false;
        std::vector<Tile> operands, results;
    };
    void slow_access(uint32_t address, uint32_t bytes, rv32::Touch touch, const Who& who);
    void add(Race::Kind kind, Unit unit, uint32_t address, const Who& who, const std::string& by);
    void refresh_masks();
    uint64_t mask_of(const Tile& tile) const;

    uint32_t sram_base_;
    std::array<Flight, unit_count> flights_;
    uint64_t results_mask_ = 0, any_mask_ = 0;
    std::vector<Race> races_;
    uint64_t race_count_ = 0;
};

}  // namespace ridge::sim
