// The chain beside llama.cpp's own sampler library: tests/data/sample/llamacpp.json holds what its
// samplers (commit in the README there) kept and drew for made-up logits. Same ids, probabilities
// within what float and double sums differ by.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "sample/sampler.hpp"

namespace ridge {
namespace {

using nlohmann::json;

// The logits that the recording program made: xorshift64, two uniforms of 24 bits a logit.
std::vector<float> logits_of(uint64_t seed, size_t n, double spread) {
    uint64_t state = 88172645463325252ull + seed * 0x9E3779B97F4A7C15ull;
    const auto next = [&] {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        return state;
    };
    for (int i = 0; i < 10; ++i) next();
    std::vector<float> out;
    for (size_t i = 0; i < n; ++i) {
        const double u = static_cast<double>(next() >> 40) / 16777216.0;
        const double v = static_cast<double>(next() >> 40) / 16777216.0;
        out.push_back(static_cast<float>(spread * (u + v - 1.0)));
    }
    return out;
}

SamplerOptions options_of(const json& c) {
    SamplerOptions o;
    const json& given = c.at("options");
    const auto get = [&](const char* name, double otherwise) {
        return static_cast<float>(given.value(name, otherwise));
    };
    o.seed = c.at("seed").get<uint64_t>();
    o.temperature = get("temp", 0.8);
    o.top_k = static_cast<int32_t>(get("top_k", 40));
    o.top_p = get("top_p", 0.95);
    o.min_p = get("min_p", 0.05);
    o.typical_p = get("typ_p", 1);
    o.top_n_sigma = get("sigma", -1);
    o.xtc_probability = get("xtc_p", 0);
    o.xtc_threshold = get("xtc_t", 0.1);
    o.dynatemp_range = get("dyn", 0);
    o.dynatemp_exponent = get("dyne", 1);
    o.penalty_last_n = static_cast<int32_t>(get("last_n", 64));
    o.repeat_penalty = get("rep", 1);
    o.frequency_penalty = get("freq", 0);
    o.presence_penalty = get("pres", 0);
    o.dry_multiplier = get("dry", 0);
    o.dry_base = get("base", 1.75);
    o.dry_allowed_length = static_cast<int32_t>(get("al", 2));
    o.dry_penalty_last_n = static_cast<int32_t>(get("dn", 64));
    o.dry_breaker_ids = c.at("breakers").get<std::vector<std::vector<int32_t>>>();
    o.mirostat_tau = get("tau", 5);
    o.mirostat_eta = get("eta", 0.1);
    for (const json& bias : c.at("bias"))
        o.logit_bias.emplace_back(bias[0].get<int32_t>(),
                                  bias[1].is_string() ? -INFINITY : bias[1].get<float>());
    const std::string chain = c.at("chain");
    if (chain == "M") {
        o.mirostat = 2;
    } else {
        const auto stages = parse_sampler_letters(chain);
        EXPECT_TRUE(stages.has_value());
        o.stages = *stages;
    }
    return o;
}

TEST(LlamaCpp, KeepsAndDrawsTheSame) {
    std::ifstream in(RIDGE_TEST_DATA "/sample/llamacpp.json");
    const json cases = json::parse(in);
    ASSERT_GT(cases.size(), 100u);
    size_t different = 0, drawn = 0;
    for (const json& c : cases) {
        SCOPED_TRACE(c.at("chain").get<std::string>() + " " + c.at("options").dump() + " seed " +
                     c.at("seed").dump());
        const auto vocab = c.at("vocab").get<uint32_t>();
        auto s = Sampler::create(options_of(c), vocab);
        ASSERT_TRUE(s.has_value()) << s.error().message;
        for (const int32_t id : c.at("history").get<std::vector<int32_t>>()) s->accept(id);
        std::vector<int32_t> ids;
        for (size_t i = 0; i < c.at("ids").size(); ++i) {
            const auto logits = logits_of(c.at("seed").get<uint64_t>() * 100 + i, vocab,
                                          c.at("spread").get<double>());
            const int32_t id = s->sample(logits);
            if (i == 0) {
                std::map<int32_t, double> kept;
                for (const Candidate& x : s->candidates())
                    if (x.p > 0.0f) kept[x.id] = static_cast<double>(x.p);
                const json& want = c.at("kept");  // the first 64 that llama.cpp has
                if (want.size() < 64) {
                    EXPECT_EQ(kept.size(), want.size());
                }
                for (const json& pair : want) {
                    const auto found = kept.find(pair[0].get<int32_t>());
                    ASSERT_NE(found, kept.end()) << pair.dump();
                    EXPECT_NEAR(found->second, pair[1].get<double>(), 2e-5);
                }
            }
            ids.push_back(id);
            // The history goes on as llama.cpp's did.
            s->accept(c.at("ids")[i].get<int32_t>());
            ++drawn;
            different += id != c.at("ids")[i].get<int32_t>() ? 1 : 0;
        }
        EXPECT_EQ(ids, c.at("ids").get<std::vector<int32_t>>());
    }
    EXPECT_EQ(different, 0u) << "of " << drawn;
}

}  // namespace
}  // namespace ridge
