// Which tensor gets which type: against what llama-quantize --dry-run said of models of the same
// shapes (tools/golden/quant_plan_reference.py).
#include "format/quant_plan.hpp"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "format/gguf_writer.hpp"
#include "format/random_model.hpp"
#include "support/temp_dir.hpp"

namespace ridge {
namespace {

using nlohmann::json;

ShapeConfig config_of(const json& s) {
    ShapeConfig c;
    c.architecture = s.at("arch");
    c.block_count = s.at("layers");
    c.embedding_length = s.at("hidden");
    c.feed_forward_length = s.at("ffn");
    c.head_count = s.at("heads");
    c.head_count_kv = s.at("kv_heads");
    c.key_length = s.at("head_dim");
    c.vocab_size = s.at("vocab");
    c.sliding_window = s.value("window", 0u);
    c.tied = !s.value("untied", false);
    c.type = DType::bf16;
    return c;
}

// The model's metadata and tensor table with data of zeros.
std::string write_table(const test::TempDir& dir, const ShapeConfig& c) {
    GgufWriter writer;
    writer.set("general.architecture", c.architecture);
    writer.set(c.architecture + ".block_count", c.block_count);
    writer.set(c.architecture + ".attention.head_count", c.head_count);
    writer.set(c.architecture + ".attention.head_count_kv", c.head_count_kv);
    for (const RandomTensor& t : random_tensors(c))
        EXPECT_TRUE(writer.add_tensor(t.name, t.dims.size() > 1 ? DType::bf16 : DType::f32, t.dims,
                                      [](uint64_t, uint64_t, uint8_t*) -> Status { return {}; }));
    EXPECT_TRUE(writer.write(dir.file("m.gguf")));
    return dir.file("m.gguf");
}

TEST(QuantPlan, TypesAreThoseOfLlamaQuantize) {
    const json reference =
        json::parse(test::read_file(std::string(RIDGE_TEST_DATA) + "/quantize/plans.json"));
    const test::TempDir dir;
    size_t compared = 0;
    for (const auto& [shape, config] : reference.at("shapes").items()) {
        const auto file = GgufFile::open(write_table(dir, config_of(config)));
        ASSERT_TRUE(file) << file.error().message;
        for (const json& plan : reference.at("plans")) {
            if (plan.at("shape") != shape) continue;
            const auto target = find_quant_target(plan.at("target").get<std::string>());
            ASSERT_TRUE(target);
            const auto planned =
                plan_quantization(*file, *target, plan.at("importance").get<bool>(), false);
            EXPECT_EQ(planned.size(), plan.at("tensors"));
            for (const PlannedTensor& t : planned) {
                const std::string usual = t.from->type == DType::f32 ? "F32" : plan.at("usual");
                EXPECT_EQ(name(t.type), plan.at("others").value(t.from->name, usual))
                    << shape << " " << plan.at("target") << " " << t.from->name;
                ++compared;
            }
        }
    }
    EXPECT_GT(compared, 10000u);
}

TEST(QuantPlan, PureGivesOneTypeWhereRowsAllow) {
    const test::TempDir dir;
    ShapeConfig c;
    c.embedding_length = 256;
    c.feed_forward_length = 320;
    c.key_length = 32;
    const auto file = GgufFile::open(write_table(dir, c));
    ASSERT_TRUE(file);
    for (const PlannedTensor& t :
         plan_quantization(*file, *find_quant_target("q4_k"), false, true)) {
        if (t.from->n_dims == 1)
            EXPECT_EQ(t.type, DType::f32);
        else if (t.from->name.find("ffn_down") != std::string::npos)
            EXPECT_EQ(t.type, DType::q5_0);
        else
            EXPECT_EQ(t.type, DType::q4_k);
        EXPECT_EQ(t.wanted != t.type, t.type == DType::q5_0);
    }
}

TEST(QuantPlan, RowsThatNoBlockDividesBecomeF16) {
    const test::TempDir dir;
    ShapeConfig c;
    c.embedding_length = 40;
    c.key_length = 8;
    c.head_count = 5;
    c.head_count_kv = 5;
    const auto file = GgufFile::open(write_table(dir, c));
    ASSERT_TRUE(file);
    for (const char* target : {"Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q6_K", "IQ4_NL"})
        for (const PlannedTensor& t :
             plan_quantization(*file, *find_quant_target(target), false, false))
            if (t.from->n_dims == 2 && t.from->dims[0] == 40) {
                EXPECT_EQ(t.type, DType::f16);
            }
}

TEST(QuantPlan, NamesOfTargets) {
    EXPECT_EQ(find_quant_target("q4_k")->name, std::string("Q4_K_M"));
    EXPECT_EQ(find_quant_target("Q5_K")->name, std::string("Q5_K_M"));
    EXPECT_EQ(find_quant_target("iq4_nl")->type, DType::iq4_nl);
    EXPECT_FALSE(find_quant_target("Q9_0"));
    EXPECT_FALSE(find_quant_target(""));
    EXPECT_NE(quant_targets().find("Q4_K_M"), std::string::npos);
}

}  // namespace
}  // namespace ridge
