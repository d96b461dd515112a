// Architectures against files that do not hold what they should: one sentence each.
#include "model/builder.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "format/gguf_writer.hpp"
#include "support/random_model.hpp"

namespace ridge {
namespace {

class BuildProgram : public testing::Test {
  protected:
    void SetUp() override { use("llama"); }

    void use(const std::string& architecture, bool bias = false) {
        ShapeConfig s;
        s.name = architecture;
        s.architecture = architecture;
        s.vocab_size = 300;
        s.embedding_length = 64;
        s.feed_forward_length = 96;
        s.head_count = 8;
        s.head_count_kv = 4;
        s.key_length = 8;
        s.attention_bias = bias;
        s.sliding_window = 100;
        s.sliding_window_pattern = 2;
        auto file = GgufFile::open(test::write_model(dir_, s));
        ASSERT_TRUE(file.has_value());
        base_ = std::make_unique<GgufFile>(std::move(*file));
    }

    struct Edit {
        std::function<void(GgufWriter&)> metadata = [](GgufWriter&) {};
        std::string drop = {};            // a tensor left out
        std::string reshape = {};         // a tensor with ...
        std::vector<uint64_t> dims = {};  // ... these dimensions and type
        DType type = DType::f32;
        std::string add = {};                // one more tensor, of `dims`
        std::vector<std::string> more = {};  // tensors of F32 values
        std::vector<uint64_t> more_dims = {};
        const uint8_t* more_data = nullptr;
    };
    std::unique_ptr<GgufFile> edited(const Edit& edit) {
        GgufWriter out;
        for (const std::string& key : base_->keys()) {
            const auto value = base_->encoded_value(key);
            out.set_encoded(key, std::string(value.begin(), value.end()));
        }
        edit.metadata(out);
        const std::vector<uint8_t> zeros(1 << 20);
        for (const TensorInfo& t : base_->tensors()) {
            if (t.name == edit.drop) continue;
            const bool other = t.name == edit.reshape;
            std::vector<uint64_t> dims(t.dims.begin(), t.dims.begin() + t.n_dims);
            EXPECT_TRUE(out.add_tensor(t.name, other ? edit.type : t.type, other ? edit.dims : dims,
                                       other ? zeros.data() : t.data));
        }
        if (!edit.add.empty()) {
            EXPECT_TRUE(out.add_tensor(edit.add, DType::f32, edit.dims, zeros.data()));
        }
        for (const std::string& name : edit.more) {
            EXPECT_TRUE(out.add_tensor(name, DType::f32, edit.more_dims, edit.more_data));
        }
        const std::string path = dir_.file("edited.gguf");
        EXPECT_TRUE(out.write(path));
        auto file = GgufFile::open(path);
        EXPECT_TRUE(file.has_value()) << file.error().message;
        return std::make_unique<GgufFile>(std::move(*file));
    }
    Result<ModelProgram> build(const Edit& edit) {
        file_ = edited(edit);
        return build_program(*file_);
    }
    // The message names the file and every part given, in one line.
    void expect_error(const Edit& edit, const std::vector<std::string>& parts) {
        const auto program = build(edit);
        ASSERT_FALSE(program.has_value()) << parts[0];
        const std::string& message = program.error().message;
        EXPECT_EQ(message.find('\n'), std::string::npos);
        EXPECT_NE(message.find("edited.gguf"), std::string::npos) << message;
        for (const std::string& part : parts)
            EXPECT_NE(message.find(part), std::string::npos) << message << " lacks " << part;
    }
    template <class T>
    static Edit with(const std::string& key, T value) {
        Edit e;
        e.metadata = [=](GgufWriter& w) { w.set(key, value); };
        return e;
    }

    test::TempDir dir_;
    std::unique_ptr<GgufFile> base_, file_;
};

TEST_F(BuildProgram, UntouchedFilesBuild) {
    for (const char* architecture : {"llama", "qwen2", "qwen3", "phi3", "gemma2", "gemma3"}) {
        use(architecture);
        const auto program = build({});
        ASSERT_TRUE(program.has_value()) << program.error().message;
        const Program& p = program->program;
        EXPECT_EQ(program->architecture, architecture);
        EXPECT_EQ(p.layers, 2u);
        EXPECT_EQ(p.hidden, 64u);
        EXPECT_EQ(p.vocab, 300u);
        EXPECT_EQ(p.context, 512u);
        EXPECT_EQ(p.attention.heads, 8u);
        EXPECT_EQ(p.attention.kv_heads, 4u);
        EXPECT_EQ(p.attention.head_dim, 8u);
        EXPECT_EQ(p.steps[0].op, Op::embed);
        EXPECT_EQ(p.steps[p.n_steps - 1].op, Op::logits);
        // Two layers and the head: q, k, v, o, gate, up, down each.
        uint64_t weights = 2 * (64 * 64 * 2 + 2 * 32 * 64 + 3 * 64 * 96) + 300 * 64;
        EXPECT_EQ(product_ops(p), 2 * weights);
    }
}

// A tensor that no step reads means arithmetic that is left out.
TEST_F(BuildProgram, TensorsLeftOverAreRefused) {
    expect_error({.dims = {64}, .add = "blk.0.ffn_down.bias"}, {"blk.0.ffn_down.bias", "llama"});
    expect_error({.dims = {8}, .add = "blk.0.attn_q_norm.weight"}, {"blk.0.attn_q_norm.weight"});
    expect_error(with("llama.block_count", uint32_t{1}), {"blk.1.", "1 layers"});
}

TEST_F(BuildProgram, GemmaWindowsAndTablesFollowThePattern) {
    use("gemma3");
    const auto program = build(with("gemma3.attention.sliding_window_pattern", uint32_t{2}));
    ASSERT_TRUE(program.has_value());
    const Program& p = program->program;
    ASSERT_EQ(p.n_rope, 2u);
    EXPECT_EQ(p.rope[1].base, 10000.0);  // local
    for (uint32_t i = 0; i < p.n_steps; ++i) {
        const Step& s = p.steps[i];
        const bool global = (s.layer + 1) % 2 == 0;
        if (s.op == Op::attention) {
            EXPECT_EQ(s.window, global ? 0u : 100u);
        }
        if (s.op == Op::rope) {
            EXPECT_EQ(s.table, global ? 0 : 1);
        }
        if (s.op == Op::embed) {
            EXPECT_EQ(s.value, 8.0f);  // sqrt(64)
        }
    }
    // Gemma 3 4B and larger scale the global positions linearly.
    Edit linear;
    linear.metadata = [](GgufWriter& w) {
        w.set("gemma3.rope.scaling.type", "linear");
        w.set("gemma3.rope.scaling.factor", 8.0f);
    };
    const auto scaled = build(linear);
    ASSERT_TRUE(scaled.has_value());
    EXPECT_EQ(scaled->program.rope[0].frequency_scale, 0.125);
    EXPECT_EQ(scaled->program.rope[1].frequency_scale, 1.0);
}

TEST_F(BuildProgram, Gemma3WithoutAWindowHasGlobalLayersOnly) {
    use("gemma3");
    const auto program = build(with("gemma3.attention.sliding_window", uint32_t{0}));
    ASSERT_TRUE(program.has_value());
    EXPECT_EQ(program->program.n_rope, 1u);
    for (const Step& s : program->steps) {
        EXPECT_EQ(s.window, 0u);
        EXPECT_EQ(s.table, 0u);
    }
}

TEST_F(BuildProgram, Gemma2CapsScoresAndLogits) {
    use("gemma2");
    Edit none;
    none.metadata = [](GgufWriter& w) {
        w.set("gemma2.attn_logit_softcapping", 0.0f);
        w.set("gemma2.final_logit_softcapping", 0.0f);
    };
    for (const bool on : {true, false}) {
        const auto program = build(on ? Edit{} : none);  // without the keys: Gemma 2's own caps
        ASSERT_TRUE(program.has_value()) << program.error().message;
        int caps_of_logits = 0;
        for (const Step& s : program->steps) {
            if (s.op == Op::attention) {
                EXPECT_EQ(s.softcap, on ? 50.0f : 0.0f);
                EXPECT_EQ(s.window, s.layer == 0 ? 100u : 0u);
            }
            if (s.op == Op::softcap) {
                EXPECT_EQ(s.value, 30.0f);
                ++caps_of_logits;
            }
        }
        EXPECT_EQ(caps_of_logits, on ? 1 : 0);
    }
    expect_error(with("gemma2.attn_logit_softcapping", -1.0f), {"attn_logit_softcapping"});
    expect_error(with("gemma2.final_logit_softcapping", NAN), {"final_logit_softcapping"});
}

// q, k and v of 64, 32 and 32 rows in one tensor; gate and up of 96 in another.
TEST_F(BuildProgram, Phi3TakesItsFusedTensorsApart) {
    use("phi3");
    const auto program = build({});
    ASSERT_TRUE(program.has_value()) << program.error().message;
    std::vector<std::pair<uint32_t, uint32_t>> qkv, ffn;
    for (const Weight& w : program->weights) {
        const std::string name = w.name;
        if (name == "blk.1.attn_qkv.weight") qkv.emplace_back(w.first_row, w.n);
        if (name == "blk.1.ffn_up.weight") ffn.emplace_back(w.first_row, w.n);
    }
    EXPECT_EQ(qkv, (std::vector<std::pair<uint32_t, uint32_t>>{{0, 64}, {64, 32}, {96, 32}}));
    EXPECT_EQ(ffn, (std::vector<std::pair<uint32_t, uint32_t>>{{0, 96}, {96, 96}}));
    expect_error({.drop = "blk.0.attn_qkv.weight"}, {"'blk.0.attn_qkv.weight' is missing"});
    expect_error({.reshape = "blk.0.attn_qkv.weight", .dims = {64, 127}}, {"needs [64, 128]"});
    expect_error({.reshape = "blk.1.ffn_up.weight", .dims = {64, 96}}, {"needs [64, 192]"});
    expect_error(with("phi3.rope.dimension_count", uint32_t{5}), {"dimension_count", "even"});
    expect_error(with("phi3.rope.dimension_count", uint32_t{10}), {"dimension_count", "10"});
    const auto partial = build(with("phi3.rope.dimension_count", uint32_t{6}));
    ASSERT_TRUE(partial.has_value());
    EXPECT_EQ(partial->program.rope[0].n_rot, 6u);
}

TEST_F(BuildProgram, BiasesAreReadWhereTheFileHasThem) {
    use("llama", true);
    const auto program = build({});
    ASSERT_TRUE(program.has_value());
    int biases = 0;
    for (const Step& s : program->steps) biases += s.op == Op::product && s.bias != no_id;
    EXPECT_GE(biases, 2 * 3);
    use("llama");
    const auto plain = build({});
    ASSERT_TRUE(plain.has_value());
    for (const Step& s : plain->steps) EXPECT_EQ(s.bias, no_id);
}

TEST_F(BuildProgram, UnsupportedArchitecturesNameTheSupportedOnes) {
    expect_error(with("general.architecture", "rwkv7"), {"'rwkv7'", "llama", "gemma3"});
    expect_error(with("general.architecture", ""), {"''", "gemma2, gemma3"});
    expect_error(with("general.architecture", uint32_t{3}), {"general.architecture"});
    for (const char* name : {"llama", "qwen2", "qwen3", "phi3", "gemma2", "gemma3"})
        EXPECT_NE(supported_architectures().find(name), std::string::npos) << name;
}

TEST_F(BuildProgram, MixturesOfExpertsAreRefusedByName) {
    expect_error(with("llama.expert_count", uint32_t{8}), {"'llama'", "mixture of experts"});
    Edit moe;
    moe.metadata = [](GgufWriter& w) {
        w.set("general.architecture", "qwen3moe");
        w.set("qwen3moe.expert_count", uint32_t{128});
    };
    expect_error(moe, {"'qwen3moe'", "mixture of experts", "qwen3, phi3"});
    EXPECT_TRUE(build(with("llama.expert_count", uint32_t{0})).has_value());
}

TEST_F(BuildProgram, MissingTensorsAreNamed) {
    for (const char* name :
         {"token_embd.weight", "output_norm.weight", "blk.0.attn_q.weight", "blk.1.attn_k.weight",
          "blk.0.attn_v.weight", "blk.1.attn_output.weight", "blk.0.attn_norm.weight",
          "blk.1.ffn_norm.weight", "blk.0.ffn_gate.weight", "blk.1.ffn_up.weight",
          "blk.1.ffn_down.weight"})
        expect_error({.drop = name}, {std::string("'") + name + "' is missing"});
    use("gemma3");
    for (const char* name : {"blk.0.attn_q_norm.weight", "blk.1.attn_k_norm.weight",
                             "blk.0.post_attention_norm.weight", "blk.1.post_ffw_norm.weight"})
        expect_error({.drop = name}, {std::string("'") + name + "' is missing"});
    use("qwen3");
    for (const char* name : {"blk.0.attn_q_norm.weight", "blk.1.attn_k_norm.weight"})
        expect_error({.drop = name}, {std::string("'") + name + "' is missing"});
}

TEST_F(BuildProgram, WrongShapesAreNamedBesideTheRightOnes) {
    expect_error({.reshape = "blk.0.attn_q.weight", .dims = {64, 32}},
                 {"blk.0.attn_q.weight", "[64, 32]", "needs [64, 64]"});
    expect_error({.reshape = "blk.1.ffn_down.weight", .dims = {64, 96}},
                 {"blk.1.ffn_down.weight", "[64, 96]", "needs [96, 64]"});
    expect_error({.reshape = "output_norm.weight", .dims = {63}},
                 {"output_norm.weight", "[63]", "needs [64]"});
    expect_error({.reshape = "output_norm.weight", .dims = {64, 2}}, {"output_norm.weight"});
    expect_error({.reshape = "blk.0.attn_k.weight", .dims = {64, 16, 2}}, {"blk.0.attn_k.weight"});
    expect_error({.reshape = "output_norm.weight", .dims = {64}, .type = DType::f16},
                 {"output_norm.weight", "F16", "must be F32"});
    expect_error({.reshape = "token_embd.weight", .dims = {64, 1}}, {"vocabulary of 1"});
}

TEST_F(BuildProgram, HyperParametersAreBounded) {
    expect_error(with("llama.attention.head_count_kv", uint32_t{3}),
                 {"8 attention heads are not a multiple of 3"});
    expect_error(with("llama.attention.head_count", uint32_t{0}), {"llama.attention.head_count"});
    expect_error(with("llama.block_count", uint32_t{0}), {"llama.block_count", "0, outside 1"});
    expect_error(with("llama.block_count", uint32_t{0xffffffff}), {"4294967295"});
    expect_error(with("llama.block_count", uint64_t{1} << 40), {"1099511627776"});
    expect_error(with("llama.block_count", int32_t{-1}), {"llama.block_count", "whole number"});
    expect_error(with("llama.block_count", "two"), {"llama.block_count", "whole number"});
    expect_error(with("llama.block_count", uint32_t{3}), {"blk.2.attn_norm.weight"});
    expect_error(with("llama.embedding_length", uint32_t{128}), {"needs [128"});
    expect_error(with("llama.feed_forward_length", uint32_t{1} << 30), {"feed_forward_length"});
    expect_error(with("llama.attention.key_length", uint32_t{7}), {"7 (key)", "even"});
    expect_error(with("llama.attention.value_length", uint32_t{16}), {"16 (value)", "equal"});
    expect_error(with("llama.context_length", uint32_t{0}), {"context_length"});
    for (const float bad : {0.0f, -1.0f, NAN, INFINITY, 1e30f}) {
        expect_error(with("llama.attention.layer_norm_rms_epsilon", bad),
                     {"layer_norm_rms_epsilon"});
        expect_error(with("llama.rope.freq_base", bad), {"rope.freq_base", "positive finite"});
    }
    for (const std::string architecture : {"llama", "qwen2", "qwen3", "gemma2", "gemma3"}) {
        use(architecture);
        expect_error(with(architecture + ".rope.dimension_count", uint32_t{4}),
                     {"partial rotation"});
    }
}

// A head of 8: four pairs. What the formulas should give is worked out by hand here; goldens check
// them against transformers.
TEST_F(BuildProgram, RopeScalingBecomesDivisors) {
    const auto table = [&](const Edit& edit) {
        const auto program = build(edit);
        EXPECT_TRUE(program.has_value()) << program.error().message;
        return program.has_value() ? program->rope[0] : RopeTable{};
    };
    EXPECT_EQ(table({}).factors, nullptr);
    EXPECT_EQ(table({}).magnitude, 1.0f);
    EXPECT_EQ(table(with("llama.rope.scaling.factor", 4.0f)).frequency_scale, 0.25);
    EXPECT_EQ(table(with("llama.rope.scale_linear", 2.0f)).frequency_scale, 0.5);
    EXPECT_EQ(table(with("llama.rope.scaling.factor", 0.0f)).frequency_scale, 1.0);
    EXPECT_EQ(table(with("llama.rope.scaling.attn_factor", 1.5f)).magnitude, 1.5f);
    Edit none;
    none.metadata = [](GgufWriter& w) {
        w.set("llama.rope.scaling.type", "none");
        w.set("llama.rope.scaling.factor", 4.0f);
    };
    EXPECT_EQ(table(none).frequency_scale, 1.0);
}

TEST_F(BuildProgram, YarnMixesPairsBetweenItsBetas) {
    // Base 16 over 4 pairs: a wave of pair i has 2 pi 2^i positions, so in an original context of
    // 64 pi it turns 32, 16, 8 and 4 times. Between betas of 16 (pair 1) and 4 (pair 3), pair 2 is
    // half and half.
    Edit yarn;
    yarn.metadata = [](GgufWriter& w) {
        w.set("llama.rope.freq_base", 16.0f);
        w.set("llama.rope.scaling.type", "yarn");
        w.set("llama.rope.scaling.factor", 4.0f);
        w.set("llama.rope.scaling.original_context_length", uint32_t{201});  // 64 pi = 201.06
        w.set("llama.rope.scaling.yarn_beta_fast", 15.9f);                   // floors to pair 1
        w.set("llama.rope.scaling.yarn_beta_slow", 4.1f);                    // ceils to pair 3
    };
    auto program = build(yarn);
    ASSERT_TRUE(program.has_value()) << program.error().message;
    const RopeTable& t = program->rope[0];
    EXPECT_EQ(t.frequency_scale, 1.0);
    ASSERT_NE(t.factors, nullptr);
    EXPECT_DOUBLE_EQ(t.factors[0], 1.0);
    EXPECT_DOUBLE_EQ(t.factors[1], 1.0);
    EXPECT_DOUBLE_EQ(t.factors[2], 1.0 / (0.5 + 0.5 / 4.0));
    EXPECT_DOUBLE_EQ(t.factors[3], 4.0);
    EXPECT_FLOAT_EQ(t.magnitude, 0.1f * std::log(4.0f) + 1.0f);
    const auto metadata = yarn.metadata;
    yarn.metadata = [=](GgufWriter& w) {
        metadata(w);
        w.set("llama.rope.scaling.yarn_attn_factor", 1.25f);
    };
    program = build(yarn);
    ASSERT_TRUE(program.has_value());
    EXPECT_EQ(program->rope[0].magnitude, 1.25f);
    yarn.metadata = [=](GgufWriter& w) {
        metadata(w);
        w.set("llama.rope.scaling.yarn_ext_factor", 2.0f);
    };
    expect_error(yarn, {"yarn_ext_factor"});
}

TEST_F(BuildProgram, RopeFactorTensorsAreCheckedAndKept) {
    std::vector<float> factors = {1.0f, 2.0f, 4.0f, 8.0f};
    const auto with_factors = [&](std::vector<std::string> names, uint64_t n = 4) {
        Edit e;
        e.more = std::move(names);
        e.more_dims = {n};
        e.more_data = reinterpret_cast<const uint8_t*>(factors.data());
        return e;
    };
    auto program = build(with_factors({"rope_freqs.weight"}));
    ASSERT_TRUE(program.has_value()) << program.error().message;
    EXPECT_EQ(program->rope[0].factors[3], 8.0);
    EXPECT_EQ(program->rope[0].long_factors, nullptr);
    Edit both = with_factors({"rope_factors_long.weight", "rope_factors_short.weight"});
    both.metadata = [](GgufWriter& w) {
        w.set("llama.rope.scaling.type", "longrope");
        w.set("llama.rope.scaling.original_context_length", uint32_t{64});
    };
    program = build(both);
    ASSERT_TRUE(program.has_value()) << program.error().message;
    EXPECT_EQ(program->rope[0].factors[2], 4.0);
    EXPECT_EQ(program->rope[0].long_factors[2], 4.0);
    EXPECT_EQ(program->rope[0].long_context, 64u);

    expect_error(with_factors({"rope_factors_long.weight"}), {"rope_factors_short.weight"});
    expect_error(with("llama.rope.scaling.type", "longrope"), {"rope_factors_short.weight"});
    expect_error(with_factors({"rope_factors_long.weight", "rope_factors_short.weight",
                               "rope_freqs.weight"}),
                 {"LongRoPE"});
    expect_error(with_factors({"rope_freqs.weight"}, 3), {"3 elements", "4 positive"});
    for (const float bad : {0.0f, -1.0f, NAN, INFINITY}) {
        factors[1] = bad;
        expect_error(with_factors({"rope_freqs.weight"}), {"rope_freqs.weight", "not positive"});
    }
}

TEST_F(BuildProgram, WhatIsNotImplementedIsRefused) {
    expect_error(with("llama.rope.scaling.type", "dynamic"), {"RoPE scaling 'dynamic'", "yarn"});
    EXPECT_TRUE(build(with("llama.rope.scaling.type", "none")).has_value());
    for (const float bad : {-1.0f, NAN, INFINITY})
        expect_error(with("llama.rope.scaling.factor", bad), {"rope.scaling.factor"});
}

}  // namespace
}  // namespace ridge
