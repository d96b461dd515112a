// Who was busy when: one row for each hart, DMA channel and the MAU, one for the stages that a hart
// has marked. Rows of harts are gap-free (run, poll, sleep); rows of units hold their busy times.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.hpp"

namespace ridge::sim {

struct Slice {
    uint32_t row = 0;
    uint64_t begin = 0, end = 0;  // cycles
    std::string name;
    std::string detail;
};

class Trace {
  public:
    bool enabled = false;

    uint32_t add_row(const std::string& name);
    void add(uint32_t row, uint64_t begin, uint64_t end, const std::string& name,
             const std::string& detail = {}) {
        if (enabled && end > begin) slices_.push_back({row, begin, end, name, detail});
    }

    const std::vector<std::string>& rows() const { return rows_; }
    const std::vector<Slice>& slices() const { return slices_; }
    uint64_t busy(uint32_t row) const;  // sum of a row's slices

    // Trace event format (JSON), which Perfetto and chrome://tracing open. Times are microseconds
    // of the simulated clock; args hold the exact cycles.
    std::string json(uint64_t cpu_mhz, const std::string& title) const;

  private:
    std::vector<std::string> rows_;
    std::vector<Slice> slices_;
};

}  // namespace ridge::sim
