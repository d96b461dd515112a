// The port of the host build: everything happens at once.
#include "boards/ai-max-395/firmware/port_host.h"

#include <string.h>

#include "boards/ai-max-395/firmware/mau_reference.h"

namespace ridge::fw {

alignas(4096) uint8_t host_sram[SOC_SRAM_BYTES];

namespace {

const uint8_t* flash_data = nullptr;
size_t flash_size = 0;

struct Pass {
    WeightStream stream;
    uint32_t cursor, chunk, loaded, slot, launches;
    bool wrong;
};
Pass pass;

void load_unit() {
    const WeightStream& s = pass.stream;
    const bool last = pass.chunk + 1 == s.chunks;
    if (pass.cursor == s.layer_units && !last) {
        pass.cursor = 0;
        ++pass.chunk;
    }
    if (pass.cursor == s.all_units) {
        pass.wrong = true;
        return;
    }
    const ImageUnit& u = s.units[pass.cursor++];
    memcpy(sram(weight_ring + pass.slot * SOC_WEIGHT_UNIT), s.image + u.offset, u.bytes);
    pass.slot = pass.slot + 1 == ring_units ? 0 : pass.slot + 1;
    ++pass.loaded;
}

}  // namespace

void host_set_flash(const uint8_t* data, size_t bytes) {
    flash_data = data;
    flash_size = bytes;
}

uint32_t push(const Launch& l) {
    while (pass.loaded < l.needs && !pass.wrong) load_unit();
    mau_reference(l);
    return ++pass.launches;
}
void wait_launch(Wait, uint32_t) {}
void begin_pass(const WeightStream& stream) {
    pass = Pass{};
    pass.stream = stream;
}
void end_pass() {
    const WeightStream& s = pass.stream;
    pass.wrong |= pass.loaded != s.layer_units * (s.chunks - 1) + s.all_units;
}
void copy_start(uint32_t to, const uint8_t* from, uint32_t bytes) {
    memcpy(sram(to), from, bytes);
}
void copy_rows(uint32_t to, uint32_t to_stride, uint32_t from, uint32_t from_stride, uint32_t bytes,
               uint32_t rows) {
    for (uint32_t r = 0; r < rows; ++r)
        memcpy(sram(to + r * to_stride), sram(from + r * from_stride), bytes);
}
void copy_wait(Wait) {}

uint64_t now() {
    return 0;
}
uint32_t flash_bytes(const uint8_t* image) {
    const auto at = reinterpret_cast<uintptr_t>(image),
               begin = reinterpret_cast<uintptr_t>(flash_data);
    if (at < begin || at >= begin + flash_size) return 0;
    return static_cast<uint32_t>(begin + flash_size - at);
}
uint32_t swap(volatile uint32_t* word, uint32_t value) {
    return __atomic_exchange_n(word, value, __ATOMIC_ACQ_REL);
}
void port_init() {
    // As the simulator: nothing is known of what was not written.
    for (uint32_t i = 0; i < SOC_SRAM_BYTES; i += 4) *at<uint32_t>(SOC_SRAM_BASE + i) = 0xbadabadau;
    pass = Pass{};
}
void port_cleanup() {}
bool device_error() {
    return pass.wrong;
}
uint32_t longest_mask() {
    return 0;
}

}  // namespace ridge::fw
