// Passes that are given up between two steps, and what sequences still hold afterwards.
#include <gtest/gtest.h>

#include <atomic>

#include "support/engine.hpp"

namespace ridge {
namespace {

class Stop : public testing::TestWithParam<bool> {
  protected:
    void SetUp() override {
        ModelOptions o;
        o.threads = 2;
        o.chunk = 64;
        const auto config =
            GetParam() ? test::tiny_gemma(DType::q8_0) : test::tiny_llama(DType::q8_0);
        model_ = test::load(test::write_model(dir_, config), o);
        ASSERT_NE(model_, nullptr);
    }
    // Logits after `text` in a context that has seen nothing else.
    std::vector<float> fresh(const std::vector<int32_t>& text) const {
        const auto c = test::context(*model_, 4096);
        EXPECT_TRUE(c->prompt(0, text).has_value());
        const auto logits = c->logits(0);
        return {logits.begin(), logits.end()};
    }
    test::TempDir dir_;
    std::unique_ptr<Model> model_;
};

TEST_P(Stop, GivesTheSequenceBackAsItWas) {
    const auto c = test::context(*model_, 4096);
    const auto text = test::random_tokens(1500, 300, 7);
    const std::vector<int32_t> shorter(text.begin(), text.begin() + 1400);
    ASSERT_TRUE(c->prompt(0, shorter).has_value());
    std::atomic<uint32_t> asked = 0;
    const std::function<bool()> count = [&] {
        ++asked;
        return false;
    };
    ASSERT_TRUE(c->prompt(0, text, count).has_value());
    const uint32_t all = asked;  // one question a step that ends in a barrier, in two chunks
    ASSERT_GT(all, 2 * model_->program().layers);
    for (const uint32_t when : {1u, 2u, 7u, all / 2, all - 2, all}) {
        EXPECT_EQ(c->trim(0, 1400), 1400u);
        asked = 0;
        const auto stopped = c->prompt(0, text, [&] { return ++asked == when; });
        ASSERT_FALSE(stopped.has_value()) << when;
        EXPECT_EQ(stopped.error().code, ErrorCode::cancelled);
        EXPECT_EQ(asked, when) << "the pass went on";
        if (when != all / 2) {  // which is near the end of the first chunk
            EXPECT_EQ(c->length(0), when < all / 2 ? 1400u : 1464u) << when;
        }
        ASSERT_TRUE(c->prompt(0, text).has_value());
        EXPECT_TRUE(test::same_bits(c->logits(0), fresh(text))) << when;
    }
}

TEST_P(Stop, AllThreadsLeaveAPassThatIsGivenUp) {
    const auto c = test::context(*model_, 4096);
    const auto text = test::random_tokens(64, 300, 8);
    const std::function<bool()> at_once = [] { return true; };
    for (int i = 0; i < 200; ++i) {
        EXPECT_FALSE(c->prefill(0, text, 0, at_once).has_value());
        EXPECT_EQ(c->length(0), 0u);
    }
    EXPECT_EQ(c->barriers(), 200u);
}

// Each turn goes back further than the one before came forward, so that a ring that was overwritten
// by a longer text is asked for older and older positions.
TEST_P(Stop, TurnsThatGoBackSeeWhatTheyWouldHaveSeen) {
    for (const uint32_t back : {40u, 100u, 170u, 260u}) {
        const auto c = test::context(*model_, 4096);
        auto text = test::random_tokens(2000, 300, back);
        ASSERT_TRUE(c->prompt(0, text).has_value());
        for (int32_t turn = 0; turn < 6; ++turn) {
            text.resize(text.size() - back);
            text.push_back(20 + turn);
            ASSERT_TRUE(c->prompt(0, text).has_value());
            EXPECT_TRUE(test::same_bits(c->logits(0), fresh(text))) << back << ", turn " << turn;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Models, Stop, testing::Values(false, true),
                         [](const auto& p) { return p.param ? "gemma" : "llama"; });

}  // namespace
}  // namespace ridge
