// What a run on the board came to, for people and for programs.
#include <fmt/format.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "sim/rv32/decode.hpp"
#include "sim/rv32/disasm.hpp"
#include "sim/soc/soc.hpp"

namespace ridge::sim {
namespace {

using rv32::Cost;

double share(uint64_t part, uint64_t whole) {
    return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

uint64_t count(const rv32::Hart& h, Cost c) {
    return h.counts[static_cast<size_t>(c)];
}

uint64_t busy_cycles(const Soc& soc, const rv32::Hart& h) {
    return h.cycle - count(h, Cost::sleep) - soc.fabric.polls.total(h.id);
}

uint64_t misses(const rv32::Hart& h) {
    return count(h, Cost::icache_rom) + count(h, Cost::icache_flash) + count(h, Cost::icache_sram);
}

std::string at(uint32_t pc, const rv32::ElfFile* symbols) {
    const std::string place = symbols ? symbols->place(pc) : "";
    return place.empty() ? fmt::format("0x{:08x}", pc) : fmt::format("0x{:08x} ({})", pc, place);
}

std::string instruction_at(const Soc& soc, uint32_t pc) {
    const uint8_t* const bytes = soc.memory.bytes(pc, 2);
    if (!bytes) return "nothing to fetch";
    uint16_t low = 0, high = 0;
    std::memcpy(&low, bytes, 2);
    if (!rv32::is_wide(low)) return rv32::disassemble(rv32::decode_compressed(low), pc);
    if (const uint8_t* const rest = soc.memory.bytes(pc + 2, 2)) std::memcpy(&high, rest, 2);
    return rv32::disassemble(rv32::decode(uint32_t{high} << 16 | low), pc);
}

std::string hart_lines(const Soc& soc, const rv32::Hart& h) {
    std::string text =
        fmt::format("hart {}: {} instructions in {} cycles\n", h.id, h.instret, h.cycle);
    if (h.instret == 0) return text;
    text += "    event               count        x cost           = cycles   share\n";
    for (size_t c = 0; c < rv32::cost_count; ++c) {
        if (h.counts[c] == 0) continue;
        const uint64_t cycles = h.counts[c] * soc.timing.costs()[c];
        text += fmt::format("    {:<14} {:>12} {:>8} {:>18} {:>6.1f} %\n", rv32::cost_names[c],
                            h.counts[c], soc.timing.costs()[c], cycles, share(cycles, h.cycle));
    }
    const uint64_t sum = soc.timing.recomputed(h);
    text += fmt::format("    {:<14} {:>40}   {}\n", "sum", sum,
                        sum == h.cycle ? "as counted" : "DIFFERS from the cycles counted");
    const uint64_t wrong = count(h, Cost::mispredict), indirect = count(h, Cost::jump_register);
    text += fmt::format(
        "    instruction cache hits {:.2f} %, branches guessed {:.1f} %, register jumps {} (none "
        "guessed)\n    SRAM accesses {}, waiting for units {} cycles\n",
        100 - share(misses(h), h.instret),
        count(h, Cost::branch) ? 100 - share(wrong - indirect, count(h, Cost::branch)) : 100.0,
        indirect, soc.timing.sram_accesses(h.id), soc.fabric.polls.total(h.id));
    if (h.masked_windows)
        text += fmt::format("    interrupts masked {} times, at most {} cycles ({:.2f} us)\n",
                            h.masked_windows, h.masked_longest,
                            static_cast<double>(h.masked_longest) /
                                static_cast<double>(soc.board["clock.cpu_mhz"]));
    return text;
}

}  // namespace

std::string describe_stop(const Soc& soc, const rv32::ElfFile* symbols) {
    switch (soc.stop) {
        case rv32::Stop::exit:
            return fmt::format("the program ended with code {}", soc.exit_code);
        case rv32::Stop::cycle:
            return "the cycle asked for is reached";
        case rv32::Stop::breakpoint:
            return "a breakpoint was met";
        case rv32::Stop::deadlock:
            return "both harts sleep and nothing is left that could wake one";
        case rv32::Stop::trap_loop:
            break;
        case rv32::Stop::none:
            return "it has not stopped";
    }
    for (const rv32::Hart& h : soc.harts)
        if (h.trap_streak > 1)
            return fmt::format(
                "hart {} does nothing but trap: cause {}, value 0x{:08x}, at {}; the "
                "handler is at {}",
                h.id, h.mcause, h.mtval, at(h.mepc, symbols), at(h.mtvec, symbols));
    return "a hart does nothing but trap";
}

std::string describe_moment(const Soc& soc, const rv32::ElfFile* symbols) {
    const uint64_t cycle = soc.cycles();
    std::string text =
        fmt::format("cycle {} ({:.3f} us, simulated)\n", cycle,
                    static_cast<double>(cycle) / static_cast<double>(soc.board["clock.cpu_mhz"]));
    for (const rv32::Hart& h : soc.harts)
        text += fmt::format("  hart {}: {}{}: {}\n", h.id, h.asleep ? "asleep at " : "",
                            at(h.pc, symbols), instruction_at(soc, h.pc));
    for (uint32_t c = 0; c < DMA_CHANNELS; ++c)
        text += fmt::format("  DMA {}: {}\n", c, soc.dma.doing(c, cycle));
    text += fmt::format("  MAU: {}\n", soc.mau.doing(cycle));
    return text;
}

std::string report(const Soc& soc, const rv32::ElfFile* symbols) {
    const uint64_t cycles = soc.cycles();
    const double mhz = static_cast<double>(soc.board["clock.cpu_mhz"]);
    std::string text = fmt::format(
        "{}, profile {}: {} cycles, {:.3f} ms at {:.1f} GHz (simulated)\n", soc.board.title(),
        soc.board.profile(), cycles, static_cast<double>(cycles) / mhz / 1000, mhz / 1000);
    const Mau::Counters& m = soc.mau.counters();
    for (const rv32::Hart& h : soc.harts)
        text +=
            fmt::format("  hart {} busy {:>5.1f} %\n", h.id, share(busy_cycles(soc, h), cycles));
    for (uint32_t c = 0; c < DMA_CHANNELS; ++c) {
        const Dma::Counters& d = soc.dma.counters(c);
        text += fmt::format(
            "  DMA {}  busy {:>5.1f} %: {} transfers, {} bytes ({} from flash), {} errors\n", c,
            share(soc.dma.busy_until(c, cycles), cycles), d.transfers, d.bytes, d.flash_bytes,
            d.errors);
    }
    text += fmt::format(
        "  MAU    busy {:>5.1f} %: {} launches ({} cold, {} bound by operand fetch), {} MACs, {} "
        "with "
        "clamped operands, {} exceptions\n",
        share(soc.mau.busy_until(cycles), cycles), m.launches, m.cold_launches, m.fetch_bound,
        m.macs, m.saturated, m.exceptions);
    for (const rv32::Hart& h : soc.harts) text += hart_lines(soc, h);
    for (const auto& [id, s] : soc.fabric.stages.all())
        text += fmt::format(
            "stage {}: {} times, {} cycles, {} instructions, {} distinct bytes of SRAM\n", id,
            s.entries, s.cycles, s.instructions, s.distinct(SOC_SRAM_BASE, SOC_SRAM_BYTES));
    const auto& races = soc.fabric.flights.races();
    text += fmt::format("races: {}\n", soc.fabric.flights.race_count());
    for (const Race& r : races) {
        const std::string place = symbols ? symbols->place(r.pc) : "";
        text += fmt::format("  {}{}\n", describe(r), place.empty() ? "" : " in " + place);
    }
    return text;
}

std::string report_json(const Soc& soc, const rv32::ElfFile* symbols) {
    using nlohmann::json;
    const uint64_t cycles = soc.cycles();
    json harts = json::array(), dmas = json::array(), races = json::array(), stages = json::array();
    json costs, values;
    for (size_t c = 0; c < rv32::cost_count; ++c)
        costs[std::string(rv32::cost_names[c])] = soc.timing.costs()[c];
    for (const rv32::Hart& h : soc.harts) {
        json counts;
        for (size_t c = 0; c < rv32::cost_count; ++c)
            counts[std::string(rv32::cost_names[c])] = h.counts[c];
        harts.push_back({{"cycles", h.cycle},
                         {"instructions", h.instret},
                         {"busy_cycles", busy_cycles(soc, h)},
                         {"poll_cycles", soc.fabric.polls.total(h.id)},
                         {"sleep_cycles", count(h, Cost::sleep)},
                         {"sram_accesses", soc.timing.sram_accesses(h.id)},
                         {"masked_windows", h.masked_windows},
                         {"masked_longest_cycles", h.masked_longest},
                         {"events", std::move(counts)}});
    }
    for (uint32_t c = 0; c < DMA_CHANNELS; ++c) {
        const Dma::Counters& d = soc.dma.counters(c);
        dmas.push_back({{"busy_cycles", soc.dma.busy_until(c, cycles)},
                        {"transfers", d.transfers},
                        {"bytes", d.bytes},
                        {"flash_bytes", d.flash_bytes},
                        {"errors", d.errors}});
    }
    for (const Race& r : soc.fabric.flights.races())
        races.push_back({{"what", describe(r)},
                         {"pc", r.pc},
                         {"place", symbols ? symbols->place(r.pc) : ""},
                         {"cycle", r.cycle},
                         {"hart", r.hart},
                         {"unit", unit_name(r.unit)},
                         {"times", r.times}});
    for (const auto& [id, s] : soc.fabric.stages.all())
        stages.push_back({{"stage", id},
                          {"entries", s.entries},
                          {"cycles", s.cycles},
                          {"instructions", s.instructions},
                          {"bytes", s.distinct(SOC_SRAM_BASE, SOC_SRAM_BYTES)},
                          {"ranges", s.ranges()}});
    for (const auto& [key, v] : soc.board.values())
        values[key] = {{"value", v.value}, {"basis", v.basis}};
    const Mau::Counters& m = soc.mau.counters();
    return json{{"board", soc.board.name()},
                {"profile", soc.board.profile()},
                {"simulated", true},
                {"stop", describe_stop(soc, symbols)},
                {"exit_code", soc.exit_code},
                {"uart", soc.uart.text},
                {"cycles", cycles},
                {"ms", static_cast<double>(cycles) /
                           static_cast<double>(soc.board["clock.cpu_mhz"]) / 1000},
                {"accounts_match", soc.accounts_match()},
                {"harts", std::move(harts)},
                {"dma", std::move(dmas)},
                {"mau",
                 {{"busy_cycles", soc.mau.busy_until(cycles)},
                  {"launches", m.launches},
                  {"cold_launches", m.cold_launches},
                  {"fetch_bound_launches", m.fetch_bound},
                  {"macs", m.macs},
                  {"saturated_launches", m.saturated},
                  {"exceptions", m.exceptions}}},
                {"stages", std::move(stages)},
                {"race_count", soc.fabric.flights.race_count()},
                {"races", std::move(races)},
                {"costs", std::move(costs)},
                {"values", std::move(values)}}
               .dump(2, ' ', false, json::error_handler_t::replace) +
           "\n";
}

}  // namespace ridge::sim
