// The quality gate on real models: what int8 activations, and the kernels, change against the same
// weights with f32 activations; and llama.cpp as the outside judge (tests/data/llamacpp).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "format/gguf_types.hpp"
#include "format/requantize.hpp"
#include "runtime/score.hpp"
#include "support/engine.hpp"
#include "support/models.hpp"
#include "text/chat.hpp"

namespace ridge {
namespace {

nlohmann::json fixture(const std::string& name) {
    std::ifstream in(std::string(RIDGE_TEST_DATA) + "/llamacpp/" + name);
    return nlohmann::json::parse(in);
}

// The ids llama.cpp was run on: windows of 512, one after the other.
std::vector<int32_t> window_ids(const std::string& key, const char* text) {
    const nlohmann::json all = fixture(key + ".kld_ids.json");
    std::vector<int32_t> ids;
    for (const auto& w : all.at(text)) {
        if (w.is_array())
            for (const auto& id : w) ids.push_back(id.get<int32_t>());
        else
            ids.push_back(w.get<int32_t>());
    }
    return ids;
}

// Quantized run and oracle of one file.
struct Pair {
    std::unique_ptr<Model> model, oracle;
};

Pair load_pair(const std::string& path) {
    ModelOptions o;
    o.threads = 2;
    o.chunk = o.max_logits = 64;
    Pair p;
    p.model = test::load(path, o);
    o.f32_activations = true;
    o.kv = KvType::f32;
    p.oracle = test::load(path, o);
    return p;
}

ScoreOptions whole_windows() {
    ScoreOptions s;
    s.window = 512;
    s.first = 0;
    s.bos = false;  // the fixture's windows have it where the model wants it
    return s;
}

struct RealModel {
    const char* key;
    const char* file;
};
constexpr RealModel smollm2{"smollm2", test::smollm2};
constexpr RealModel gemma3{"gemma3", test::gemma3};

class Gate : public testing::TestWithParam<std::tuple<RealModel, const char*>> {};

TEST_P(Gate, QuantizedActivationsChangeLittle) {
    const auto& [model, text] = GetParam();
    const auto path = test::cached_model(model.file);
    if (!path) GTEST_SKIP() << model.file << " is not in the model folder (./dev models)";
    const std::vector<int32_t> flat = window_ids(model.key, text);
    ASSERT_GE(flat.size(), 8000u);
    const Pair p = load_pair(*path);
    ASSERT_TRUE(p.model && p.oracle);
    const auto s = score(*p.model, p.oracle.get(), flat, whole_windows());
    ASSERT_TRUE(s.has_value()) << s.error().message;
    const auto theirs = fixture("llamacpp_kld.json")[model.key][text]["all"];
    RecordProperty("mean_kld", std::to_string(s->mean_kld));
    EXPECT_LE(s->mean_kld, 0.005);
    EXPECT_LE(s->mean_kld, 1.25 * theirs["mean_kld"].get<double>());
    EXPECT_LE(std::abs(s->perplexity / s->oracle_perplexity - 1.0), 0.0075);
    // The oracle is llama.cpp's F32 model: the same perplexity but for the rounding of a bf16 head.
    EXPECT_NEAR(s->oracle_perplexity / theirs["ppl_f32"].get<double>(), 1.0, 2e-3);
    EXPECT_GE(s->same_top, theirs["same_top"].get<double>() - 0.01);
}

INSTANTIATE_TEST_SUITE_P(RealModels, Gate,
                         testing::Combine(testing::Values(smollm2, gemma3),
                                          testing::Values("northanger", "kjv")),
                         [](const auto& info) {
                             return std::string(std::get<0>(info.param).key) + "_" +
                                    std::get<1>(info.param);
                         });

class EveryType : public testing::TestWithParam<DType> {};

// Copies of SmolLM2 in every tensor type, by plain rounding; rows that a block does not divide keep
// theirs.
TEST_P(EveryType, PassesTheGateOnSmolLM2) {
    const auto path = test::cached_model(test::smollm2);
    if (!path) GTEST_SKIP() << test::smollm2 << " is not in the model folder (./dev models)";
    const test::TempDir dir;
    const std::string copy = dir.file("copy.gguf");
    const Status written = requantize(*path, copy, GetParam(), 2);
    ASSERT_TRUE(written.has_value()) << written.error().message;
    const Pair p = load_pair(copy);
    ASSERT_TRUE(p.model && p.oracle);
    const std::vector<int32_t> ids = window_ids("smollm2", "northanger");
    ScoreOptions o = whole_windows();
    o.max_tokens = 2048;
    const auto s = score(*p.model, p.oracle.get(), ids, o);
    ASSERT_TRUE(s.has_value()) << s.error().message;
    RecordProperty("mean_kld", std::to_string(s->mean_kld));
    // Plain rounding to Q2_K breaks the model (perplexity 164 instead of 31), and what is broken is
    // sensitive: llama.cpp d32676d has a mean KLD of 0.00926 on this very file and text, against
    // its F32 copy. The others meet the gate as it is.
    EXPECT_LE(s->mean_kld, GetParam() == DType::q2_k ? 0.00926 : 0.005);
    // Of 2,044 positions the change of perplexity has a standard error of about 0.2 %.
    EXPECT_LE(std::abs(s->perplexity / s->oracle_perplexity - 1.0), 0.0075 + 0.004);
}

std::vector<DType> all_types() {
    std::vector<DType> types;
    for (uint8_t t = 0; t < static_cast<uint8_t>(DType::count_); ++t)
        types.push_back(static_cast<DType>(t));
    return types;
}

INSTANTIATE_TEST_SUITE_P(Types, EveryType, testing::ValuesIn(all_types()),
                         [](const auto& info) { return std::string(name(info.param)); });

class Argmax : public testing::TestWithParam<RealModel> {};

// Teacher-forced: the best token after each of 1,024 positions, beside llama.cpp's on the same ids.
TEST_P(Argmax, EqualsLlamaCpp) {
    const auto path = test::cached_model(GetParam().file);
    if (!path) GTEST_SKIP() << GetParam().file << " is not in the model folder (./dev models)";
    const auto f = fixture(std::string(GetParam().key) + ".argmax.json");
    const auto ids = f["ids"].get<std::vector<int32_t>>();
    ASSERT_EQ(ids.size(), 1024u);
    const Pair p = load_pair(*path);
    ASSERT_TRUE(p.model && p.oracle);
    for (const bool oracle : {true, false}) {
        Model& m = oracle ? *p.oracle : *p.model;
        const auto c = test::context(m, 1024);
        const auto logits = test::all_logits(*c, ids, 64);
        const size_t vocab = m.program().vocab;
        ASSERT_EQ(logits.size(), ids.size() * vocab);
        size_t equal = 0;
        for (size_t i = 0; i < ids.size(); ++i) {
            const auto first = logits.begin() + static_cast<ptrdiff_t>(i * vocab);
            const auto best =
                std::max_element(first, first + static_cast<ptrdiff_t>(vocab)) - first;
            if (best == f["argmax_f32"][i].get<int64_t>()) {
                ++equal;
                continue;
            }
            // Where they differ, llama.cpp itself was nearly undecided: its own quantized
            // activations change its choice at gaps of up to 0.24 (SmolLM2) and 0.37 (Gemma).
            EXPECT_LT(f["gap_f32"][i].get<double>(), oracle ? 0.3 : 0.45)
                << (oracle ? "oracle" : "quantized") << ", position " << i;
        }
        const double share = static_cast<double>(equal) / static_cast<double>(ids.size());
        RecordProperty(oracle ? "equal_oracle" : "equal_quantized", std::to_string(share));
        EXPECT_GE(share, oracle ? 0.96 : 0.94) << (oracle ? "oracle" : "quantized");
    }
}

INSTANTIATE_TEST_SUITE_P(RealModels, Argmax, testing::Values(smollm2, gemma3),
                         [](const auto& info) { return std::string(info.param.key); });

TEST(Oracle, SmolLM2KnowsTheCapitalOfFrance) {
    const auto path = test::cached_model(test::smollm2);
    if (!path) GTEST_SKIP() << test::smollm2 << " is not in the model folder (./dev models)";
    ModelOptions o;
    o.threads = 2;
    o.f32_activations = true;
    const auto m = test::load(*path, o);
    ASSERT_NE(m, nullptr);
    const auto format = detect_chat_format(m->tokenizer());
    ASSERT_TRUE(format.has_value()) << format.error().message;
    const ChatMessage question{ChatRole::user, "What is the capital of France?"};
    const auto c = test::context(*m, 256);
    const auto ids = encode_chat(m->tokenizer(), *format, {&question, 1}, true);
    ASSERT_TRUE(c->prompt(0, ids).has_value());
    const std::string answer = m->tokenizer().decode(test::greedy(*c, 8));
    EXPECT_NE(answer.find("Paris"), std::string::npos) << answer;
}

}  // namespace
}  // namespace ridge
