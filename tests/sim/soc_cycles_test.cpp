// What things take on the board: measured by a program, computed by hand from the table of costs.
#include <gtest/gtest.h>

#include <vector>

#include "sim/soc_fixture.hpp"

namespace ridge {
namespace {

using test::Workspace;

class SocProgram : public ::testing::Test {
  protected:
    void SetUp() override {
        if (!test::have_program(test::cross_compiler))
            GTEST_SKIP() << "no " << test::cross_compiler
                         << ": apt-get install gcc-riscv64-unknown-elf";
    }
    Workspace files_;
};

TEST_F(SocProgram, MicrobenchmarksTakeWhatTheTableSays) {
    const auto elf = test::program(files_, "cycles");
    ASSERT_TRUE(elf) << elf.error().message;
    auto soc = test::board();
    ASSERT_TRUE(soc->load(*elf));
    ASSERT_EQ(soc->run(10'000'000), rv32::Stop::exit) << describe_stop(*soc, &*elf);
    uint32_t results = 0;
    ASSERT_TRUE(elf->find("results", results));
    // Each interval holds one csrr (1 cycle) and what is named.
    constexpr uint32_t csr = 1, change = 2, mispredict = 6, line = 12;
    const std::vector<std::pair<const char*, uint32_t>> expected = {
        {"nop", csr + 1},
        {"mul", csr + 3},
        {"rem", csr + 13},
        {"fmadd.s", csr + 47},
        {"fdiv.s", csr + 94},
        {"fmv.x.w", csr + 2},
        {"load, same bank", csr + 1},
        {"load, other bank", csr + change + 1},
        {"there, back and there again", csr + 3 * (change + 1)},
        {"two ROM lines, one read twice", csr + line + 1 + line},
        {"two flash lines", csr + 2 * line},
        {"MMIO load", csr + 12},
        {"MMIO store", csr + 6},
        {"forward branch, taken", csr + 1 + mispredict + 1},
        {"forward branch, not taken", csr + 1 + 1},
        {"three turns of a loop", csr + 1 + 3 * (1 + 1) + mispredict},
        {"call and return", csr + 1 + 1 + mispredict},
        {"amoswap.w, same bank", csr + 3},
        {"fcvt.w.s", csr + 47},
        {"csrr", csr + 1},
        {"marker", csr + 1},
    };
    for (size_t i = 0; i < expected.size(); ++i)
        EXPECT_EQ(test::in_memory<uint32_t>(*soc, results + 4 * static_cast<uint32_t>(i)),
                  expected[i].second)
            << expected[i].first;
    EXPECT_TRUE(soc->accounts_match());
    EXPECT_EQ(soc->fabric.flights.race_count(), 0u);
}

TEST_F(SocProgram, CostsComeFromTheTable) {
    const auto elf = test::program(files_, "cycles");
    ASSERT_TRUE(elf);
    auto soc =
        test::board({"cost.mul=5", "cost.fp_arith=11", "cost.bank_change=7", "flash.mb_per_s=100"});
    ASSERT_TRUE(soc->load(*elf));
    ASSERT_EQ(soc->run(10'000'000), rv32::Stop::exit);
    uint32_t results = 0;
    ASSERT_TRUE(elf->find("results", results));
    EXPECT_EQ(test::in_memory<uint32_t>(*soc, results + 4 * 1), 1u + 5);
    EXPECT_EQ(test::in_memory<uint32_t>(*soc, results + 4 * 3), 1u + 11);
    EXPECT_EQ(test::in_memory<uint32_t>(*soc, results + 4 * 7), 1u + 7 + 1);
    EXPECT_EQ(test::in_memory<uint32_t>(*soc, results + 4 * 10), 1u + 2 * 144);
    EXPECT_TRUE(soc->accounts_match());
}

TEST_F(SocProgram, TwoRunsAreByteIdentical) {
    const auto elf = test::program(files_, "copy");
    ASSERT_TRUE(elf);
    std::string first;
    for (int run = 0; run < 2; ++run) {
        auto soc = test::board();
        soc->fabric.trace.enabled = true;
        ASSERT_TRUE(soc->load(*elf));
        ASSERT_EQ(soc->run(10'000'000), rv32::Stop::exit);
        soc->close();
        const std::string text = report_json(*soc, &*elf) + soc->fabric.trace.json(1800, "x");
        if (run == 0)
            first = text;
        else
            EXPECT_EQ(text, first);
        EXPECT_EQ(soc->uart.text, "ok\n");
        EXPECT_EQ(soc->fabric.flights.race_count(), 0u);
    }
}

TEST_F(SocProgram, TraceRowsSumToTheCounters) {
    const auto elf = test::program(files_, "copy");
    ASSERT_TRUE(elf);
    auto soc = test::board();
    soc->fabric.trace.enabled = true;
    ASSERT_TRUE(soc->load(*elf));
    ASSERT_EQ(soc->run(10'000'000), rv32::Stop::exit);
    soc->close();
    const sim::Trace& trace = soc->fabric.trace;
    for (const rv32::Hart& h : soc->harts) {
        uint64_t run = 0, poll = 0, sleep = 0;
        for (const sim::Slice& s : trace.slices()) {
            if (s.row != soc->fabric.rows.hart[h.id]) continue;
            (s.name == "run" ? run : s.name == "sleep" ? sleep : poll) += s.end - s.begin;
        }
        EXPECT_EQ(run + poll + sleep, h.cycle);
        EXPECT_EQ(poll, soc->fabric.polls.total(h.id));
        EXPECT_EQ(sleep, h.counts[static_cast<size_t>(rv32::Cost::sleep)]);
    }
    EXPECT_GT(soc->fabric.polls.total(0), 50000u);  // the cold tile alone takes 58983
    for (uint32_t c = 0; c < DMA_CHANNELS; ++c)
        EXPECT_EQ(trace.busy(soc->fabric.rows.unit[c]), soc->dma.counters(c).busy_cycles);
    EXPECT_EQ(trace.busy(soc->fabric.rows.unit[2]), soc->mau.counters().busy_cycles);
    EXPECT_EQ(soc->mau.counters().busy_cycles, 58983u);
}

// Without a wait the program reads what has not arrived: poison, and a race with its place.
TEST_F(SocProgram, EachMissingWaitIsARaceWithItsPlace) {
    struct Case {
        const char* define;
        const char* place;
        sim::Unit unit;
    };
    for (const Case& c : {Case{"-DNO_DMA_WAIT", "after_dma", sim::Unit::dma0},
                          Case{"-DNO_MAU_WAIT", "after_mau", sim::Unit::mau}}) {
        const auto elf = test::program(files_, "copy", c.define);
        ASSERT_TRUE(elf);
        auto soc = test::board();
        ASSERT_TRUE(soc->load(*elf));
        soc->run(10'000'000);
        uint32_t place = 0;
        ASSERT_TRUE(elf->find(c.place, place));
        bool found = false;
        for (const sim::Race& r : soc->fabric.flights.races())
            found |= r.unit == c.unit && r.pc == place && r.kind == sim::Race::Kind::read_result;
        EXPECT_TRUE(found) << c.define;
    }
}

TEST_F(SocProgram, AMomentIsDescribed) {
    const auto elf = test::program(files_, "copy");
    ASSERT_TRUE(elf);
    auto soc = test::board();
    ASSERT_TRUE(soc->load(*elf));
    ASSERT_EQ(soc->run(20000), rv32::Stop::cycle);
    const std::string text = describe_moment(*soc, &*elf);
    EXPECT_NE(text.find("MAU: multiplies 8x128 by 128x8"), std::string::npos) << text;
    EXPECT_NE(text.find("DMA 0: idle"), std::string::npos) << text;
    EXPECT_NE(text.find("hart 1: asleep"), std::string::npos) << text;
}

}  // namespace
}  // namespace ridge
