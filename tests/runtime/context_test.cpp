// Sequences, prefixes, limits and what a pass must not do.
#include "runtime/model.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "support/allocations.hpp"
#include "support/engine.hpp"

namespace ridge {
namespace {

class ContextTest : public testing::Test {
  protected:
    void SetUp() override {
        options_.threads = 2;
        model_ = test::load(test::write_model(dir_, test::tiny_llama(DType::q8_0)), options_);
        ASSERT_NE(model_, nullptr);
    }
    test::TempDir dir_;
    ModelOptions options_;
    std::unique_ptr<Model> model_;
};

TEST_F(ContextTest, SecondTurnComputesOnlyWhatIsNew) {
    const auto c = test::context(*model_, 1024);
    auto conversation = test::random_tokens(300, 300, 1);
    const auto first = c->prompt(0, conversation);
    ASSERT_TRUE(first.has_value());
    EXPECT_EQ(*first, 300u);
    for (const int32_t id : test::greedy(*c, 20)) conversation.push_back(id);
    const auto more = test::random_tokens(13, 300, 2);
    conversation.insert(conversation.end(), more.begin(), more.end());
    const auto second = c->prompt(0, conversation);
    ASSERT_TRUE(second.has_value());
    EXPECT_EQ(*second, 13u);

    const auto fresh = test::context(*model_, 1024);
    ASSERT_TRUE(fresh->prompt(0, conversation).has_value());
    EXPECT_TRUE(test::same_bits(c->logits(0), fresh->logits(0)));

    // The same prompt again computes its last token only; another one starts where they differ.
    EXPECT_EQ(*c->prompt(0, conversation), 1u);
    conversation[100] ^= 1;
    EXPECT_EQ(*c->prompt(0, conversation), conversation.size() - 100);
}

TEST_F(ContextTest, WindowsKeepPrefixesWhileTheRingReaches) {
    ModelOptions o = options_;
    o.chunk = 64;
    const auto model = test::load(test::write_model(dir_, test::tiny_gemma(DType::q8_0)), o);
    ASSERT_NE(model, nullptr);
    const auto c = test::context(*model, 4096);
    auto text = test::random_tokens(2000, 300, 3);
    ASSERT_TRUE(c->prompt(0, text).has_value());
    const auto more = test::random_tokens(30, 300, 4);
    text.insert(text.end(), more.begin(), more.end());
    EXPECT_EQ(*c->prompt(0, text), 30u);
    // Far back the window is gone from the ring: everything is computed again, and rightly.
    text.resize(200);
    text.push_back(5);
    ASSERT_TRUE(c->prompt(0, text).has_value());
    const auto fresh = test::context(*model, 4096);
    ASSERT_TRUE(fresh->prompt(0, text).has_value());
    EXPECT_TRUE(test::same_bits(c->logits(0), fresh->logits(0)));
}

TEST_F(ContextTest, PassesDoNotAllocate) {
    const auto c = test::context(*model_, 1024, 3);
    const auto tokens = test::random_tokens(600, 300, 5);
    const test::AllocationCount count;
    ASSERT_TRUE(c->prefill(0, tokens).has_value());
    ASSERT_TRUE(c->prefill(2, std::span<const int32_t>(tokens).first(17)).has_value());
    for (int i = 0; i < 20; ++i) {
        const Row rows[] = {{0, 3, true}, {2, 4, true}};
        ASSERT_TRUE(c->pass(rows).has_value());
    }
    c->trim(0, 100);
    EXPECT_EQ(count.since(), 0u);
}

TEST_F(ContextTest, RefusesWhatDoesNotFit) {
    const auto c = test::context(*model_, 300, 2);
    const auto expect_error = [&](std::vector<Row> rows, const char* part) {
        const Status s = c->pass(rows);
        ASSERT_FALSE(s.has_value());
        EXPECT_NE(s.error().message.find(part), std::string::npos) << s.error().message;
    };
    expect_error({}, "1 to 512 tokens");
    expect_error({{0, -1, true}}, "outside the vocabulary");
    expect_error({{0, 300, true}}, "outside the vocabulary");
    expect_error({{2, 1, true}}, "sequence 2 does not exist");
    expect_error({{0, 1, true}, {1, 1, true}, {0, 1, true}}, "stand together");
    expect_error(std::vector<Row>(301, Row{0, 1, false}), "context of 300 tokens is full");
    expect_error(std::vector<Row>(65, Row{0, 1, true}), "logits of at most 64");
    EXPECT_EQ(c->length(0), 0u);
    // The context can be filled to its last position and no further.
    ASSERT_TRUE(c->pass(std::vector<Row>(300, Row{0, 1, false})).has_value());
    expect_error({{0, 1, true}}, "is full: 300 are in use");
    EXPECT_FALSE(c->prompt(0, {}).has_value());
    EXPECT_FALSE(c->prompt(9, test::random_tokens(3, 300, 1)).has_value());
}

TEST_F(ContextTest, AtMostFiveBarriersALayerInDecode) {
    const auto c = test::context(*model_, 600);
    ASSERT_TRUE(c->prefill(0, test::random_tokens(300, 300, 5)).has_value());
    c->set_timing(true);
    const Row row{0, 1, true};
    ASSERT_TRUE(c->pass({&row, 1}).has_value());
    EXPECT_LE(c->barriers(), 5u * model_->program().layers + 2);
}

TEST_F(ContextTest, PackedWeightsStayWithinTheirShareOfTheFile) {
    for (uint8_t t = 0; t < static_cast<uint8_t>(DType::count_); ++t) {
        ShapeConfig shape = test::tiny_llama(static_cast<DType>(t));
        shape.head_count = 8;  // rows of 256 everywhere: no tensor falls back to another type
        shape.block_count = 1;
        const auto m = test::load(test::write_model(dir_, shape), options_);
        ASSERT_NE(m, nullptr);
        EXPECT_LE(static_cast<double>(m->weights().packed_bytes()),
                  1.06 * static_cast<double>(m->weights().tensor_bytes()))
            << name(static_cast<DType>(t));
        // It runs.
        const auto c = test::context(*m, 64);
        const auto l = test::all_logits(*c, test::random_tokens(20, 300, 9), 20);
        for (const float x : l) ASSERT_TRUE(std::isfinite(x)) << name(static_cast<DType>(t));
    }
}

}  // namespace
}  // namespace ridge
