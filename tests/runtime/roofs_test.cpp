#include "runtime/roofs.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <vector>

#include "base/cpu.hpp"

namespace ridge {
namespace {

std::vector<const RoofKernels*> runnable() {
    std::vector<const RoofKernels*> sets{&scalar_roof};
#if defined(__x86_64__)
    if (cpu().has_avx2_set()) sets.push_back(&avx2::roof);
    if (cpu().has_avx512_set()) sets.push_back(&avx512::roof);
#endif
    return sets;
}

// The loops do as many multiply-adds as the record claims: their sums tell.
TEST(RoofKernels, DoTheWorkTheyAreCreditedWith) {
    for (const RoofKernels* set : runnable()) {
        SCOPED_TRACE(set->set);
        for (const uint32_t rounds : {0u, 1u, 7u, 1000u, 65536u}) {
            const uint32_t expected = static_cast<uint32_t>(-6) * set->int8_macs * rounds;
            EXPECT_EQ(set->int8(rounds), expected);
            EXPECT_EQ(set->f32(rounds),
                      0.125f * static_cast<float>(set->f32_macs) * static_cast<float>(rounds));
            if (set->bf16_macs != 0) {
                EXPECT_EQ(set->bf16(rounds),
                          0.125f * static_cast<float>(set->bf16_macs) * static_cast<float>(rounds));
            }
        }
    }
}

// Every byte of every stream is read, and none beside them: the exclusive or of all words tells.
TEST(RoofKernels, ReadEveryByteOnce) {
    constexpr size_t bytes = 1024, stride = 1024 + 128;
    Result<AlignedBuffer> buffer = AlignedBuffer::allocate(8 * stride + 4096);
    ASSERT_TRUE(buffer);
    uint64_t state = 1;
    for (size_t i = 0; i < buffer->size(); ++i) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        buffer->data()[i] = static_cast<uint8_t>(state >> 56);
    }
    for (const unsigned streams : {1u, 2u, 4u, 8u}) {
        uint64_t expected = 0;
        for (unsigned s = 0; s < streams; ++s) {
            for (size_t i = 0; i < bytes; i += 8) {
                uint64_t word;
                std::memcpy(&word, buffer->data() + s * stride + i, 8);
                expected ^= word;
            }
        }
        for (const RoofKernels* set : runnable()) {
            SCOPED_TRACE(set->set);
            EXPECT_EQ(set->read(buffer->data(), bytes, stride, streams, 0), expected);
            EXPECT_EQ(set->read(buffer->data(), bytes, stride, streams, 1024), expected);
            EXPECT_EQ(set->read(buffer->data(), bytes, stride, 3, 0), 0u);
        }
    }
}

void expect_plausible(const Roofs& roofs, const RoofKernels& set) {
    EXPECT_EQ(roofs.set, set.set);
    EXPECT_GT(roofs.read_gb_s, 0.05);
    EXPECT_LT(roofs.read_gb_s, 5000);
    EXPECT_TRUE(roofs.read_streams == 1 || roofs.read_streams == 2 || roofs.read_streams == 4 ||
                roofs.read_streams == 8);
    EXPECT_TRUE(roofs.prefetch_bytes == 0 || roofs.prefetch_bytes == 1024);
    EXPECT_GT(roofs.int8_gop_s, 0.01);
    EXPECT_GT(roofs.f32_gflop_s, 0.01);
    if (set.bf16_macs == 0) {
        EXPECT_EQ(roofs.bf16_gflop_s, roofs.f32_gflop_s);
    } else {
        EXPECT_GT(roofs.bf16_gflop_s, 0.01);
        EXPECT_NE(roofs.bf16_gflop_s, roofs.f32_gflop_s) << "measured by itself";
    }
}

TEST(RoofMeter, MeasuresAgainCheaply) {
    ThreadTeam team(2);
    for (const RoofKernels* set : runnable()) {
        SCOPED_TRACE(set->set);
        RoofMeter meter(team, 2, *set);
        EXPECT_EQ(meter.threads(), 2u);
        ASSERT_GE(meter.buffer_bytes(), size_t{16} << 20);
        expect_plausible(meter.measure(0.05), *set);
        expect_plausible(meter.measure(0.05), *set);
    }
}

TEST(RoofMeter, ClampsThreadsToTheTeam) {
    ThreadTeam team(1);
    RoofMeter meter(team, 7);
    EXPECT_EQ(meter.threads(), 1u);
    expect_plausible(meter.measure(0.02), best_roof_kernels());
}

TEST(Roofs, DifferenceIsTheWorstOfTheRates) {
    const Roofs a{50, 4, 1024, 1700, 850, 425, "x"};
    Roofs b = a;
    EXPECT_EQ(difference(a, b), 0.0);
    b.read_gb_s = 45;
    EXPECT_NEAR(difference(a, b), 0.1, 1e-12);
    EXPECT_NEAR(difference(b, a), 0.1, 1e-12);
    b.f32_gflop_s = 850;
    EXPECT_NEAR(difference(a, b), 0.5, 1e-12);
    EXPECT_EQ(difference(Roofs{}, Roofs{}), 0.0) << "nothing measured";
}

}  // namespace
}  // namespace ridge
