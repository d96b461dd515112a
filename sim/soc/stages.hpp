// What a stage of a program touches: between two marks of a hart, the distinct bytes of SRAM that
// the hart, and the transfers and launches it starts, read or write. Stages nest; bytes count for
// the innermost.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "boards/ai-max-395/soc.h"
#include "sim/soc/flights.hpp"

namespace ridge::sim {

class Stages {
  public:
    struct Stage {
        uint64_t entries = 0;
        uint64_t cycles = 0;  // from opening to closing, inner stages with it
        uint64_t instructions = 0;
        std::vector<uint8_t> touched = std::vector<uint8_t>(SOC_SRAM_BYTES);

        // Distinct bytes within [address, address + bytes) of SRAM.
        uint64_t distinct(uint32_t address, uint32_t bytes) const {
            uint64_t n = 0;
            for (uint32_t i = 0; i < bytes; ++i) n += touched[address - SOC_SRAM_BASE + i];
            return n;
        }
        // The touched bytes as pairs of address and length.
        std::vector<std::pair<uint32_t, uint32_t>> ranges() const {
            std::vector<std::pair<uint32_t, uint32_t>> all;
            for (uint32_t i = 0; i < SOC_SRAM_BYTES; ++i) {
                if (!touched[i]) continue;
                if (i == 0 || !touched[i - 1]) all.push_back({SOC_SRAM_BASE + i, 0});
                ++all.back().second;
            }
            return all;
        }
    };

    void open(uint32_t hart, uint32_t id, uint64_t cycle, uint64_t instret) {
        Stage& s = stages_[id];
        ++s.entries;
        open_[hart].push_back({id, cycle, instret, &s});
    }
    // The innermost stage of a hart ends; returns its id and begin, or id 0 where none is open.
    struct Open {
        uint32_t id = 0;
        uint64_t cycle = 0, instret = 0;
        Stage* stage = nullptr;
    };
    Open close(uint32_t hart, uint64_t cycle, uint64_t instret) {
        if (open_[hart].empty()) return {};
        const Open top = open_[hart].back();
        open_[hart].pop_back();
        top.stage->cycles += cycle - top.cycle;
        top.stage->instructions += instret - top.instret;
        return top;
    }
    uint32_t current(uint32_t hart) const {
        return open_[hart].empty() ? 0 : open_[hart].back().id;
    }

    void touch(uint32_t hart, uint32_t address, uint32_t bytes) {
        if (open_[hart].empty()) return;
        mark(*open_[hart].back().stage, address, bytes);
    }
    void touch(uint32_t hart, const Tile& tile) {
        if (open_[hart].empty()) return;
        for (uint32_t r = 0; r < tile.rows; ++r)
            mark(*open_[hart].back().stage, tile.base + r * tile.stride, tile.bytes);
    }
    const std::map<uint32_t, Stage>& all() const { return stages_; }

  private:
    static void mark(Stage& s, uint32_t address, uint32_t bytes) {
        const uint32_t at = address - SOC_SRAM_BASE;
        if (at >= SOC_SRAM_BYTES || bytes > SOC_SRAM_BYTES - at) return;
        for (uint32_t i = 0; i < bytes; ++i) s.touched[at + i] = 1;
    }

    std::map<uint32_t, Stage> stages_;
    std::vector<Open> open_[SOC_HARTS];
};

}  // namespace ridge::sim
