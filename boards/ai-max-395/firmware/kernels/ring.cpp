// The head of the KV ring. One slot a position; a hart that claims one swaps a mark in, so that the
// other waits for it: amoswap.w is all it takes.
#include "boards/ai-max-395/firmware/run.h"

namespace ridge::fw {

namespace {
constexpr uint32_t slot_busy = 0xffffffffu;
}

void ring_reset(volatile uint32_t* head) {
    swap(head, 0);
}

uint32_t ring_claim(volatile uint32_t* head) {
    uint32_t slot = swap(head, slot_busy);
    while (slot == slot_busy) slot = swap(head, slot_busy);
    swap(head, slot_index(slot + 1));
    return slot;
}

}  // namespace ridge::fw
