#include <algorithm>
#include <chrono>
#include <cstring>

#include "runtime/model.hpp"

namespace ridge {
namespace {

// Distance of software prefetch in decode, in bytes of packed weights. Measured on Zen 5, two
// threads, 0.6B, tokens/s relative to a distance of 3456, at 6144, 8192 and 10240:
// Q4_K_M 1.08, 1.03, 0.87; Q8_0 1.10, 0.99, 0.94; Q6_K 1.07, 1.04, 1.02; Q2_K 1.10, 1.19, 1.25;
// without any, Q4_K_M has 0.6.
constexpr size_t default_prefetch = 6144;

void port_barrier(void* self, uint32_t thread, void (*last)(void*), void* arg) {
    static_cast<ThreadTeam*>(self)->barrier(thread, last, arg);
}

uint64_t port_now(void* self) {
    (void)self;
    return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                     std::chrono::steady_clock::now().time_since_epoch())
                                     .count());
}

bool call_stop(void* stop) {
    return (*static_cast<const std::function<bool()>*>(stop))();
}

void pass_thread(void* ctx, unsigned thread) {
    run_pass(*static_cast<Exec*>(ctx), thread);
}

}  // namespace

Result<std::unique_ptr<Context>> Context::create(Model& model, const ContextOptions& options) {
    const Lowered& lowered = model.lowered();
    const Program& program = model.program();
    std::unique_ptr<Context> c(new Context(model));
    KvOptions kv;
    kv.type = model.options().kv;
    kv.context = options.context != 0 ? options.context : std::min<uint32_t>(program.context, 4096);
    kv.sequences = std::clamp<uint32_t>(options.sequences, 1, partial_rows);
    kv.max_rows = lowered.max_rows;
    if (kv.context > (1u << 24))
        return fail(ErrorCode::invalid_argument,
                    "a context of " + std::to_string(kv.context) + " tokens is more than 16777216");
    RIDGE_ASSIGN(c->cache_, KvCache::create(lowered, kv));
    RIDGE_ASSIGN(c->arena_, AlignedBuffer::allocate(lowered.memory.arena_bytes, true));
    RIDGE_ASSIGN(c->scratch_,
                 AlignedBuffer::allocate(lowered.memory.scratch_bytes * model.team().size(), true));
    const AttentionShape& a = program.attention;
    RIDGE_ASSIGN(c->partials_,
                 AlignedBuffer::allocate(4ull * partial_rows * a.heads * (c->cache_.spans() + 1) *
                                         (kv_padded(a.head_dim) + 2)));

    RIDGE_ASSIGN(c->rope_, RopeTables::create(program, kv.context));

    c->counters_.resize(static_cast<size_t>(lowered.n_steps) * model.team().size());
    c->finished_.assign(static_cast<size_t>(partial_rows) * a.kv_heads, 0);
    c->batch_tokens_.resize(lowered.max_rows);
    c->run_of_.resize(lowered.max_rows);
    c->logit_rows_.resize(lowered.max_logits);
    c->runs_.resize(kv.sequences);
    c->rows_.resize(lowered.max_rows);
    c->history_.resize(static_cast<size_t>(kv.sequences) * kv.context);
    c->lengths_.assign(kv.sequences, 0);
    c->step_ns_.assign(lowered.n_steps, 0);

    Exec& e = c->exec_;
    e.model = &lowered;
    e.arena = c->arena_.data();
    e.scratch = c->scratch_.data();
    e.row = model.kernels().set->row;
    e.attend = model.kernels().set->attend;
    e.cache = c->cache_.view();
    e.rope = c->rope_.tables();
    e.counters = c->counters_.data();
    e.partials = reinterpret_cast<float*>(c->partials_.data());
    e.finished = c->finished_.data();
    e.prefetch_bytes = default_prefetch;
    e.port = {&model.team(), port_barrier, port_now};
    e.barriers = &c->pass_barriers_;
    c->set_threads(options.threads_prefill, options.threads_decode);
    return c;
}

void Context::set_threads(uint32_t prefill, uint32_t decode) {
    const uint32_t most = model_.team().size();
    threads_prefill_ = prefill == 0 ? most : std::min(prefill, most);
    threads_decode_ = decode == 0 ? most : std::min(decode, most);
}

uint32_t Context::threads_for(uint32_t rows) const {
    return rows <= small_rows ? threads_decode_ : threads_prefill_;
}

void Context::set_timing(bool on) {
    std::fill(step_ns_.begin(), step_ns_.end(), 0);
    barriers_ = 0;
    exec_.step_ns = on ? step_ns_.data() : nullptr;
}

std::span<const int32_t> Context::tokens(uint32_t sequence) const {
    return {&history_[static_cast<size_t>(sequence) * context()], lengths_[sequence]};
}

std::span<float> Context::logits(uint32_t i) {
    return {reinterpret_cast<float*>(buffer_row(exec_, exec_.model->logits, i)),
            exec_.model->vocab};
}

Status Context::check(std::span<const Row> rows) {
    const Lowered& m = *exec_.model;
    if (rows.empty() || rows.size() > m.max_rows)
        return fail(ErrorCode::invalid_argument, "a pass takes 1 to " + std::to_string(m.max_rows) +
                                                     " tokens, not " + std::to_string(rows.size()));
    uint32_t n_logits = 0;
    for (const Row& r : rows) {
        if (r.sequence >= lengths_.size())
            return fail(ErrorCode::invalid_argument, "sequence " + std::to_string(r.sequence) +
                                                         " does not exist; the context has " +
                                                         std::to_string(lengths_.size()));
        if (r.token < 0 || static_cast<uint32_t>(r.token) >= m.vocab)
            return fail(ErrorCode::invalid_argument, "token " + std::to_string(r.token) +
                                                         " is outside the vocabulary of " +
                                                         std::to_string(m.vocab));
        n_logits += r.logits;
    }
    if (n_logits > m.max_logits)
        return fail(ErrorCode::invalid_argument, "a pass gives logits of at most " +
                                                     std::to_string(m.max_logits) +
                                                     " tokens, not " + std::to_string(n_logits));
    return {};
}

Status Context::pass(std::span<const Row> rows, const std::function<bool()>& stop) {
    RIDGE_TRY(check(rows));
    Batch& b = exec_.batch;
    b.n_runs = 0;
    b.n_logits = 0;
    uint32_t positions = 0;
    for (size_t i = 0; i < rows.size();) {
        const uint32_t sequence = rows[i].sequence;
        size_t end = i;
        while (end < rows.size() && rows[end].sequence == sequence) ++end;
        for (uint32_t r = 0; r < b.n_runs; ++r)
            if (runs_[r].ring == sequence)
                return fail(
                    ErrorCode::invalid_argument,
                    "the rows of sequence " + std::to_string(sequence) + " do not stand together");
        RIDGE_TRY(cache_.grow(sequence, lengths_[sequence], static_cast<uint32_t>(end - i)));
        runs_[b.n_runs++] = {static_cast<uint32_t>(i), static_cast<uint32_t>(end - i),
                             lengths_[sequence], cache_.pages(sequence), sequence};
        positions = std::max(positions, lengths_[sequence] + static_cast<uint32_t>(end - i));
        i = end;
    }
    for (uint32_t r = 0; r < b.n_runs; ++r)
        for (uint32_t i = runs_[r].row0; i < runs_[r].row0 + runs_[r].n_rows; ++i) {
            batch_tokens_[i] = rows[i].token;
            run_of_[i] = r;
            if (rows[i].logits) logit_rows_[b.n_logits++] = i;
        }
    b.tokens = batch_tokens_.data();
    b.run_of = run_of_.data();
    b.logit_rows = logit_rows_.data();
    b.runs = runs_.data();
    b.n_rows = static_cast<uint32_t>(rows.size());
    const bool decode = b.n_rows <= small_rows;
    exec_.n_threads = threads_for(b.n_rows);
    if (decode) exec_.n_threads = model_.team().advise(exec_.n_threads);
    rope_.fill(model_.team(), exec_.n_threads, positions);
    std::memset(counters_.data(), 0, sizeof(StepCounter) * exec_.n_threads * exec_.model->n_steps);
    pass_barriers_ = 0;
    exec_.stop = stop ? call_stop : nullptr;
    exec_.stop_arg = const_cast<std::function<bool()>*>(&stop);
    exec_.stopped = false;
    if (exec_.step_ns != nullptr) exec_.mark_ns = port_now(nullptr);
    model_.team().run(pass_thread, &exec_, exec_.n_threads);
    if (decode) model_.team().note_crowding();
    barriers_ += pass_barriers_;
    if (exec_.stopped) return fail(ErrorCode::cancelled, "stopped by the caller");
    for (uint32_t r = 0; r < b.n_runs; ++r) {
        const Run& run = runs_[r];
        int32_t* history = &history_[static_cast<size_t>(run.ring) * context()];
        for (uint32_t i = 0; i < run.n_rows; ++i) history[run.pos0 + i] = rows[run.row0 + i].token;
        lengths_[run.ring] += run.n_rows;
    }
    return {};
}

Status Context::prefill(uint32_t sequence, std::span<const int32_t> tokens, uint32_t chunk,
                        const std::function<bool()>& stop) {
    const uint32_t most = exec_.model->max_rows;
    chunk = chunk == 0 ? most : std::min(chunk, most);
    for (size_t i = 0; i < tokens.size(); i += chunk) {
        const size_t n = std::min<size_t>(chunk, tokens.size() - i);
        for (size_t j = 0; j < n; ++j)
            rows_[j] = {sequence, tokens[i + j], i + j + 1 == tokens.size()};
        RIDGE_TRY(pass({rows_.data(), n}, stop));
    }
    return {};
}

Result<uint32_t> Context::prompt(uint32_t sequence, std::span<const int32_t> wanted,
                                 const std::function<bool()>& stop) {
    if (wanted.empty())
        return fail(ErrorCode::invalid_argument, "a prompt needs at least one token");
    if (sequence >= lengths_.size())
        return fail(ErrorCode::invalid_argument,
                    "sequence " + std::to_string(sequence) + " does not exist");
    const std::span<const int32_t> held = tokens(sequence);
    uint32_t same = 0;
    while (same < held.size() && same + 1 < wanted.size() && held[same] == wanted[same]) ++same;
    same = trim(sequence, same);
    RIDGE_TRY(prefill(sequence, wanted.subspan(same), 0, stop));
    return static_cast<uint32_t>(wanted.size()) - same;
}

uint32_t Context::trim(uint32_t sequence, uint32_t length) {
    lengths_[sequence] = cache_.trim(sequence, lengths_[sequence], length);
    return lengths_[sequence];
}

uint64_t Context::memory_bytes() const {
    return arena_.size() + scratch_.size() + partials_.size() + rope_.bytes() + history_.size() * 4;
}

}  // namespace ridge
