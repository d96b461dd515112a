// The units of the board by themselves: MAU, DMA, banks, interrupts, timer, board file.
#include <gtest/gtest.h>

#include "sim/soc_fixture.hpp"

namespace ridge {
namespace {

using rv32::Cost;
using sim::Race;
using sim::Unit;
using test::in_memory;
using test::look;
using test::pass;
using test::poke;
using test::quiet_board;

constexpr uint32_t q = SOC_Q_BUFFER, kt = SOC_KT_BUFFER, out = SOC_OUTPUT_CACHE;

void put(sim::Soc& soc, uint32_t address, const std::vector<int16_t>& values) {
    ASSERT_TRUE(soc.memory.write(address, values.data(), values.size() * 2));
}

struct MauJob {
    uint32_t ctrl = 0, q_at = q, q_stride = 256, k_at = kt, k_stride = 16, o_at = out,
             o_stride = 32, m = 8, n = 8, k = 128, shift = MAU_NO_SHIFT, clamp = 0;
};
uint32_t launch(sim::Soc& soc, const MauJob& j, uint32_t pc = 0) {
    const uint32_t values[] = {j.ctrl,     j.q_at,          j.q_stride, j.k_at,  j.k_stride, j.o_at,
                               j.o_stride, j.m | j.n << 16, j.k,        j.shift, j.clamp};
    for (uint32_t i = 0; i < 11; ++i) poke(soc, MAU_BASE + 4 * i, values[i]);
    return poke(soc, MAU_BASE + MAU_START, 1, pc);
}

uint32_t copy(sim::Soc& soc, uint32_t c, uint32_t from, uint32_t to, uint32_t bytes,
              uint32_t ctrl = DMA_CTRL_START, uint32_t pc = 0) {
    poke(soc, DMA_CHANNEL(c) + DMA_SRC, from);
    poke(soc, DMA_CHANNEL(c) + DMA_DST, to);
    poke(soc, DMA_CHANNEL(c) + DMA_LEN, bytes);
    poke(soc, DMA_CHANNEL(c) + DMA_CTRL, ctrl, pc);
    return look(soc, DMA_CHANNEL(c) + DMA_STATUS);
}

TEST(Mau, MultipliesInBothLayoutsAndShowsResultsWhenDone) {
    auto soc = quiet_board();
    std::vector<int16_t> a(8 * 128), b(128 * 8), bt(8 * 128);
    for (int i = 0; i < 8; ++i)
        for (int d = 0; d < 128; ++d) {
            a[static_cast<size_t>(i * 128 + d)] =
                static_cast<int16_t>((i * 37 + d * 11) % 4001 - 2000);
            const auto v = static_cast<int16_t>((i * 53 + d * 29) % 3999 - 2000);
            b[static_cast<size_t>(d * 8 + i)] = v;
            bt[static_cast<size_t>(i * 128 + d)] = v;
        }
    put(*soc, q, a);
    put(*soc, kt, b);
    put(*soc, kt + 4096, bt);
    ASSERT_EQ(launch(*soc, {}), 0u);
    EXPECT_EQ(look(*soc, MAU_BASE + MAU_STATUS), MAU_STATUS_BUSY);
    EXPECT_EQ(in_memory<uint32_t>(*soc, out), sim::poison_word);
    pass(*soc, 1'000'000);
    EXPECT_EQ(look(*soc, MAU_BASE + MAU_STATUS) & 3, MAU_STATUS_DONE);
    for (uint32_t i = 0; i < 8; ++i)
        for (uint32_t j = 0; j < 8; ++j) {
            int32_t want = 0;
            for (uint32_t d = 0; d < 128; ++d) want += a[i * 128 + d] * b[d * 8 + j];
            EXPECT_EQ(in_memory<int32_t>(*soc, out + 32 * i + 4 * j), want) << i << "," << j;
        }
    const auto first = in_memory<int32_t>(*soc, out);
    ASSERT_EQ(launch(*soc, {.ctrl = MAU_CTRL_TRANSPOSE_B | MAU_CTRL_ACCUMULATE,
                            .k_at = kt + 4096,
                            .k_stride = 256}),
              0u);
    pass(*soc, 2'000'000);
    EXPECT_EQ(in_memory<int32_t>(*soc, out), 2 * first);
    EXPECT_EQ(soc->fabric.flights.race_count(), 0u);
}

TEST(Mau, ShiftsRoundsClampsAndNarrows) {
    auto soc = quiet_board();
    put(*soc, q, std::vector<int16_t>(128, 1));
    std::vector<int16_t> b(128 * 8, 0);
    // Column j sums to 24, 40, -24, -40, 4000, -4000, 0, 7.
    const int16_t sums[8] = {24, 40, -24, -40, 2000, -2000, 0, 7};
    for (size_t j = 0; j < 8; ++j) b[j] = sums[j];
    b[8 + 4] = 2000, b[8 + 5] = -2000;
    put(*soc, kt, b);
    launch(*soc, {.ctrl = MAU_CTRL_INT16, .m = 1, .shift = 4, .clamp = 127});
    pass(*soc, 1'000'000);
    const int16_t want[8] = {2, 3, -1, -2, 127, -128, 0, 0};  // halves go up
    for (uint32_t j = 0; j < 8; ++j) EXPECT_EQ(in_memory<int16_t>(*soc, out + 2 * j), want[j]) << j;
    EXPECT_EQ(in_memory<uint32_t>(*soc, out + 16), sim::poison_word);  // nothing beyond
}

TEST(Mau, OperandsBeyondTwelveBitsAreClampedAndFlagged) {
    auto soc = quiet_board();
    std::vector<int16_t> a(128, 0), b(128 * 8, 0);
    a[0] = 2048, a[1] = -2049, b[0] = 1, b[8] = 1;
    put(*soc, q, a);
    put(*soc, kt, b);
    launch(*soc, {.m = 1});
    pass(*soc, 1'000'000);
    EXPECT_EQ(in_memory<int32_t>(*soc, out), 2047 - 2048);
    EXPECT_TRUE(look(*soc, MAU_BASE + MAU_STATUS) & MAU_STATUS_SATURATED);
    poke(*soc, MAU_BASE + MAU_STATUS, MAU_STATUS_SATURATED);
    EXPECT_FALSE(look(*soc, MAU_BASE + MAU_STATUS) & MAU_STATUS_SATURATED);
}

TEST(Mau, LaunchesThatCannotBeRaiseExceptions) {
    struct Case {
        MauJob job;
        uint32_t cause, status;
    };
    const uint32_t misaligned = rv32::cause_store_misaligned, refused = rv32::cause_store_fault;
    const std::vector<Case> cases = {
        {{.q_at = q + 8}, misaligned, MAU_STATUS_ALIGNMENT},
        {{.k_at = kt + 2}, misaligned, MAU_STATUS_ALIGNMENT},
        {{.o_at = out + 4}, misaligned, MAU_STATUS_ALIGNMENT},
        {{.q_stride = 24}, misaligned, MAU_STATUS_ALIGNMENT},
        {{.m = 0}, refused, MAU_STATUS_CONFIG},
        {{.m = 65}, refused, MAU_STATUS_CONFIG},
        {{.n = 65}, refused, MAU_STATUS_CONFIG},
        {{.k = 129}, refused, MAU_STATUS_CONFIG},
        {{.shift = 32}, refused, MAU_STATUS_CONFIG},
        {{.ctrl = MAU_CTRL_ACCUMULATE, .shift = 3}, refused, MAU_STATUS_CONFIG},
        {{.o_stride = 16}, refused, MAU_STATUS_CONFIG},
        {{.q_at = SOC_FLASH_BASE}, refused, MAU_STATUS_CONFIG},
        {{.o_at = SOC_SRAM_BASE + SOC_SRAM_BYTES - 16}, refused, MAU_STATUS_CONFIG},
        {{.q_stride = 0xfffffff0u}, refused, MAU_STATUS_CONFIG},
    };
    for (const Case& c : cases) {
        auto soc = quiet_board();
        EXPECT_EQ(launch(*soc, c.job), c.cause);
        EXPECT_EQ(look(*soc, MAU_BASE + MAU_STATUS), c.status);
        EXPECT_TRUE(soc->queue.empty());
    }
    auto soc = quiet_board();
    EXPECT_EQ(launch(*soc, {}), 0u);
    EXPECT_EQ(launch(*soc, {}, 0x40), refused);  // busy
    EXPECT_EQ(soc->fabric.flights.races().at(0).kind, Race::Kind::start_while_busy);
    EXPECT_EQ(soc->fabric.flights.races().at(0).pc, 0x40u);
}

// 8192 MACs: 1 ns each at 1.2 GHz (report), a quarter of a MAU cycle each (peak).
TEST(Mau, TilesTakeTheStatedTimeColdAndWarm) {
    struct Case {
        const char* profile;
        uint64_t cold, warm;
    };
    for (const Case& c : {Case{"report", 58983, 14746}, Case{"peak", 12288, 3072}}) {
        auto soc = quiet_board({}, c.profile);
        std::vector<uint64_t> times;
        uint64_t busy = 0;
        for (int i = 0; i < 8; ++i) {
            ASSERT_EQ(launch(*soc, {}), 0u);
            pass(*soc, soc->now + 60000);
            times.push_back(soc->mau.counters().busy_cycles - busy);
            busy = soc->mau.counters().busy_cycles;
        }
        // Warm after 4 launches or 20 us (36000 cycles) of work.
        EXPECT_EQ(times[0], c.cold);
        EXPECT_EQ(times[1], c.cold > 36000 ? c.warm : c.cold);
        EXPECT_EQ(times[4], c.warm);
        EXPECT_TRUE(look(*soc, MAU_BASE + MAU_STATUS) & MAU_STATUS_WARM);
        pass(*soc, soc->now + 1'800'000);  // a millisecond of rest
        EXPECT_FALSE(look(*soc, MAU_BASE + MAU_STATUS) & MAU_STATUS_WARM);
        ASSERT_EQ(launch(*soc, {}), 0u);
        pass(*soc, soc->now + 60000);
        EXPECT_EQ(soc->mau.counters().busy_cycles - busy, c.cold);
    }
}

// Operands in one bank: 2 x 2048 words at one a MAU cycle instead of 2048 beside 2048.
TEST(Mau, OperandsInOneBankHalveThePeakRate) {
    for (const bool same : {false, true}) {
        auto soc = quiet_board({"mau.warm_launches=1"}, "peak");
        for (int i = 0; i < 2; ++i) {
            ASSERT_EQ(launch(*soc, {.k_at = same ? q + 4096 : kt}), 0u);
            pass(*soc, soc->now + 100000);
        }
        const uint64_t cold = same ? 24576 : 12288, warm = same ? 6144 : 3072;
        EXPECT_EQ(soc->mau.counters().busy_cycles, cold + warm);
        EXPECT_EQ(soc->mau.counters().fetch_bound, same ? 2u : 0u);
    }
}

TEST(Dma, OneChannelHasAllOfTheBandwidth) {
    auto soc = quiet_board();
    const std::vector<uint8_t> data(DMA_MAX_BYTES, 0x5a);
    ASSERT_TRUE(soc->load_flash(data.data(), data.size()));
    EXPECT_EQ(copy(*soc, 0, SOC_FLASH_BASE, SOC_WEIGHTS, DMA_MAX_BYTES), DMA_STATUS_BUSY);
    EXPECT_EQ(in_memory<uint32_t>(*soc, SOC_WEIGHTS), sim::poison_word);
    pass(*soc, 24575);  // 16384 bytes at 1.5 cycles
    EXPECT_EQ(look(*soc, DMA_CHANNEL(0) + DMA_STATUS), DMA_STATUS_BUSY);
    EXPECT_EQ(in_memory<uint32_t>(*soc, SOC_WEIGHTS), sim::poison_word);
    pass(*soc, 24576);
    EXPECT_EQ(look(*soc, DMA_CHANNEL(0) + DMA_STATUS), DMA_STATUS_DONE);
    EXPECT_EQ(in_memory<uint32_t>(*soc, SOC_WEIGHTS + DMA_MAX_BYTES - 4), 0x5a5a5a5au);
    EXPECT_EQ(soc->dma.counters(0).busy_cycles, 24576u);
}

// 8 KB each, the second six cycles after the first: alone for 6 cycles (4 bytes) at each end.
TEST(Dma, TwoChannelsShareTheBandwidth) {
    auto soc = quiet_board();
    copy(*soc, 0, SOC_FLASH_BASE, q, 8192);
    pass(*soc, 6);
    copy(*soc, 1, SOC_FLASH_BASE, kt, 8192);
    pass(*soc, 100000);
    EXPECT_EQ(soc->dma.counters(0).busy_cycles, 6u + 8188 * 3);
    EXPECT_EQ(soc->dma.counters(1).busy_cycles, 8188u * 3 + 6);
}

TEST(Dma, FlashThatIsSlowLeavesTheRestToTheOther) {
    auto soc = quiet_board({"flash.mb_per_s=100"});
    copy(*soc, 0, SOC_FLASH_BASE, q, 4096);          // 18 cycles a byte
    copy(*soc, 1, SOC_WEIGHTS, SOC_RESIDUAL, 4400);  // 1100 MB/s: 18/11 cycles a byte
    pass(*soc, 1'000'000);
    EXPECT_EQ(soc->dma.counters(0).busy_cycles, 4096u * 18);
    EXPECT_EQ(soc->dma.counters(1).busy_cycles, 7200u);
}

TEST(Dma, CopiesRowsAndRefusesWhatCannotBe) {
    auto soc = quiet_board();
    std::vector<int16_t> rows(64);
    for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<int16_t>(i);
    put(*soc, SOC_KV_RING, rows);
    poke(*soc, DMA_CHANNEL(1) + DMA_ROWS, 4);
    poke(*soc, DMA_CHANNEL(1) + DMA_SRC_STRIDE, 32);
    poke(*soc, DMA_CHANNEL(1) + DMA_DST_STRIDE, 8);
    copy(*soc, 1, SOC_KV_RING, q, 8);
    pass(*soc, 1000);
    for (uint32_t r = 0; r < 4; ++r)
        for (uint32_t i = 0; i < 4; ++i)
            EXPECT_EQ(in_memory<int16_t>(*soc, q + 8 * r + 2 * i),
                      static_cast<int16_t>(16 * r + i));
    EXPECT_EQ(in_memory<uint32_t>(*soc, q + 32), sim::poison_word);
    poke(*soc, DMA_CHANNEL(1) + DMA_ROWS, 0);
    struct Case {
        uint32_t from, to, bytes;
    };
    for (const Case& c : {Case{SOC_FLASH_BASE, q, 0}, Case{SOC_FLASH_BASE, q, DMA_MAX_BYTES + 4},
                          Case{SOC_FLASH_BASE, q + 2, 16}, Case{SOC_FLASH_BASE, SOC_ROM_BASE, 16},
                          Case{UART_BASE, q, 16}, Case{q, q + 8, 16},
                          Case{SOC_FLASH_BASE + SOC_FLASH_BYTES - 8, q, 16},
                          Case{SOC_FLASH_BASE, SOC_SRAM_BASE + SOC_SRAM_BYTES - 8, 16}}) {
        poke(*soc, DMA_CHANNEL(1) + DMA_STATUS, DMA_STATUS_DONE | DMA_STATUS_ERROR);
        EXPECT_EQ(copy(*soc, 1, c.from, c.to, c.bytes), DMA_STATUS_ERROR);
    }
    EXPECT_EQ(soc->dma.counters(1).transfers, 1u);
}

TEST(Flights, EachKindOfRaceIsSeenWithItsPlace) {
    auto soc = quiet_board();
    auto& flights = soc->fabric.flights;
    copy(*soc, 0, SOC_WEIGHTS, q, 1024);
    const auto touch = [&](uint32_t address, rv32::Touch t, uint32_t pc) {
        flights.access(address, 4, t, {1, pc, soc->now});
    };
    touch(q, rv32::Touch::read, 0x10);
    touch(q + 1020, rv32::Touch::write, 0x20);
    touch(SOC_WEIGHTS + 4, rv32::Touch::write, 0x30);
    touch(SOC_WEIGHTS + 4, rv32::Touch::read, 0x40);  // reading an operand is no race
    touch(q + 1024, rv32::Touch::read, 0x50);         // behind the result
    ASSERT_EQ(flights.race_count(), 3u);
    EXPECT_EQ(flights.races()[0].kind, Race::Kind::read_result);
    EXPECT_EQ(flights.races()[0].pc, 0x10u);
    EXPECT_EQ(flights.races()[1].kind, Race::Kind::write_result);
    EXPECT_EQ(flights.races()[2].kind, Race::Kind::write_operand);
    // A unit that uses what another has in flight.
    ASSERT_EQ(launch(*soc, {}, 0x60), 0u);
    ASSERT_EQ(flights.race_count(), 4u);
    EXPECT_EQ(flights.races()[3].pc, 0x60u);
    EXPECT_EQ(flights.races()[3].unit, Unit::dma0);
    copy(*soc, 1, SOC_FLASH_BASE, kt, 64, DMA_CTRL_START, 0x70);  // over an operand of the MAU
    EXPECT_EQ(flights.race_count(), 5u);
    pass(*soc, 1'000'000);
    touch(q, rv32::Touch::read, 0x80);
    touch(out, rv32::Touch::write, 0x80);
    EXPECT_EQ(flights.race_count(), 5u);
}

TEST(Flights, StridedTilesAreExact) {
    const sim::Tile t{1000, 8, 3, 32};
    const sim::Tile columns{1008, 24, 3, 32};
    for (uint32_t address = 960; address < 1120; ++address) {
        bool want = false;
        for (uint32_t r = 0; r < 3; ++r)
            want |= address + 4 > 1000 + 32 * r && address < 1008 + 32 * r;
        EXPECT_EQ(t.overlaps(address, 4), want) << address;
    }
    EXPECT_FALSE(t.overlaps(columns));
    EXPECT_TRUE(t.overlaps(sim::Tile{1004, 24, 3, 32}));
}

TEST(Banks, AddressesLieInTheBanksOfTheTable) {
    EXPECT_EQ(sim::bank_of(SOC_Q_BUFFER), 2u);
    EXPECT_EQ(sim::bank_of(SOC_KT_BUFFER), 3u);
    EXPECT_EQ(sim::bank_of(SOC_ROPE), 1u);
    EXPECT_EQ(sim::bank_of(SOC_FIRMWARE_DATA), 5u);
    EXPECT_EQ(sim::bank_of(SOC_OUTPUT_CACHE), 4u);
    EXPECT_EQ(sim::bank_of(SOC_RESIDUAL), 0u);
    EXPECT_EQ(sim::bank_of(SOC_KV_RING), 6u);
    EXPECT_EQ(sim::bank_of(SOC_KV_RING + 64 * SOC_KV_SLOT), 7u);
    EXPECT_EQ(sim::bank_of(SOC_SRAM_BASE + SOC_SRAM_BYTES), sim::no_bank);
    uint32_t bytes[SOC_BANK_COUNT] = {};
    for (uint32_t a = 0; a < SOC_SRAM_BYTES; a += 4096) bytes[sim::bank_of(SOC_SRAM_BASE + a)] += 4;
    const uint32_t kilobytes[SOC_BANK_COUNT] = {64, 4, 8, 8, 16, 28, 64, 64};
    for (uint32_t b = 0; b < SOC_BANK_COUNT; ++b) EXPECT_EQ(bytes[b], kilobytes[b]) << b;
}

TEST(Banks, MastersOfOneBankWaitForEachOther) {
    sim::Banks banks;
    EXPECT_EQ(banks.wait(3, 100), 0u);
    EXPECT_EQ(banks.wait(3, 100), 1u);  // the other hart, same cycle
    EXPECT_EQ(banks.wait(4, 100), 0u);
    EXPECT_EQ(banks.wait(3, 103), 0u);
    banks.set_stream(0, {5, 200, 300, 200});  // two of three cycles are the MAU's
    uint64_t waits = 0;
    for (uint64_t t = 200; t < 500; t += 2) waits += banks.wait(5, t);
    EXPECT_GT(waits, 0u);
    EXPECT_EQ(banks.wait(6, 200), 0u);
    EXPECT_EQ(banks.wait(5, 600), 0u);
    banks.set_stream(0, {5, 1000, 10, 10});
    EXPECT_EQ(banks.wait(5, 1003), 7u);  // a unit that takes every cycle keeps a hart out
}

TEST(Plic, LinesArePendingFromCompletionToClaim) {
    auto soc = quiet_board();
    rv32::Hart& h = soc->harts[1];
    poke(*soc, PLIC_BASE + PLIC_ENABLE(1), 1u << PLIC_SOURCE_DMA0 | 1u << PLIC_SOURCE_MAU);
    copy(*soc, 0, SOC_FLASH_BASE, q, 64, DMA_CTRL_START | DMA_CTRL_IRQ);
    launch(*soc, {.ctrl = MAU_CTRL_IRQ, .q_at = SOC_WEIGHTS});
    EXPECT_EQ(h.mip & rv32::mip_external, 0u);
    pass(*soc, 96);
    EXPECT_NE(h.mip & rv32::mip_external, 0u);
    EXPECT_EQ(soc->harts[0].mip & rv32::mip_external, 0u);
    pass(*soc, 1'000'000);
    EXPECT_EQ(look(*soc, PLIC_BASE + PLIC_CLAIM(1)), PLIC_SOURCE_MAU);
    EXPECT_NE(h.mip & rv32::mip_external, 0u);
    EXPECT_EQ(look(*soc, PLIC_BASE + PLIC_CLAIM(1)), PLIC_SOURCE_DMA0);
    EXPECT_EQ(h.mip & rv32::mip_external, 0u);
    EXPECT_EQ(look(*soc, PLIC_BASE + PLIC_CLAIM(1)), 0u);
}

TEST(Timer, RunsAtOneMegahertzAndInterrupts) {
    auto soc = quiet_board();
    pass(*soc, 1799);
    EXPECT_EQ(look(*soc, CLINT_MTIME), 0u);
    pass(*soc, 1800);
    EXPECT_EQ(look(*soc, CLINT_MTIME), 1u);
    poke(*soc, CLINT_MTIMECMP(1), 5);
    poke(*soc, CLINT_MTIMECMP(1) + 4, 0);
    pass(*soc, 8999);
    EXPECT_EQ(soc->harts[1].mip, 0u);
    pass(*soc, 9000);
    EXPECT_EQ(soc->harts[1].mip, uint32_t{rv32::mip_timer});
    // A 64-bit time is torn where its halves are read around a carry: high, low, high tells.
    poke(*soc, CLINT_MTIME, 0xffffffffu);
    EXPECT_EQ(look(*soc, CLINT_MTIME + 4), 0u);
    pass(*soc, 9000 + 1800);
    EXPECT_EQ(look(*soc, CLINT_MTIME), 0u);
    EXPECT_EQ(look(*soc, CLINT_MTIME + 4), 1u);
}

TEST(Stages, CountDistinctBytesOfHartAndUnits) {
    auto soc = quiet_board();
    auto& stages = soc->fabric.stages;
    copy(*soc, 0, SOC_FLASH_BASE, q, 64);  // before any stage
    pass(*soc, 1000);
    stages.open(0, 7, soc->now, 0);
    stages.touch(0, out, 4);
    stages.touch(0, out + 2, 4);
    stages.touch(1, kt, 4);  // the other hart has no stage open
    copy(*soc, 0, SOC_FLASH_BASE, SOC_WEIGHTS, 128);
    stages.open(0, 8, soc->now, 0);
    launch(*soc, {.m = 2, .n = 4, .k = 16});  // 2 rows of 32, 16 rows of 8, 2 rows of 16 bytes
    stages.close(0, soc->now + 10, 0);
    stages.close(0, soc->now + 20, 0);
    const auto& outer = stages.all().at(7);
    const auto& inner = stages.all().at(8);
    EXPECT_EQ(outer.distinct(SOC_SRAM_BASE, SOC_SRAM_BYTES), 6u + 128);
    EXPECT_EQ(inner.distinct(SOC_SRAM_BASE, SOC_SRAM_BYTES), 2u * 32 + 16 * 8 + 2 * 16);
    EXPECT_EQ(outer.cycles, 20u);
    EXPECT_EQ(inner.cycles, 10u);
    ASSERT_EQ(outer.ranges().size(), 2u);
    EXPECT_EQ(outer.ranges()[0], std::make_pair(uint32_t{out}, 6u));
    EXPECT_EQ(outer.ranges()[1], std::make_pair(uint32_t{SOC_WEIGHTS}, 128u));
    EXPECT_EQ(stages.close(0, 0, 0).id, 0u);
}

TEST(BoardFile, EveryValueHasABasisAndAReason) {
    const auto board = sim::Board::load(RIDGE_SOURCE_DIR "/boards/ai-max-395/board.toml");
    ASSERT_TRUE(board) << board.error().message;
    EXPECT_EQ(board->profile(), "report");
    EXPECT_EQ(board->number("clock.cpu_mhz"), SOC_CPU_MHZ);
    EXPECT_EQ(board->number("clock.mtime_hz"), SOC_MTIME_HZ);
    EXPECT_GE(board->values().size(), rv32::cost_count + 16);
}

TEST(BoardFile, WhatIsWrongIsSaid) {
    auto board = sim::Board::load(RIDGE_SOURCE_DIR "/boards/ai-max-395/board.toml");
    ASSERT_TRUE(board);
    for (const char* bad : {"cost.mul", "cost.nothing=3", "cost.mul=0", "cost.mul=x",
                            "cost.mul=3.5", "cost.mul=99999999999999999999", "=", ""})
        EXPECT_FALSE(board->set(bad)) << bad;
    EXPECT_FALSE(board->apply_profile("fast"));
    EXPECT_FALSE(sim::Board::parse("[", "x"));
    EXPECT_FALSE(sim::Board::parse("[cost]\nmul = 3\n", "x"));
    EXPECT_FALSE(sim::Board::parse("[cost]\nmul = { value = 3 }\n", "x"));
    const auto lacking = sim::Board::parse(
        "[cost]\nmul = { value = 3, basis = \"stated\", why = \"so\" }\n", "x.toml");
    ASSERT_FALSE(lacking);
    EXPECT_NE(lacking.error().message.find("missing"), std::string::npos);
}

}  // namespace
}  // namespace ridge
