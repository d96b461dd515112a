// Both harts claim slots of one ring as fast as they can and count what they get (tests/boards/
// firmware_ring_test.cpp). NOT_ATOMIC replaces the swap by a load and a store.
#include "boards/ai-max-395/firmware/run.h"

namespace ridge::fw {
uint32_t swap(volatile uint32_t* word, uint32_t value) {
    uint32_t old;
#ifdef NOT_ATOMIC
    old = *word;
    *word = value;
#else
    __asm__ volatile("amoswap.w %0, %2, (%1)" : "=r"(old) : "r"(word), "r"(value) : "memory");
#endif
    return old;
}
}  // namespace ridge::fw

namespace {
constexpr uint32_t claims = 2048;  // by each hart
// In SRAM: the ring's head, harts that are done, counts of hart 0, of hart 1.
volatile uint32_t* const head = reinterpret_cast<uint32_t*>(SOC_FIRMWARE_DATA);
volatile uint32_t* const done = head + 1;
volatile uint32_t* const counts = head + 4;
}  // namespace

extern "C" void claim_all(uint32_t hart) {
    volatile uint32_t* const mine = counts + hart * SOC_KV_SLOTS;
    for (uint32_t i = 0; i < claims; ++i) {
        const uint32_t slot = ridge::fw::ring_claim(head);
        mine[slot & (SOC_KV_SLOTS - 1)] = mine[slot & (SOC_KV_SLOTS - 1)] + 1;
    }
    done[hart] = 1;
    if (hart != 0) {
        for (;;) __asm__ volatile("wfi");
    }
    while (done[1] == 0) {
    }
    *reinterpret_cast<volatile uint32_t*>(FINISHER_BASE) = 0x5555;
    for (;;) {
    }
}

// SRAM is prepared by the test; each hart has a stack of its own.
__asm__(
    ".section .text.start, \"ax\"\n"
    ".global _start\n"
    "_start:\n"
    "    csrr a0, mhartid\n"
    "    li sp, 0x2000bc00\n"
    "    slli t0, a0, 9\n"
    "    add sp, sp, t0\n"
    "    j claim_all\n");
