#include "sample/sampler.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "support/allocations.hpp"

namespace ridge {
namespace {

constexpr float inf = INFINITY;

Sampler sampler(const SamplerOptions& o, uint32_t vocab) {
    auto s = Sampler::create(o, vocab);
    EXPECT_TRUE(s.has_value());
    return std::move(*s);
}

// Temperature 1, everything else off.
SamplerOptions plain() {
    return {.temperature = 1.0f, .top_k = 0, .top_p = 1.0f, .min_p = 0.0f, .seed = 1};
}

std::map<int32_t, int> draw(const SamplerOptions& o, const std::vector<float>& logits, int n) {
    Sampler s = sampler(o, static_cast<uint32_t>(logits.size()));
    std::map<int32_t, int> counts;
    for (int i = 0; i < n; ++i) ++counts[s.sample(logits)];
    return counts;
}

std::set<int32_t> support(const SamplerOptions& o, const std::vector<float>& logits) {
    std::set<int32_t> ids;
    for (const auto& [id, count] : draw(o, logits, 20000)) ids.insert(id);
    return ids;
}

std::vector<float> logs(const std::vector<double>& probabilities) {
    std::vector<float> out;
    for (const double p : probabilities) out.push_back(static_cast<float>(std::log(p)));
    return out;
}

TEST(Sampler, GreedyTakesTheFirstOfTheLargest) {
    EXPECT_EQ(Sampler::greedy(std::vector<float>{1, 3, 2, 3}), 1);
    EXPECT_EQ(Sampler::greedy(std::vector<float>{-5}), 0);
    EXPECT_EQ(Sampler::greedy(std::vector<float>{NAN, -1, NAN, 2, inf}), 4);
    EXPECT_EQ(Sampler::greedy(std::vector<float>{NAN, -inf, -1e30f}), 2);
    EXPECT_EQ(Sampler::greedy(std::vector<float>{NAN, NAN}), 0);
    SamplerOptions o;
    o.temperature = 0.0f;
    Sampler s = sampler(o, 4);
    for (int i = 0; i < 10; ++i) EXPECT_EQ(s.sample(std::vector<float>{1, 3, 2, 3}), 1);
}

// Pearson's chi-square against softmax(logits / T); the limit is the 99.9th percentile.
TEST(Sampler, TemperatureDistribution) {
    const std::vector<double> p = {0.4, 0.25, 0.15, 0.1, 0.06, 0.04};
    constexpr double limit_5 = 20.5;  // chi-square, 5 degrees of freedom, 0.999
    constexpr int n = 50000;
    for (const float t : {0.5f, 1.0f, 1.7f}) {
        SamplerOptions o = plain();
        o.temperature = t;
        std::vector<double> want;
        double total = 0;
        for (const double x : p)
            total += want.emplace_back(std::pow(x, 1.0 / static_cast<double>(t)));
        const auto counts = draw(o, logs(p), n);
        double chi = 0;
        for (size_t i = 0; i < p.size(); ++i) {
            const double expected = want[i] / total * n;
            const auto it = counts.find(static_cast<int32_t>(i));
            const double got = it == counts.end() ? 0.0 : it->second;
            chi += (got - expected) * (got - expected) / expected;
        }
        EXPECT_LT(chi, limit_5) << "temperature " << static_cast<double>(t);
    }
}

TEST(Sampler, TopKKeepsTheKBest) {
    const std::vector<float> logits = {1.0f, 1.4f, 0.8f, 1.2f, 1.2f, 0.9f};
    const std::vector<int32_t> best = {1, 3, 4, 0, 5, 2};  // the first of equals first
    for (int32_t top_k = 1; top_k <= 6; ++top_k) {
        SamplerOptions o = plain();
        o.top_k = top_k;
        EXPECT_EQ(support(o, logits), std::set<int32_t>(best.begin(), best.begin() + top_k));
    }
    SamplerOptions o = plain();
    o.top_k = 1000;  // more than there are
    EXPECT_EQ(support(o, logits).size(), 6u);
}

TEST(Sampler, TopPKeepsTheFewestThatMakeUpTheShare) {
    const auto logits = logs({0.05, 0.5, 0.15, 0.3});
    const std::pair<float, std::set<int32_t>> cases[] = {
        {0.01f, {1}},       {0.49f, {1}},       {0.51f, {1, 3}},       {0.79f, {1, 3}},
        {0.81f, {1, 3, 2}}, {0.94f, {1, 3, 2}}, {0.96f, {0, 1, 2, 3}}, {1.0f, {0, 1, 2, 3}}};
    for (const auto& [top_p, want] : cases) {
        SamplerOptions o = plain();
        o.top_p = top_p;
        EXPECT_EQ(support(o, logits), want) << static_cast<double>(top_p);
    }
    // Of what top-k left: 0.5 and 0.3 are 0.625 and 0.375 of it.
    SamplerOptions o = plain();
    o.top_k = 2;
    o.top_p = 0.6f;
    EXPECT_EQ(support(o, logits), (std::set<int32_t>{1}));
    // Temperature comes after: it does not change the set.
    o = plain();
    o.temperature = 3.0f;
    o.top_p = 0.49f;
    EXPECT_EQ(support(o, logits), (std::set<int32_t>{1}));
}

TEST(Sampler, MinPDropsWhatIsFarBelowTheBest) {
    const auto logits = logs({0.05, 0.5, 0.15, 0.3});  // 0.1, 1, 0.3 and 0.6 of the best
    const std::pair<float, std::set<int32_t>> cases[] = {
        {0.05f, {0, 1, 2, 3}}, {0.15f, {1, 2, 3}}, {0.35f, {1, 3}}, {0.7f, {1}}, {1.0f, {1}}};
    for (const auto& [min_p, want] : cases) {
        SamplerOptions o = plain();
        o.min_p = min_p;
        EXPECT_EQ(support(o, logits), want) << static_cast<double>(min_p);
    }
}

TEST(Sampler, KeptProbabilitiesKeepTheirRatios) {
    SamplerOptions o = plain();
    o.top_p = 0.79f;  // 0.5 and 0.3
    const auto counts = draw(o, logs({0.05, 0.5, 0.15, 0.3}), 40000);
    EXPECT_NEAR(counts.at(1) / 40000.0, 0.625, 0.01);
}

TEST(Sampler, SeedsDecide) {
    const std::vector<float> logits(50, 0.0f);
    const auto text = [&](uint64_t seed) {
        SamplerOptions o = plain();
        o.seed = seed;
        Sampler s = sampler(o, 50);
        std::vector<int32_t> ids;
        for (int i = 0; i < 40; ++i) ids.push_back(s.sample(logits));
        return ids;
    };
    EXPECT_EQ(text(3), text(3));
    EXPECT_NE(text(3), text(4));
}

TEST(Sampler, StrangeLogits) {
    const SamplerOptions o = plain();
    EXPECT_EQ(support(o, {NAN, 1.0f, NAN, 1.0f}), (std::set<int32_t>{1, 3}));
    EXPECT_EQ(support(o, {-inf, 1.0f, -inf}), (std::set<int32_t>{1}));
    EXPECT_EQ(support(o, {0.0f, inf, 3.0f}), (std::set<int32_t>{1}));
    EXPECT_EQ(support(o, {3e38f, -3e38f, 3e38f}), (std::set<int32_t>{0, 2}));
    // Nothing to choose from: some token of the vocabulary, no trap.
    for (const float x : {-inf, NAN}) {
        const auto ids = support(o, {x, x, x});
        EXPECT_GE(*ids.begin(), 0);
        EXPECT_LT(*ids.rbegin(), 3);
    }
    SamplerOptions tiny = plain();
    tiny.temperature = 1e-30f;
    EXPECT_EQ(support(tiny, {1.0f, 1.1f, 0.0f}), (std::set<int32_t>{1}));
}

TEST(Sampler, BadOptionsAreNamed) {
    const auto refused = [](const SamplerOptions& o, const char* part) {
        const auto s = Sampler::create(o, 10);
        ASSERT_FALSE(s.has_value()) << part;
        EXPECT_EQ(s.error().code, ErrorCode::invalid_argument);
        EXPECT_NE(s.error().message.find(part), std::string::npos) << s.error().message;
    };
    for (const float bad : {-0.1f, 101.0f, NAN, inf}) refused({.temperature = bad}, "temperature");
    for (const float bad : {0.0f, -1.0f, 1.1f, NAN}) refused({.top_p = bad}, "top-p");
    for (const float bad : {-0.1f, 1.1f, NAN}) refused({.min_p = bad}, "min-p");
}

TEST(Sampler, DoesNotAllocate) {
    Sampler s = sampler({.temperature = 0.8f, .seed = 2}, 1000);
    std::vector<float> logits(1000);
    for (size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<float>(i % 37);
    const test::AllocationCount count;
    for (int i = 0; i < 100; ++i) (void)s.sample(logits);
    EXPECT_EQ(count.since(), 0u);
}

}  // namespace
}  // namespace ridge
