// Contexts: batches, logits, embeddings.
#include <algorithm>

#include "api/api.hpp"

using namespace ridge;
using namespace ridge::api;

namespace {

std::function<bool()> stop_of(ridge_context* c) {
    return [c] { return c->cancel.load(std::memory_order_relaxed); };
}

// A cancelled call has used up its request.
Status finish(ridge_context* c, Status s) {
    if (!s && s.error().code == ErrorCode::cancelled) c->cancel.store(false);
    return s;
}

void forget_batch(ridge_context* c) {
    c->row_of.clear();
    c->logits_of.clear();
    c->last_logits = -1;
}

// The batch as rows of a pass: those of one sequence together, in their order.
Status lay_out(ridge_context* c, const ridge_token* tokens, size_t n) {
    const Context& k = *c->context;
    if (n == 0 || n > k.model().lowered().max_rows)
        return fail(ErrorCode::invalid_argument, "a batch has 1 to " +
                                                     std::to_string(k.model().lowered().max_rows) +
                                                     " tokens, not " + std::to_string(n));
    c->next.resize(k.sequences());
    for (uint32_t s = 0; s < k.sequences(); ++s) c->next[s] = k.length(s);
    for (size_t i = 0; i < n; ++i) {
        const ridge_token& t = tokens[i];
        if (t.sequence >= k.sequences())
            return fail(ErrorCode::invalid_argument,
                        "token " + std::to_string(i) + " of the batch is of sequence " +
                            std::to_string(t.sequence) + "; the context has " +
                            std::to_string(k.sequences()));
        const uint32_t position = c->next[t.sequence]++;
        if (t.position != -1 && t.position != static_cast<int64_t>(position))
            return fail(ErrorCode::invalid_argument,
                        "token " + std::to_string(i) + " of the batch has position " +
                            std::to_string(t.position) + ", but sequence " +
                            std::to_string(t.sequence) + " is at " + std::to_string(position) +
                            "; trim the sequence to go back");
    }
    c->rows.clear();
    c->row_of.assign(n, 0);
    for (uint32_t s = 0; s < k.sequences(); ++s)
        for (size_t i = 0; c->next[s] != k.length(s) && i < n; ++i)
            if (tokens[i].sequence == s) {
                c->row_of[i] = static_cast<int64_t>(c->rows.size());
                c->rows.push_back({s, tokens[i].token, tokens[i].logits != 0});
            }
    c->logits_of.assign(n, -1);
    std::vector<int64_t> logits_of_row(n, -1);
    int64_t count = 0;
    for (size_t r = 0; r < n; ++r)
        if (c->rows[r].logits) logits_of_row[r] = count++;
    for (size_t i = 0; i < n; ++i) {
        c->logits_of[i] = logits_of_row[static_cast<size_t>(c->row_of[i])];
        if (c->logits_of[i] >= 0) c->last_logits = c->logits_of[i];
    }
    return {};
}

}  // namespace

extern "C" {

void ridge_context_defaults(ridge_context_params* params) {
    if (params == nullptr) return;
    *params = {};
    params->size = sizeof *params;
    params->sequences = 1;
}

ridge_status ridge_context_create(ridge_model* model, const ridge_context_params* given,
                                  ridge_context** context) {
    return guard([&]() -> Status {
        if (model == nullptr || context == nullptr)
            return fail(ErrorCode::invalid_argument,
                        "ridge_context_create needs a model and a place");
        ridge_context_params p;
        ridge_context_defaults(&p);
        RIDGE_TRY(take_params(given, p));
        if (p.sequences == 0 || p.sequences > partial_rows)
            return fail(ErrorCode::invalid_argument,
                        "a context has 1 to " + std::to_string(partial_rows) + " sequences, not " +
                            std::to_string(p.sequences));
        auto made = std::make_unique<ridge_context>();
        made->owner = model;
        ContextOptions o;
        o.context = p.context;
        o.sequences = p.sequences;
        o.threads_prefill = p.threads_prefill;
        o.threads_decode = p.threads_decode;
        RIDGE_ASSIGN(made->context, Context::create(*model->model, o));
        *context = made.release();
        return {};
    });
}

void ridge_context_free(ridge_context* context) {
    delete context;
}

ridge_status ridge_decode(ridge_context* context, const ridge_token* tokens, size_t n) {
    return guard([&]() -> Status {
        RIDGE_TRY(needs(context, no_context));
        forget_batch(context);
        if (tokens == nullptr) return fail(ErrorCode::invalid_argument, "there is no batch");
        Status s = lay_out(context, tokens, n);
        if (s) s = finish(context, context->context->pass(context->rows, stop_of(context)));
        if (!s) forget_batch(context);
        return s;
    });
}

ridge_status ridge_prefill(ridge_context* context, uint32_t sequence, const int32_t* tokens,
                           size_t n) {
    return guard([&]() -> Status {
        RIDGE_TRY(needs(context, no_context));
        forget_batch(context);
        if (tokens == nullptr || n == 0)
            return fail(ErrorCode::invalid_argument, "ridge_prefill needs at least one token");
        RIDGE_TRY(
            finish(context, context->context->prefill(sequence, {tokens, n}, 0, stop_of(context))));
        context->last_logits = 0;
        return {};
    });
}

int64_t ridge_prompt(ridge_context* context, uint32_t sequence, const int32_t* tokens, size_t n) {
    return guard_count([&]() -> Result<int64_t> {
        RIDGE_TRY(needs(context, no_context));
        forget_batch(context);
        if (tokens == nullptr || n == 0)
            return fail(ErrorCode::invalid_argument, "ridge_prompt needs at least one token");
        const auto computed = context->context->prompt(sequence, {tokens, n}, stop_of(context));
        if (!computed) {
            RIDGE_TRY(finish(context, propagate(computed)));
        }
        context->last_logits = 0;
        return int64_t{*computed};
    });
}

float* ridge_logits(ridge_context* context, int64_t i) {
    if (!present(context, no_context)) return nullptr;
    int64_t at = context->last_logits;
    if (i >= 0)
        at = i < static_cast<int64_t>(context->logits_of.size())
                 ? context->logits_of[static_cast<size_t>(i)]
                 : -1;
    if (i < -1 || at < 0) return nullptr;
    return context->context->logits(static_cast<uint32_t>(at)).data();
}

ridge_status ridge_embedding(ridge_context* context, int64_t i, float* out) {
    return guard([&]() -> Status {
        RIDGE_TRY(needs(context, no_context));
        RIDGE_TRY(needs(out, "ridge_embedding needs a place to write to"));
        if (i < 0 || i >= static_cast<int64_t>(context->row_of.size()))
            return fail(ErrorCode::invalid_argument,
                        "index " + std::to_string(i) + " is not in the last batch of " +
                            std::to_string(context->row_of.size()) + " tokens");
        return context->context->hidden(
            static_cast<uint32_t>(context->row_of[static_cast<size_t>(i)]),
            {out, context->owner->model->program().hidden});
    });
}

void ridge_cancel(ridge_context* context) {
    if (context != nullptr) context->cancel.store(true);
}

}  // extern "C"
