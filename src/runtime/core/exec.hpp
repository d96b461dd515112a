// The executor's core: runs a lowered program over a batch. Freestanding: no heap, no libc.
//
// Every thread of the team calls run_pass with its index; steps are divided into tiles that threads
// claim from a counter, and end with one barrier (none where a step is replicated, lowered.hpp).
// Results do not depend on the number of threads or on who takes which tile: no sum is split
// between tiles.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "kernels/contract.hpp"
#include "lower/lowered.hpp"

namespace ridge {

// What the core asks of the machine it runs on.
struct Port {
    void* self;
    // Waits for all threads; `last` (may be null) is called once, by the last to come, before
    // anyone goes on.
    void (*barrier)(void* self, uint32_t thread, void (*last)(void* arg), void* arg);
    uint64_t (*now)(void* self);  // nanoseconds, or 0 where there is no clock
};

// Consecutive rows that belong to one sequence, positions pos0, pos0 + 1, ...
struct Run {
    uint32_t row0, n_rows;
    uint32_t pos0;
    const uint32_t* pages;  // page of each span (layers without a window)
    uint32_t ring;          // index of the sequence's ring (layers with one)
};

struct Batch {
    const int32_t* tokens;   // [n_rows], each < vocabulary
    const uint32_t* run_of;  // [n_rows]
    uint32_t n_rows;
    const uint32_t* logit_rows;  // [n_logits] rows whose logits are wanted
    uint32_t n_logits;
    const Run* runs;
    uint32_t n_runs;
};

// A layer's pages: page p, kv head h at base + (p * kv_heads + h) * page_bytes. A ring of r spans
// keeps span s of sequence ring q in page q * r + s % r.
struct CacheLayer {
    uint8_t* base;
    uint32_t ring_spans;  // 0: no window, every span has a page
};

struct Cache {
    KvType type;
    size_t page_bytes;
    const CacheLayer* layers;
};

// Small attention batches are divided by span as well; their partial results live here.
inline constexpr uint32_t partial_rows = 32;

struct StepCounter {
    uint32_t next;
    uint32_t pad[15];  // one cache line each
};

struct Exec {
    const Lowered* model;
    Batch batch;
    uint8_t* arena;
    uint8_t* scratch;  // model->memory.scratch_bytes a thread
    const RowKernels* row;
    const AttendKernels* attend;
    Cache cache;
    const float* const* rope;  // per table: [position][n_rot]: cosines, then sines
    StepCounter* counters;     // [n_threads][n_steps], zero at the start of a pass
    float* partials;           // partial_rows * heads * spans * (padded head + 2) floats
    uint32_t* finished;        // [partial_rows * kv_heads], zero
    uint32_t n_threads;
    size_t prefetch_bytes;
    Port port;
    uint64_t* step_ns;   // [n_steps] or null: time of each step, added up
    uint64_t mark_ns;    // end of the step before; the time of the pass's start at first
    uint32_t* barriers;  // or null: barriers passed, added up
    // Or null: asked after each step, by the last thread to come to its barrier. True ends the pass
    // there, on all threads.
    bool (*stop)(void* arg);
    void* stop_arg;
    bool stopped;  // false at the start of a pass
};

// Called by threads 0 .. n_threads-1. Logits of batch.logit_rows are then in the logits buffer,
// unless `stopped` says that the pass was given up: then cache and buffers hold part of its work.
void run_pass(Exec& e, uint32_t thread);

// --- shared by the step files ---

static inline uint32_t claim(Exec& e, uint32_t step, uint32_t owner = 0) {
    return __atomic_fetch_add(&e.counters[owner * e.model->n_steps + step].next, 1u,
                              __ATOMIC_RELAXED);
}

// Claims tiles 0 .. tiles-1 of a step: each thread goes through a share of its own in order, one
// linear stretch of memory, and then helps those that are not done.
class TileClaims {
  public:
    TileClaims(Exec& e, uint32_t step, uint32_t thread, uint32_t tiles)
        : e_(e), step_(step), tiles_(tiles), share_(share(tiles, e.n_threads)), owner_(thread) {}

    // Tiles of a share: thread t's begins at t times as many.
    static uint32_t share(uint32_t tiles, uint32_t n_threads) {
        return (tiles + n_threads - 1) / n_threads;
    }
    // The next tile, or `tiles` when all are taken.
    uint32_t next() {
        for (; tried_ < e_.n_threads; ++tried_) {
            const uint32_t i = claim(e_, step_, owner_);
            if (i < share_ && owner_ * share_ + i < tiles_) return owner_ * share_ + i;
            owner_ = owner_ + 1 == e_.n_threads ? 0 : owner_ + 1;
        }
        return tiles_;
    }

  private:
    Exec& e_;
    uint32_t step_, tiles_, share_, owner_;
    uint32_t tried_ = 0;
};

static inline uint8_t* buffer_row(const Exec& e, BufferId id, size_t row) {
    const BufferPlan& b = e.model->memory.buffers[id];
    return e.arena + b.offset + row * b.row_bytes;
}
static inline size_t buffer_stride(const Exec& e, BufferId id) {
    return e.model->memory.buffers[id].row_bytes;
}

// A thread's scratch, cut up as lower.cpp sized it.
struct Scratch {
    uint8_t* product;
    float* tile;
    uint8_t* act;    // small_rows rows of act_bytes
    float* rows[2];  // two rows of floats
    uint8_t* attend;
};
Scratch scratch_of(const Exec& e, uint32_t thread);

uint32_t step_rows(const Exec& e, const LoweredStep& s);

void run_embed(Exec& e, uint32_t step, uint32_t thread);
void run_prepare(Exec& e, uint32_t step, uint32_t thread);
void run_prepare_private(Exec& e, uint32_t step, uint32_t thread);
void run_product(Exec& e, uint32_t step, uint32_t thread);
// Where the thread's own share of the first product behind `step` begins in memory (behind the last
// one: the next pass's first); null where it has none.
const uint8_t* next_share(const Exec& e, uint32_t step, uint32_t thread);
bool attention_is_small(const Exec& e, const LoweredStep& s);
void run_rotate(Exec& e, uint32_t step, uint32_t thread);
void run_attend(Exec& e, uint32_t step, uint32_t thread);

}  // namespace ridge
