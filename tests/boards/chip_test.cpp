// The firmware on the simulated chip: how fast, how steady, how large, and that each of its waits
// is needed. Cycles are simulated, so limits on them are exact.
#include "firmware_fixture.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "boards/ai-max-395/firmware/options.h"
#include "boards/ai-max-395/firmware/port.h"
#include "support/float_image.hpp"

namespace ridge {
namespace {

using test::good_run;
using test::prefill_of;
using test::random_prompt;

class Chip : public testing::Test {
  protected:
    void SetUp() override {
        if (!test::have_program("riscv64-unknown-elf-g++")) GTEST_SKIP() << "no cross compiler";
        if (test::sanitized) GTEST_SKIP() << "the release build runs this";
    }
};

double ms(uint64_t cycles) {
    return static_cast<double>(cycles) / (SOC_CPU_MHZ * 1000.0);
}

// Time to first token: mcycle from entry to return of prefill_run, MAU cold, tick on.
TEST_F(Chip, FirstTokenOfStories260KStaysNearTheMausTime) {
    const auto flash =
        test::flash_with(test::stories_model().image, {prefill_of(random_prompt(32, 1))}, 1000);
    const auto report = good_run(test::firmware(), flash, "report", true);
    const auto peak = good_run(test::firmware(), flash, "peak", true);
    ASSERT_EQ(report.prefills.size(), 1u);
    ASSERT_EQ(peak.prefills.size(), 1u);
    const test::Busy in_report = test::busy_in_stages(*report.soc);
    const test::Busy in_peak = test::busy_in_stages(*peak.soc);
    EXPECT_LE(ms(report.prefills[0].cycles), 1.25 * ms(in_report.mau()));
    EXPECT_LE(ms(peak.prefills[0].cycles), 1.5 * ms(in_peak.largest()));

    const test::Workspace files;
    ASSERT_TRUE(test::build_float_port(files.file("float.elf")));
    const auto elf = rv32::read_elf(files.file("float.elf"));
    ASSERT_TRUE(elf);
    const auto gguf = GgufFile::open(test::stories_model().gguf);
    ASSERT_TRUE(gguf);
    const auto image = baseline::make_image(*gguf, random_prompt(32, 1));
    ASSERT_TRUE(image) << image.error().message;
    const auto soc = test::board();
    ASSERT_TRUE(soc->load(*elf));
    ASSERT_TRUE(soc->load_flash(image->data(), image->size()));
    soc->run(rv32::EventQueue::never);
    soc->close();
    const auto& port = soc->fabric.stages.all().at(FLOAT_STAGE_PREFILL);
    EXPECT_GE(ms(port.cycles), 6 * ms(report.prefills[0].cycles));
}

TEST_F(Chip, FirstTokenNearTheChipsLimitTakesLessThan118Ms) {
    const auto flash =
        test::flash_with(test::limit_model().image, {prefill_of(random_prompt(32, 1))}, 1000);
    const auto run = good_run(test::firmware(), flash);
    ASSERT_EQ(run.prefills.size(), 1u);
    EXPECT_LT(ms(run.prefills[0].cycles), 118);
    EXPECT_LE(run.masked, uint64_t{10} * SOC_CPU_MHZ) << "a masked window above 10 us";
    EXPECT_GT(run.masked, 0u);
}

// The report says +-3; here the most and the fewest are at most 3 apart.
TEST_F(Chip, InstructionsDoNotDependOnThePrompt) {
    std::vector<test::Sequence> sequences;
    for (uint64_t seed = 0; seed < 100; ++seed)
        sequences.push_back(prefill_of(random_prompt(32, seed)));
    const auto run =
        good_run(test::firmware(), test::flash_with(test::stories_model().image, sequences));
    ASSERT_EQ(run.prefills.size(), 100u);
    const auto [least, most] = std::minmax_element(
        run.prefills.begin(), run.prefills.end(),
        [](const auto& a, const auto& b) { return a.instructions < b.instructions; });
    EXPECT_GT(least->instructions, 100000u);
    EXPECT_LE(most->instructions - least->instructions, 3u);
}

// Distinct bytes of SRAM within the attention stage's marks, outside firmware data and stacks, and
// outside weights, constants, residual and KV ring.
uint64_t attention_bytes(const test::BoardModel& model, size_t tokens) {
    const auto run = good_run(
        test::firmware(), test::flash_with(model.image, {prefill_of(random_prompt(tokens, 5))}));
    const auto& stages = run.soc->fabric.stages.all();
    if (!stages.contains(STAGE_ATTENTION)) return 0;
    const auto& stage = stages.at(STAGE_ATTENTION);
    return stage.distinct(SOC_SRAM_BASE, SOC_FIRMWARE_DATA - SOC_SRAM_BASE) +
           stage.distinct(SOC_OUTPUT_CACHE, SOC_WEIGHTS - SOC_OUTPUT_CACHE);
}

TEST_F(Chip, AttentionsWorkingSetDoesNotGrowWithThePrompt) {
    for (const test::BoardModel* model : {&test::stories_model(), &test::limit_model()}) {
        const uint64_t of32 = attention_bytes(*model, 32);
        EXPECT_GT(of32, 1024u);
        EXPECT_LE(of32, 9u * 1024);
        if (model == &test::limit_model()) continue;  // longer prompts of it take long to simulate
        EXPECT_EQ(attention_bytes(*model, 64), of32);
        EXPECT_EQ(attention_bytes(*model, 128), of32);
        EXPECT_LE(attention_bytes(*model, 8), of32);
    }
}

uint64_t races_of(const rv32::ElfFile& elf, const std::vector<uint8_t>& flash, const char* profile,
                  std::initializer_list<const char*> set = {}) {
    return test::run_firmware(elf, flash, profile, false, set).soc->fabric.flights.race_count();
}
std::string without(fw::Wait wait) {
    return "RIDGE_FW_SKIP_WAIT=" + std::to_string(static_cast<uint32_t>(wait));
}

// Each wait left out in turn: the simulator reports a race. Those from value_next on have tests of
// their own below.
TEST_F(Chip, EachWaitIsNeeded) {
    const auto flash =
        test::flash_with(test::stories_model().image, {{random_prompt(40, 3), 40, 2, 0}});
    good_run(test::firmware(), flash);
    constexpr auto last = static_cast<uint32_t>(fw::Wait::reload);
    for (uint32_t wait = 1; wait <= last; ++wait) {
        // the last one is of K and V tiles, which are only copied when asked for
        const std::string extra = wait == last ? " RIDGE_FW_RELOAD_K=1" : "";
        const auto& elf = test::firmware("RIDGE_FW_SKIP_WAIT=" + std::to_string(wait) + extra);
        uint64_t races = 0;
        for (const char* profile : {"report", "peak"}) races += races_of(elf, flash, profile);
        EXPECT_GT(races, 0u) << "without wait " << wait << " nothing races";
    }
}

// Two waits are hidden by others as long as the matrix unit is fast; at a quarter of the report's
// rate they are not: that of a tile's values before the next tile's, and that of the last layer's
// products where a further chunk of the prompt follows.
TEST_F(Chip, WaitsThatASlowMatrixUnitNeeds) {
    constexpr const char* slow = "mau.cycles_per_1000_macs=4800";
    const struct {
        fw::Wait wait;
        uint32_t tokens;
    } cases[] = {{fw::Wait::value_next, 40}, {fw::Wait::down_last, 128}};
    for (const auto& c : cases) {
        const auto flash =
            test::flash_with(test::stories_model().image, {prefill_of(random_prompt(c.tokens, 3))});
        good_run(test::firmware(), flash, "report", false, {slow});
        EXPECT_GT(races_of(test::firmware(without(c.wait)), flash, "report", {slow}), 0u)
            << without(c.wait);
    }
}

// The head's wait inside its loop is not one that races: it keeps launches from overrunning the
// queue. With today's limits of an image the queue holds all launches of a head, so that a run
// without it ends well, with the same logits, however slow the matrix unit.
TEST_F(Chip, TheHeadsWaitBoundsTheQueueAndOrdersNothing) {
    static_assert(static_cast<uint32_t>(fw::Wait::down_last) == RIDGE_FW_WAITS);
    const uint32_t rows = image_unit_rows(MAU_MAX_K);
    const uint32_t launches = (IMAGE_MAX_VOCAB + rows - 1) / rows;
    ASSERT_LE(launches, fw::launch_queue) << "now this wait has work: test that it is needed";
    ASSERT_GT(launches, 8u) << "the loop waits from its ninth launch on";
    const test::BoardModel wide = test::random_board_model("wide", 1, 128, 8, 1, 64);
    const auto flash =
        test::flash_with(wide.image, {prefill_of(random_prompt(8, 3), RUN_PRINT_LOGITS)});
    for (const char* rate : {"mau.cycles_per_1000_macs=1200", "mau.cycles_per_1000_macs=19200"}) {
        const auto with = good_run(test::firmware(), flash, "report", false, {rate});
        const auto none =
            good_run(test::firmware(without(fw::Wait::head_queue)), flash, "report", false, {rate});
        ASSERT_EQ(with.prefills.size(), 1u);
        ASSERT_EQ(none.prefills.size(), 1u);
        EXPECT_LT(none.prefills[0].instructions, with.prefills[0].instructions)
            << "the wait was not left out";
        EXPECT_EQ(none.logits, with.logits);
    }
}

// The second rung of the ladder: products by the CPU in fixed point, fair as the float baseline is.
TEST_F(Chip, ScalarProductsTakeAtMost8CyclesAMac) {
    const auto flash = test::flash_with(test::stories_model().image,
                                        {prefill_of(random_prompt(32, 1), RUN_PRINT_LOGITS)});
    const auto shipped = good_run(test::firmware(), flash);
    const auto scalar =
        good_run(test::firmware("RIDGE_FW_MAU=0 RIDGE_FW_DOUBLE_BUFFER=0 RIDGE_FW_MARKS=1"), flash);
    EXPECT_EQ(shipped.logits, scalar.logits);
    EXPECT_EQ(scalar.soc->mau.counters().launches, 0u);
    const auto& stage = scalar.soc->fabric.stages.all().at(10);
    const double macs = static_cast<double>(shipped.soc->mau.counters().macs);
    EXPECT_LE(static_cast<double>(stage.cycles) / macs, 8.0);
    EXPECT_GE(static_cast<double>(stage.cycles) / macs, 4.0) << "a multiplication and an addition";
}

std::string output_of(const std::string& command) {
    std::string text;
    if (std::FILE* const pipe = popen(command.c_str(), "r")) {
        for (char buffer[4096]; const size_t n = std::fread(buffer, 1, sizeof buffer, pipe);)
            text.append(buffer, n);
        EXPECT_EQ(pclose(pipe), 0) << command;
    }
    return text;
}

#ifdef RIDGE_FIRMWARE_ELF
// What the library asks of others: at most integer helpers of libgcc; no double, no soft float, no
// libc. And its size, which the linker script bounds too.
TEST_F(Chip, TheLibraryNeedsNothingAndIsSmall) {
    const std::string lib = test::board_workspace().file("fw.a");
    const std::string whole = test::board_workspace().file("whole.o");
    ASSERT_EQ(std::system((test::board_folder + "firmware/build.sh " + lib).c_str()), 0);
    output_of("riscv64-unknown-elf-ld -m elf32lriscv -r --whole-archive " + lib + " -o " + whole);
    std::istringstream words(output_of("riscv64-unknown-elf-nm -u " + whole));
    const std::vector<std::string> allowed = {"U",        "__ashldi3", "__ashrdi3", "__lshrdi3",
                                              "__clzsi2", "__clzdi2",  "__ctzsi2",  "__divdi3",
                                              "__moddi3", "__udivdi3", "__umoddi3", "__muldi3"};
    for (std::string word; words >> word;)
        EXPECT_TRUE(std::find(allowed.begin(), allowed.end(), word) != allowed.end())
            << word << " is undefined in the library";
    const std::string defined = output_of("riscv64-unknown-elf-nm " + whole);
    for (const char* name : {"prefill_init", "prefill_run", "prefill_cleanup", "prefill_status",
                             "decode_step", "prefill_cycles"})
        EXPECT_NE(defined.find(std::string(" T ") + name + "\n"), std::string::npos) << name;

    uint64_t rom = 0, text = 0;
    for (const auto& segment : test::firmware().segments)
        if (segment.address < SOC_ROM_WINDOW) rom += segment.bytes.size();
    std::istringstream sections(output_of("riscv64-unknown-elf-size -A " RIDGE_FIRMWARE_ELF));
    for (std::string word; sections >> word;)
        if (word == ".text") sections >> text;
    EXPECT_GT(text, 4096u);
    EXPECT_GE(rom, text);
    EXPECT_LE(text, uint64_t{SOC_TEXT_LIMIT});
    EXPECT_LE(rom, uint64_t{SOC_ROM_LIMIT});
}
#endif

TEST_F(Chip, TraceRowsSumToTheCounters) {
    const auto flash =
        test::flash_with(test::stories_model().image, {prefill_of(random_prompt(32, 1))}, 1000);
    const auto run = good_run(test::firmware(), flash, "report", true);
    const sim::Soc& soc = *run.soc;
    const std::string text = soc.fabric.trace.json(SOC_CPU_MHZ, "test");
    const auto trace = nlohmann::json::parse(text);
    std::map<uint32_t, std::string> rows;
    std::map<std::string, uint64_t> sums;
    for (const auto& e : trace.at("traceEvents"))
        if (e.at("name") == "thread_name") rows[e.at("tid")] = e.at("args").at("name");
    for (const auto& e : trace.at("traceEvents")) {
        if (e.at("ph") != "X") continue;
        const std::string row = rows.at(e.at("tid"));
        const std::string name = e.at("name");
        const bool hart = row == "hart 0" || row == "hart 1";
        sums[hart ? row + (name == "run"     ? " run"
                           : name == "sleep" ? " sleep"
                                             : " poll")
                  : row] += e.at("args").at("cycles").get<uint64_t>();
    }
    for (uint32_t h = 0; h < SOC_HARTS; ++h) {
        const rv32::Hart& hart = soc.harts[h];
        const std::string row = fmt::format("hart {}", h);
        const uint64_t asleep = hart.counts[static_cast<size_t>(rv32::Cost::sleep)];
        EXPECT_EQ(sums[row + " sleep"], asleep);
        EXPECT_EQ(sums[row + " poll"], soc.fabric.polls.total(h));
        EXPECT_EQ(sums[row + " run"], hart.cycle - asleep - soc.fabric.polls.total(h));
    }
    EXPECT_EQ(sums["MAU"], soc.mau.busy_until(soc.cycles()));
    EXPECT_GT(sums["MAU"], 0u);
    for (uint32_t c = 0; c < DMA_CHANNELS; ++c)
        EXPECT_EQ(sums[fmt::format("DMA {}", c)], soc.dma.busy_until(c, soc.cycles()));
}

}  // namespace
}  // namespace ridge
