// The mutation list, engine: one flipped bit in any weight, norm, bias, RoPE table, cache page,
// window or constant of a step turns the golden comparison (1e-4 x the largest logit) red, or,
// where it is too small for that bound, still changes bits of the logits.
//
// Too small for the golden bound are the low mantissa bits of one f32 weight among thousands: for
// these the comparison of bits stands, as the tests of same bits and of packing make it. Kernels
// and layouts: mutation_kernels_test.cpp.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <random>

#include "kernels/packed.hpp"
#include "support/engine.hpp"

namespace ridge {

struct ContextPeek {
    static Exec& exec(Context& c) { return c.exec_; }
    // So that what a test changes in the tables is not computed later.
    static void fill_rope(Context& c) { c.rope_.fill(c.model_.team(), 1, c.context()); }
};

namespace {

void flip(void* at, unsigned bit) {
    static_cast<uint8_t*>(at)[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
}
void flip(const void* at, unsigned bit) {
    flip(const_cast<void*>(at), bit);
}

class Mutation : public testing::TestWithParam<const char*> {
  protected:
    void SetUp() override {
        config_ = test::golden_config(GetParam());
        options_.f32_activations = true;
        options_.kv = KvType::f32;
        options_.threads = 1;
        options_.vocabulary = false;
        model_ = test::load(test::write_model(dir_, config_), options_);
        ASSERT_NE(model_, nullptr);
        const std::string bytes =
            test::read_file(RIDGE_TEST_DATA "/goldens/" + config_.name + ".f32");
        golden_.resize(bytes.size() / 4);
        std::memcpy(golden_.data(), bytes.data(), bytes.size());
        for (const float x : golden_) bound_ = std::max(bound_, 1e-4f * std::abs(x));
        want_ = logits();
        ASSERT_TRUE(green(want_));
    }

    LoweredStep& step(uint32_t i) { return const_cast<LoweredStep&>(model_->lowered().steps[i]); }
    uint32_t steps() const { return model_->lowered().n_steps; }

    // `before` runs on the fresh context, `between` after half of the tokens.
    std::vector<float> logits(const std::function<void(Exec&)>& before = {},
                              const std::function<void(Exec&)>& between = {}) {
        const auto c = test::context(*model_, static_cast<uint32_t>(config_.tokens.size()));
        Exec& e = ContextPeek::exec(*c);
        ContextPeek::fill_rope(*c);
        const std::span<const int32_t> tokens(config_.tokens);
        if (before) before(e);
        std::vector<float> out = test::all_logits(*c, tokens.first(tokens.size() / 2), chunk_);
        if (between) between(e);
        const auto rest = test::all_logits(*c, tokens.subspan(tokens.size() / 2), chunk_);
        out.insert(out.end(), rest.begin(), rest.end());
        return out;
    }
    // What golden_test.cpp requires.
    bool green(const std::vector<float>& got) const {
        if (got.size() != golden_.size()) return false;
        for (size_t i = 0; i < got.size(); ++i)
            if (!(std::abs(got[i] - golden_[i]) <= bound_)) return false;
        return true;
    }

    // Flips one bit of a value in memory, looks, and flips it back.
    void expect_red(const void* at, unsigned bit, const std::string& what) {
        flip(at, bit);
        EXPECT_FALSE(green(logits())) << what << ", bit " << bit;
        flip(at, bit);
    }
    void expect_other_bits(const void* at, unsigned bit, const std::string& what) {
        flip(at, bit);
        EXPECT_FALSE(test::same_bits(logits(), want_)) << what << ", bit " << bit;
        flip(at, bit);
    }
    // Sign, a low exponent bit and the top exponent bit; then mantissa bits.
    void expect_f32_guarded(const float* at, const std::string& what) {
        for (const unsigned bit : {31u, 30u, 24u}) expect_red(at, bit, what);
        for (const unsigned bit : {22u, 16u, 12u}) expect_other_bits(at, bit, what);
    }

    ShapeConfig config_;
    test::TempDir dir_;
    ModelOptions options_;
    std::unique_ptr<Model> model_;
    std::vector<float> golden_, want_;
    float bound_ = 0;
    uint32_t chunk_ = 64;
    std::mt19937 rng_{1};
};

// The largest of some random values: a weight of nearly 0 changes nothing by its sign.
template <class Pick>
const float* pick_large(std::mt19937& rng, const Pick& pick) {
    const float* best = nullptr;
    for (int i = 0; i < 20; ++i)
        if (const float* p = pick(static_cast<uint32_t>(rng()));
            best == nullptr || std::abs(*p) > std::abs(*best))
            best = p;
    return best;
}

TEST_P(Mutation, EveryMatrix) {
    for (uint32_t i = 0; i < steps(); ++i) {
        const LoweredStep& s = step(i);
        for (uint32_t j = 0; j < s.n_segments; ++j) {
            const Segment& g = s.segment[j];
            ASSERT_EQ(g.type, DType::f32);
            const float* at = pick_large(rng_, [&](uint32_t r) {
                const uint32_t column = r % g.n, row = (r >> 16) % s.k;
                // An interleaved pair is a group of each matrix.
                const uint32_t pair = column / (s.interleaved ? 16 : 32);
                const uint32_t half = s.interleaved ? j : column / 16 % 2;
                return reinterpret_cast<const float*>(g.packed + pair * g.pair_bytes) + row * 32 +
                       half * 16 + column % 16;
            });
            expect_f32_guarded(at, model_->program().weights[g.weight].name);
        }
    }
    EXPECT_TRUE(test::same_bits(logits(), want_));
}

TEST_P(Mutation, EveryNormAndBias) {
    const auto vector = [&](WeightId id, const float* data) {
        if (id == no_id) return;
        const Weight& w = model_->program().weights[id];
        const float* at = pick_large(rng_, [&](uint32_t r) { return data + r % w.k; });
        expect_f32_guarded(at, w.name);
    };
    for (uint32_t i = 0; i < steps(); ++i) {
        const LoweredStep& s = step(i);
        vector(s.norm_weight, s.norm);
        vector(s.post_norm_weight, s.post_norm);
        vector(s.k_norm_weight, s.k_norm);
        for (uint32_t j = 0; j < s.n_segments; ++j) {
            vector(s.segment[j].bias_weight, s.segment[j].bias);
        }
    }
    EXPECT_TRUE(test::same_bits(logits(), want_));
}

TEST_P(Mutation, RopeTables) {
    for (uint32_t t = 0; t < model_->program().n_rope; ++t)
        for (const uint32_t half : {0u, 1u})  // cosines, sines
            for (const unsigned bit : {31u, 30u, 23u, 12u}) {
                const uint32_t n_rot = model_->program().rope[t].n_rot;
                const auto position = static_cast<uint32_t>(config_.tokens.size() / 2 - 3);
                const auto got = logits([&](Exec& e) {
                    const float* row = e.rope[t] + position * n_rot + half * (n_rot / 2);
                    const float* at = pick_large(
                        rng_, [&](uint32_t r) { return row + r % std::min(n_rot / 2, 4u); });
                    flip(at, bit);
                });
                EXPECT_FALSE(test::same_bits(got, want_)) << "table " << t << ", bit " << bit;
                if (bit != 12) {
                    EXPECT_FALSE(green(got)) << "table " << t << ", bit " << bit;
                }
            }
}

TEST_P(Mutation, CachePages) {
    for (uint32_t i = 0; i < steps(); ++i) {
        const LoweredStep& s = step(i);
        if (s.kind != StepKind::attend) continue;
        // The key and the value of the last position before the middle, dimension 1.
        const auto slot = static_cast<uint32_t>(config_.tokens.size() / 2 - 1) % kv_span;
        const size_t offsets[] = {
            (slot / 16 * s.head_dim + 1) * 64 + slot % 16 * 4,
            kv_v_offset(KvType::f32, s.head_dim) + (slot * kv_padded(s.head_dim) + 1) * 4};
        for (const size_t offset : offsets)
            for (const unsigned bit : {30u, 31u, 23u, 12u}) {
                const auto got = logits(
                    {}, [&](Exec& e) { flip(e.cache.layers[s.cache_layer].base + offset, bit); });
                EXPECT_FALSE(test::same_bits(got, want_))
                    << "layer " << s.layer << ", offset " << offset << ", bit " << bit;
                if (bit == 30) {
                    EXPECT_FALSE(green(got)) << "layer " << s.layer;
                }
            }
    }
}

TEST_P(Mutation, ConstantsOfSteps) {
    const auto red = [&](const std::string& what) { EXPECT_FALSE(green(logits())) << what; };
    for (uint32_t i = 0; i < steps(); ++i) {
        LoweredStep& s = step(i);
        const LoweredStep before = s;
        const std::string where = " of step " + std::to_string(i);
        if (s.kind == StepKind::embed) {
            flip(&s.scale, 22);
            red("embedding scale");
        }
        if (s.kind == StepKind::attend) {
            // In prefill queries are attend's, keys rotate's.
            LoweredStep& r = step(i - 1);
            const LoweredStep rotate = r;
            flip(&s.scale, 22);
            red("query scale" + where);
            s = before;
            if (model_->program().n_rope > 1) {
                r.rope_table ^= 1;
                red("RoPE table of keys" + where);
                r = rotate;
                s.rope_table ^= 1;
                red("RoPE table of queries" + where);
                s = before;
            }
            if (s.window != 0 && s.window < config_.tokens.size())
                for (const int d : {-1, 1}) {
                    s.window = before.window + static_cast<uint32_t>(d);
                    red("window" + where);
                }
            if (s.window != 0 && s.window < config_.tokens.size()) {
                s.window = 0;
                red("no window" + where);
            }
        }
        s = before;
        // In decode attend does what rotate does for prefill, with constants of its own.
        if (s.kind == StepKind::attend) {
            chunk_ = 1;
            flip(&s.scale, 22);
            red("query scale in decode" + where);
            s = before;
        }
        if (s.epsilon > 1e-6f) {
            flip(&s.epsilon, 30);  // an epsilon of 1e-5 becomes huge
            red("epsilon" + where);
        }
        chunk_ = 64;
        s = before;
        if (s.kind == StepKind::product && s.epilogue != Epilogue::store) {
            s.epilogue = s.epilogue == Epilogue::silu_mul ? Epilogue::gelu_mul : Epilogue::silu_mul;
            red("activation function" + where);
        }
        s = before;
    }
    EXPECT_TRUE(test::same_bits(logits(), want_));
}

INSTANTIATE_TEST_SUITE_P(Goldens, Mutation,
                         testing::Values("llama-bias", "llama-untied", "gemma3-pattern2"),
                         [](const auto& p) {
                             std::string name = p.param;
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

// Every type in every product of a model. Activations are f32: with int8 ones a change of the last
// bit of one scale may be rounded away before it reaches a logit (the kernel tests see it).
TEST(MutationOfTypes, EveryPlaneOfEveryProductShowsInTheLogits) {
    for (uint8_t t = 0; t < static_cast<uint8_t>(DType::count_); ++t) {
        const test::TempDir dir;
        const auto type = static_cast<DType>(t);
        ShapeConfig shape = test::tiny_llama(type);
        shape.head_count = 8;  // rows of 256: no tensor falls back to another type
        shape.block_count = 1;
        ModelOptions o;
        o.threads = 1;
        o.f32_activations = true;
        o.kv = KvType::f32;
        o.vocabulary = false;
        const auto model = test::load(test::write_model(dir, shape), o);
        ASSERT_NE(model, nullptr);
        const auto tokens = test::random_tokens(6, shape.vocab_size, 3);
        const auto run = [&] {
            const auto c = test::context(*model, 64);
            return test::all_logits(*c, tokens, 6);
        };
        const std::vector<float> want = run();
        std::mt19937 rng(t + 1u);
        const Lowered& lowered = model->lowered();
        for (uint32_t i = 0; i < lowered.n_steps; ++i)
            for (uint32_t j = 0; j < lowered.steps[i].n_segments; ++j) {
                const LoweredStep& s = lowered.steps[i];
                const Segment& g = s.segment[j];
                const PairLayout at = pair_layout(type);
                const size_t half = s.interleaved ? j : 0;
                const size_t block =
                    rng() % (is_quantized(type) ? s.k / 32 : pair_units(type, s.k));
                const size_t planes[][2] = {{at.low_of(block, half), at.low},
                                            {at.high_of(block, half), at.high},
                                            {at.scale_of(block, half), at.scale},
                                            {at.super_of(block, half), at.super}};
                for (const auto& [first, bytes] : planes) {
                    if (bytes == 0) continue;
                    size_t bit = rng() % (bytes * 8);
                    if (!is_quantized(type))  // sign, exponent or a leading mantissa bit
                        bit = bit / (8 * info(type).block_bytes) * 8 * info(type).block_bytes +
                              8 * info(type).block_bytes - 1 - rng() % 10;
                    // MXFP4's code 8 is its second zero: a bit that is no sign.
                    if (type == DType::mxfp4 && bytes == at.low) bit = bit / 4 * 4 + bit % 3;
                    const uint8_t* where = g.packed + first + bit / 8;
                    flip(where, bit % 8);
                    EXPECT_FALSE(test::same_bits(run(), want))
                        << name(type) << ", " << model->program().weights[g.weight].name
                        << ", byte " << first + bit / 8 << ", bit " << bit % 8;
                    flip(where, bit % 8);
                }
            }
        EXPECT_TRUE(test::same_bits(run(), want));
    }
}

}  // namespace
}  // namespace ridge
