// ridge inspect: what it lists is what the file holds and what a loaded model and context take.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/run_ridge.hpp"
#include "support/engine.hpp"
#include "support/models.hpp"
#include "support/sanitized.hpp"

namespace ridge::test {
namespace {

using nlohmann::json;

json inspected(const std::string& arguments) {
    const CliRun r = run_ridge("inspect " + arguments + " --json");
    EXPECT_EQ(r.code, 0) << r.err;
    json j = json::parse(r.out, nullptr, false);
    EXPECT_TRUE(j.is_object()) << r.out;
    return j;
}

TEST(Inspect, TensorsAreTheFiles) {
    const TempDir dir;
    for (const ShapeConfig& shape : {tiny_llama(DType::q4_0), tiny_gemma(DType::q6_k)}) {
        const std::string path = write_model(dir, shape);
        const json j = inspected(path + " --tensors");
        const auto file = GgufFile::open(path);
        ASSERT_TRUE(file.has_value());
        EXPECT_EQ(j["architecture"], shape.architecture);
        EXPECT_EQ(j["layers"], shape.block_count);
        EXPECT_EQ(j["hidden"], shape.embedding_length);
        EXPECT_EQ(j["kv_heads"], shape.head_count_kv);
        EXPECT_EQ(j["head_dim"], shape.key_length);
        EXPECT_EQ(j["vocabulary"], shape.vocab_size);
        uint64_t bytes = 0;
        ASSERT_EQ(j["tensors"]["list"].size(), file->tensors().size());
        for (size_t i = 0; i < file->tensors().size(); ++i) {
            const TensorInfo& t = file->tensors()[i];
            const json& listed = j["tensors"]["list"][i];
            EXPECT_EQ(listed["name"], t.name);
            EXPECT_EQ(listed["type"], name(t.type));
            EXPECT_EQ(listed["bytes"], t.bytes);
            bytes += t.bytes;
        }
        EXPECT_EQ(j["tensors"]["bytes"], bytes);
        uint64_t of_types = 0, count = 0;
        for (const json& t : j["tensors"]["types"]) {
            of_types += t["bytes"].get<uint64_t>();
            count += t["count"].get<uint64_t>();
        }
        EXPECT_EQ(of_types, bytes);
        EXPECT_EQ(count, file->tensors().size());
    }
}

TEST(Inspect, MemoryIsWhatALoadedModelTakes) {
    const TempDir dir;
    ShapeConfig untied = tiny_llama(DType::q5_k);
    untied.name = "untied";
    untied.tied = false;
    for (const ShapeConfig& shape : {tiny_llama(DType::q4_1), tiny_gemma(DType::q8_0), untied}) {
        const std::string path = write_model(dir, shape);
        const json j = inspected(path + " -c 700 -t 2 --chunk 33 --cache-type f16");
        ModelOptions options;
        options.threads = 2;
        options.chunk = 33;
        options.kv = KvType::f16;
        const auto m = load(path, options);
        ASSERT_NE(m, nullptr);
        const auto c = context(*m, 700);
        ASSERT_NE(c, nullptr);
        const json& memory = j["memory"];
        EXPECT_EQ(memory["packed_weights"], m->weights().packed_bytes());
        EXPECT_EQ(memory["vectors"], m->weights().vector_bytes());
        EXPECT_EQ(memory["mapped_table"], m->weights().mapped_bytes());
        EXPECT_EQ(memory["mapped_table"].get<uint64_t>() != 0, !shape.tied);
        EXPECT_EQ(memory["kv_cache"], c->cache_bytes());
        const uint64_t context_bytes =
            memory["arena"].get<uint64_t>() + memory["scratch"].get<uint64_t>() +
            memory["partials"].get<uint64_t>() + memory["rope"].get<uint64_t>();
        EXPECT_EQ(context_bytes + 700 * 4, c->memory_bytes());
        uint64_t sum = 0;
        for (const auto& [key, value] : memory.items())
            if (key != "total") sum += value.get<uint64_t>();
        EXPECT_EQ(memory["total"], sum);
        EXPECT_EQ(j["token"]["weight_bytes"], m->bytes_per_token());
        EXPECT_NEAR(j["packed_ratio"].get<double>(),
                    static_cast<double>(m->weights().packed_bytes()) /
                        static_cast<double>(m->weights().tensor_bytes()),
                    1e-9);
    }
}

// The bench's process after it filled a context: everything listed has been touched.
void expect_within(const std::string& path, uint32_t n) {
    const std::string length = std::to_string(n);
    const json j = inspected(path + " -t 2 -c " + length);
    const CliRun r = run_ridge("bench " + path + " -t 2 -n 0 -r 1 --no-warmup -o json " +
                               "--roof-seconds 0 -p " + length);
    ASSERT_EQ(r.code, 0) << r.err;
    const json row = json::parse(r.out, nullptr, false).at(0);
    const double listed = j["memory"]["total"].get<double>();
    EXPECT_LE(row["resident_bytes"].get<double>(), listed + 16e6);
    EXPECT_LE(row["peak_resident_bytes"].get<double>(), std::max(1.15 * listed, listed + 16e6));
    EXPECT_GT(row["resident_bytes"].get<double>(), j["memory"]["packed_weights"].get<double>());
    if (listed > 107e6) {  // from here on 15 % are more than the program itself
        EXPECT_LE(row["peak_resident_bytes"].get<double>(), 1.15 * listed);
    }
}

TEST(Inspect, ResidentMemoryIsWithinTheListTiny) {
    if (test::sanitized) GTEST_SKIP() << "a sanitizer's own memory counts";
    const TempDir dir;
    expect_within(write_model(dir, tiny_gemma(DType::q8_0)), 900);
}

TEST(Inspect, ResidentMemoryIsWithinTheListReal) {
    if (test::sanitized) GTEST_SKIP() << "a sanitizer's own memory counts";
    const auto path = cached_model(smollm2);
    if (!path) GTEST_SKIP() << smollm2 << " is not in the model folder";
    expect_within(*path, 256);
}

TEST(Inspect, StepsOfALayer) {
    const TempDir dir;
    const json j = inspected(write_model(dir, tiny_llama(DType::q4_0)) + " --steps");
    std::vector<std::string> names;
    for (const json& s : j["steps"])
        if (s["kind"] == "product") {
            names.push_back(s["name"]);
            EXPECT_EQ(s["kernel"].get<std::string>().rfind("product_q8_q4_0_", 0), 0u);
        }
    EXPECT_THAT(names, testing::ElementsAre("attn_q+k+v", "attn_output", "ffn_gate+up", "ffn_down",
                                            "output"));
}

TEST(Inspect, CpuNeedsNoModel) {
    const json j = inspected("--cpu");
    const json& c = j["cpu"];
    EXPECT_GE(c["cores"], 1);
    EXPECT_EQ(c["sets"].back()["name"], "ref");
    const auto choice = choose_kernels();
    ASSERT_TRUE(choice.has_value());
    EXPECT_EQ(c["chosen_set"], choice->set->name);
    size_t preferred = 0;
    for (const json& p : c["products"]) {
        EXPECT_NE(p["why"], "");
        preferred += p["preferred"].get<bool>();
    }
    EXPECT_EQ(preferred, static_cast<size_t>(DType::count_));  // every type has its kernel
    const json forced = inspected("--cpu --kernels ref");
    for (const json& p : forced["cpu"]["products"])
        EXPECT_TRUE(p["kernel"].get<std::string>().ends_with("_ref")) << p;
}

TEST(Inspect, TextFitsATerminal) {
    const TempDir dir;
    const std::string path = write_model(dir, tiny_gemma(DType::q4_0));
    const CliRun r = run_ridge("inspect " + path + " --tensors --steps --cpu");
    EXPECT_EQ(r.code, 0) << r.err;
    std::istringstream lines(r.out);
    for (std::string line; std::getline(lines, line);) EXPECT_LT(line.size(), 80u) << line;
    for (const char* part : {"architecture  gemma3", "KV cache", "total", "ffn_gate+up", "weight"})
        EXPECT_NE(r.out.find(part), std::string::npos) << part;
}

TEST(Inspect, WrongArgumentsAreOneSentence) {
    const TempDir dir;
    const std::string path = write_model(dir, tiny_llama(DType::q4_0));
    expect_complaint("inspect", "give a model");
    expect_complaint("inspect " + dir.file("missing.gguf"), "there is no file");
    expect_complaint("inspect " + dir.write("text.gguf", "this is no model"), "GGUF");
    expect_complaint("inspect " + path + " --cache-type q4", "unknown cache type");
    expect_complaint("inspect --cpu --kernels mmx", "unknown kernel set");
}

}  // namespace
}  // namespace ridge::test
