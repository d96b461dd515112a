#include "lower/lower.hpp"

#include <algorithm>
#include <map>

#include "kernels/packed.hpp"
#include "lower/fuse.hpp"
#include "lower/memory_plan.hpp"

namespace ridge {
namespace {

// Declares what each step moves and computes, from shapes alone.
void declare_costs(LoweredStep& s, KvType kv, bool f32_activations) {
    Cost& c = s.cost;
    switch (s.kind) {
        case StepKind::embed:
            c.row_bytes = s.width * 4ull + row_bytes(s.table_type, s.width);
            break;
        case StepKind::prepare:
            c.row_bytes = s.width * 4ull * (1u + (s.y != no_id) + (s.x_out != no_id)) +
                          act_row_bytes(s.format, s.k);
            c.row_f32_ops = s.width * 8ull;
            break;
        case StepKind::product: {
            c.row_bytes = act_row_bytes(s.format, s.k);
            uint64_t ops = 0;
            uint64_t columns = 0;
            for (uint32_t i = 0; i < s.n_segments; ++i) {
                const Segment& g = s.segment[i];
                c.weight_bytes += g.groups * (g.pair_bytes / 2);
                ops += 2ull * g.n * s.k;
                columns += g.n;
            }
            c.row_bytes += s.epilogue == Epilogue::store
                               ? columns * 4
                               : act_row_bytes(s.out_format, s.segment[0].n);
            (s.format == ActFormat::q8     ? c.row_int8_ops
             : s.format == ActFormat::bf16 ? c.row_bf16_ops
                                           : c.row_f32_ops) = ops;
            break;
        }
        case StepKind::rotate:
            c.row_bytes = (s.heads + 2ull * s.kv_heads) * s.head_dim * 8;
            c.row_f32_ops = (s.heads + s.kv_heads) * 6ull * s.head_dim;
            break;
        case StepKind::attend:
            c.row_bytes = 2ull * s.heads * s.head_dim * 4;
            c.key_ops = 4ull * s.heads * s.head_dim;
            c.key_bytes = 2ull * s.kv_heads * s.head_dim * kv_element_bytes(kv);
            c.key_ops_bf16 = kv_paired(kv) && !f32_activations;
            break;
    }
}

}  // namespace

Result<LoweredModel> lower(const Program& program, const GgufFile& file,
                           const KernelChoice& kernels, const LowerOptions& options) {
    FusedProgram fused;
    RIDGE_ASSIGN(fused, fuse(program, file, kernels, options.f32_activations));
    LoweredModel m;
    m.steps = std::move(fused.steps);
    for (LoweredStep& s : m.steps) declare_costs(s, options.kv, options.f32_activations);

    // Lifetimes. A replicated prepare may still read its inputs, and write its residual, while
    // another thread is in the step behind it.
    std::vector<Lifetime> lives(fused.buffers.size(), {0, UINT32_MAX, 0});
    const auto touch = [&](BufferId id, uint32_t first, uint32_t last) {
        if (id == no_id) return;
        Lifetime& l = lives[static_cast<size_t>(id)];
        l.first = std::min(l.first, first);
        l.last = std::max(l.last, last);
    };
    for (uint32_t i = 0; i < m.steps.size(); ++i) {
        const LoweredStep& s = m.steps[i];
        const uint32_t until = s.replicate ? i + 1 : i;
        for (const BufferId id : {s.x, s.y, s.x_out}) touch(id, i, until);
        for (const BufferId id : {s.act, s.out, s.qkv}) touch(id, i, i);
    }
    const uint32_t last_step = static_cast<uint32_t>(m.steps.size() - 1);
    touch(fused.logits, last_step, last_step);
    if (options.keep_hidden)
        for (const LoweredStep& s : m.steps)
            if (s.first_head)
                for (const BufferId id : {s.x, s.y}) touch(id, last_step, last_step);

    MemoryPlan& plan = m.lowered.memory;
    for (size_t i = 0; i < fused.buffers.size(); ++i) {
        const FusedBuffer& b = fused.buffers[i];
        const uint32_t rows = b.head ? options.max_logits : options.max_rows;
        // An odd number of cache lines a row: rows spread over all cache sets.
        const size_t row_bytes_padded = align64(b.row_bytes) | 64;
        m.buffers.push_back({b.name, 0, row_bytes_padded, rows});
        lives[i].bytes = row_bytes_padded * rows + 4096;
    }
    const Placement placed = place_buffers(lives);
    // Same rows of different buffers at different offsets in a page: a load never waits for a store
    // that only looks as if it were to the same address.
    for (size_t i = 0; i < m.buffers.size(); ++i)
        m.buffers[i].offset = placed.offsets[i] + i % 4 * 1088;

    size_t widest = 0;
    for (const LoweredStep& s : m.steps) {
        widest = std::max<size_t>(widest, std::max(s.width, s.k));
        if (s.kind == StepKind::prepare)
            plan.act_bytes = std::max(plan.act_bytes, act_row_bytes(s.format, s.k));
        if (s.kind == StepKind::product) {
            plan.product_bytes = std::max(plan.product_bytes, product_scratch_bytes(s.k));
            if (s.epilogue != Epilogue::store)
                plan.tile_bytes =
                    std::max<size_t>(plan.tile_bytes, options.max_rows * glu_tile_floats * 4ull);
        }
        if (s.kind == StepKind::attend)
            plan.attend_bytes = std::max(plan.attend_bytes, attend_scratch_bytes(s.head_dim) +
                                                                attend_task_bytes(s.head_dim));
    }
    plan.product_bytes = align64(plan.product_bytes);
    plan.tile_bytes = align64(plan.tile_bytes);
    plan.attend_bytes = align64(plan.attend_bytes);
    // product | tile | small_rows act rows | two rows of floats | attention
    plan.scratch_bytes = plan.product_bytes + plan.tile_bytes + small_rows * plan.act_bytes +
                         2 * align64(widest * 4) + plan.attend_bytes;
    plan.buffers = m.buffers.data();
    plan.n_buffers = static_cast<uint32_t>(m.buffers.size());
    plan.arena_bytes = placed.arena_bytes;
    m.lowered.steps = m.steps.data();
    m.lowered.n_steps = static_cast<uint32_t>(m.steps.size());
    m.lowered.logits = fused.logits;
    m.lowered.vocab = program.vocab;
    m.lowered.max_rows = options.max_rows;
    m.lowered.max_logits = options.max_logits;
    return m;
}

}  // namespace ridge
