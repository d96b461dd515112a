// gdb's remote protocol over a machine: harts are threads 1, 2, ...; x, pc, f and the float status
// registers; memory (devices are peeked at, so looking changes nothing); breakpoints, watchpoints,
// step, continue, interrupt.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "sim/debug/packets.hpp"
#include "sim/rv32/machine.hpp"

namespace ridge::sim {

class GdbServer {
  public:
    explicit GdbServer(rv32::Machine& machine) : machine_(machine) {}

    // Listens, tells the port, waits for a debugger and serves it until it detaches or kills, the
    // connection ends or the program does. Error: io.
    Status serve(uint16_t port, const std::function<void(uint16_t)>& listening);
    // Did the debugger let the program go on?
    bool detached() const { return detached_; }

  private:
    std::string answer(const std::string& packet);
    std::string query(const std::string& packet);
    std::string resume(const std::string& packet);
    std::string run(bool one_step, uint32_t hart);
    std::string stop_reply(const std::string& reason, uint32_t hart) const;
    std::string read_register(uint32_t hart, uint32_t number) const;
    bool write_register(uint32_t hart, uint32_t number, uint32_t value);
    std::string read_memory(const std::string& packet) const;
    std::string write_memory(const std::string& packet, bool binary);
    std::string point(const std::string& packet);
    void choose(const std::string& packet);

    rv32::Machine& machine_;
    PacketSocket socket_;
    std::set<uint32_t> breakpoints_;
    uint32_t hart_ = 0;  // that registers are read of
    bool over_ = false, detached_ = false;
};

}  // namespace ridge::sim
