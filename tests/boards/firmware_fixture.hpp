// The AI Max 395's firmware in tests: built from its sources with switches, run on the simulated
// chip with an exported model and a run request (boards/ai-max-395/firmware/image.h).
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "boards/ai-max-395/firmware/image.h"
#include "format/llama2c.hpp"
#include "image/export.hpp"
#include "sim/soc_fixture.hpp"
#include "support/agreement.hpp"
#include "support/random_model.hpp"
#include "support/sanitized.hpp"
#include "support/temp_dir.hpp"

namespace ridge::test {

// Sanitizers watch the simulator and the host build, not the simulated chip: what takes long is
// left to the release build there.
inline const std::string board_folder = RIDGE_SOURCE_DIR "/boards/ai-max-395/";

// The float baseline, built with the flags of the board's firmware (docs/boards/ai-max-395.md).
inline bool build_float_port(const std::string& elf) {
    const std::string folder = board_folder + "baseline/";
    return cross_build(
        folder + "float_port.cpp", elf,
        "-std=c++20 -O3 -fno-tree-vectorize -fno-math-errno -fno-exceptions -fno-rtti "
        "-fno-threadsafe-statics -ffunction-sections -fdata-sections -Wl,--gc-sections "
        "-Wl,--no-warn-rwx-segments -I" RIDGE_SOURCE_DIR " -T " +
            folder + "baseline.ld " + folder + "start.S");
}

// A model as GGUF and as image. Exported once a process.
struct BoardModel {
    std::string gguf;
    std::vector<uint8_t> image;
};
inline const Workspace& board_workspace() {
    static const Workspace files;
    return files;
}
// `prompts`: how many of the calibration prompts are used; 0: all.
inline BoardModel export_model(const std::string& gguf, size_t prompts = 0) {
    std::istringstream lines(read_file(board_folder + "calibration/prompts.txt"));
    std::string text;
    size_t taken = 0;
    for (std::string line; (prompts == 0 || taken < prompts) && std::getline(lines, line);) {
        taken += !line.empty() && line[0] != '#';
        text += line + "\n";
    }
    const auto file = GgufFile::open(gguf);
    if (!file) {
        ADD_FAILURE() << file.error().message;
        return {};
    }
    auto image = image::export_image(*file, text);
    if (!image) {
        ADD_FAILURE() << image.error().message;
        return {};
    }
    return {gguf, std::move(image->bytes)};
}
// (a) of docs/boards/ai-max-395-results.md.
inline const BoardModel& stories_model() {
    static const BoardModel model = [] {
        const std::string data = RIDGE_TEST_DATA "/stories260K/";
        const std::string path = board_workspace().file("stories.gguf");
        EXPECT_TRUE(convert_llama2c(data + "stories260K.bin", data + "tok512.bin", path));
        return export_model(path);
    }();
    return model;
}
inline const BoardModel& tiny_model() {
    static const BoardModel model = export_model(RIDGE_SOURCE_DIR "/models/tiny-395-f32.gguf");
    return model;
}
inline BoardModel random_board_model(const std::string& name, uint32_t layers, uint32_t dim,
                                     uint32_t heads, uint32_t kv_heads, uint32_t hidden) {
    ShapeConfig c;
    c.architecture = "llama";
    c.block_count = layers;
    c.embedding_length = dim;
    c.head_count = heads;
    c.head_count_kv = kv_heads;
    c.key_length = dim / heads;
    c.feed_forward_length = hidden;
    c.vocab_size = 512;
    c.context_length = 512;
    const std::string path = board_workspace().file(name + ".gguf");
    const Status done = write_random_model(c, path, 1);
    EXPECT_TRUE(done) << (done ? "" : done.error().message);
    return export_model(path, 10);  // random weights: their ranges hardly depend on the text
}
// (b): near the chip's limit.
inline const BoardModel& limit_model() {
    static const BoardModel model = random_board_model("limit", 16, 128, 8, 1, 448);
    return model;
}
// Two layers, so that many prompts are affordable.
inline const BoardModel& small_model() {
    static const BoardModel model = random_board_model("small", 2, 64, 8, 2, 96);
    return model;
}

// The firmware with -D defines ("RIDGE_FW_MAU=0 ..."), built once for each set.
inline const rv32::ElfFile& firmware(const std::string& defines = "") {
    static std::map<std::string, rv32::ElfFile> built;
    if (const auto found = built.find(defines); found != built.end()) return found->second;
    const std::string elf = board_workspace().file(fmt::format("fw{}.elf", built.size()));
    std::string options;
    std::istringstream words(defines);
    for (std::string word; words >> word;) options += " -D" + word;
    EXPECT_EQ(std::system((board_folder + "firmware/build.sh " + elf + options).c_str()), 0);
    auto file = rv32::read_elf(elf);
    EXPECT_TRUE(file) << elf;
    return built.emplace(defines, file ? std::move(*file) : rv32::ElfFile{}).first->second;
}

struct Sequence {
    std::vector<int32_t> ids;
    uint32_t prefill = 0, generate = 1, flags = 0;
};
inline Sequence prefill_of(std::vector<int32_t> ids, uint32_t flags = 0) {
    const auto n = static_cast<uint32_t>(ids.size());
    return {std::move(ids), n, 1, flags};
}
inline std::vector<uint8_t> flash_with(const std::vector<uint8_t>& image,
                                       const std::vector<Sequence>& sequences,
                                       uint32_t tick_us = 0) {
    std::vector<uint8_t> out = image;
    out.resize((out.size() + RUN_ALIGN - 1) / RUN_ALIGN * RUN_ALIGN);
    const size_t begin = out.size();
    const auto put = [&](const void* data, size_t bytes) {
        const auto* const from = static_cast<const uint8_t*>(data);
        out.insert(out.end(), from, from + bytes);
    };
    RunRequest request{};
    request.magic = RUN_MAGIC;
    request.version = RUN_VERSION;
    request.sequences = static_cast<uint32_t>(sequences.size());
    request.tick_us = tick_us;
    put(&request, sizeof request);
    for (const Sequence& s : sequences) {
        const RunSequence one{
            static_cast<uint32_t>(s.ids.size()), s.prefill, s.generate, s.flags, -1, {}};
        put(&one, sizeof one);
        put(s.ids.data(), 4 * s.ids.size());
    }
    request.bytes = static_cast<uint32_t>(out.size() - begin);
    std::memcpy(&out[begin], &request, sizeof request);
    return out;
}

struct Prefill {
    uint32_t status = 99;
    uint64_t cycles = 0, instructions = 0;
};
struct FirmwareRun {
    std::unique_ptr<sim::Soc> soc;
    std::vector<Prefill> prefills;
    std::vector<int32_t> tokens;
    std::vector<std::vector<uint32_t>> logits;  // bits, of each call that printed them
    uint64_t masked = 0;                        // cycles of the longest masked window
};
inline FirmwareRun run_firmware(const rv32::ElfFile& elf, const std::vector<uint8_t>& flash,
                                const char* profile = "report", bool trace = false,
                                std::initializer_list<const char*> set = {}) {
    FirmwareRun run;
    run.soc = board(set, profile);
    EXPECT_TRUE(run.soc->load(elf));
    EXPECT_TRUE(run.soc->load_flash(flash.data(), flash.size()));
    run.soc->fabric.trace.enabled = trace;
    run.soc->run(rv32::EventQueue::never);
    run.soc->close();
    EXPECT_TRUE(run.soc->accounts_match());
    std::istringstream lines(run.soc->uart.text);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string first, word;
        words >> first;
        if (first == "prefill") {
            Prefill& p = run.prefills.emplace_back();
            while (words >> word) {
                const uint64_t value =
                    std::strtoull(word.substr(word.find('=') + 1).c_str(), nullptr, 10);
                if (word.starts_with("status")) p.status = static_cast<uint32_t>(value);
                if (word.starts_with("cycles")) p.cycles = value;
                if (word.starts_with("instret")) p.instructions = value;
            }
        } else if (first == "token") {
            run.tokens.push_back(-1);
            words >> run.tokens.back();
        } else if (first == "logits") {
            auto& bits = run.logits.emplace_back();
            for (uint32_t x = 0; words >> std::hex >> x;) bits.push_back(x);
        } else if (const size_t at = line.find("masked="); at != std::string::npos) {
            run.masked = std::max<uint64_t>(run.masked, std::strtoull(&line[at + 7], nullptr, 10));
        }
    }
    return run;
}
// A run that must end well and race with nothing.
inline FirmwareRun good_run(const rv32::ElfFile& elf, const std::vector<uint8_t>& flash,
                            const char* profile = "report", bool trace = false,
                            std::initializer_list<const char*> set = {}) {
    FirmwareRun run = run_firmware(elf, flash, profile, trace, set);
    EXPECT_EQ(run.soc->stop, rv32::Stop::exit) << sim::describe_stop(*run.soc, &elf);
    EXPECT_EQ(run.soc->exit_code, 0u) << run.soc->uart.text;
    EXPECT_EQ(run.soc->fabric.flights.race_count(), 0u) << sim::report(*run.soc, &elf);
    for (const Prefill& p : run.prefills) EXPECT_EQ(p.status, uint32_t{PREFILL_OK});
    return run;
}

// BOS and random ids.
inline std::vector<int32_t> random_prompt(size_t n, uint64_t seed, uint32_t vocab = 512) {
    Draw draw(seed);
    std::vector<int32_t> ids = {1};
    while (ids.size() < n) ids.push_back(static_cast<int32_t>(3 + draw.below(vocab - 3)));
    return ids;
}

// Busy cycles of each row of the trace between the first stage's begin and the last one's end,
// which lie just inside prefill_run.
struct Busy {
    uint64_t hart[SOC_HARTS] = {}, unit[sim::unit_count] = {};
    uint64_t mau() const { return unit[static_cast<size_t>(sim::Unit::mau)]; }
    uint64_t largest() const {
        uint64_t most = 0;
        for (const uint64_t x : hart) most = std::max(most, x);
        for (const uint64_t x : unit) most = std::max(most, x);
        return most;
    }
};
inline Busy busy_in_stages(const sim::Soc& soc) {
    uint64_t begin = ~uint64_t{0}, end = 0;
    const auto is_stage = [&](uint32_t row) {
        return row == soc.fabric.rows.stage[0] || row == soc.fabric.rows.stage[1];
    };
    for (const sim::Slice& s : soc.fabric.trace.slices())
        if (is_stage(s.row)) begin = std::min(begin, s.begin), end = std::max(end, s.end);
    Busy busy;
    for (const sim::Slice& s : soc.fabric.trace.slices()) {
        const uint64_t from = std::max(begin, s.begin), to = std::min(end, s.end);
        if (to <= from) continue;
        for (uint32_t h = 0; h < SOC_HARTS; ++h)
            if (s.row == soc.fabric.rows.hart[h] && s.name == "run") busy.hart[h] += to - from;
        for (size_t u = 0; u < sim::unit_count; ++u)
            if (s.row == soc.fabric.rows.unit[u]) busy.unit[u] += to - from;
    }
    return busy;
}

}  // namespace ridge::test
