// Attention steps. Each span of kv_span anchored positions is reduced on its own to (max, sum,
// output), and spans are merged in order: whichever way a batch is cut up, the arithmetic of a
// query is the same.
//
// Small batches (decode): a task is (run, kv head, span). It prepares the run's queries of that
// head for itself, writes the keys and values that fall into its span (no other task touches them)
// and leaves a partial result; whoever finishes a head's last span merges. Large batches (prefill):
// `rotate` has filled the cache, whole key groups at a time; a task is (run, kv head, tile of
// queries) over all its spans, and prepares its queries, which no other task needs.
#include "runtime/core/exec.hpp"

namespace ridge {
namespace {

uint32_t group_size(const LoweredStep& s) {
    return s.heads / s.kv_heads;
}

const CacheLayer& layer_of(const Exec& e, const LoweredStep& s) {
    return e.cache.layers[s.cache_layer];
}

uint8_t* page_of(const Exec& e, const LoweredStep& s, const Run& run, uint32_t span,
                 uint32_t head) {
    const CacheLayer& layer = layer_of(e, s);
    const size_t page = layer.ring_spans == 0 ? run.pages[span]
                                              : static_cast<size_t>(run.ring) * layer.ring_spans +
                                                    span % layer.ring_spans;
    return layer.base + (page * s.kv_heads + head) * e.cache.page_bytes;
}

// First key that a query at `position` sees.
uint32_t first_key(const LoweredStep& s, uint32_t position) {
    return s.window != 0 && position + 1 > s.window ? position + 1 - s.window : 0;
}

const float* column(const Exec& e, const LoweredStep& s, uint32_t row, uint32_t first,
                    uint32_t head) {
    return reinterpret_cast<const float*>(buffer_row(e, s.qkv, row)) + first + head * s.head_dim;
}

// Norm, rotation and scale of `heads` heads from x on, rows `row` .. row + n_rows - 1 of a run.
void prepare_heads(const Exec& e, const LoweredStep& s, const Run& run, uint32_t row,
                   uint32_t n_rows, const float* x, uint32_t heads, const float* norm, float scale,
                   bool bf16, void* out, float* scratch) {
    HeadArgs a{};
    a.x = x;
    a.x_stride = buffer_stride(e, s.qkv) / sizeof(float);
    a.rows = n_rows;
    a.heads = heads;
    a.head_dim = s.head_dim;
    a.norm = norm;
    a.epsilon = s.epsilon;
    a.n_rot = s.n_rot;
    if (s.n_rot != 0)
        a.cos_sin = e.rope[s.rope_table] + static_cast<size_t>(run.pos0 + row) * s.n_rot;
    a.scale = scale;
    a.bf16 = bf16;
    a.out = out;
    a.scratch = scratch;
    e.attend->heads(a);
}

// Working memory of a task behind the kernel's own scratch.
struct Task {
    void* q;  // as span takes it
    float *o, *part, *key;
    float *m, *l, *part_m, *part_l;
    uint16_t *lo, *hi;
    uint8_t* kernel;
};

// Queries of a run's rows that share a kv head, as span takes them.
void prepare_queries(const Exec& e, const LoweredStep& s, const Run& run, uint32_t row,
                     uint32_t n_rows, uint32_t head, const Task& t) {
    const uint32_t group = group_size(s);
    prepare_heads(e, s, run, row, n_rows, column(e, s, run.row0 + row, s.q_column, head * group),
                  group, s.norm, s.scale, kv_paired(e.cache.type), t.q, t.key);
}

Task task_memory(const LoweredStep& s, uint8_t* memory) {
    const size_t padded = kv_padded(s.head_dim);
    Task t{};
    t.kernel = memory;
    float* f = reinterpret_cast<float*>(memory + (attend_scratch_bytes(s.head_dim) + 63) / 64 * 64);
    const auto take = [&f](size_t n) {
        float* p = f;
        f += n;
        return p;
    };
    t.q = take(attend_max_queries * padded);
    t.o = take(attend_max_queries * padded);
    t.part = take(attend_max_queries * padded);
    t.key = take(padded);
    t.m = take(attend_max_queries);
    t.l = take(attend_max_queries);
    t.part_m = take(attend_max_queries);
    t.part_l = take(attend_max_queries);
    t.lo = reinterpret_cast<uint16_t*>(f);
    t.hi = t.lo + attend_max_queries;
    return t;
}

// Attends n_rows rows of a run from `row` on to one span: m, l, o of n_rows * group queries.
void attend_span(const Exec& e, const LoweredStep& s, const Run& run, uint32_t row, uint32_t n_rows,
                 uint32_t head, uint32_t span, const Task& t, float* m, float* l, float* o) {
    const uint32_t group = group_size(s);
    const size_t padded = kv_padded(s.head_dim);
    const uint32_t start = span * kv_span;
    for (uint32_t i = 0; i < n_rows; ++i) {
        const uint32_t position = run.pos0 + row + i;
        const uint32_t from = first_key(s, position);
        const uint32_t lo = from > start ? from - start : 0;
        const uint32_t hi = position >= start ? position - start + 1 : 0;
        for (uint32_t g = 0; g < group; ++g) {
            t.lo[i * group + g] = static_cast<uint16_t>(lo < kv_span ? lo : kv_span);
            t.hi[i * group + g] = static_cast<uint16_t>(hi < kv_span ? hi : kv_span);
        }
    }
    AttendArgs a{};
    a.page = page_of(e, s, run, span, head);
    a.type = e.cache.type;
    a.head_dim = s.head_dim;
    a.q = t.q;
    a.n_q = n_rows * group;
    a.lo = t.lo;
    a.hi = t.hi;
    a.m = m;
    a.l = l;
    a.o = o;
    a.o_stride = padded;
    a.softcap = s.softcap;
    a.scratch = t.kernel;
    e.attend->span(a);
}

void finish_rows(const Exec& e, const LoweredStep& s, const Run& run, uint32_t row, uint32_t n_rows,
                 uint32_t head, const float* l, const float* o, size_t o_stride) {
    const uint32_t group = group_size(s);
    for (uint32_t i = 0; i < n_rows * group; ++i) {
        float* out = reinterpret_cast<float*>(buffer_row(e, s.out, run.row0 + row + i / group)) +
                     (head * group + i % group) * s.head_dim;
        e.attend->finish(l[i], o + i * o_stride, out, s.head_dim);
    }
}

// Asks for the lines that finish_rows will write, a row of heads at a time: they were last written
// a layer ago.
void expect_rows(const Exec& e, const LoweredStep& s, const Run& run, uint32_t row, uint32_t n_rows,
                 uint32_t head) {
    const size_t bytes = size_t{group_size(s)} * s.head_dim * sizeof(float);
    for (uint32_t i = 0; i < n_rows; ++i) {
        const uint8_t* out = buffer_row(e, s.out, run.row0 + row + i) + head * bytes;
        for (size_t b = 0; b < bytes; b += 64) __builtin_prefetch(out + b, 1);
    }
}

// Partial results of (run, head, span): n_q maxima, n_q sums, n_q outputs.
size_t partial_floats(const LoweredStep& s, uint32_t n_q) {
    return n_q * (kv_padded(s.head_dim) + 2);
}

struct SpanRange {
    uint32_t first, count;
};
SpanRange spans_of(const LoweredStep& s, const Run& run) {
    const uint32_t first = first_key(s, run.pos0) / kv_span;
    return {first, (run.pos0 + run.n_rows - 1) / kv_span - first + 1};
}

// Key and value of one row and kv head into the cache.
void write_position(const Exec& e, const LoweredStep& s, const Run& run, uint32_t row,
                    uint32_t head, const Task& t) {
    const uint32_t position = run.pos0 + row;
    prepare_heads(e, s, run, row, 1, column(e, s, run.row0 + row, s.k_column, head), 1, s.k_norm,
                  1.0f, false, t.part, t.key);
    e.attend->write(page_of(e, s, run, position / kv_span, head), e.cache.type, s.head_dim,
                    position % kv_span, t.part, column(e, s, run.row0 + row, s.v_column, head));
}

void small_task(Exec& e, const LoweredStep& s, const Run& run, uint32_t run_index, uint32_t head,
                SpanRange spans, uint32_t span_index, float* base, const Task& t) {
    const uint32_t group = group_size(s);
    const size_t padded = kv_padded(s.head_dim);
    const uint32_t span = spans.first + span_index;
    const uint32_t n_q = run.n_rows * group;
    prepare_queries(e, s, run, 0, run.n_rows, head, t);
    for (uint32_t i = 0; i < run.n_rows; ++i)
        if ((run.pos0 + i) / kv_span == span) write_position(e, s, run, i, head, t);
    const size_t part = partial_floats(s, n_q);
    float* mine = base + (static_cast<size_t>(head) * spans.count + span_index) * part;
    attend_span(e, s, run, 0, run.n_rows, head, span, t, mine, mine + n_q, mine + 2 * n_q);

    uint32_t* done = &e.finished[run_index * s.kv_heads + head];
    if (__atomic_fetch_add(done, 1u, __ATOMIC_ACQ_REL) + 1 != spans.count) return;
    __atomic_store_n(done, 0u, __ATOMIC_RELAXED);
    float* first = base + static_cast<size_t>(head) * spans.count * part;
    for (uint32_t i = 1; i < spans.count; ++i) {
        const float* next = first + i * part;
        for (uint32_t q = 0; q < n_q; ++q)
            e.attend->merge(first + q, first + n_q + q, first + 2 * n_q + q * padded, next[q],
                            next[n_q + q], next + 2 * n_q + q * padded, s.head_dim);
    }
    finish_rows(e, s, run, 0, run.n_rows, head, first + n_q, first + 2 * n_q, padded);
}

// Each thread goes through a share of its own in the order of spans and heads: pages of a span lie
// behind each other, and the kernel reads ahead.
void attend_small(Exec& e, uint32_t step, uint32_t thread, const LoweredStep& s, const Task& t) {
    uint32_t tasks = 0;
    for (uint32_t i = 0; i < e.batch.n_runs; ++i)
        tasks += spans_of(s, e.batch.runs[i]).count * s.kv_heads;
    TileClaims claims(e, step, thread, tasks);
    for (uint32_t task = claims.next(); task < tasks; task = claims.next()) {
        float* base = e.partials;
        uint32_t left = task;
        for (uint32_t i = 0; i < e.batch.n_runs; ++i) {
            const Run& run = e.batch.runs[i];
            const SpanRange spans = spans_of(s, run);
            const uint32_t of_run = spans.count * s.kv_heads;
            if (left < of_run) {
                small_task(e, s, run, i, left % s.kv_heads, spans, left / s.kv_heads, base, t);
                break;
            }
            left -= of_run;
            base += of_run * partial_floats(s, run.n_rows * group_size(s));
        }
    }
}

void large_task(Exec& e, const LoweredStep& s, const Run& run, uint32_t head, uint32_t row,
                uint32_t n_rows, const Task& t) {
    const uint32_t group = group_size(s);
    const size_t padded = kv_padded(s.head_dim);
    const uint32_t n_q = n_rows * group;
    prepare_queries(e, s, run, row, n_rows, head, t);
    const uint32_t first = first_key(s, run.pos0 + row) / kv_span;
    const uint32_t last = (run.pos0 + row + n_rows - 1) / kv_span;
    expect_rows(e, s, run, row, n_rows, head);
    attend_span(e, s, run, row, n_rows, head, first, t, t.m, t.l, t.o);
    for (uint32_t span = first + 1; span <= last; ++span) {
        attend_span(e, s, run, row, n_rows, head, span, t, t.part_m, t.part_l, t.part);
        for (uint32_t q = 0; q < n_q; ++q)
            e.attend->merge(t.m + q, t.l + q, t.o + q * padded, t.part_m[q], t.part_l[q],
                            t.part + q * padded, s.head_dim);
    }
    finish_rows(e, s, run, row, n_rows, head, t.l, t.o, padded);
}

void attend_large(Exec& e, uint32_t step, const LoweredStep& s, const Task& t) {
    const uint32_t tile = attend_max_queries / group_size(s);
    for (;;) {
        uint32_t task = claim(e, step);
        uint32_t i = 0;
        for (; i < e.batch.n_runs; ++i) {
            const Run& run = e.batch.runs[i];
            const uint32_t tiles = (run.n_rows + tile - 1) / tile;
            if (task < tiles * s.kv_heads) {
                // Last rows first: they see the most keys.
                const uint32_t row = (tiles - 1 - task / s.kv_heads) * tile;
                const uint32_t left = run.n_rows - row;
                large_task(e, s, run, task % s.kv_heads, row, left < tile ? left : tile, t);
                break;
            }
            task -= tiles * s.kv_heads;
        }
        if (i == e.batch.n_runs) return;
    }
}

constexpr uint32_t key_group = 16;

// Keys and values of the rows of a run whose positions lie in one key group into the cache.
void write_positions(const Exec& e, const LoweredStep& s, const Run& run, uint32_t group,
                     const Task& t) {
    const uint32_t start = group * key_group;
    const uint32_t first = start > run.pos0 ? start - run.pos0 : 0;
    const uint32_t left = run.n_rows - first;
    const bool whole = start >= run.pos0 && left >= key_group;
    const uint32_t end = start + key_group - run.pos0;
    for (uint32_t h = 0; h < s.kv_heads; ++h) {
        if (!whole) {
            for (uint32_t row = first; row < end && row < run.n_rows; ++row)
                write_position(e, s, run, row, h, t);
            continue;
        }
        prepare_heads(e, s, run, first, key_group, column(e, s, run.row0 + first, s.k_column, h), 1,
                      s.k_norm, 1.0f, false, t.part, t.key);
        e.attend->write_group(page_of(e, s, run, start / kv_span, h), e.cache.type, s.head_dim,
                              start % kv_span / key_group, t.part, kv_padded(s.head_dim),
                              column(e, s, run.row0 + first, s.v_column, h),
                              buffer_stride(e, s.qkv) / sizeof(float));
    }
}

}  // namespace

bool attention_is_small(const Exec& e, const LoweredStep& s) {
    if (e.batch.n_rows > partial_rows) return false;
    for (uint32_t i = 0; i < e.batch.n_runs; ++i)
        if (e.batch.runs[i].n_rows * group_size(s) > attend_max_queries) return false;
    return true;
}

void run_rotate(Exec& e, uint32_t step, uint32_t thread) {
    const LoweredStep& s = e.model->steps[step];
    const Task t = task_memory(s, scratch_of(e, thread).attend);
    for (;;) {
        uint32_t task = claim(e, step);
        uint32_t i = 0;
        for (; i < e.batch.n_runs; ++i) {
            const Run& run = e.batch.runs[i];
            const uint32_t first = run.pos0 / key_group;
            const uint32_t groups = (run.pos0 + run.n_rows - 1) / key_group - first + 1;
            if (task < groups) {
                write_positions(e, s, run, first + task, t);
                break;
            }
            task -= groups;
        }
        if (i == e.batch.n_runs) return;
    }
}

void run_attend(Exec& e, uint32_t step, uint32_t thread) {
    const LoweredStep& s = e.model->steps[step];
    const Task t = task_memory(s, scratch_of(e, thread).attend);
    if (attention_is_small(e, s))
        attend_small(e, step, thread, s, t);
    else
        attend_large(e, step, s, t);
}

}  // namespace ridge
