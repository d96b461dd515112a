// The library's calls: chunks of a prompt through the program, one row for decode.
#include "boards/ai-max-395/firmware/prefill.h"

#include "boards/ai-max-395/firmware/exp2_table.h"
#include "boards/ai-max-395/firmware/run.h"
#include "runtime/core/step_loop.hpp"

namespace ridge::fw {

Run run;

namespace {

struct Library {
    int32_t status;
    bool ready;
    bool sequence;    // prefill_run has succeeded
    uint32_t length;  // positions so far
    uint64_t cycles;  // of the last call
};
Library library;

// The executor's loop over this board's steps (runtime/core/step_loop.hpp). There is one thread;
// the barrier is where a device's error ends the pass.
struct Steps {
    StepOutcome run(uint32_t i);
    bool finish(uint32_t) { return !device_error(); }
};

StepOutcome Steps::run(uint32_t i) {
    Run& r = fw::run;
    r.before = r.step;
    r.step = r.steps[i];
    if (i + 1 < r.n_steps) r.next = r.steps[i + 1];
    switch (r.step.kind) {
        case IMAGE_EMBED:
            embed();
            break;
        case IMAGE_PREPARE:
            if (r.step.layer == r.layers && !r.last_chunk) {
                // The rows of the last layer are not needed, but they must be out of the way.
                wait_launch(Wait::down_last, r.block_launch[(r.rows - 1) / block_rows]);
                return StepOutcome::skipped;
            }
            prepare();
            break;
        case IMAGE_QKV:
            qkv();
            break;
        case IMAGE_ATTEND:
            attend();
            break;
        case IMAGE_OUT:
            out();
            break;
        case IMAGE_FFN:
            ffn();
            break;
        default:
            if (!r.last_chunk) return StepOutcome::skipped;
            head();
            break;
    }
    return StepOutcome::done;
}

// Positions position .. position + count of the sequence.
int32_t run_rows(const int32_t* ids, uint32_t count, uint32_t position, float* logits) {
    run.unit = run.slot = run.seed = 0;
    run.logits = logits;
    begin_pass({run.image, run.units, run.layer_units, run.all_units,
                (count + run.chunk_rows - 1) / run.chunk_rows});
    for (uint32_t done = 0; done < count; done += run.chunk_rows) {
        run.ids = ids + done;
        run.position = position + done;
        run.rows = min_u(run.chunk_rows, count - done);
        run.last_chunk = done + run.rows == count;
        Steps steps;
        if (!walk_steps(steps, run.n_steps)) break;
    }
    end_pass();
    return device_error() || run.ring_lost ? PREFILL_DEVICE : PREFILL_OK;
}

bool known(int32_t id) {
    return static_cast<uint32_t>(id) < run.vocab_used;
}

int32_t start_sequence(const int32_t* ids, int32_t count, float* logits) {
    if (!library.ready) return PREFILL_NOT_READY;
    if (ids == nullptr || logits == nullptr) return PREFILL_BAD_POINTER;
    if (count < 1 || count > static_cast<int32_t>(SOC_KV_SLOTS)) return PREFILL_BAD_LENGTH;
    for (int32_t i = 0; i < count; ++i)
        if (!known(ids[i])) return PREFILL_BAD_TOKEN;
    library.sequence = false;
    run.ring_lost = false;
    ring_reset(&run.ring_head);
    const int32_t status = run_rows(ids, static_cast<uint32_t>(count), 0, logits);
    library.length = static_cast<uint32_t>(count);
    library.sequence = status == PREFILL_OK;
    return status;
}

int32_t continue_sequence(int32_t id, float* logits) {
    if (!library.ready) return PREFILL_NOT_READY;
    if (!library.sequence) return PREFILL_NO_SEQUENCE;
    if (logits == nullptr) return PREFILL_BAD_POINTER;
    if (!known(id)) return PREFILL_BAD_TOKEN;
    if (library.length >= run.rope_positions) return PREFILL_TOO_LONG;
    const int32_t status = run_rows(&id, 1, library.length, logits);
    ++library.length;
    library.sequence = status == PREFILL_OK;
    return status;
}

}  // namespace
}  // namespace ridge::fw

using namespace ridge::fw;

extern "C" {

void prefill_init(uint8_t* weights, uint32_t sram_base) {
    library = Library{};
    port_init();
    const auto address = reinterpret_cast<uintptr_t>(weights);
    const uint32_t available = weights == nullptr ? 0 : flash_bytes(weights);
    if (sram_base != SOC_SRAM_BASE || address % IMAGE_ALIGN != 0 || available == 0)
        library.status = PREFILL_BAD_BASE;
    else
        library.status = load_image(weights, available);
    if (library.status != PREFILL_OK) return;
    for (uint32_t i = 0; i < SOC_KV_SLOTS * SOC_KV_SLOT / 4; ++i) at<int32_t>(SOC_KV_RING)[i] = 0;
    for (uint32_t i = 0; i < 16; ++i) at<Piece>(exp2_pieces)[i] = exp2_table[i];
    for (uint32_t i = 0; i < 12; ++i) at<int32_t>(warm_up_area)[i] = 0;
    library.ready = true;
}

void prefill_run(int32_t* input_ids, int32_t seq_len, float* logits_out) {
    const uint64_t begin = now();
    library.status = start_sequence(input_ids, seq_len, logits_out);
    library.cycles = now() - begin;
}

void decode_step(int32_t token, float* logits_out) {
    const uint64_t begin = now();
    library.status = continue_sequence(token, logits_out);
    library.cycles = now() - begin;
}

void prefill_cleanup(void) {
    port_cleanup();
    library = Library{};
    library.status = PREFILL_OK;
}

int32_t prefill_status(void) {
    return library.status;
}

uint64_t prefill_cycles(void) {
    return library.cycles;
}

uint32_t prefill_longest_mask(void) {
    return longest_mask();
}
}
