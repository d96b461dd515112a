// ridge run --board: export, simulation and streaming in one go. Text comes from the token ids that
// the firmware prints on its UART; every time here is simulated.
#include "cli/run_board.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/boards.hpp"
#include "cli/common.hpp"
#include "format/gguf.hpp"
#include "image/export.hpp"
#include "sim/soc/soc.hpp"
#include "text/tokenizer.hpp"
#include "text/utf8_stream.hpp"

namespace ridge::cli {
namespace {

constexpr size_t longest_prompt = 128;
constexpr uint64_t slice = 20'000'000;  // cycles between looks at Ctrl-C
constexpr int exit_races = 3;

// Reads the lines of the firmware's main program (boards/ai-max-395/firmware/image.h).
struct Protocol {
    std::string line;
    uint64_t prefill_cycles = 0, decode_cycles = 0, masked_cycles = 0;
    uint32_t status = 0;
    std::vector<int32_t> ids;
    std::function<void(int32_t)> on_token;

    void byte(char c) {
        if (c != '\n') {
            line.push_back(c);
            return;
        }
        unsigned long long cycles = 0, masked = 0;
        unsigned code = 0;
        int id = 0;
        if (std::sscanf(line.c_str(), "token %d cycles=%llu", &id, &cycles) == 2) {
            if (!ids.empty()) decode_cycles += cycles;  // the first comes with the prompt
            ids.push_back(id);
            if (on_token) on_token(id);
        } else if (std::sscanf(line.c_str(), "prefill status=%u cycles=%llu", &code, &cycles) ==
                   2) {
            prefill_cycles = cycles;
            note(code);
        } else if (std::sscanf(line.c_str(), "end status=%u masked=%llu", &code, &masked) == 2) {
            masked_cycles = masked;
            note(code);
        } else if (std::sscanf(line.c_str(), "status %u", &code) == 1) {
            note(code);
        }
        line.clear();
    }
    void note(unsigned code) {
        if (status == 0) status = code;
    }
};

struct Session {
    const BoardRun& run;
    const Tokenizer& tokenizer;
    sim::Soc& soc;
    Protocol protocol;
    Utf8Stream utf8;
    std::string text;
    const char* finish = "length";

    void emit(const std::string& piece) {
        text += piece;
        if (run.json || piece.empty()) return;
        std::fwrite(piece.data(), 1, piece.size(), stdout);
        std::fflush(stdout);
    }
    void token(int32_t id) {
        if (!run.ignore_eos && tokenizer.is_end(id)) {
            finish = "stop";
            soc.finish(0);
            return;
        }
        emit(utf8.push(tokenizer.bytes(id)));
    }
    void simulate() {
        protocol.on_token = [this](int32_t id) { token(id); };
        soc.uart.on_byte = [this](char c) { protocol.byte(c); };
        for (uint64_t until = slice; soc.stop == rv32::Stop::none || soc.stop == rv32::Stop::cycle;
             until += slice) {
            if (interrupted()) {
                finish = "interrupt";
                break;
            }
            soc.run(until);
        }
        emit(utf8.finish());
        soc.close();
    }
};

struct Speed {
    double first_ms = 0, tokens_per_s = 0;
};

Speed speed(const Session& s) {
    const double mhz = static_cast<double>(s.soc.board["clock.cpu_mhz"]);
    Speed v;
    v.first_ms = static_cast<double>(s.protocol.prefill_cycles) / mhz / 1e3;
    if (s.protocol.decode_cycles > 0)
        v.tokens_per_s = static_cast<double>(s.protocol.ids.size() - 1) * mhz * 1e6 /
                         static_cast<double>(s.protocol.decode_cycles);
    return v;
}

double share(const nlohmann::json& unit, const nlohmann::json& counters) {
    const auto cycles = counters.at("cycles").get<double>();
    return cycles > 0 ? 100.0 * unit.at("busy_cycles").get<double>() / cycles : 0.0;
}

void print_speed(const Session& s, const nlohmann::json& counters, size_t prompt) {
    const Speed v = speed(s);
    fmt::print(stderr, "simulated ({}, profile {}): first token {:.2f} ms ({} tokens of prompt)",
               s.soc.board.name(), s.soc.board.profile(), v.first_ms, prompt);
    if (v.tokens_per_s > 0)
        fmt::print(stderr, ", then {:.1f} tokens/s ({} tokens)", v.tokens_per_s,
                   s.protocol.ids.size() - 1);
    const auto& harts = counters.at("harts");
    const auto& dma = counters.at("dma");
    fmt::print(stderr,
               "\nbusy: hart 0 {:.1f} %, hart 1 {:.1f} %, DMA {:.1f} and {:.1f} %, MAU {:.1f} %\n",
               share(harts[0], counters), share(harts[1], counters), share(dma[0], counters),
               share(dma[1], counters), share(counters.at("mau"), counters));
}

void print_json(const Session& s, const nlohmann::json& counters,
                const std::vector<int32_t>& prompt) {
    const Speed v = speed(s);
    const auto& harts = counters.at("harts");
    const auto& dma = counters.at("dma");
    nlohmann::json j{{"model", s.run.model},
                     {"board", s.soc.board.name()},
                     {"profile", s.soc.board.profile()},
                     {"simulated", true},
                     {"prompt_ids", prompt},
                     {"ids", s.protocol.ids},
                     {"text", s.text},
                     {"finish", s.finish},
                     {"prompt_tokens", prompt.size()},
                     {"tokens", s.protocol.ids.size()},
                     {"first_token_ms", v.first_ms},
                     {"tokens_per_s", v.tokens_per_s},
                     {"prefill_cycles", s.protocol.prefill_cycles},
                     {"decode_cycles", s.protocol.decode_cycles},
                     {"longest_masked_cycles", s.protocol.masked_cycles},
                     {"busy_percent",
                      {{"hart0", share(harts[0], counters)},
                       {"hart1", share(harts[1], counters)},
                       {"dma0", share(dma[0], counters)},
                       {"dma1", share(dma[1], counters)},
                       {"mau", share(counters.at("mau"), counters)}}},
                     {"races", counters.at("race_count")}};
    fmt::print("{}\n", j.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

Result<Tokenizer> open_tokenizer(const GgufFile& file) {
    RIDGE_ASSIGN(const VocabData vocab, read_vocab(file));
    return Tokenizer::create(vocab);
}

Result<std::vector<int32_t>> prompt_ids(const Tokenizer& tokenizer, const BoardRun& run) {
    std::vector<int32_t> ids = tokenizer.encode(run.prompt, true, false);
    if (ids.empty())
        return fail(ErrorCode::invalid_argument,
                    "the prompt is empty; give one with -p TEXT or -f FILE");
    if (ids.size() > longest_prompt)
        return fail(ErrorCode::invalid_argument,
                    fmt::format("the prompt has {} tokens, the board takes {} at most", ids.size(),
                                longest_prompt));
    return ids;
}

}  // namespace

int run_on_board(const BoardRun& run) {
    const auto built = find_board_with_firmware(run.board);
    if (!built) return complain(built.error());
    auto costs = open_board(run.board, run.profile, run.set);
    if (!costs) return complain(costs.error());
    const auto path = find_model(run.model);
    if (!path) return complain(path.error());
    const auto file = GgufFile::open(*path);
    if (!file) return complain(file.error());
    const auto tokenizer = open_tokenizer(*file);
    if (!tokenizer) return complain(tokenizer.error());
    const auto ids = prompt_ids(*tokenizer, run);
    if (!ids) return complain(ids.error());
    if (run.n == 0) return complain("the board generates one token at least; give -n 1 or more");
    const auto prompts = calibration_text(**built, run.calibration);
    if (!prompts) return complain(prompts.error());
    const auto image = image::export_image(*file, *prompts);
    if (!image) return complain(image.error());
    if (ids->size() + run.n > image->rope_positions)
        return complain(
            fmt::format("prompt and answer have {} tokens together, the board has "
                        "positions for {}; lower -n",
                        ids->size() + run.n, image->rope_positions));
    const auto elf = rv32::parse_elf((*built)->firmware.data(), (*built)->firmware.size(),
                                     "the firmware in ridge");
    if (!elf) return complain(elf.error());
    const std::vector<uint8_t> flash = image::with_run_request(
        image->bytes, {*ids, run.n, run.ignore_eos ? -1 : tokenizer->eos(), 1000});
    auto soc = std::make_unique<sim::Soc>(std::move(*costs));
    if (Status loaded = soc->load(*elf); !loaded) return complain(loaded.error());
    if (Status loaded = soc->load_flash(flash.data(), flash.size()); !loaded)
        return complain(loaded.error());
    catch_interrupts();
    Session session{run, *tokenizer, *soc, {}, {}, {}};
    session.simulate();
    if (session.protocol.status != 0) {
        return complain(
            fmt::format("the firmware refused: {}", image::status_text(session.protocol.status)));
    }
    const bool stopped = std::string_view(session.finish) != "length";
    if (!stopped && soc->stop != rv32::Stop::exit)
        return complain(fmt::format("the firmware did not end: {}", describe_stop(*soc, &*elf)));
    const auto counters = nlohmann::json::parse(sim::report_json(*soc, &*elf));
    if (run.json) {
        print_json(session, counters, *ids);
    } else {
        fmt::print("\n");
        std::fflush(stdout);
        print_speed(session, counters, ids->size());
    }
    if (std::string_view(session.finish) == "interrupt") return interrupt_code();
    return soc->fabric.flights.race_count() ? exit_races : 0;
}

}  // namespace ridge::cli
