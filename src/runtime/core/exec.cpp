#include "runtime/core/exec.hpp"

#include "runtime/core/step_loop.hpp"

namespace ridge {
Scratch scratch_of(const Exec& e, uint32_t thread) {
    const MemoryPlan& m = e.model->memory;
    uint8_t* p = e.scratch + thread * m.scratch_bytes;
    Scratch s{};
    s.product = p;
    s.tile = reinterpret_cast<float*>(p + m.product_bytes);
    s.act = p + m.product_bytes + m.tile_bytes;
    uint8_t* rows = s.act + small_rows * m.act_bytes;
    uint8_t* end = p + m.scratch_bytes - m.attend_bytes;
    const size_t row_bytes = static_cast<size_t>(end - rows) / 2 / 64 * 64;
    s.rows[0] = reinterpret_cast<float*>(rows);
    s.rows[1] = reinterpret_cast<float*>(rows + row_bytes);
    s.attend = end;
    return s;
}

uint32_t step_rows(const Exec& e, const LoweredStep& s) {
    return s.head ? e.batch.n_logits : e.batch.n_rows;
}

namespace {

void prepare_row(const Exec& e, const LoweredStep& s, const Scratch& scratch, size_t source,
                 uint8_t* act, bool write_residual) {
    const float* x = reinterpret_cast<const float*>(buffer_row(e, s.x, source));
    const float* y = nullptr;
    if (s.y != no_id) {
        y = reinterpret_cast<const float*>(buffer_row(e, s.y, source));
        if (s.post_norm != nullptr) {
            e.row->rms_norm(y, s.post_norm, s.width, s.epsilon, scratch.rows[1]);
            y = scratch.rows[1];
        }
    }
    if (s.norm != nullptr && s.format == ActFormat::q8) {
        float* sum = y != nullptr && write_residual && s.x_out != no_id
                         ? reinterpret_cast<float*>(buffer_row(e, s.x_out, source))
                         : nullptr;
        e.row->add_norm_q8(x, y, sum, s.norm, s.width, s.epsilon, act, scratch.rows[0]);
        return;
    }
    if (y != nullptr) {
        __builtin_memcpy(scratch.rows[0], x, s.width * 4ull);
        e.row->add(scratch.rows[0], y, s.width);
        x = scratch.rows[0];
        if (write_residual && s.x_out != no_id)
            __builtin_memcpy(buffer_row(e, s.x_out, source), x, s.width * 4ull);
    }
    if (s.norm != nullptr) {
        e.row->rms_norm(x, s.norm, s.width, s.epsilon, scratch.rows[1]);
        x = scratch.rows[1];
    }
    switch (s.format) {
        case ActFormat::q8:
            e.row->quantize(x, s.k, act, s.k, 0);
            break;
        case ActFormat::bf16:
            e.row->to_bf16(x, s.k, reinterpret_cast<uint16_t*>(act));
            break;
        case ActFormat::f32:
            __builtin_memcpy(act, x, s.k * 4ull);
            break;
    }
}

size_t source_row(const Exec& e, const LoweredStep& s, uint32_t row) {
    return s.first_head ? e.batch.logit_rows[row] : row;
}

}  // namespace

void run_embed(Exec& e, uint32_t step, uint32_t thread) {
    (void)thread;
    const LoweredStep& s = e.model->steps[step];
    for (uint32_t row = claim(e, step); row < e.batch.n_rows; row = claim(e, step)) {
        float* x = reinterpret_cast<float*>(buffer_row(e, s.out, row));
        const size_t token = static_cast<size_t>(e.batch.tokens[row]);
        if (s.table_packed)
            s.unpack_column(s.table_type, s.table + token / 32 * s.table_stride, token % 32,
                            s.width, x);
        else
            s.dequantize(s.table_type, s.table + token * s.table_stride, s.width, x);
        if (s.scale != 1.0f) e.row->scale(x, s.scale, s.width);
    }
}

void run_prepare(Exec& e, uint32_t step, uint32_t thread) {
    const LoweredStep& s = e.model->steps[step];
    const Scratch scratch = scratch_of(e, thread);
    const uint32_t rows = step_rows(e, s);
    constexpr uint32_t block = 4;
    for (uint32_t first = claim(e, step) * block; first < rows; first = claim(e, step) * block)
        for (uint32_t row = first; row < rows && row < first + block; ++row)
            prepare_row(e, s, scratch, source_row(e, s, row), buffer_row(e, s.act, row), true);
}

void run_prepare_private(Exec& e, uint32_t step, uint32_t thread) {
    const LoweredStep& s = e.model->steps[step];
    const Scratch scratch = scratch_of(e, thread);
    const uint32_t rows = step_rows(e, s);
    const size_t stride = buffer_stride(e, s.act);
    for (uint32_t row = 0; row < rows; ++row)
        prepare_row(e, s, scratch, source_row(e, s, row), scratch.act + row * stride, thread == 0);
}

namespace {

struct StepEnd {
    Exec* e;
    uint32_t step;
};

// By the last thread to come to a step's barrier, before the others go on. The step's time ends
// here, whoever that is.
void end_step(void* arg) {
    const StepEnd& end = *static_cast<StepEnd*>(arg);
    Exec& e = *end.e;
    if (e.step_ns != nullptr) {
        const uint64_t now = e.port.now(e.port.self);
        e.step_ns[end.step] += now - e.mark_ns;
        e.mark_ns = now;
    }
    if (e.stop != nullptr && e.stop(e.stop_arg)) e.stopped = true;
}

// One thread's walk over the steps (step_loop.hpp).
class PassSteps {
  public:
    PassSteps(Exec& e, uint32_t thread) : e_(e), thread_(thread) {}

    StepOutcome run(uint32_t i) {
        const LoweredStep& s = e_.model->steps[i];
        const uint32_t rows = step_rows(e_, s);
        if (rows == 0) return StepOutcome::skipped;
        switch (s.kind) {
            case StepKind::embed:
                run_embed(e_, i, thread_);
                break;
            case StepKind::prepare:
                if (s.replicate && rows <= small_rows) return run_replicated(i);
                run_prepare(e_, i, thread_);
                break;
            case StepKind::product:
                run_product(e_, i, thread_);
                break;
            case StepKind::rotate:
                if (attention_is_small(e_, s)) return StepOutcome::skipped;  // attend does it
                run_rotate(e_, i, thread_);
                break;
            case StepKind::attend:
                run_attend(e_, i, thread_);
                break;
        }
        // The memory is not idle while threads wait for each other.
        if (rows <= small_rows)
            if (const uint8_t* next = next_share(e_, i, thread_); next != nullptr)
                for (uint32_t line = 0; line < 32; ++line) __builtin_prefetch(next + 64 * line);
        return StepOutcome::done;
    }

    bool finish(uint32_t i) {
        const bool watched = e_.step_ns != nullptr || e_.stop != nullptr;
        StepEnd end{&e_, i};
        e_.port.barrier(e_.port.self, thread_, watched ? end_step : nullptr, &end);
        if (thread_ == 0 && e_.barriers != nullptr) ++*e_.barriers;
        return !e_.stopped;
    }

  private:
    // No barrier: thread 0's own time stands for all, and is taken off the next step's.
    StepOutcome run_replicated(uint32_t i) {
        const bool mine = e_.step_ns != nullptr && thread_ == 0;
        const uint64_t before = mine ? e_.port.now(e_.port.self) : 0;
        run_prepare_private(e_, i, thread_);
        if (mine) {
            const uint64_t spent = e_.port.now(e_.port.self) - before;
            e_.step_ns[i] += spent;
            e_.mark_ns += spent;
        }
        return StepOutcome::skipped;
    }

    Exec& e_;
    uint32_t thread_;
};

}  // namespace

void run_pass(Exec& e, uint32_t thread) {
    PassSteps steps(e, thread);
    walk_steps(steps, e.model->n_steps);
}

}  // namespace ridge
