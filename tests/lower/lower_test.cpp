// Fusion and lowering of both architectures: the steps that lowered.hpp documents, what they
// declare, and a memory plan in which nothing overlaps.
#include "lower/lower.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/packed.hpp"
#include "model/builder.hpp"
#include "support/random_model.hpp"

namespace ridge {
namespace {

using enum StepKind;

ShapeConfig shape(const std::string& architecture, DType type) {
    ShapeConfig s;
    s.name = architecture;
    s.architecture = architecture;
    s.vocab_size = 300;
    s.block_count = 3;
    s.embedding_length = 256;
    s.feed_forward_length = 512;
    s.head_count = 8;
    s.head_count_kv = 2;
    s.key_length = 32;
    s.type = type;
    s.sliding_window = 100;
    s.sliding_window_pattern = 3;
    return s;
}

struct Lowering {
    std::unique_ptr<GgufFile> file;
    ModelProgram program;
    LoweredModel model;
};

class Lower : public testing::Test {
  protected:
    Lowering lowered(const ShapeConfig& s, const LowerOptions& options = {}) {
        Lowering l;
        auto file = GgufFile::open(test::write_model(dir_, s));
        EXPECT_TRUE(file.has_value());
        l.file = std::make_unique<GgufFile>(std::move(*file));
        auto program = build_program(*l.file);
        EXPECT_TRUE(program.has_value()) << program.error().message;
        l.program = std::move(*program);
        auto model = lower(l.program.program, *l.file, *choose_kernels("ref"), options);
        EXPECT_TRUE(model.has_value()) << model.error().message;
        l.model = std::move(*model);
        return l;
    }
    test::TempDir dir_;
};

TEST_F(Lower, BothArchitecturesBecomeTheDocumentedSteps) {
    for (const char* architecture : {"llama", "gemma3"}) {
        const Lowering l = lowered(shape(architecture, DType::q8_0));
        std::vector<StepKind> want = {embed};
        for (int layer = 0; layer < 3; ++layer)
            want.insert(want.end(), {prepare, product, rotate, attend, prepare, product, prepare,
                                     product, product});
        want.insert(want.end(), {prepare, product});
        std::vector<StepKind> got;
        for (const LoweredStep& s : l.model.steps) got.push_back(s.kind);
        EXPECT_EQ(got, want) << architecture;
        ASSERT_EQ(got.size(), want.size());
        // In decode a replicated prepare and rotate pass no barrier: at most five a layer.
        for (int layer = 0; layer < 3; ++layer) {
            int barriers = 0;
            for (const LoweredStep& s : l.model.steps)
                if (s.layer == layer && !s.replicate && s.kind != rotate) ++barriers;
            EXPECT_LE(barriers, 5) << architecture;
        }
        const auto step = [&](size_t i) -> const LoweredStep& { return l.model.steps[i]; };
        EXPECT_TRUE(step(0).table_packed);  // the tied head's packed pairs
        EXPECT_EQ(step(2).n_segments, 3u);  // q, k, v in one step
        EXPECT_EQ(step(8).n_segments, 2u);  // gate and up with their unit
        EXPECT_EQ(step(8).epilogue,
                  std::string(architecture) == "llama" ? Epilogue::silu_mul : Epilogue::gelu_mul);
        const bool gemma = std::string(architecture) == "gemma3";
        EXPECT_EQ(step(3).norm_weight != no_id, gemma);    // q norm
        EXPECT_EQ(step(3).k_norm_weight != no_id, gemma);  // k norm
        EXPECT_EQ(step(7).post_norm_weight != no_id, gemma);
        for (const size_t layer : {0u, 1u, 2u})
            EXPECT_EQ(step(4 + 9 * layer).window, gemma && layer != 2 ? 100u : 0u);
        // Only the tail works on the rows whose logits are asked for.
        for (size_t i = 0; i < want.size(); ++i) EXPECT_EQ(step(i).head, i + 2 >= want.size());
        EXPECT_TRUE(step(want.size() - 2).first_head);
        // q, k and v start on column groups.
        for (uint32_t j = 0; j < 3; ++j) EXPECT_EQ(step(2).segment[j].out_column % 16, 0u);
    }
}

TEST_F(Lower, AnEmbeddingThatNoProductReadsStaysInTheFile) {
    ShapeConfig s = shape("llama", DType::q8_0);
    s.tied = false;
    const Lowering l = lowered(s);
    EXPECT_FALSE(l.model.steps[0].table_packed);
    EXPECT_NE(l.model.steps.back().segment[0].weight, l.model.steps[0].table_weight);
}

TEST_F(Lower, CostsFollowFromTheShapes) {
    for (const DType type : {DType::q4_0, DType::f32, DType::bf16}) {
        const Lowering l = lowered(shape("llama", type));
        const LoweredStep& qkv = l.model.steps[2];
        const LoweredStep& attention = l.model.steps[4];
        const LoweredStep& gate = l.model.steps[8];
        const LoweredStep& down = l.model.steps[9];
        // Q4_0: 18 bytes per 32 weights; packed as 16 + 2.
        const auto bytes = [&](uint64_t n, uint64_t k) {
            return n * k * info(type).block_bytes / info(type).block;
        };
        EXPECT_EQ(qkv.cost.weight_bytes, bytes(256 + 64 + 64, 256));
        EXPECT_EQ(gate.cost.weight_bytes, bytes(2 * 512, 256));
        EXPECT_EQ(down.cost.weight_bytes, bytes(256, 512));
        const auto ops = [&](const LoweredStep& s) {
            return type == DType::q4_0   ? s.cost.row_int8_ops
                   : type == DType::bf16 ? s.cost.row_bf16_ops
                                         : s.cost.row_f32_ops;
        };
        EXPECT_EQ(ops(qkv), 2u * 384 * 256);
        EXPECT_EQ(ops(gate), 2u * 1024 * 256);
        EXPECT_EQ(qkv.cost.row_int8_ops + qkv.cost.row_bf16_ops + qkv.cost.row_f32_ops, ops(qkv));
        // One query against one key: 8 heads x 32 x (multiply, add) for scores, again for values.
        EXPECT_EQ(attention.cost.key_ops, 4u * 8 * 32);
        EXPECT_EQ(attention.cost.key_bytes, 2u * 2 * 32 * 2);  // K and V of 2 heads in bf16
        const StepCost c = step_cost(attention, 3, 30, 12);
        EXPECT_EQ(c.bf16_ops, 4.0 * 8 * 32 * 30);
        EXPECT_EQ(c.f32_ops, 0.0);
        EXPECT_EQ(c.bytes, 2.0 * 2 * 32 * 2 * 12 + 3.0 * 2 * 256 * 4);
        const StepCost p = step_cost(down, 5, 0, 0);
        EXPECT_EQ(p.bytes, static_cast<double>(down.cost.weight_bytes + 5 * down.cost.row_bytes));
        EXPECT_EQ(step_cost(down, 0, 0, 0).bytes, 0.0);
        // All products together: 2 x weights used.
        uint64_t all = 0;
        for (const LoweredStep& s : l.model.steps)
            if (s.kind == product) all += ops(s);
        EXPECT_EQ(all, product_ops(l.program.program));
    }
}

TEST_F(Lower, OracleModeTakesF32Activations) {
    LowerOptions o;
    o.f32_activations = true;
    o.kv = KvType::f32;
    const Lowering l = lowered(shape("gemma3", DType::q4_k), o);
    for (const LoweredStep& s : l.model.steps) {
        if (s.kind == product || s.kind == prepare) {
            EXPECT_EQ(s.format, ActFormat::f32);
        }
        if (s.kind == product) {
            EXPECT_EQ(s.cost.row_int8_ops, 0u);
        }
        if (s.kind == attend) {
            EXPECT_FALSE(s.cost.key_ops_bf16);
        }
    }
}

// Buffers touched by one step, or by two neighbours of which the first is replicated (its readers
// may still be at work), lie apart.
TEST_F(Lower, BuffersOfOneStepLieApart) {
    for (const char* architecture : {"llama", "gemma3"})
        for (const uint32_t rows : {1u, 17u, 512u}) {
            LowerOptions o;
            o.max_rows = rows;
            o.max_logits = std::min(rows, 64u);
            const Lowering l = lowered(shape(architecture, DType::q5_0), o);
            const auto used = [&](size_t i) {
                const LoweredStep& s = l.model.steps[i];
                std::vector<BufferId> ids;
                for (const BufferId id : {s.x, s.y, s.x_out, s.act, s.out, s.qkv})
                    if (id != no_id) ids.push_back(id);
                return ids;
            };
            for (size_t i = 0; i < l.model.steps.size(); ++i) {
                std::vector<BufferId> ids = used(i);
                if (l.model.steps[i].replicate && i + 1 < l.model.steps.size())
                    for (const BufferId id : used(i + 1)) ids.push_back(id);
                for (const BufferId a : ids)
                    for (const BufferId b : ids) {
                        if (a == b) continue;
                        const BufferPlan& p = l.model.buffers[static_cast<size_t>(a)];
                        const BufferPlan& q = l.model.buffers[static_cast<size_t>(b)];
                        EXPECT_TRUE(p.offset + p.rows * p.row_bytes <= q.offset ||
                                    q.offset + q.rows * q.row_bytes <= p.offset)
                            << architecture << " step " << i << ": " << p.name << ", " << q.name;
                        EXPECT_LE(p.offset + p.rows * p.row_bytes,
                                  l.model.lowered.memory.arena_bytes);
                    }
            }
            // What is read later is not overwritten before: the residual from its writer on.
            const BufferPlan& logits = l.model.buffers[static_cast<size_t>(l.model.lowered.logits)];
            EXPECT_EQ(logits.rows, o.max_logits);
            EXPECT_GE(logits.row_bytes, 300u * 4);
        }
}

TEST_F(Lower, RefusesProgramsThatAreNoDecoder) {
    Lowering l = lowered(shape("llama", DType::f32));
    // Without its last step there are no logits.
    Program p = l.program.program;
    p.n_steps -= 1;
    const auto cut = lower(p, *l.file, *choose_kernels("ref"), {});
    ASSERT_FALSE(cut.has_value());
    EXPECT_NE(cut.error().message.find("no logits"), std::string::npos);
    // A sum of the residual with itself.
    std::vector<Step> steps(p.steps, p.steps + p.n_steps + 1);
    for (Step& s : steps)
        if (s.op == Op::add) s.in1 = s.in0;
    p = l.program.program;
    p.steps = steps.data();
    EXPECT_FALSE(lower(p, *l.file, *choose_kernels("ref"), {}).has_value());
}

}  // namespace
}  // namespace ridge
