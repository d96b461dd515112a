// The matrix unit. A launch takes its operands when it starts and shows its results when it
// completes; between, the result tile holds poison. Registers, number formats and limits are in
// boards/ai-max-395/soc.h, rates in board.toml:
//
//     cycles = max(compute, fetch), in cycles of the MAU's clock
//     compute = M * N * K * cycles_per_1000_macs / 1000
//     fetch   = words of one operand stream (M * N * K / macs_per_word) where the two streams come
//               from different banks, twice that where they share one
//
// and the clock is the cold or the warm one for the whole launch. Cold becomes warm after
// warm_launches launches or warm_busy_us of work, and cold again after cool_idle_us without any.
#pragma once

#include <vector>

#include "sim/soc/fabric.hpp"

namespace ridge::sim {

class Mau final : public rv32::Device, public rv32::EventTarget {
  public:
    static constexpr uint32_t size = 0x40;
    explicit Mau(Fabric& fabric);

    uint32_t read(rv32::Access& access, uint32_t offset, uint32_t bytes) override;
    void write(rv32::Access& access, uint32_t offset, uint32_t bytes, uint32_t value) override;
    uint32_t peek(uint32_t offset) const override;
    void event(uint64_t cycle, uint64_t tag) override;

    struct Counters {
        uint64_t launches = 0, macs = 0, busy_cycles = 0, cold_launches = 0, fetch_bound = 0;
        uint64_t saturated = 0, exceptions = 0;
    };
    const Counters& counters() const { return counters_; }
    uint64_t busy_until(uint64_t cycle) const;
    std::string doing(uint64_t cycle) const;

  private:
    struct Launch {
        Tile q, k, o;
        uint32_t m = 0, n = 0, depth = 0, ctrl = 0, shift = 0, clamp = 0;
    };
    // The launch that the registers describe; the status bit of what is wrong with it, or 0.
    uint32_t describe(Launch& launch, uint32_t& bad_address) const;
    void start(rv32::Access& access);
    uint64_t duration(const Launch& launch, uint64_t cycle);
    void compute(const Launch& launch);
    bool warm(uint64_t cycle) const;

    Fabric& fabric_;
    uint64_t cpu_mhz_, cold_mhz_, warm_mhz_, per_1000_, per_word_;
    uint64_t warm_launches_, warm_cycles_, cool_cycles_;

    uint32_t regs_[MAU_START / 4] = {};
    bool busy_ = false, done_ = false;
    uint32_t sticky_ = 0;
    Launch launch_;  // under way
    uint64_t begin_ = 0, end_ = 0;
    std::vector<int32_t> result_;
    // Clock: launches and work since it was last cold, and when work last ended.
    uint64_t run_launches_ = 0, run_cycles_ = 0, last_end_ = 0;
    bool ever_ = false;
    Counters counters_;
};

}  // namespace ridge::sim
