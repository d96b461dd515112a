// What the library asks of the machine: launches, weights, copies, waits, time. port_soc.cpp is the
// chip (or the simulator of it), port_host.cpp plain functions; both give the same numbers.
#pragma once

#include <stdint.h>

#include "boards/ai-max-395/firmware/memory.h"

namespace ridge::fw {

// The waits of the firmware; RIDGE_FW_SKIP_WAIT leaves one out, and the simulator's race detector
// must see it (tests/boards/chip_test.cpp), for all but head_queue. Those from 16 on are single
// places whose wait another one hides at the report's rates: they have numbers of their own.
enum class Wait : uint32_t {
    none = 0,
    embedding = 1,  // rows by DMA, before they are read
    rope = 2,       // rows of the RoPE table
    constants_a = 3,
    constants_b = 4,
    weights = 5,    // a unit of weights, before the launch that reads it
    idle = 6,       // the matrix unit's last launch, before the next START
    result_kv = 7,  // launches, before their results are read
    result_q = 8,
    score = 9,
    value = 10,
    result_out = 11,
    gate_up = 12,
    down = 13,
    head = 14,
    reload = 15,      // tiles of K and V (RIDGE_FW_RELOAD_K)
    value_next = 16,  // the tile before, while there are more (attend.cpp); races with a slow MAU
    head_queue = 17,  // bounds the queue (head.cpp), orders nothing: no race without it
    down_last = 18,   // the last layer, where its rows are not needed (prefill.cpp); as value_next
};

// One launch of the matrix unit; addresses are of SRAM, strides in bytes.
struct Launch {
    uint32_t q, q_stride, k, k_stride, o, o_stride;
    uint32_t m_n;  // M | N << 16
    uint32_t depth;
    uint32_t ctrl;  // MAU_CTRL_TRANSPOSE_B, MAU_CTRL_ACCUMULATE; launch_attention
    uint32_t shift;
    uint32_t needs;     // units of weights that must have arrived, counted from the pass's first
    uint32_t releases;  // units that are not needed any more when it is done
};

inline constexpr uint32_t launch_attention = 0x100u;  // belongs to the attention stage
// Launches that may be under way. One more overwrites one: device_error(), PREFILL_DEVICE.
inline constexpr uint32_t launch_queue = 16u;

// --- launches, in order ---
// Number of launches so far: what wait_launch() takes.
uint32_t push(const Launch& launch);
void wait_launch(Wait which, uint32_t count);

// --- weights ---
// A pass reads units 0 .. layer_units - 1 for each of `chunks` chunks, then those up to all_units.
struct WeightStream {
    const uint8_t* image;
    const ImageUnit* units;
    uint32_t layer_units, all_units, chunks;
};
void begin_pass(const WeightStream& stream);
void end_pass();  // all launches are done and all units read

// --- copies into SRAM, one at a time ---
void copy_start(uint32_t to, const uint8_t* from, uint32_t bytes);
// Rows of SRAM, strides in bytes.
void copy_rows(uint32_t to, uint32_t to_stride, uint32_t from, uint32_t from_stride, uint32_t bytes,
               uint32_t rows);
void copy_wait(Wait which);

// --- the rest ---
uint64_t now();                              // cycles
uint32_t flash_bytes(const uint8_t* image);  // readable bytes from there on; 0: not flash
uint32_t swap(volatile uint32_t* word, uint32_t value);  // amoswap.w
void port_init();                                        // devices known, interrupts on
void port_cleanup();
bool device_error();      // sticky: a unit refused or the queue ran over
uint32_t longest_mask();  // cycles

// Brackets for the simulator's stage counters.
#ifdef RIDGE_FW_HOST
#define FW_STAGE_BEGIN(id)
#define FW_STAGE_END()
#else
#define FW_STAGE_BEGIN(id) SOC_MARK(id)
#define FW_STAGE_END() SOC_MARK(0)
#endif
#if RIDGE_FW_MARKS
#define FW_MARK_BEGIN(id) FW_STAGE_BEGIN(id)
#define FW_MARK_END() FW_STAGE_END()
#else
#define FW_MARK_BEGIN(id)
#define FW_MARK_END()
#endif

}  // namespace ridge::fw
