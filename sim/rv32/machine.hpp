// Harts, memory and devices run together in cycle order: the hart with the smaller cycle runs next,
// the lower number first where they are equal; events of a cycle come before instructions that
// begin in it. Nothing here reads a clock of the host: two runs are the same.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/rv32/events.hpp"
#include "sim/rv32/hart.hpp"
#include "sim/rv32/memory.hpp"
#include "sim/rv32/plugin.hpp"

namespace ridge::rv32 {

enum class Stop : uint8_t {
    none,
    exit,        // the program asked for it: exit_code
    cycle,       // the cycle given to run()
    breakpoint,  // ebreak while stop_at_ebreak, or what on_instruction asked for
    deadlock,    // all harts asleep and nothing left that could wake one
    trap_loop,   // traps without an instruction retired between them
};

class Machine {
  public:
    Memory memory;
    EventQueue queue;
    std::vector<Hart> harts;
    std::vector<InstructionPlugin*> plugins;

    Stop stop = Stop::none;
    int exit_code = 0;
    bool allow_misaligned = false;  // else a misaligned access traps
    bool stop_at_ebreak = false;    // a debugger is there
    // Harts in lock step of cycles; else each runs `quantum` cycles at a time.
    uint64_t quantum = 0;

    // Machine time as the CSR time shows it; by default the hart's cycle.
    std::function<uint64_t(uint64_t cycle)> time = [](uint64_t cycle) { return cycle; };
    std::function<void(Hart&, uint32_t id)> on_marker;  // slti x0, x0, id was executed

    explicit Machine(uint32_t hart_count);
    virtual ~Machine() = default;
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;

    // Runs until something stops it, or until every hart has reached `until`.
    Stop run(uint64_t until = EventQueue::never);
    // Events that are due, then one instruction (or trap) of whoever is next; where all sleep,
    // events until one wakes.
    void step();
    // The hart that runs next; null where all sleep.
    Hart* next_hart();

    void finish(int code) {
        stop = Stop::exit;
        exit_code = code;
        queue.stop();
    }

    // The cycle of the event or turn under way; sleepers wake at it.
    uint64_t now = 0;

    // Sets or clears pending interrupts of a hart (mip bits), and wakes it.
    void set_interrupt(Hart& h, uint32_t bits, bool on);

    // CSR access with the semantics of the privileged specification; false: there is none.
    bool read_csr(const Hart& h, uint32_t number, uint32_t& value) const;
    bool write_csr(Hart& h, uint32_t number, uint32_t value);

    // A debugger's access: devices are peeked at. False where nothing is there.
    bool peek(uint32_t address, uint8_t& byte) const;

  protected:
    // Executes instructions of `h` until its cycle reaches queue.horizon; at least one.
    virtual void execute(Hart& h);
    // Charges what taking an interrupt and sleeping cost.
    virtual void charge_trap(Hart& h);
    virtual void charge_sleep(Hart& h, uint64_t cycles);

  private:
    void turn(Hart& h, uint64_t until);
    void advance(uint64_t until);  // one event, or one turn of one hart, or a reason to stop
    void settle();                 // sleepers sleep until the end
};

}  // namespace ridge::rv32
