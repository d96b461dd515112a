#include "sim/soc/timing.hpp"

#include <bit>

namespace ridge::sim {

SocTiming::SocTiming(Fabric& fabric, const Board& board)
    : fabric_(fabric),
      costs_(board.costs()),
      line_shift_(static_cast<uint32_t>(std::countr_zero(board.number("icache.line")))),
      way_count_(static_cast<uint32_t>(board["icache.ways"])) {
    sets_ = static_cast<uint32_t>(board.number("icache.bytes") >> line_shift_) / way_count_;
    for (State& s : states_) s.ways.resize(size_t{sets_} * way_count_);
}

// Least recently used way of the set; one line is filled at a time.
void SocTiming::fetch_line(rv32::Hart& h, State& s, uint32_t line) {
    s.fetch_line = line;
    ++s.fetches;
    Way* const set = &s.ways[size_t{line % sets_} * way_count_];
    Way* oldest = set;
    for (uint32_t w = 0; w < way_count_; ++w) {
        if (set[w].line == line) {
            set[w].used = s.fetches;
            return;
        }
        if (set[w].used < oldest->used) oldest = &set[w];
    }
    *oldest = {line, s.fetches};
    switch (fabric_.machine.memory.page(line << line_shift_).kind) {
        case rv32::Kind::flash:
            return charge(h, rv32::Cost::icache_flash);
        case rv32::Kind::sram:
            return charge(h, rv32::Cost::icache_sram);
        default:
            return charge(h, rv32::Cost::icache_rom);
    }
}

uint64_t SocTiming::recomputed(const rv32::Hart& h) const {
    uint64_t sum = 0;
    for (size_t c = 0; c < costs_.size(); ++c) sum += h.counts[c] * costs_[c];
    return sum;
}

}  // namespace ridge::sim
