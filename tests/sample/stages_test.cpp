// Each stage of the chain against numbers worked out by hand, and the draws by chi-square.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "sample/sampler.hpp"
#include "support/allocations.hpp"

namespace ridge {
namespace {

constexpr float inf = INFINITY;

std::vector<float> logs(const std::vector<double>& probabilities) {
    std::vector<float> out;
    for (const double p : probabilities) out.push_back(static_cast<float>(std::log(p)));
    return out;
}

// Temperature 1 and everything else off.
SamplerOptions plain() {
    SamplerOptions o;
    o.temperature = 1.0f;
    o.top_k = 0;
    o.top_p = 1.0f;
    o.min_p = 0.0f;
    o.seed = 11;
    return o;
}

Sampler made(const SamplerOptions& o, size_t vocab, const std::vector<int32_t>& history = {}) {
    auto s = Sampler::create(o, static_cast<uint32_t>(vocab));
    EXPECT_TRUE(s.has_value()) << s.error().message;
    for (const int32_t id : history) s->accept(id);
    return std::move(*s);
}

// What a chain draws from, by token.
std::map<int32_t, double> kept(const SamplerOptions& o, const std::vector<float>& logits,
                               const std::vector<int32_t>& history = {}) {
    Sampler s = made(o, logits.size(), history);
    (void)s.sample(logits);
    std::map<int32_t, double> out;
    for (const Candidate& c : s.candidates())
        if (c.p > 0.0f) out[c.id] = static_cast<double>(c.p);
    return out;
}
void expect_kept(const std::map<int32_t, double>& got, const std::map<int32_t, double>& want) {
    ASSERT_EQ(got.size(), want.size());
    for (const auto& [id, p] : want) {
        ASSERT_EQ(got.count(id), 1u) << id;
        EXPECT_NEAR(got.at(id), p, 1e-5) << id;
    }
}

TEST(Stages, RepeatPenaltyDividesAndMultiplies) {
    SamplerOptions o = plain();
    o.repeat_penalty = 2.0f;
    // Logits 2, -1, 0: the first becomes 1, the second -2, token 2 was not seen.
    const double sum = std::exp(1.0) + std::exp(-2.0) + 1.0;
    expect_kept(kept(o, {2.0f, -1.0f, 0.0f}, {0, 1, 0}),
                {{0, std::exp(1.0) / sum}, {1, std::exp(-2.0) / sum}, {2, 1.0 / sum}});
}

TEST(Stages, FrequencyCountsPresenceDoesNot) {
    SamplerOptions o = plain();
    o.frequency_penalty = 0.5f;
    o.presence_penalty = 0.25f;
    // Seen three times: 1.5 + 0.25; once: 0.75; never: nothing.
    const double a = std::exp(-1.75), b = std::exp(-0.75), sum = a + b + 1.0;
    expect_kept(kept(o, {0.0f, 0.0f, 0.0f}, {0, 0, 1, 0}),
                {{0, a / sum}, {1, b / sum}, {2, 1.0 / sum}});
    // A window of two forgets the rest.
    o.penalty_last_n = 2;
    const double c = std::exp(-0.75), rest = 2.0 * c + 1.0;
    expect_kept(kept(o, {0.0f, 0.0f, 0.0f}, {0, 0, 1, 0}),
                {{0, c / rest}, {1, c / rest}, {2, 1.0 / rest}});
    o.penalty_last_n = 0;
    expect_kept(kept(o, {0.0f, 0.0f, 0.0f}, {0, 0, 1, 0}),
                {{0, 1 / 3.0}, {1, 1 / 3.0}, {2, 1 / 3.0}});
}

TEST(Stages, DryPunishesWhatWouldGoOn) {
    SamplerOptions o = plain();
    o.dry_multiplier = 1.0f;
    o.dry_base = 2.0f;
    o.dry_allowed_length = 2;
    // 1 2 3 4 ... 1 2 3: the last three tokens stood before 4, so 4 loses 2^(3-2). After "2 3 5",
    // nothing: 5 would continue "2 3" (length 2), which costs 2^0.
    const std::vector<float> equal(8, 0.0f);
    const double two = std::exp(-2.0), sum = 7.0 + two;
    auto got = kept(o, equal, {1, 2, 3, 4, 0, 1, 2, 3});
    EXPECT_NEAR(got[4], two / sum, 1e-5);
    EXPECT_NEAR(got[5], 1.0 / sum, 1e-5);
    got = kept(o, equal, {1, 2, 3, 4, 0, 6, 2, 3});  // only "2 3" repeats
    EXPECT_NEAR(got[4], std::exp(-1.0) / (7.0 + std::exp(-1.0)), 1e-5);
    got = kept(o, equal, {1, 2, 3, 4, 0, 6, 7, 3});  // "3" alone is allowed
    EXPECT_NEAR(got[4], 0.125, 1e-5);
    // A breaker between: only "3" counts from there on.
    o.dry_breaker_ids = {{2}};
    got = kept(o, equal, {1, 2, 3, 4, 0, 1, 2, 3});
    EXPECT_NEAR(got[4], 0.125, 1e-5);
    // The longest of several repetitions decides; far repetitions do not overflow.
    o.dry_breaker_ids = {};
    o.dry_penalty_last_n = 4000;
    got = kept(o, equal, std::vector<int32_t>(4000, 3));
    EXPECT_EQ(got.count(3), 0u);
    EXPECT_NEAR(got[4], 1.0 / 7.0, 1e-5);
}

TEST(Stages, TopNSigma) {
    SamplerOptions o = plain();
    o.top_n_sigma = 1.0f;
    // Mean 2, deviation sqrt(2): the limit is 4 - 1.414 = 2.586.
    const double a = std::exp(4.0), b = std::exp(3.0);
    expect_kept(kept(o, {4.0f, 0.0f, 3.0f, 1.0f, 2.0f}), {{0, a / (a + b)}, {2, b / (a + b)}});
    // Minus infinities are no part of mean and deviation.
    expect_kept(kept(o, {4.0f, 0.0f, 3.0f, 1.0f, 2.0f, -inf, -inf}),
                {{0, a / (a + b)}, {2, b / (a + b)}});
}

TEST(Stages, TypicalKeepsWhatIsNearTheEntropy) {
    SamplerOptions o = plain();
    // Entropy of 0.6, 0.3, 0.1 is 0.898; surprises 0.511, 1.204, 2.303: distances 0.387,
    // 0.306, 1.4. So 0.3 comes first, then 0.6.
    o.typical_p = 0.25f;
    expect_kept(kept(o, logs({0.6, 0.3, 0.1})), {{1, 1.0}});
    o.typical_p = 0.85f;
    expect_kept(kept(o, logs({0.6, 0.3, 0.1})), {{0, 2 / 3.0}, {1, 1 / 3.0}});
}

TEST(Stages, XtcDropsAllButTheLeastOfTheTop) {
    SamplerOptions o = plain();
    o.xtc_probability = 1.0f;
    o.xtc_threshold = 0.15f;
    // 0.4, 0.3 and 0.2 are above: 0.2 stays, with what is below.
    expect_kept(kept(o, logs({0.3, 0.4, 0.1, 0.2})), {{3, 2 / 3.0}, {2, 1 / 3.0}});
    o.xtc_threshold = 0.35f;  // only one above: nothing to exclude
    EXPECT_EQ(kept(o, logs({0.3, 0.4, 0.1, 0.2})).size(), 4u);
    o.xtc_threshold = 0.6f;
    EXPECT_EQ(kept(o, logs({0.3, 0.4, 0.1, 0.2})).size(), 4u);
}

TEST(Stages, XtcHappensAsOftenAsAsked) {
    SamplerOptions o = plain();
    o.xtc_probability = 0.3f;
    Sampler s = made(o, 4);
    int dropped = 0;
    constexpr int n = 20000;
    for (int i = 0; i < n; ++i) {
        (void)s.sample(logs({0.3, 0.4, 0.1, 0.2}));
        dropped += s.candidates().size() < 4 ? 1 : 0;
    }
    EXPECT_NEAR(dropped / double{n}, 0.3, 4 * std::sqrt(0.3 * 0.7 / n));
}

TEST(Stages, DynamicTemperatureFollowsEntropy) {
    SamplerOptions o = plain();
    o.temperature = 1.0f;
    o.dynatemp_range = 0.5f;
    // Equal logits: entropy is at its maximum, the temperature 1.5; of two that differ, in between.
    const double p0 = 0.8, p1 = 0.2;
    const double share = -(p0 * std::log(p0) + p1 * std::log(p1)) / std::log(2.0);
    const double t = 0.5 + share;
    const double a = std::pow(p0, 1.0 / t), b = std::pow(p1, 1.0 / t);
    expect_kept(kept(o, logs({p0, p1})), {{0, a / (a + b)}, {1, b / (a + b)}});
    o.dynatemp_exponent = 2.0f;
    const double t2 = 0.5 + share * share;
    const double c = std::pow(p0, 1.0 / t2), d = std::pow(p1, 1.0 / t2);
    expect_kept(kept(o, logs({p0, p1})), {{0, c / (c + d)}, {1, d / (c + d)}});
}

TEST(Stages, MinKeep) {
    SamplerOptions o = plain();
    o.min_keep = 3;
    const auto logits = logs({0.5, 0.3, 0.1, 0.06, 0.04});
    o.top_p = 0.1f;
    EXPECT_EQ(kept(o, logits).size(), 3u);
    o = plain();
    o.min_keep = 3;
    o.min_p = 0.9f;
    EXPECT_EQ(kept(o, logits).size(), 3u);
    o = plain();
    o.min_keep = 3;
    o.typical_p = 0.01f;
    EXPECT_EQ(kept(o, logits).size(), 3u);
}

TEST(Stages, LogitBias) {
    SamplerOptions o = plain();
    o.logit_bias = {{1, std::log(3.0f)}, {2, -inf}};
    expect_kept(kept(o, {0.0f, 0.0f, 5.0f}), {{0, 0.25}, {1, 0.75}});
    o.temperature = 0.0f;
    EXPECT_EQ(made(o, 3).sample(std::vector<float>{0.0f, 0.0f, 5.0f}), 1);
    // Every token is ruled out: none is made up.
    o.logit_bias = {{0, -inf}, {1, -inf}, {2, -inf}};
    EXPECT_EQ(made(o, 3).sample(std::vector<float>{0.0f, 0.0f, 5.0f}), -1);
}

TEST(Stages, AllowedTokens) {
    SamplerOptions o = plain();
    std::vector<float> logits(130, 0.0f);
    logits[3] = 50.0f;
    logits[129] = std::log(3.0f);
    const std::vector<uint64_t> allowed = {uint64_t{1} << 7, 0, uint64_t{1} << 1};  // 7 and 129
    Sampler s = made(o, 130);
    std::map<int32_t, int> counts;
    constexpr int n = 20000;
    for (int i = 0; i < n; ++i) ++counts[s.sample(logits, allowed)];
    EXPECT_EQ(counts.size(), 2u);
    EXPECT_NEAR(counts[129] / double{n}, 0.75, 4 * std::sqrt(0.75 * 0.25 / n));
    o.temperature = 0.0f;
    EXPECT_EQ(made(o, 130).sample(logits, allowed), 129);
    EXPECT_EQ(made(o, 130).sample(logits, std::vector<uint64_t>{0, 0, 0}), -1);
    EXPECT_EQ(made(o, 130).sample(logits, std::vector<uint64_t>{0}), -1);
    logits[7] = logits[129] = -inf;  // what is allowed has no probability
    EXPECT_EQ(made(o, 130).sample(logits, allowed), -1);
}

// Pearson's chi-square of the draws against the distribution that each chain leaves by hand.
TEST(Stages, DrawsFollowTheDistribution) {
    const std::vector<double> p = {0.35, 0.25, 0.15, 0.1, 0.08, 0.07};
    struct Case {
        const char* name;
        SamplerOptions options;
        std::vector<double> want;
        double limit;  // chi-square at 0.999 for one degree less than there are tokens
    };
    std::vector<Case> cases;
    cases.push_back({"plain", plain(), p, 20.5});
    SamplerOptions o = plain();
    o.top_k = 3;
    cases.push_back({"top-k", o, {0.35, 0.25, 0.15, 0, 0, 0}, 13.8});
    o = plain();
    o.top_p = 0.8f;
    cases.push_back({"top-p", o, {0.35, 0.25, 0.15, 0.1, 0, 0}, 16.3});
    o = plain();
    o.min_p = 0.25f;
    cases.push_back({"min-p", o, {0.35, 0.25, 0.15, 0.1, 0, 0}, 16.3});
    o = plain();
    o.xtc_probability = 1.0f;
    o.xtc_threshold = 0.2f;
    cases.push_back({"xtc", o, {0, 0.25, 0.15, 0.1, 0.08, 0.07}, 18.5});
    o = plain();
    o.temperature = 0.7f;
    std::vector<double> cooled;
    for (const double x : p) cooled.push_back(std::pow(x, 1.0 / 0.7));
    cases.push_back({"temperature", o, cooled, 20.5});
    o.stages = {SamplerStage::temperature, SamplerStage::top_k};
    o.top_k = 4;
    auto four = cooled;
    four[4] = four[5] = 0;
    cases.push_back({"temperature, then top-k", o, four, 16.3});
    constexpr int n = 60000;
    for (const Case& c : cases) {
        Sampler s = made(c.options, p.size());
        std::map<int32_t, int> counts;
        for (int i = 0; i < n; ++i) ++counts[s.sample(logs(p))];
        double total = 0, chi = 0;
        for (const double x : c.want) total += x;
        for (size_t i = 0; i < p.size(); ++i) {
            const double expected = c.want[i] / total * n;
            const double got = counts[static_cast<int32_t>(i)];
            if (expected == 0.0) {
                EXPECT_EQ(got, 0.0) << c.name;
            } else {
                chi += (got - expected) * (got - expected) / expected;
            }
        }
        EXPECT_LT(chi, c.limit) << c.name;
    }
}

TEST(Stages, MirostatHoldsTheSurprise) {
    SamplerOptions o = plain();
    o.mirostat = 2;
    o.mirostat_tau = 3.0f;
    std::vector<float> logits;  // Zipf's law over 5000 tokens
    for (int i = 1; i <= 5000; ++i) logits.push_back(-std::log(static_cast<float>(i)));
    Sampler s = made(o, logits.size());
    double surprise = 0;
    constexpr int n = 4000;
    for (int i = 0; i < n; ++i) {
        const int32_t id = s.sample(logits);
        for (const Candidate& c : s.candidates())
            if (c.id == id) surprise -= std::log2(static_cast<double>(c.p));
    }
    EXPECT_NEAR(surprise / n, 3.0, 0.1);
}

TEST(Stages, LogProbabilities) {
    const auto logits = logs({0.1, 0.5, 0.15, 0.25});
    std::vector<float> shifted = logits;
    for (float& x : shifted) x += 7.0f;
    const Logprobs got = log_probabilities(shifted, 2, 2);
    EXPECT_NEAR(static_cast<double>(got.chosen), std::log(0.15), 1e-5);
    ASSERT_EQ(got.best.size(), 2u);
    EXPECT_EQ(got.best[0].id, 1);
    EXPECT_NEAR(static_cast<double>(got.best[0].logprob), std::log(0.5), 1e-5);
    EXPECT_EQ(got.best[1].id, 3);
    EXPECT_EQ(log_probabilities(logits, 0, 100).best.size(), 4u);
    const Logprobs odd = log_probabilities(std::vector<float>{NAN, 0.0f, -inf}, 2, 3);
    EXPECT_EQ(odd.chosen, -inf);
    EXPECT_EQ(odd.best[0].id, 1);
    EXPECT_NEAR(static_cast<double>(odd.best[0].logprob), 0.0, 1e-6);
}

TEST(Stages, ResetBeginsAnew) {
    SamplerOptions o = plain();
    o.repeat_penalty = 1.3f;
    o.dry_multiplier = 0.5f;
    o.xtc_probability = 0.5f;
    Sampler s = made(o, 6);
    const auto run = [&] {
        std::vector<int32_t> ids;
        for (int i = 0; i < 50; ++i) {
            ids.push_back(s.sample(logs({0.3, 0.3, 0.2, 0.1, 0.06, 0.04})));
            s.accept(ids.back());
        }
        return ids;
    };
    const auto first = run();
    EXPECT_NE(run(), first);
    s.reset();
    EXPECT_EQ(run(), first);
}

TEST(Stages, NothingAllocates) {
    SamplerOptions o;
    o.repeat_penalty = 1.1f;
    o.dry_multiplier = 0.8f;
    o.typical_p = 0.9f;
    o.top_n_sigma = 3.0f;
    o.xtc_probability = 0.5f;
    o.logit_bias = {{3, 1.0f}};
    Sampler s = made(o, 3000);
    std::vector<float> logits(3000);
    for (size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<float>(i * 7 % 37) * 0.2f;
    const test::AllocationCount count;
    for (int i = 0; i < 100; ++i) s.accept(s.sample(logits));
    EXPECT_EQ(count.since(), 0u);
}

TEST(Stages, EveryChainWithEveryMixGivesATokenOrSaysNone) {
    // Penalties that no float holds, and logits at its limits.
    SamplerOptions o;
    o.repeat_penalty = 1e30f;
    o.frequency_penalty = 3e38f;
    o.presence_penalty = 3e38f;
    o.dry_multiplier = 3e38f;
    Sampler s = made(o, 4, {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3});
    for (int i = 0; i < 20; ++i) {
        const int32_t id = s.sample(std::vector<float>{3e38f, -3e38f, NAN, 1.0f});
        EXPECT_GE(id, 0);
        EXPECT_LT(id, 4);
        s.accept(id);
    }
    s.accept(-1);
    s.accept(4000);
}

TEST(Options, NamesAndLetters) {
    const auto both =
        parse_sampler_names("penalties;dry;TOP-N-sigma;topk;typ;nucleus;min-p;xtc;temp");
    ASSERT_TRUE(both.has_value());
    EXPECT_EQ(*both, SamplerOptions{}.stages);
    EXPECT_EQ(*parse_sampler_letters("edskypmxt"), SamplerOptions{}.stages);
    EXPECT_TRUE(parse_sampler_names("")->empty());
    EXPECT_NE(parse_sampler_names("top_k;nope").error().message.find("'nope'"), std::string::npos);
    EXPECT_NE(parse_sampler_letters("kq").error().message.find("'q'"), std::string::npos);
}

TEST(Options, LogitBiasTexts) {
    EXPECT_EQ(*parse_logit_bias("15043+1"), std::pair(15043, 1.0f));
    EXPECT_EQ(*parse_logit_bias("7-1.5"), std::pair(7, -1.5f));
    EXPECT_EQ(*parse_logit_bias("7-inf"), std::pair(7, -inf));
    for (const char* bad :
         {"", "7", "7+", "+1", "-3+1", "7*2", "7+x", "7+1x", "7--1", "99999999999+1", "7+nan"})
        EXPECT_FALSE(parse_logit_bias(bad).has_value()) << bad;
}

TEST(Options, OutOfRangeIsNamed) {
    const auto refused = [](const char* part, auto change) {
        SamplerOptions o;
        change(o);
        const auto s = Sampler::create(o, 10);
        ASSERT_FALSE(s.has_value()) << part;
        EXPECT_EQ(s.error().code, ErrorCode::invalid_argument);
        EXPECT_NE(s.error().message.find(part), std::string::npos) << s.error().message;
    };
    refused("top-n-sigma", [](auto& o) { o.top_n_sigma = NAN; });
    refused("typical-p", [](auto& o) { o.typical_p = 0.0f; });
    refused("xtc-probability", [](auto& o) { o.xtc_probability = 1.1f; });
    refused("xtc-threshold", [](auto& o) { o.xtc_threshold = -0.1f; });
    refused("dynatemp-range", [](auto& o) { o.dynatemp_range = -1.0f; });
    refused("dynatemp-exp", [](auto& o) { o.dynatemp_exponent = NAN; });
    refused("repeat-last-n", [](auto& o) { o.penalty_last_n = -1; });
    refused("repeat-last-n", [](auto& o) { o.penalty_last_n = kMaxPenaltyWindow + 1; });
    refused("repeat-penalty", [](auto& o) { o.repeat_penalty = 0.0f; });
    refused("repeat-penalty", [](auto& o) { o.repeat_penalty = inf; });
    refused("frequency-penalty", [](auto& o) { o.frequency_penalty = NAN; });
    refused("presence-penalty", [](auto& o) { o.presence_penalty = inf; });
    refused("dry-multiplier", [](auto& o) { o.dry_multiplier = NAN; });
    refused("dry-base", [](auto& o) { o.dry_base = inf; });
    refused("dry-allowed-length", [](auto& o) { o.dry_allowed_length = -1; });
    refused("dry-penalty-last-n", [](auto& o) { o.dry_penalty_last_n = -1; });
    refused("mirostat", [](auto& o) { o.mirostat = 1; });
    refused("mirostat-ent", [](auto& o) { o.mirostat_tau = NAN; });
    refused("mirostat-lr", [](auto& o) { o.mirostat_eta = 2.0f; });
    refused("token 10", [](auto& o) { o.logit_bias = {{10, 1.0f}}; });
    refused("token 3", [](auto& o) { o.logit_bias = {{3, NAN}}; });
}

}  // namespace
}  // namespace ridge
