// The C API: everything through ridge.h, against the engine's own calls where there are two ways.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>

#include "ridge/ridge.hpp"
#include "support/engine.hpp"
#include "support/worst_difference.hpp"

namespace ridge {
namespace {

const std::string story_model = RIDGE_SOURCE_DIR "/models/tiny-f32.gguf";

class Api : public testing::Test {
  protected:
    static ridge_cpp::Model open(const std::string& path, bool embeddings = false) {
        ridge_model_params p;
        ridge_model_defaults(&p);
        p.threads = 2;
        p.batch = 64;
        p.embeddings = embeddings;
        return ridge_cpp::open_model(path, &p);
    }
    static ridge_cpp::Context context(ridge_model* m, uint32_t sequences = 4) {
        ridge_context_params p;
        ridge_context_defaults(&p);
        p.context = 512;
        p.sequences = sequences;
        return ridge_cpp::make_context(m, &p);
    }
    std::vector<float> logits(ridge_context* c, ridge_model* m, int64_t i = -1) {
        const float* l = ridge_logits(c, i);
        if (l == nullptr) return {};
        return {l, l + ridge_model_vocabulary(m)};
    }
    std::vector<float> next_logits(ridge_context* c, ridge_model* m, uint32_t sequence,
                                   int32_t token) {
        const ridge_token t{sequence, -1, token, 1};
        EXPECT_EQ(ridge_decode(c, &t, 1), RIDGE_OK) << ridge_error();
        return logits(c, m);
    }
};

TEST_F(Api, FactsAndTokens) {
    const auto m = open(story_model);
    EXPECT_STREQ(ridge_model_architecture(m.get()), "llama");
    EXPECT_GT(ridge_model_hidden(m.get()), 0);
    EXPECT_NE(ridge_model_text(m.get(), "general.architecture"), nullptr);
    EXPECT_EQ(ridge_model_text(m.get(), "no.such.key"), nullptr);
    const std::string text = "Once upon a time, Tom found a red kite.";
    const auto ids = ridge_cpp::tokenize(m.get(), text);
    ASSERT_GT(ids.size(), 5u);
    EXPECT_EQ(ids[0], ridge_token_bos(m.get()));
    EXPECT_EQ(ridge_cpp::detokenize(m.get(), ids), text);
    // Too little room: what fits, and the whole count.
    std::vector<int32_t> few(3, -7);
    EXPECT_EQ(ridge_tokenize(m.get(), text.data(), text.size(), 1, 0, few.data(), 2),
              static_cast<int64_t>(ids.size()));
    EXPECT_EQ(few[1], ids[1]);
    EXPECT_EQ(few[2], -7);
    EXPECT_EQ(ridge_token_is_end(m.get(), ridge_token_eos(m.get())), 1);
    EXPECT_EQ(ridge_token_is_end(m.get(), ids[3]), 0);
}

TEST_F(Api, ErrorsAreSentencesAndChangeNothing) {
    ridge_model* none = nullptr;
    EXPECT_EQ(ridge_model_open("/no/such/file.gguf", nullptr, &none), RIDGE_NOT_FOUND);
    EXPECT_NE(std::string(ridge_error()).find("/no/such/file.gguf"), std::string::npos);
    EXPECT_EQ(none, nullptr);
    EXPECT_EQ(ridge_model_open(nullptr, nullptr, &none), RIDGE_INVALID_ARGUMENT);
    const auto m = open(story_model);
    const auto c = context(m.get());
    const ridge_token far{7, -1, 5, 1}, wrong{0, 3, 5, 1}, outside{0, -1, 1 << 30, 1};
    for (const ridge_token& t : {far, wrong, outside}) {
        EXPECT_EQ(ridge_decode(c.get(), &t, 1), RIDGE_INVALID_ARGUMENT);
        EXPECT_GT(std::string(ridge_error()).size(), 20u);
        EXPECT_EQ(ridge_sequence_length(c.get(), 0), 0);
        EXPECT_EQ(ridge_logits(c.get(), -1), nullptr);
    }
    const std::vector<ridge_token> many(65, ridge_token{0, -1, 5, 0});
    EXPECT_EQ(ridge_decode(c.get(), many.data(), many.size()), RIDGE_INVALID_ARGUMENT);
    EXPECT_EQ(ridge_decode(c.get(), many.data(), 0), RIDGE_INVALID_ARGUMENT);
    const std::vector<int32_t> long_prompt(600, 5);
    EXPECT_EQ(ridge_prompt(c.get(), 0, long_prompt.data(), long_prompt.size()),
              -RIDGE_INVALID_ARGUMENT);
    ridge_context_params p;
    ridge_context_defaults(&p);
    p.sequences = 1000;
    ridge_context* k = nullptr;
    EXPECT_EQ(ridge_context_create(m.get(), &p, &k), RIDGE_INVALID_ARGUMENT);
    p.size = 0;
    EXPECT_EQ(ridge_context_create(m.get(), &p, &k), RIDGE_INVALID_ARGUMENT);
    EXPECT_EQ(k, nullptr);
}

TEST_F(Api, ACallerOfAnOlderLibraryGetsDefaultsForNewFields) {
    const auto m = open(story_model);
    ridge_context_params p;
    ridge_context_defaults(&p);
    p.context = 100;
    p.sequences = 5000;  // behind what this caller knows of
    p.size = offsetof(ridge_context_params, sequences);
    ridge_context* c = nullptr;
    ASSERT_EQ(ridge_context_create(m.get(), &p, &c), RIDGE_OK) << ridge_error();
    EXPECT_EQ(ridge_sequence_length(c, 1), -RIDGE_INVALID_ARGUMENT);  // one sequence
    ridge_context_free(c);
}

TEST_F(Api, MixedBatchesGiveEachSequenceItsOwnLogits) {
    const auto m = open(story_model);
    const auto together = context(m.get()), alone = context(m.get());
    const auto a = ridge_cpp::tokenize(m.get(), "The cat sat on the mat");
    const auto b = ridge_cpp::tokenize(m.get(), "A boy went to the park");
    std::vector<ridge_token> batch;
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
        batch.push_back({2, static_cast<int32_t>(i), b[i], 1});
        batch.push_back({0, static_cast<int32_t>(i), a[i], i % 2 == 0});
    }
    ASSERT_EQ(ridge_decode(together.get(), batch.data(), batch.size()), RIDGE_OK) << ridge_error();
    for (size_t i = 0; i < batch.size(); ++i) {
        const auto want = next_logits(alone.get(), m.get(), batch[i].sequence, batch[i].token);
        if (batch[i].logits)
            EXPECT_TRUE(
                test::same_bits(want, logits(together.get(), m.get(), static_cast<int64_t>(i))))
                << i;
        else
            EXPECT_EQ(ridge_logits(together.get(), static_cast<int64_t>(i)), nullptr);
    }
}

TEST_F(Api, ForksTrimsAndSavedStatesGoOnAlike) {
    test::TempDir dir;
    for (const bool windows : {false, true}) {
        const std::string path = test::write_model(
            dir, windows ? test::tiny_gemma(DType::q8_0) : test::tiny_llama(DType::q8_0));
        ridge_model_params p;
        ridge_model_defaults(&p);
        p.threads = 1;
        p.batch = 32;
        const auto m = test::load(path, {});
        ASSERT_NE(m, nullptr);
        const auto ids = test::random_tokens(300, 300, 7);
        // Only vocabularies can be opened through the API, so the engine's context is used here.
        const auto c = test::context(*m, 512, 3);
        ASSERT_TRUE(c->prompt(0, ids).has_value());
        ASSERT_EQ(*c->copy(0, 2, UINT32_MAX), 300u);
        const auto state = c->save(0);
        ASSERT_TRUE(state.has_value());
        const auto next = [&](Context& k, uint32_t s) {
            const Row r{s, 11, true};
            EXPECT_TRUE(k.pass({&r, 1}).has_value());
            const auto l = k.logits(0);
            return std::vector<float>(l.begin(), l.end());
        };
        const auto want = next(*c, 0);
        EXPECT_TRUE(test::same_bits(want, next(*c, 2)));
        const auto other = test::context(*m, 512, 2);
        ASSERT_TRUE(other->load(1, *state).has_value());
        EXPECT_EQ(other->length(1), 300u);
        EXPECT_TRUE(test::same_bits(want, next(*other, 1)));
        // A fork from the middle.
        const auto half = c->copy(0, 1, 150);
        ASSERT_TRUE(half.has_value());
        if (*half == 150) {
            const auto fresh = test::context(*m, 512, 1);
            ASSERT_TRUE(fresh->prompt(0, std::span(ids).first(150)).has_value());
            EXPECT_TRUE(test::same_bits(next(*fresh, 0), next(*c, 1)));
        } else {
            EXPECT_TRUE(windows);
        }
        // Damage is found wherever it is, and the sequence stays as it was.
        for (size_t at = 0; at < state->size(); at += state->size() / 97 + 1) {
            auto bad = *state;
            bad[at] ^= 0x10;
            EXPECT_FALSE(other->load(1, bad).has_value()) << at;
            EXPECT_FALSE(other->load(1, std::span(*state).first(at)).has_value()) << at;
        }
        EXPECT_EQ(other->length(1), 301u);
    }
}

TEST_F(Api, StatesThroughTheApi) {
    const auto m = open(story_model);
    const auto c = context(m.get());
    const auto ids = ridge_cpp::tokenize(m.get(), "Once upon a time there was a dog");
    ASSERT_EQ(ridge_prompt(c.get(), 0, ids.data(), ids.size()), static_cast<int64_t>(ids.size()));
    std::vector<uint8_t> state(static_cast<size_t>(ridge_state_save(c.get(), 0, nullptr, 0)));
    ASSERT_EQ(ridge_state_save(c.get(), 0, state.data(), state.size()),
              static_cast<int64_t>(state.size()));
    ASSERT_EQ(ridge_state_load(c.get(), 3, state.data(), state.size()), RIDGE_OK) << ridge_error();
    EXPECT_EQ(next_logits(c.get(), m.get(), 0, 9), next_logits(c.get(), m.get(), 3, 9));
    state[40] ^= 1;
    EXPECT_EQ(ridge_state_load(c.get(), 3, state.data(), state.size()), RIDGE_BAD_FILE);
    EXPECT_EQ(ridge_sequence_trim(c.get(), 3, 4), 4);
    std::vector<int32_t> back(8);
    EXPECT_EQ(ridge_sequence_tokens(c.get(), 3, back.data(), back.size()), 4);
    EXPECT_EQ(back[3], ids[3]);
}

TEST_F(Api, EmbeddingsTimesTheHeadAreTheLogits) {
    // A definition that does not rest on the code that gives embeddings out: head x state = logits.
    const auto m = open(story_model, true);
    const auto file = GgufFile::open(story_model);
    ASSERT_TRUE(file.has_value());
    const TensorInfo* head = file->find("output.weight");
    if (head == nullptr) head = file->find("token_embd.weight");
    ASSERT_EQ(head->type, DType::f32);
    const auto hidden = static_cast<size_t>(ridge_model_hidden(m.get()));
    const auto c = context(m.get());
    const auto ids = ridge_cpp::tokenize(m.get(), "The sun was hot and the");
    std::vector<ridge_token> batch;
    for (const int32_t id : ids) batch.push_back({1, -1, id, 1});
    ASSERT_EQ(ridge_decode(c.get(), batch.data(), batch.size()), RIDGE_OK);
    for (size_t i = 0; i < ids.size(); ++i) {
        std::vector<float> e(hidden);
        ASSERT_EQ(ridge_embedding(c.get(), static_cast<int64_t>(i), e.data()), RIDGE_OK);
        const auto l = logits(c.get(), m.get(), static_cast<int64_t>(i));
        test::WorstDifference worst;
        for (size_t v = 0; v < l.size(); ++v) {
            double sum = 0;
            for (size_t k = 0; k < hidden; ++k) {
                float w = 0;
                std::memcpy(&w, head->data + (v * hidden + k) * 4, 4);
                sum += static_cast<double>(w) * e[k];
            }
            worst.add(l[v], sum);
        }
        EXPECT_LT(worst.value(), 1e-4 * worst.largest()) << i;
    }
    EXPECT_EQ(ridge_embedding(c.get(), 99, nullptr), RIDGE_INVALID_ARGUMENT);
    const auto plain = open(story_model);
    const auto k = context(plain.get());
    const ridge_token t{0, -1, 5, 0};
    ASSERT_EQ(ridge_decode(k.get(), &t, 1), RIDGE_OK);
    std::vector<float> e(hidden);
    EXPECT_EQ(ridge_embedding(k.get(), 0, e.data()), RIDGE_INVALID_ARGUMENT);
}

TEST_F(Api, CancelEndsACallAndTheNextOneRuns) {
    const auto m = open(story_model);
    const auto c = context(m.get());
    const std::vector<int32_t> ids(400, 5);
    ridge_cancel(c.get());
    EXPECT_EQ(ridge_prompt(c.get(), 0, ids.data(), ids.size()), -RIDGE_CANCELLED);
    EXPECT_EQ(ridge_prompt(c.get(), 0, ids.data(), ids.size()), 400 - 0);
}

TEST_F(Api, LogAndProgressReachTheCaller) {
    std::string logged;
    ridge_set_log(
        [](void* user, int32_t, const char* text) { *static_cast<std::string*>(user) += text; },
        &logged);
    ridge_model_params p;
    ridge_model_defaults(&p);
    double share = -1;
    p.progress = [](void* user, double s) { *static_cast<double*>(user) = s; };
    p.progress_user = &share;
    const auto m = ridge_cpp::open_model(story_model, &p);
    ridge_set_log(nullptr, nullptr);
    EXPECT_NE(logged.find("llama"), std::string::npos);
    EXPECT_GT(share, 0.5);
}

TEST_F(Api, EachThreadHasItsOwnError) {
    ridge_model* none = nullptr;
    EXPECT_NE(ridge_model_open("/first", nullptr, &none), RIDGE_OK);
    std::thread([&] {
        EXPECT_STREQ(ridge_error(), "");
        EXPECT_NE(ridge_model_open("/second", nullptr, &none), RIDGE_OK);
    }).join();
    EXPECT_NE(std::string(ridge_error()).find("/first"), std::string::npos);
}

TEST_F(Api, GreedySamplingIsTheLargestLogit) {
    const auto m = open(story_model);
    const auto c = context(m.get());
    const auto ids = ridge_cpp::tokenize(m.get(), "Once upon a time");
    ASSERT_GE(ridge_prompt(c.get(), 0, ids.data(), ids.size()), 0);
    ridge_sampler_params p;
    ridge_sampler_defaults(&p);
    EXPECT_FLOAT_EQ(p.temperature, 0.8f);
    p.temperature = 0;
    const auto s = ridge_cpp::make_sampler(m.get(), &p);
    const auto l = logits(c.get(), m.get());
    EXPECT_EQ(ridge_sample(s.get(), l.data()), std::max_element(l.begin(), l.end()) - l.begin());
    p.top_p = 7;
    EXPECT_THROW(ridge_cpp::make_sampler(m.get(), &p), ridge_cpp::Error);
}

TEST_F(Api, AnswersFollowAGrammar) {
    const auto m = open(story_model);
    const auto c = context(m.get());
    const auto ids = ridge_cpp::tokenize(m.get(), "Once upon a time");
    ASSERT_GE(ridge_prompt(c.get(), 0, ids.data(), ids.size()), 0);
    ridge_sampler_params p;
    ridge_sampler_defaults(&p);
    p.temperature = 0;
    p.grammar = "root ::= \"yes\" | \"no\"";
    const auto s = ridge_cpp::make_sampler(m.get(), &p);
    std::string answer;
    for (int i = 0; i < 16; ++i) {
        const int32_t id = ridge_sample(s.get(), ridge_logits(c.get(), -1));
        if (id == RIDGE_SAMPLE_DONE || (id >= 0 && ridge_token_is_end(m.get(), id))) break;
        ASSERT_GE(id, 0) << ridge_error();
        size_t n = 0;
        const char* const text = ridge_token_bytes(m.get(), id, &n);
        answer.append(text, n);
        const ridge_token t{0, -1, id, 1};
        ASSERT_EQ(ridge_decode(c.get(), &t, 1), RIDGE_OK);
    }
    EXPECT_TRUE(answer == "yes" || answer == "no") << answer;
    p.grammar = "root ::= (";
    ridge_sampler* bad = nullptr;
    EXPECT_NE(ridge_sampler_create(m.get(), &p, &bad), RIDGE_OK);
    EXPECT_EQ(bad, nullptr);
}

TEST_F(Api, LogProbabilitiesSumToOne) {
    const auto m = open(story_model);
    const auto c = context(m.get());
    const auto l = next_logits(c.get(), m.get(), 0, 5);
    const size_t n = l.size();
    std::vector<int32_t> best(n);
    std::vector<float> of_best(n);
    float one = 0;
    ASSERT_EQ(ridge_log_probabilities(m.get(), l.data(), 9, &one, best.data(), of_best.data(), n),
              RIDGE_OK);
    double sum = 0;
    for (size_t i = 0; i < n; ++i) {
        sum += std::exp(static_cast<double>(of_best[i]));
        if (i > 0) {
            EXPECT_GE(l[static_cast<size_t>(best[i - 1])], l[static_cast<size_t>(best[i])]);
        }
        if (best[i] == 9) {
            EXPECT_EQ(of_best[i], one);
        }
    }
    EXPECT_NEAR(sum, 1.0, 1e-4);
}

// Every function of ridge.h with null for its handles: an error, never a crash.
TEST_F(Api, NullHandlesAreErrors) {
    constexpr int invalid = RIDGE_INVALID_ARGUMENT;
    const auto says = [](const char* part) {
        EXPECT_NE(std::string(ridge_error()).find(part), std::string::npos) << ridge_error();
    };
    int32_t id = 1;
    float number = 0;
    char byte = 0;
    size_t bytes = 7;
    const ridge_token token{0, -1, 1, 1};

    EXPECT_EQ(ridge_model_open(nullptr, nullptr, nullptr), invalid);
    EXPECT_EQ(ridge_model_open("x", nullptr, nullptr), invalid);
    EXPECT_EQ(ridge_context_create(nullptr, nullptr, nullptr), invalid);
    EXPECT_EQ(ridge_sampler_create(nullptr, nullptr, nullptr), invalid);
    ridge_model_defaults(nullptr);
    ridge_context_defaults(nullptr);
    ridge_sampler_defaults(nullptr);
    ridge_model_free(nullptr);
    ridge_context_free(nullptr);
    ridge_sampler_free(nullptr);

    EXPECT_EQ(ridge_model_vocabulary(nullptr), -invalid);
    says("the model is null");
    EXPECT_EQ(ridge_model_hidden(nullptr), -invalid);
    EXPECT_EQ(ridge_model_context(nullptr), -invalid);
    EXPECT_EQ(ridge_model_architecture(nullptr), nullptr);
    EXPECT_EQ(ridge_model_kernels(nullptr), nullptr);
    EXPECT_EQ(ridge_model_text(nullptr, "general.name"), nullptr);
    EXPECT_EQ(ridge_tokenize(nullptr, "x", 1, 1, 0, &id, 1), -invalid);
    EXPECT_STREQ(ridge_token_bytes(nullptr, 1, &bytes), "");
    EXPECT_EQ(bytes, 0u);
    EXPECT_EQ(ridge_detokenize(nullptr, &id, 1, &byte, 1), -invalid);
    EXPECT_EQ(ridge_token_is_end(nullptr, 1), -invalid);
    EXPECT_EQ(ridge_token_bos(nullptr), -invalid);
    EXPECT_EQ(ridge_token_eos(nullptr), -invalid);
    EXPECT_EQ(ridge_log_probabilities(nullptr, &number, 0, &number, &id, &number, 1), invalid);

    EXPECT_EQ(ridge_decode(nullptr, &token, 1), invalid);
    says("the context is null");
    EXPECT_EQ(ridge_prefill(nullptr, 0, &id, 1), invalid);
    EXPECT_EQ(ridge_prompt(nullptr, 0, &id, 1), -invalid);
    EXPECT_EQ(ridge_logits(nullptr, -1), nullptr);
    EXPECT_EQ(ridge_embedding(nullptr, 0, &number), invalid);
    ridge_cancel(nullptr);
    EXPECT_EQ(ridge_sequence_length(nullptr, 0), -invalid);
    EXPECT_EQ(ridge_sequence_tokens(nullptr, 0, &id, 1), -invalid);
    EXPECT_EQ(ridge_sequence_trim(nullptr, 0, 0), -invalid);
    EXPECT_EQ(ridge_sequence_copy(nullptr, 0, 1, 1), -invalid);
    EXPECT_EQ(ridge_state_save(nullptr, 0, &byte, 1), -invalid);
    EXPECT_EQ(ridge_state_load(nullptr, 0, &byte, 1), invalid);

    ridge_sampler_prompt(nullptr, &id, 1);
    EXPECT_EQ(ridge_sample(nullptr, &number), -invalid);
    says("the sampler is null");
}

TEST_F(Api, NullTextsAndPlacesAreErrors) {
    constexpr int invalid = RIDGE_INVALID_ARGUMENT;
    const auto m = open(story_model, true);
    const auto c = context(m.get());
    const auto s = ridge_cpp::make_sampler(m.get());
    int32_t id = 1;
    float number = 0;
    EXPECT_EQ(ridge_context_create(m.get(), nullptr, nullptr), invalid);
    EXPECT_EQ(ridge_sampler_create(m.get(), nullptr, nullptr), invalid);
    EXPECT_EQ(ridge_model_text(m.get(), nullptr), nullptr);
    EXPECT_EQ(ridge_tokenize(m.get(), nullptr, 3, 1, 0, &id, 1), -invalid);
    EXPECT_EQ(ridge_tokenize(m.get(), "abc", 3, 1, 0, nullptr, 1), -invalid);
    EXPECT_GE(ridge_tokenize(m.get(), nullptr, 0, 1, 0, nullptr, 0), 0);
    EXPECT_EQ(ridge_detokenize(m.get(), nullptr, 1, nullptr, 0), -invalid);
    EXPECT_EQ(ridge_detokenize(m.get(), &id, 1, nullptr, 1), -invalid);
    EXPECT_NE(ridge_token_bytes(m.get(), id, nullptr), nullptr);
    EXPECT_EQ(ridge_decode(c.get(), nullptr, 1), invalid);
    EXPECT_EQ(ridge_prefill(c.get(), 0, nullptr, 1), invalid);
    EXPECT_EQ(ridge_prompt(c.get(), 0, nullptr, 1), -invalid);
    EXPECT_EQ(ridge_prompt(c.get(), 0, &id, 0), -invalid);
    ASSERT_EQ(ridge_prefill(c.get(), 0, &id, 1), RIDGE_OK);
    EXPECT_EQ(ridge_embedding(c.get(), 0, nullptr), invalid);
    EXPECT_EQ(ridge_sequence_tokens(c.get(), 0, nullptr, 5), 1);
    EXPECT_GT(ridge_state_save(c.get(), 0, nullptr, 5), 0);
    EXPECT_EQ(ridge_state_load(c.get(), 0, nullptr, 1), invalid);
    ridge_sampler_prompt(s.get(), nullptr, 1);
    EXPECT_EQ(ridge_sample(s.get(), nullptr), -invalid);
    EXPECT_EQ(ridge_log_probabilities(m.get(), nullptr, 0, &number, nullptr, nullptr, 0), invalid);
    const float* l = ridge_logits(c.get(), -1);
    ASSERT_NE(l, nullptr);
    EXPECT_EQ(ridge_log_probabilities(m.get(), l, 0, &number, nullptr, &number, 1), invalid);
    EXPECT_EQ(ridge_log_probabilities(m.get(), l, 0, nullptr, nullptr, nullptr, 0), RIDGE_OK);
}

}  // namespace
}  // namespace ridge
