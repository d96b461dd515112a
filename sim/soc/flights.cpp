#include "sim/soc/flights.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ridge::sim {

bool Tile::overlaps(uint32_t address, uint64_t size) const {
    if (rows == 0 || bytes == 0 || size == 0) return false;
    const uint64_t begin = address, end = begin + size, last = base + extent();
    if (end <= base || begin >= last) return false;
    if (rows == 1 || stride <= bytes || begin < base) return true;
    const uint64_t within = (begin - base) % stride;
    // The access ends before `last`'s end or reaches into the next row, which there is: begin lies
    // before the last row's end.
    return within < bytes || within + size > stride;
}

bool Tile::overlaps(const Tile& other) const {
    for (uint32_t r = 0; r < other.rows; ++r)
        if (overlaps(other.base + r * other.stride, other.bytes)) return true;
    return false;
}

std::string describe(const Race& race) {
    static constexpr std::array<const char*, 4> what = {
        "reads a result of {1} that is still in flight",
        "overwrites a result of {1} that is still in flight",
        "overwrites an operand that {1} is still using", "starts {1} while it is busy"};
    const std::string text =
        fmt::format(fmt::runtime(what[static_cast<size_t>(race.kind)]), "", unit_name(race.unit));
    const std::string times = race.times > 1 ? fmt::format(" ({} times)", race.times) : "";
    return fmt::format("pc 0x{:08x}, cycle {}: {} {}, address 0x{:08x}{}", race.pc, race.cycle,
                       race.by, text, race.address, times);
}

uint64_t Flights::mask_of(const Tile& tile) const {
    uint64_t mask = 0;
    for (uint32_t r = 0; r < tile.rows; ++r) {
        const uint64_t begin = tile.base + uint64_t{r} * tile.stride - sram_base_;
        for (uint64_t p = begin >> 12; p <= (begin + tile.bytes - 1) >> 12 && p < 64; ++p)
            mask |= uint64_t{1} << p;
    }
    return mask;
}

void Flights::refresh_masks() {
    results_mask_ = any_mask_ = 0;
    for (const Flight& f : flights_) {
        if (!f.active) continue;
        for (const Tile& t : f.results) results_mask_ |= mask_of(t);
        for (const Tile& t : f.operands) any_mask_ |= mask_of(t);
    }
    any_mask_ |= results_mask_;
}

void Flights::add(Race::Kind kind, Unit unit, uint32_t address, const Who& who,
                  const std::string& by) {
    constexpr size_t most_kept = 1000;
    ++race_count_;
    for (Race& r : races_)
        if (r.kind == kind && r.unit == unit && r.pc == who.pc && r.by == by) {
            ++r.times;
            return;
        }
    if (races_.size() < most_kept)
        races_.push_back({kind, unit, who.hart, who.pc, who.cycle, address, 1, by});
}

void Flights::begin(Unit unit, std::vector<Tile> operands, std::vector<Tile> results,
                    const Who& who) {
    const std::string by = unit_name(unit);
    for (size_t u = 0; u < unit_count; ++u) {
        const Flight& other = flights_[u];
        const auto other_unit = static_cast<Unit>(u);
        if (!other.active || other_unit == unit) continue;
        for (const Tile& theirs : other.results) {
            for (const Tile& mine : operands)
                if (theirs.overlaps(mine))
                    add(Race::Kind::read_result, other_unit, mine.base, who, by);
            for (const Tile& mine : results)
                if (theirs.overlaps(mine))
                    add(Race::Kind::write_result, other_unit, mine.base, who, by);
        }
        for (const Tile& theirs : other.operands)
            for (const Tile& mine : results)
                if (theirs.overlaps(mine))
                    add(Race::Kind::write_operand, other_unit, mine.base, who, by);
    }
    flights_[static_cast<size_t>(unit)] = {true, std::move(operands), std::move(results)};
    refresh_masks();
}

void Flights::end(Unit unit) {
    flights_[static_cast<size_t>(unit)] = {};
    refresh_masks();
}

void Flights::start_while_busy(Unit unit, const Who& who) {
    add(Race::Kind::start_while_busy, unit, 0, who, fmt::format("hart {}", who.hart));
}

void Flights::slow_access(uint32_t address, uint32_t bytes, rv32::Touch touch, const Who& who) {
    const std::string by = fmt::format("hart {}", who.hart);
    for (size_t u = 0; u < unit_count; ++u) {
        const Flight& f = flights_[u];
        if (!f.active) continue;
        const auto unit = static_cast<Unit>(u);
        const auto hit = [&](const Tile& t) { return t.overlaps(address, bytes); };
        const bool result = std::any_of(f.results.begin(), f.results.end(), hit);
        if (touch == rv32::Touch::read) {
            if (result) add(Race::Kind::read_result, unit, address, who, by);
        } else if (result) {
            add(Race::Kind::write_result, unit, address, who, by);
        } else if (std::any_of(f.operands.begin(), f.operands.end(), hit)) {
            add(Race::Kind::write_operand, unit, address, who, by);
        }
    }
}

}  // namespace ridge::sim
