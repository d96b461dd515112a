// ridge sim: firmware on a simulated board.
#include <fmt/format.h>

#include <cstdio>

#include "base/mapped_file.hpp"
#include "base/output_file.hpp"
#include "cli/boards.hpp"
#include "cli/common.hpp"
#include "cli/verbs.hpp"
#include "sim/debug/gdb_server.hpp"
#include "sim/plain/plain.hpp"
#include "sim/soc/soc.hpp"

namespace ridge::cli {
namespace {

constexpr const char* plain_board = "rv32";
constexpr const char* no_firmware = "give a firmware file (ELF): ridge sim FIRMWARE [options]";
constexpr int exit_not_ended = 1, exit_races = 3;

struct SimArgs {
    std::string board, firmware, flash, trace, profile, json;
    std::vector<std::string> set;
    uint64_t at = 0, cycles = 0;
    int gdb = -1;
    bool quiet = false, list = false;
};

int list_values(const sim::Board& board) {
    fmt::print("{}; profiles {}, in use {}\n", board.title(), fmt::join(board.profiles(), ", "),
               board.profile());
    for (const auto& [key, v] : board.values())
        fmt::print("{:<26} {:>12}  {:<10}  {}\n", key, v.value, v.basis, v.why);
    return 0;
}

void print_byte(char c) {
    std::fputc(c, stdout);
}

// Serves a debugger if one is asked for; true: the program is to go on by itself.
Result<bool> debug(const SimArgs& a, rv32::Machine& machine) {
    if (a.gdb < 0) return true;
    sim::GdbServer server(machine);
    RIDGE_TRY(server.serve(static_cast<uint16_t>(a.gdb), [](uint16_t port) {
        fmt::print(stderr, "ridge: waiting for gdb: target remote :{}\n", port);
    }));
    return server.detached();
}

int run_plain(const SimArgs& a, const rv32::ElfFile& elf) {
    auto machine = std::make_unique<sim::PlainMachine>();
    if (Status loaded = machine->load(elf); !loaded) return complain(loaded.error());
    machine->uart.on_byte = print_byte;
    const auto go_on = debug(a, *machine);
    if (!go_on) return complain(go_on.error());
    if (*go_on) machine->run_program(a.cycles ? a.cycles : rv32::EventQueue::never);
    const rv32::Hart& h = machine->harts[0];
    std::fflush(stdout);
    if (!a.quiet)
        fmt::print(stderr, "{} instructions, no timing: {}\n", h.instret,
                   machine->stop == rv32::Stop::exit
                       ? fmt::format("ended with code {}", machine->exit_code)
                       : fmt::format("did not end; pc 0x{:08x}, cause {}", h.pc, h.mcause));
    return machine->stop == rv32::Stop::exit ? machine->exit_code & 255 : exit_not_ended;
}

int run_board(const SimArgs& a, const rv32::ElfFile& elf, sim::Board board) {
    auto soc = std::make_unique<sim::Soc>(std::move(board));
    if (Status loaded = soc->load(elf); !loaded) return complain(loaded.error());
    if (!a.flash.empty()) {
        const auto file = MappedFile::open(a.flash);
        if (!file) return complain(file.error());
        if (Status loaded = soc->load_flash(file->data(), file->size()); !loaded)
            return complain(loaded.error());
    }
    soc->uart.on_byte = print_byte;
    soc->fabric.trace.enabled = !a.trace.empty();
    const auto go_on = debug(a, *soc);
    if (!go_on) return complain(go_on.error());
    if (*go_on) {
        soc->run(a.at ? a.at : a.cycles ? a.cycles : rv32::EventQueue::never);
        if (a.at && soc->stop == rv32::Stop::cycle) {
            std::fflush(stdout);
            fmt::print("{}", sim::describe_moment(*soc, &elf));
            return 0;
        }
    }
    std::fflush(stdout);
    if (a.at)
        return complain(fmt::format("{} at cycle {}, before cycle {}",
                                    sim::describe_stop(*soc, &elf), soc->cycles(), a.at));
    soc->close();
    if (!a.quiet)
        fmt::print(stderr, "{}\n{}", sim::describe_stop(*soc, &elf), sim::report(*soc, &elf));
    if (!a.trace.empty()) {
        const std::string text = soc->fabric.trace.json(
            soc->board.number("clock.cpu_mhz"), soc->board.title() + ", " + soc->board.profile());
        if (Status written = write_file(a.trace, text); !written) return complain(written.error());
    }
    if (!a.json.empty())
        if (Status written = write_file(a.json, sim::report_json(*soc, &elf)); !written)
            return complain(written.error());
    if (soc->stop != rv32::Stop::exit) return exit_not_ended;
    if (soc->exit_code != 0) return soc->exit_code & 255;
    return soc->fabric.flights.race_count() ? exit_races : 0;
}

int simulate(const SimArgs& a) {
    if (a.board == plain_board && !a.list) {
        if (!a.flash.empty() || !a.profile.empty() || !a.set.empty() || !a.trace.empty() ||
            !a.json.empty() || a.at != 0)
            return refuse(fmt::format(
                "board '{}' has no flash, costs, units or clock: --flash, --profile, --set, --at, "
                "--trace and --json are for the others",
                plain_board));
        if (a.firmware.empty()) return refuse(no_firmware);
        const auto elf = rv32::read_elf(a.firmware);
        return elf ? run_plain(a, *elf) : complain(elf.error());
    }
    if (a.board == plain_board)
        return complain(fmt::format("board '{}' has no costs to list", plain_board));
    auto board = open_board(a.board, a.profile, a.set);
    if (!board) return complain(board.error());
    if (a.list) return list_values(*board);
    if (a.firmware.empty()) return refuse(no_firmware);
    const auto elf = rv32::read_elf(a.firmware);
    if (!elf) return complain(elf.error());
    for (const std::string& out : {a.trace, a.json})
        if (const Status apart = no_input(out, {a.firmware, a.flash, a.board}); !apart)
            return complain(apart.error());
    return run_board(a, *elf, std::move(*board));
}

}  // namespace

void add_sim(CLI::App& app, int& code) {
    auto a = std::make_shared<SimArgs>();
    CLI::App* v = app.add_subcommand("sim", "Firmware on a simulated board");
    v->add_option("firmware", a->firmware, "32-bit RISC-V executable (ELF)");
    v->add_option("--board", a->board,
                  "ai-max-395, the path of a board file, or rv32: a plain machine without timing")
        ->default_str("ai-max-395");
    a->board = "ai-max-395";
    v->add_option("--flash", a->flash, "file that flash holds");
    v->add_option("--profile", a->profile, "costs: a profile of the board file");
    v->add_option("--set", a->set, "KEY=VALUE: one number of the board file; may repeat");
    v->add_flag("--list", a->list, "print the board's numbers with their basis, and stop");
    CLI::Option* at =
        v->add_option("--at", a->at, "stop at this cycle and print what every unit is doing");
    v->add_option("--cycles", a->cycles, "stop after so many cycles")->excludes(at);
    v->add_option("--trace", a->trace, "write who was busy when (JSON, opens in Perfetto)")
        ->excludes(at);
    v->add_option("--json", a->json, "write the counters as JSON")->excludes(at);
    v->add_option("--gdb", a->gdb, "wait for gdb on this local port; 0 takes a free one")
        ->check(CLI::Range(0, 65535));
    v->add_flag("-q,--quiet", a->quiet, "print the UART's text alone");
    v->footer(
        "The UART's text goes to standard output, the counters to standard error. Exit code: the\n"
        "program's; 1 where it did not end; 3 where it ended well but raced with DMA or MAU.");
    v->callback([a, &code] { code = simulate(*a); });
}

}  // namespace ridge::cli
