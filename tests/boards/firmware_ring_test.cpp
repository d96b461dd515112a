// The KV ring's head with both harts claiming slots, in the simulator.
#include <gtest/gtest.h>

#include <set>

#include "sim/external.hpp"
#include "sim/soc_fixture.hpp"

namespace ridge {
namespace {

constexpr uint32_t claims = 2 * 2048;

// How often each slot was claimed.
std::vector<uint32_t> claimed(const std::string& options, bool& ended) {
    const test::Workspace work;
    const std::string root = RIDGE_SOURCE_DIR;
    ended = false;
    if (!test::cross_build(root + "/tests/boards/programs/ring_claim.cpp " + root +
                               "/boards/ai-max-395/firmware/kernels/ring.cpp",
                           work.file("ring.elf"),
                           "-std=c++20 -O3 -fno-exceptions -fno-rtti -I " + root + " -T " + root +
                               "/tests/sim/programs/board.ld " + options)) {
        ADD_FAILURE() << "the program does not build";
        return {};
    }
    const auto elf = rv32::read_elf(work.file("ring.elf"));
    EXPECT_TRUE(elf) << elf.error().message;
    const auto soc = test::board();
    EXPECT_TRUE(soc->load(*elf));
    const std::vector<uint8_t> zeros(4096);
    soc->memory.write(SOC_FIRMWARE_DATA, zeros.data(), static_cast<uint32_t>(zeros.size()));
    ended = soc->run(10'000'000) == rv32::Stop::exit;
    std::vector<uint32_t> counts(SOC_KV_SLOTS);
    for (uint32_t hart = 0; hart < 2; ++hart)
        for (uint32_t s = 0; s < SOC_KV_SLOTS; ++s)
            counts[s] += test::in_memory<uint32_t>(
                *soc, SOC_FIRMWARE_DATA + 16 + 4 * (hart * SOC_KV_SLOTS + s));
    return counts;
}

TEST(FirmwareRing, BothHartsClaimEverySlotOnce) {
    if (!test::have_program(test::cross_compiler)) GTEST_SKIP() << "no cross compiler";
    bool ended = false;
    const std::vector<uint32_t> counts = claimed("", ended);
    ASSERT_TRUE(ended);
    for (uint32_t s = 0; s < SOC_KV_SLOTS; ++s) ASSERT_EQ(counts[s], claims / SOC_KV_SLOTS) << s;
}

TEST(FirmwareRing, WithoutTheAtomicSwapSlotsAreClaimedTwice) {
    if (!test::have_program(test::cross_compiler)) GTEST_SKIP() << "no cross compiler";
    bool ended = false;
    const std::vector<uint32_t> counts = claimed("-DNOT_ATOMIC", ended);
    const std::set<uint32_t> different(counts.begin(), counts.end());
    EXPECT_TRUE(!ended || different != std::set<uint32_t>{claims / SOC_KV_SLOTS});
}

}  // namespace
}  // namespace ridge
