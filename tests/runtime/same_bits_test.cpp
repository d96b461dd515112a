// A token's result does not depend on its company: every way of cutting up the same work gives the
// same bits: both vector sets, both architectures, every cache type.
#include <gtest/gtest.h>
#include <sched.h>

#include <cmath>

#include "support/engine.hpp"

namespace ridge {
namespace {

constexpr size_t n_tokens = 530;  // crosses positions 255..257, 511..513 and the window of 260

struct Case {
    const char* name;
    const char* set;
    bool gemma;
    DType type;
    KvType kv;
    bool f32;
};

class SameBits : public testing::TestWithParam<Case> {
  protected:
    void SetUp() override {
        const Case& c = GetParam();
        const auto choice = choose_kernels(c.set);
        if (!choice) GTEST_SKIP() << choice.error().message;
        const ShapeConfig shape = c.gemma ? test::tiny_gemma(c.type) : test::tiny_llama(c.type);
        options_.kernels = c.set;
        options_.kv = c.kv;
        options_.f32_activations = c.f32;
        options_.threads = 3;
        options_.chunk = 512;
        options_.max_logits = 512;
        model_ = test::load(test::write_model(dir_, shape), options_);
        ASSERT_NE(model_, nullptr);
        tokens_ = test::random_tokens(n_tokens, shape.vocab_size, 7);
        const auto c0 = test::context(*model_, 1024);
        c0->set_threads(2, 2);
        want_ = test::all_logits(*c0, tokens_, 64);
        vocab_ = shape.vocab_size;
        ASSERT_EQ(want_.size(), n_tokens * vocab_);
        for (const float x : want_) ASSERT_TRUE(std::isfinite(x));
    }
    std::span<const float> want(size_t first, size_t n) const {
        return std::span<const float>(want_).subspan(first * vocab_, n * vocab_);
    }

    test::TempDir dir_;
    ModelOptions options_;
    std::unique_ptr<Model> model_;
    std::vector<int32_t> tokens_;
    std::vector<float> want_;
    uint32_t vocab_ = 0;
};

TEST_P(SameBits, ThreadsAndChunks) {
    for (const uint32_t threads : {1u, 2u, 3u})
        for (const uint32_t chunk : {1u, 3u, 17u, 512u}) {
            const auto c = test::context(*model_, 1024);
            c->set_threads(threads, threads);
            EXPECT_TRUE(test::same_bits(test::all_logits(*c, tokens_, chunk), want(0, n_tokens)))
                << threads << " threads, chunks of " << chunk;
        }
}

TEST_P(SameBits, AloneAndInABatchOfSeven) {
    // Sequence 3 holds the text; the others are elsewhere, at other lengths.
    const auto c = test::context(*model_, 1024, 7);
    for (uint32_t s = 0; s < 7; ++s) {
        const size_t n = s == 3 ? 250 : 5 + 40 * s;
        const auto other = test::random_tokens(n, vocab_, 100 + s);
        const auto text = s == 3 ? std::span<const int32_t>(tokens_).first(n) : std::span(other);
        ASSERT_TRUE(c->prefill(s, text).has_value());
    }
    for (size_t i = 250; i < 270; ++i) {
        std::vector<Row> rows;
        for (uint32_t s = 0; s < 7; ++s)
            rows.push_back(
                {s, s == 3 ? tokens_[i] : static_cast<int32_t>((i * 31 + s) % vocab_), true});
        ASSERT_TRUE(c->pass(rows).has_value());
        EXPECT_TRUE(test::same_bits(c->logits(3), want(i, 1))) << "position " << i;
    }
    // A prompt and single tokens of other sequences in one pass.
    std::vector<Row> rows;
    for (size_t i = 270; i < 330; ++i) rows.push_back({3, tokens_[i], true});
    for (const uint32_t s : {0u, 5u}) rows.push_back({s, 11, true});
    ASSERT_TRUE(c->pass(rows).has_value());
    for (size_t i = 270; i < 330; ++i)
        EXPECT_TRUE(test::same_bits(c->logits(static_cast<uint32_t>(i - 270)), want(i, 1)))
            << "position " << i;
}

TEST_P(SameBits, AfterTrimmingAndRefilling) {
    const auto c = test::context(*model_, 1024);
    auto wrong = tokens_;
    for (size_t i = 256; i < wrong.size(); ++i)
        wrong[i] = (wrong[i] + 1) % static_cast<int32_t>(vocab_);
    ASSERT_TRUE(c->prefill(0, wrong).has_value());
    for (const uint32_t keep : {256u, 255u, 100u, 0u}) {
        const uint32_t kept = c->trim(0, keep);
        // Only a ring may have lost what is needed.
        EXPECT_TRUE(kept == keep || (GetParam().gemma && kept == 0));
        const auto rest = std::span<const int32_t>(tokens_).subspan(kept);
        EXPECT_TRUE(test::same_bits(test::all_logits(*c, rest, 64), want(kept, n_tokens - kept)))
            << "kept " << kept;
    }
}

TEST_P(SameBits, OneCoreForAllThreads) {
    cpu_set_t before;
    ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE; ++i)
        if (CPU_ISSET(i, &before)) {
            CPU_SET(i, &one);
            break;
        }
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    // The team is new, so that its threads inherit the mask.
    const auto model = test::load(model_->file().path(), options_);
    const auto c = test::context(*model, 1024);
    const bool same = test::same_bits(test::all_logits(*c, tokens_, 64), want(0, n_tokens));
    ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
    EXPECT_TRUE(same);
}

INSTANTIATE_TEST_SUITE_P(
    Sets, SameBits,
    testing::Values(Case{"llama_q4_0_avx512", "avx512", false, DType::q4_0, KvType::bf16, false},
                    Case{"llama_q4_k_avx512", "avx512", false, DType::q4_k, KvType::int8, false},
                    Case{"llama_q6_k_avx512", "avx512", false, DType::q6_k, KvType::f16, false},
                    Case{"llama_q2_k_avx512", "avx512", false, DType::q2_k, KvType::f32, false},
                    Case{"llama_bf16_avx512", "avx512", false, DType::bf16, KvType::bf16, false},
                    Case{"llama_f16_avx512", "avx512", false, DType::f16, KvType::bf16, false},
                    Case{"llama_oracle_avx512", "avx512", false, DType::q4_1, KvType::f32, true},
                    Case{"gemma_q8_0_avx512", "avx512", true, DType::q8_0, KvType::bf16, false},
                    Case{"gemma_q5_0_avx512", "avx512", true, DType::q5_0, KvType::int8, false},
                    Case{"llama_q4_1_avx2", "avx2", false, DType::q4_1, KvType::bf16, false},
                    Case{"llama_q5_k_avx2", "avx2", false, DType::q5_k, KvType::f16, false},
                    Case{"gemma_iq4_nl_avx2", "avx2", true, DType::iq4_nl, KvType::int8, false},
                    Case{"gemma_q3_k_avx2", "avx2", true, DType::q3_k, KvType::bf16, false}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace ridge
