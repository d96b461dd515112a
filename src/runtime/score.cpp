#include "runtime/score.hpp"

#include <algorithm>
#include <cmath>

namespace ridge {
namespace {

// log of the sum of exp(l - max), and where the maximum is.
struct Softmax {
    double log_sum;
    float max;
    size_t top;
};

Softmax softmax(std::span<const float> l) {
    Softmax s{0.0, l[0], 0};
    for (size_t i = 1; i < l.size(); ++i)
        if (l[i] > s.max) {
            s.max = l[i];
            s.top = i;
        }
    double sum = 0.0;
    for (const float x : l) sum += static_cast<double>(std::exp(x - s.max));
    s.log_sum = std::log(sum);
    return s;
}

double log_p(const Softmax& s, float logit) {
    return static_cast<double>(logit) - static_cast<double>(s.max) - s.log_sum;
}

// KL(p || q) in nats of two softmax distributions. Terms of one token cancel to the precision of
// f32 logits; the sum can come out a little below 0 where both are equal.
double divergence(std::span<const float> p, const Softmax& sp, std::span<const float> q,
                  const Softmax& sq) {
    const double shift =
        (static_cast<double>(sq.max) + sq.log_sum) - (static_cast<double>(sp.max) + sp.log_sum);
    const float offset = static_cast<float>(static_cast<double>(sp.max) + sp.log_sum);
    double sum = 0.0;
    for (size_t i = 0; i < p.size(); ++i) {
        const float probability = std::exp(p[i] - offset);
        sum += static_cast<double>(probability) *
               (static_cast<double>(p[i]) - static_cast<double>(q[i]) + shift);
    }
    return sum;
}

struct Sums {
    double nll = 0, nll2 = 0, oracle_nll = 0, same = 0;
    std::vector<double> kld;
};

struct RowResult {
    double nll, oracle_nll, kld;
    bool same;
};

// One pass's rows, divided among the team's threads.
struct RowJob {
    Context* model;
    Context* oracle;
    std::span<const int32_t> targets;
    std::vector<RowResult>* results;
    unsigned threads;
};

void score_rows(void* ctx, unsigned thread) {
    const RowJob& job = *static_cast<RowJob*>(ctx);
    for (size_t r = thread; r < job.targets.size(); r += job.threads) {
        const auto target = static_cast<size_t>(job.targets[r]);
        const auto q = job.model->logits(static_cast<uint32_t>(r));
        const Softmax sq = softmax(q);
        RowResult& out = (*job.results)[r];
        out = {-log_p(sq, q[target]), 0.0, 0.0, false};
        if (job.oracle == nullptr) continue;
        const auto p = job.oracle->logits(static_cast<uint32_t>(r));
        const Softmax sp = softmax(p);
        out.oracle_nll = -log_p(sp, p[target]);
        out.kld = divergence(p, sp, q, sq);
        out.same = sp.top == sq.top;
    }
}

double standard_error(double sum, double squares, double n) {
    const double mean = sum / n;
    return n > 1 ? std::sqrt(std::max(0.0, squares / n - mean * mean) / (n - 1)) : 0.0;
}

Score summary(const Sums& s, uint64_t windows, bool compared) {
    Score out;
    out.windows = windows;
    out.tokens = s.kld.size();
    const double n = static_cast<double>(out.tokens);
    if (out.tokens == 0) return out;
    out.perplexity = std::exp(s.nll / n);
    out.perplexity_error = out.perplexity * standard_error(s.nll, s.nll2, n);
    out.compared = compared;
    if (!compared) return out;
    out.oracle_perplexity = std::exp(s.oracle_nll / n);
    double sum = 0, squares = 0;
    for (const double k : s.kld) {
        sum += k;
        squares += k * k;
    }
    out.mean_kld = sum / n;
    out.mean_kld_error = standard_error(sum, squares, n);
    std::vector<double> sorted = s.kld;
    std::sort(sorted.begin(), sorted.end());
    out.kld_999 = sorted[std::min(sorted.size() - 1, static_cast<size_t>(0.999 * n))];
    out.kld_max = sorted.back();
    out.same_top = s.same / n;
    out.same_top_error = standard_error(s.same, s.same, n);
    return out;
}

}  // namespace

Result<Score> score(Model& model, Model* oracle, std::span<const int32_t> ids,
                    const ScoreOptions& options,
                    const std::function<void(double, const Score&)>& progress) {
    if (options.window < 2 || options.first >= options.window - 1)
        return fail(ErrorCode::invalid_argument,
                    "a window needs at least two tokens and a scored position before its last");
    if (options.max_tokens != 0 && ids.size() > options.max_tokens)
        ids = ids.first(options.max_tokens);
    const size_t windows = ids.size() / options.window;
    if (windows == 0)
        return fail(ErrorCode::invalid_argument, "the text has " + std::to_string(ids.size()) +
                                                     " tokens, fewer than one window of " +
                                                     std::to_string(options.window) +
                                                     "; give a longer text or a smaller window");
    ContextOptions co;
    co.context = options.window;
    RIDGE_ASSIGN(const std::unique_ptr<Context> context, Context::create(model, co));
    std::unique_ptr<Context> other;
    if (oracle != nullptr) {
        RIDGE_ASSIGN(other, Context::create(*oracle, co));
    }
    uint32_t chunk = std::min(model.lowered().max_logits, model.lowered().max_rows);
    if (oracle != nullptr)
        chunk = std::min({chunk, oracle->lowered().max_logits, oracle->lowered().max_rows});
    Sums sums;
    std::vector<Row> rows(chunk);
    std::vector<RowResult> results(chunk);
    for (size_t w = 0; w < windows; ++w) {
        std::vector<int32_t> text(ids.begin() + static_cast<ptrdiff_t>(w * options.window),
                                  ids.begin() + static_cast<ptrdiff_t>((w + 1) * options.window));
        if (options.bos && model.options().vocabulary && model.tokenizer().adds_bos())
            text[0] = model.tokenizer().bos();
        context->trim(0, 0);
        if (other) other->trim(0, 0);
        for (uint32_t i = 0; i < options.window; i += chunk) {
            const uint32_t n = std::min(chunk, options.window - i);
            // Position p predicts token p + 1; the last has nothing to predict.
            uint32_t scored = 0;
            uint32_t first_target = 0;
            for (uint32_t j = 0; j < n; ++j) {
                const uint32_t p = i + j;
                const bool wanted = p >= options.first && p + 1 < options.window;
                rows[j] = {0, text[p], wanted};
                if (wanted && scored++ == 0) first_target = p + 1;
            }
            RIDGE_TRY(context->pass({rows.data(), n}));
            if (other) RIDGE_TRY(other->pass({rows.data(), n}));
            RowJob job{context.get(),
                       other.get(),
                       {text.data() + first_target, scored},
                       &results,
                       model.team().size()};
            model.team().run(score_rows, &job, job.threads);
            for (uint32_t r = 0; r < scored; ++r) {
                sums.nll += results[r].nll;
                sums.nll2 += results[r].nll * results[r].nll;
                sums.oracle_nll += results[r].oracle_nll;
                sums.same += results[r].same ? 1.0 : 0.0;
                sums.kld.push_back(results[r].kld);
            }
        }
        if (progress)
            progress(static_cast<double>(w + 1) / static_cast<double>(windows),
                     summary(sums, w + 1, oracle != nullptr));
    }
    return summary(sums, windows, oracle != nullptr);
}

}  // namespace ridge
