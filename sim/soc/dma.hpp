// The DMA engine: two channels that share one bandwidth. A channel alone has all of it, two have
// half each; one that a slow flash holds back leaves the rest to the other. Registers, limits and
// errors are in boards/ai-max-395/soc.h.
//
// A transfer's bytes arrive when it completes; until then its destination holds poison. Its source
// is read then too, so that a change of the source under way is a race, not a guess.
#pragma once

#include <array>

#include "sim/soc/fabric.hpp"

namespace ridge::sim {

class Dma final : public rv32::Device, public rv32::EventTarget {
  public:
    static constexpr uint32_t size = 0x20 * DMA_CHANNELS;
    explicit Dma(Fabric& fabric);

    uint32_t read(rv32::Access& access, uint32_t offset, uint32_t bytes) override;
    void write(rv32::Access& access, uint32_t offset, uint32_t bytes, uint32_t value) override;
    uint32_t peek(uint32_t offset) const override;
    void event(uint64_t cycle, uint64_t tag) override;

    struct Counters {
        uint64_t transfers = 0, bytes = 0, flash_bytes = 0, busy_cycles = 0, errors = 0;
    };
    const Counters& counters(uint32_t channel) const { return counters_[channel]; }
    // Closes the books at `cycle` for a transfer that is still under way.
    uint64_t busy_until(uint32_t channel, uint64_t cycle) const;
    std::string doing(uint32_t channel, uint64_t cycle) const;

  private:
    struct Channel {
        uint32_t src = 0, dst = 0, len = 0, rows = 0, src_stride = 0, dst_stride = 0;
        bool busy = false, done = false, error = false, irq = false;
        Tile from, to;  // of the transfer under way
        bool from_flash = false;
        uint64_t begin = 0;       // when it started
        uint64_t work = 0;        // of it left, in bytes * cpu_mhz * 2
        uint64_t rate = 0;        // work per cycle
        uint64_t since = 0;       // when work and rate were last true
        uint64_t generation = 0;  // of the completion event that counts
    };
    void start(rv32::Access& access, uint32_t c);
    void share(uint64_t cycle);  // new rates for the channels that are busy
    void finish(uint32_t c, uint64_t cycle);
    static Unit unit(uint32_t c) { return c == 0 ? Unit::dma0 : Unit::dma1; }
    uint64_t bytes_left(const Channel& ch, uint64_t cycle) const;

    Fabric& fabric_;
    uint64_t cpu_mhz_, dma_rate_, flash_rate_, beat_;
    std::array<Channel, DMA_CHANNELS> channels_;
    std::array<Counters, DMA_CHANNELS> counters_;
};

}  // namespace ridge::sim
