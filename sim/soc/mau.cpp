#include "sim/soc/mau.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace ridge::sim {

Mau::Mau(Fabric& fabric)
    : fabric_(fabric),
      cpu_mhz_(fabric.board.number("clock.cpu_mhz")),
      cold_mhz_(fabric.board.number("mau.cold_mhz")),
      warm_mhz_(fabric.board.number("mau.warm_mhz")),
      per_1000_(fabric.board.number("mau.cycles_per_1000_macs")),
      per_word_(fabric.board.number("mau.macs_per_word")),
      warm_launches_(fabric.board.number("mau.warm_launches")),
      warm_cycles_(fabric.board.number("mau.warm_busy_us") * cpu_mhz_),
      cool_cycles_(fabric.board.number("mau.cool_idle_us") * cpu_mhz_) {}

bool Mau::warm(uint64_t cycle) const {
    if (!busy_ && (!ever_ || cycle - last_end_ >= cool_cycles_)) return false;
    return run_launches_ >= warm_launches_ || run_cycles_ >= warm_cycles_;
}

uint32_t Mau::peek(uint32_t offset) const {
    if (offset < MAU_START) return regs_[offset / 4];
    if (offset != MAU_STATUS) return 0;
    return (done_ ? MAU_STATUS_DONE : 0) | (busy_ ? MAU_STATUS_BUSY : 0) | sticky_ |
           (warm(fabric_.machine.now) ? MAU_STATUS_WARM : 0);
}

uint32_t Mau::read(rv32::Access& access, uint32_t offset, uint32_t) {
    if (offset == MAU_STATUS) fabric_.status_read(access.hart.id, Unit::mau, access.cycle, busy_);
    return peek(offset);
}

void Mau::write(rv32::Access& access, uint32_t offset, uint32_t bytes, uint32_t value) {
    if (bytes != 4) {
        access.fault = rv32::cause_store_fault;
    } else if (offset < MAU_START) {
        regs_[offset / 4] = value;  // latched by START: may be set while busy
    } else if (offset == MAU_START) {
        if (value & 1) start(access);
    } else if (offset == MAU_STATUS) {
        sticky_ &= ~value;
    }
}

uint32_t Mau::describe(Launch& l, uint32_t& bad_address) const {
    const auto reg = [&](uint32_t offset) { return regs_[offset / 4]; };
    l.ctrl = reg(MAU_CTRL);
    l.m = reg(MAU_DIM_M_N) & 0xffff;
    l.n = reg(MAU_DIM_M_N) >> 16;
    l.depth = reg(MAU_DIM_K);
    l.shift = reg(MAU_SHIFT);
    l.clamp = reg(MAU_CLAMP);
    const bool transposed = l.ctrl & MAU_CTRL_TRANSPOSE_B;
    const uint32_t k_rows = transposed ? l.n : l.depth, k_columns = transposed ? l.depth : l.n;
    const uint32_t out = l.ctrl & MAU_CTRL_INT16 ? 2 : 4;
    l.q = {reg(MAU_Q_ADDR), l.depth * 2, l.m, l.m > 1 ? reg(MAU_Q_STRIDE) : 0};
    l.k = {reg(MAU_K_ADDR), k_columns * 2, k_rows, k_rows > 1 ? reg(MAU_K_STRIDE) : 0};
    l.o = {reg(MAU_O_ADDR), l.n * out, l.m, l.m > 1 ? reg(MAU_O_STRIDE) : 0};
    for (const Tile* t : {&l.q, &l.k, &l.o}) {
        bad_address = t->base;
        if (t->base % MAU_ALIGN || t->stride % MAU_ALIGN) return MAU_STATUS_ALIGNMENT;
    }
    bad_address = MAU_BASE + MAU_START;
    if (l.m == 0 || l.m > MAU_MAX_M || l.n == 0 || l.n > MAU_MAX_N || l.depth == 0 ||
        l.depth > MAU_MAX_K || l.shift > MAU_NO_SHIFT || l.clamp > 0x7fffffffu)
        return MAU_STATUS_CONFIG;
    if ((l.ctrl & MAU_CTRL_ACCUMULATE) && (l.shift != MAU_NO_SHIFT || out != 4))
        return MAU_STATUS_CONFIG;
    if (l.m > 1 && l.o.stride < l.o.bytes) return MAU_STATUS_CONFIG;
    const rv32::Memory& memory = fabric_.machine.memory;
    for (const Tile* t : {&l.q, &l.k, &l.o}) {
        bad_address = t->base;
        if (!usable(memory, *t, true)) return MAU_STATUS_CONFIG;
    }
    return 0;
}

void Mau::start(rv32::Access& access) {
    const Flights::Who who{access.hart.id, access.pc, access.cycle};
    Launch l;
    uint32_t wrong = MAU_STATUS_CONFIG, bad_address = MAU_BASE + MAU_START;
    if (busy_)
        fabric_.flights.start_while_busy(Unit::mau, who);
    else
        wrong = describe(l, bad_address);
    if (wrong) {
        sticky_ |= wrong;
        ++counters_.exceptions;
        access.fault =
            wrong == MAU_STATUS_ALIGNMENT ? rv32::cause_store_misaligned : rv32::cause_store_fault;
        access.fault_value = bad_address;
        return;
    }
    const uint64_t cycles = duration(l, access.cycle);
    compute(l);
    std::vector<Tile> operands = {l.q, l.k};
    if (l.ctrl & MAU_CTRL_ACCUMULATE) operands.push_back(l.o);
    fabric_.flights.begin(Unit::mau, operands, {l.o}, who);
    for (const Tile* t : {&l.q, &l.k, &l.o}) fabric_.stages.touch(who.hart, *t);
    poison(fabric_.machine.memory, l.o);
    const uint64_t macs = uint64_t{l.m} * l.n * l.depth;
    const uint64_t words = (macs + per_word_ - 1) / per_word_;
    const uint64_t out_words = (uint64_t{l.o.bytes} * l.o.rows + 3) / 4;
    fabric_.banks.set_stream(0, {bank_of(l.q.base), access.cycle, cycles, words});
    fabric_.banks.set_stream(1, {bank_of(l.k.base), access.cycle, cycles, words});
    fabric_.banks.set_stream(2, {bank_of(l.o.base), access.cycle, cycles, out_words});
    launch_ = l;
    busy_ = ever_ = true;
    done_ = false;
    begin_ = access.cycle;
    end_ = begin_ + cycles;
    ++counters_.launches;
    counters_.macs += macs;
    fabric_.machine.queue.schedule(end_, this, counters_.launches);
}

uint64_t Mau::duration(const Launch& l, uint64_t cycle) {
    const bool is_warm = warm(cycle);
    if (ever_ && cycle - last_end_ >= cool_cycles_) run_launches_ = run_cycles_ = 0;
    const uint64_t mhz = is_warm ? warm_mhz_ : cold_mhz_;
    counters_.cold_launches += is_warm ? 0 : 1;
    const uint64_t macs = uint64_t{l.m} * l.n * l.depth;
    // Both in thousandths of a cycle of the MAU, to round once.
    const uint64_t compute = macs * per_1000_;
    const bool same_bank = bank_of(l.q.base) == bank_of(l.k.base);
    const uint64_t fetch = (macs + per_word_ - 1) / per_word_ * (same_bank ? 2 : 1) * 1000;
    counters_.fetch_bound += fetch > compute ? 1 : 0;
    const uint64_t divisor = 1000 * mhz;
    return std::max<uint64_t>(1, (std::max(compute, fetch) * cpu_mhz_ + divisor - 1) / divisor);
}

void Mau::compute(const Launch& l) {
    const rv32::Memory& memory = fabric_.machine.memory;
    bool clamped = false;
    const auto operand = [&](const Tile& t, uint32_t row, uint32_t column) {
        int16_t v = 0;
        std::memcpy(&v, memory.bytes(t.base + row * t.stride + 2 * column, 2), 2);
        const int32_t inside = std::clamp<int32_t>(v, MAU_OPERAND_MIN, MAU_OPERAND_MAX);
        clamped |= inside != v;
        return inside;
    };
    std::vector<int32_t> q(size_t{l.m} * l.depth), k(size_t{l.n} * l.depth);
    const bool transposed = l.ctrl & MAU_CTRL_TRANSPOSE_B;
    for (uint32_t i = 0; i < l.m; ++i)
        for (uint32_t d = 0; d < l.depth; ++d) q[i * l.depth + d] = operand(l.q, i, d);
    for (uint32_t j = 0; j < l.n; ++j)
        for (uint32_t d = 0; d < l.depth; ++d)
            k[j * l.depth + d] = transposed ? operand(l.k, j, d) : operand(l.k, d, j);
    if (clamped) {
        sticky_ |= MAU_STATUS_SATURATED;
        ++counters_.saturated;
    }
    result_.assign(size_t{l.m} * l.n, 0);
    for (uint32_t i = 0; i < l.m; ++i) {
        for (uint32_t j = 0; j < l.n; ++j) {
            int32_t sum = 0;  // at most 2^29 in magnitude
            for (uint32_t d = 0; d < l.depth; ++d) sum += q[i * l.depth + d] * k[j * l.depth + d];
            int64_t value = sum;
            if (l.ctrl & MAU_CTRL_ACCUMULATE) {
                uint32_t old = 0;
                std::memcpy(&old, memory.bytes(l.o.base + i * l.o.stride + 4 * j, 4), 4);
                value = static_cast<int32_t>(old + static_cast<uint32_t>(sum));
            }
            if (l.shift != MAU_NO_SHIFT && l.shift != 0)
                value = (value + (int64_t{1} << (l.shift - 1))) >> l.shift;
            if (l.clamp)
                value = std::clamp<int64_t>(value, -int64_t{l.clamp} - 1, int64_t{l.clamp});
            if (l.ctrl & MAU_CTRL_INT16) value = std::clamp<int64_t>(value, INT16_MIN, INT16_MAX);
            result_[i * l.n + j] = static_cast<int32_t>(value);
        }
    }
}

void Mau::event(uint64_t cycle, uint64_t) {
    const Launch& l = launch_;
    rv32::Memory& memory = fabric_.machine.memory;
    for (uint32_t i = 0; i < l.m; ++i) {
        const int32_t* const row = &result_[i * l.n];
        if (l.ctrl & MAU_CTRL_INT16) {
            std::vector<int16_t> narrow(l.n);
            for (uint32_t j = 0; j < l.n; ++j) narrow[j] = static_cast<int16_t>(row[j]);
            memory.write(l.o.base + i * l.o.stride, narrow.data(), l.o.bytes);
        } else {
            memory.write(l.o.base + i * l.o.stride, row, l.o.bytes);
        }
    }
    fabric_.flights.end(Unit::mau);
    for (size_t slot = 0; slot < 3; ++slot) fabric_.banks.clear_stream(slot);
    counters_.busy_cycles += cycle - begin_;
    run_cycles_ += cycle - begin_;
    ++run_launches_;
    if (fabric_.trace.enabled)
        fabric_.trace.add(
            fabric_.rows.unit[static_cast<size_t>(Unit::mau)], begin_, cycle,
            fmt::format("{}x{}x{}", l.m, l.depth, l.n),
            fmt::format("Q 0x{:08x} K 0x{:08x} O 0x{:08x}", l.q.base, l.k.base, l.o.base));
    busy_ = false;
    done_ = true;
    last_end_ = cycle;
    if (l.ctrl & MAU_CTRL_IRQ) fabric_.plic.raise(PLIC_SOURCE_MAU);
}

uint64_t Mau::busy_until(uint64_t cycle) const {
    return counters_.busy_cycles + (busy_ && cycle > begin_ ? cycle - begin_ : 0);
}

std::string Mau::doing(uint64_t cycle) const {
    if (!busy_) return warm(cycle) ? "idle, warm" : "idle, cold";
    const Launch& l = launch_;
    const uint64_t macs = uint64_t{l.m} * l.n * l.depth;
    const uint64_t done = macs * (std::min(cycle, end_) - begin_) / (end_ - begin_);
    const uint64_t element = std::min(done / l.depth, uint64_t{l.m} * l.n - 1);
    return fmt::format(
        "multiplies {}x{} by {}x{} (Q 0x{:08x}, K 0x{:08x}, O 0x{:08x}): element [{}][{}], {} of "
        "{} "
        "MACs done, since cycle {}, until {}",
        l.m, l.depth, l.depth, l.n, l.q.base, l.k.base, l.o.base, element / l.n, element % l.n,
        done, macs, begin_, end_);
}

}  // namespace ridge::sim
