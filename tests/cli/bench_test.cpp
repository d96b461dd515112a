// ridge bench on tiny models: the formats carry llama-bench's fields, lists become rows, the hash
// is that of the perplexity path, and wrong arguments are one sentence. Nothing about speed.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/cpu.hpp"
#include "cli/bench_prompt.hpp"
#include "cli/run_ridge.hpp"
#include "kernels/roof/roof.hpp"
#include "support/engine.hpp"

namespace ridge::test {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

// Roofs take a second a row; only one test measures them.
constexpr const char* quick = " -r 2 -t 2 --roof-seconds 0 ";

class Bench : public testing::Test {
  protected:
    std::string model(const ShapeConfig& shape = tiny_llama(DType::q4_0)) {
        return write_model(dir_, shape);
    }
    json rows(const std::string& arguments) {
        const CliRun r = run_ridge("bench " + arguments + " -o json");
        EXPECT_EQ(r.code, 0) << r.err;
        EXPECT_EQ(r.err, "");
        json j = json::parse(r.out, nullptr, false);
        EXPECT_TRUE(j.is_array()) << r.out;
        return j;
    }
    static std::vector<std::string> tests(const json& rows) {
        std::vector<std::string> out;
        for (const json& r : rows) out.push_back(r.at("test").get<std::string>());
        return out;
    }
    TempDir dir_;
};

constexpr const char* contract[] = {
    "build_commit", "cpu_info",  "model_filename", "model_type", "model_size", "model_n_params",
    "n_batch",      "n_ubatch",  "n_threads",      "type_k",     "type_v",     "flash_attn",
    "n_prompt",     "n_gen",     "n_depth",        "test_time",  "avg_ns",     "stddev_ns",
    "avg_ts",       "stddev_ts", "kernels",        "gb_s",       "gop_s",      "roof_percent",
    "logits_hash",  "median_ns", "median_ts",      "own_roof",   "step_ms",    "batch_ratio"};

TEST_F(Bench, JsonCarriesTheContractsFields) {
    const std::string path = model();
    const json all = rows(path + quick + "-p 40 -n 3");
    ASSERT_EQ(all.size(), 2u);
    for (const json& r : all) {
        for (const char* key : contract) EXPECT_TRUE(r.contains(key)) << key;
        EXPECT_EQ(r["model_filename"], path);
        EXPECT_EQ(r["n_threads"], 2);
        EXPECT_EQ(r["type_k"], "bf16");
        ASSERT_EQ(r["samples_ns"].size(), 2u);
        ASSERT_EQ(r["samples_ts"].size(), 2u);
        const double n = r["n_prompt"].get<double>() + r["n_gen"].get<double>();
        const double first = r["samples_ns"][0].get<double>();
        EXPECT_NEAR(r["samples_ts"][0].get<double>(), n / first * 1e9, n / first * 1e9 * 1e-3);
        const double mean = (first + r["samples_ns"][1].get<double>()) / 2;
        EXPECT_NEAR(r["avg_ns"].get<double>(), mean, 1.0);
        const double ts = (r["samples_ts"][0].get<double>() + r["samples_ts"][1].get<double>()) / 2;
        EXPECT_NEAR(r["avg_ts"].get<double>(), ts, ts * 1e-9);
        EXPECT_NEAR(r["median_ns"].get<double>(), mean, 1.0);  // of two
        for (const char* key : {"roof_percent", "own_roof_percent", "products_percent"})
            EXPECT_TRUE(r[key].is_null()) << key;  // no roofs were measured
        EXPECT_EQ(r["own_roof"], "int8");
        EXPECT_TRUE(r["batch_ratio"].is_null());
        EXPECT_TRUE(r["load_ms"].is_null());  // was not asked for
    }
    EXPECT_EQ(all[0]["n_prompt"], 40);
    EXPECT_EQ(all[1]["n_gen"], 3);
    EXPECT_TRUE(all[0]["step_ms"].is_null());
    EXPECT_NEAR(all[1]["step_ms"].get<double>(), all[1]["median_ns"].get<double>() / 3e6, 1e-6);

    const auto file = GgufFile::open(path);
    ASSERT_TRUE(file.has_value());
    uint64_t bytes = 0, elements = 0;
    for (const TensorInfo& t : file->tensors()) {
        bytes += t.bytes;
        elements += t.elements();
    }
    EXPECT_EQ(all[0]["model_size"], bytes);
    EXPECT_EQ(all[0]["model_n_params"], elements);
}

TEST_F(Bench, DefaultsAreThoseOfLlamaBench) {
    const json all = rows(model() + " -r 1 -t 1 --no-warmup --roof-seconds 0");
    EXPECT_THAT(tests(all), ElementsAre("pp512", "tg128"));
}

TEST_F(Bench, ListsRangesAndDepths) {
    const std::string path = model();
    EXPECT_THAT(tests(rows(path + quick + "-p 2,8 -p 16-64*2 -n 0")),
                ElementsAre("pp2", "pp8", "pp16", "pp32", "pp64"));
    EXPECT_THAT(tests(rows(path + quick + "-p 0 -n 1-5+2,7-8")),
                ElementsAre("tg1", "tg3", "tg5", "tg7", "tg8"));
    EXPECT_THAT(tests(rows(path + quick + "-p 4 -n 2 -d 0,300 -pg 5,3")),
                ElementsAre("pp4", "tg2", "pp5+tg3", "pp4 @ d300", "tg2 @ d300", "pp5+tg3 @ d300"));
    EXPECT_THAT(tests(rows(path + quick + "-p 0 -n 2 -b 1,4")), ElementsAre("tg2", "tg2 x4"));
}

TEST_F(Bench, ThreadsCacheTypesAndModels) {
    const std::string a = model();
    const std::string b = model(tiny_gemma(DType::q8_0));
    const json all = rows(a + " -m " + b + " -r 1 -t 1,2 -p 3 -n 0 -ctk f16,q8_0 --roof-seconds 0");
    ASSERT_EQ(all.size(), 8u);
    EXPECT_EQ(all[0]["n_threads"], 1);
    EXPECT_EQ(all[1]["n_threads"], 2);
    EXPECT_EQ(all[0]["type_k"], "f16");
    EXPECT_EQ(all[2]["type_v"], "int8");
    EXPECT_EQ(all[0]["model_filename"], a);
    EXPECT_EQ(all[4]["model_filename"], b);
    // A row's bits do not depend on threads.
    for (size_t i = 0; i < 8; i += 2) EXPECT_EQ(all[i]["logits_hash"], all[i + 1]["logits_hash"]);
    EXPECT_NE(all[0]["logits_hash"], all[2]["logits_hash"]);  // but on the cache's type
}

TEST_F(Bench, HashIsThatOfThePerplexityPath) {
    for (const ShapeConfig& shape : {tiny_llama(DType::q4_0), tiny_gemma(DType::q8_0)}) {
        const std::string path = model(shape);
        const json all = rows(path + quick + "-p 300 -n 7 -pg 9,5 -d 0,20");
        ASSERT_EQ(all.size(), 6u);
        ModelOptions options;
        options.chunk = options.max_logits = 64;
        options.threads = 2;
        const auto m = load(path, options);
        ASSERT_NE(m, nullptr);
        for (const json& r : all) {
            const size_t n =
                r["n_depth"].get<size_t>() + r["n_prompt"].get<size_t>() + r["n_gen"].get<size_t>();
            const auto c = context(*m, static_cast<uint32_t>(n));
            const auto ids = cli::random_prompt(n, m->program().vocab);
            const std::vector<float> logits = all_logits(*c, ids, 64);
            const size_t vocab = m->program().vocab;
            ASSERT_EQ(logits.size(), n * vocab);
            const uint64_t hash = cli::logits_hash(std::span(logits).last(vocab));
            char text[17];
            std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
            EXPECT_EQ(r["logits_hash"], text) << shape.name << " " << r["test"];
        }
    }
}

TEST_F(Bench, StepsAddUpToTheRow) {
    const json all = rows(model() + quick + "-p 40 -n 4 --steps");
    ASSERT_EQ(all.size(), 2u);
    for (const json& r : all) {
        double bytes = 0, last = 1e300;
        bool product = false;
        for (const json& s : r.at("steps")) {
            EXPECT_LE(s["ms"].get<double>(), last);
            last = s["ms"].get<double>();
            bytes += s["bytes"].get<double>();
            EXPECT_NE(s["kernel"], "");
            product = product || (s["name"] == "ffn_gate+up" && s["layers"] == "0-1");
        }
        EXPECT_TRUE(product) << r["steps"];
        const double row = r["gb_s"].get<double>() * r["median_ns"].get<double>();
        EXPECT_NEAR(bytes, row, row * 1e-4);  // median_ns is whole nanoseconds
    }
    EXPECT_GE(all[1]["barriers_per_pass"].get<double>(), 2.0);
    EXPECT_LE(all[1]["barriers_per_pass"].get<double>(), 5.0 * 2 + 3);  // two layers
}

TEST_F(Bench, BatchesAreMeasuredByOneSequenceAndThePrompt) {
    const json all = rows(model() + quick + "-p 64 -n 3 -b 1,4,32");
    ASSERT_EQ(all.size(), 4u);
    EXPECT_TRUE(all[0]["batch_ratio"].is_null());
    EXPECT_TRUE(all[1]["batch_ratio"].is_null());  // what the others are measured by
    const double one = all[1]["step_ms"].get<double>();
    const double token = all[0]["median_ns"].get<double>() / 64 / 1e6;
    for (size_t i : {size_t{2}, size_t{3}}) {
        const double n = all[i]["n_batch"].get<double>();
        const double bound = std::max(one, n * token);
        const double step = all[i]["step_ms"].get<double>();
        EXPECT_NEAR(all[i]["batch_ratio"].get<double>(), step / bound, step / bound * 1e-4);
        EXPECT_NEAR(all[i]["median_ts"].get<double>(), n / step * 1e3, n / step);
        EXPECT_EQ(all[i]["logits_hash"], all[1]["logits_hash"]);  // whoever else is decoded
    }
    // Nothing to measure by without a prompt, or with one sequence behind another depth.
    EXPECT_TRUE(rows(model() + quick + "-p 0 -n 2 -b 1,2")[1]["batch_ratio"].is_null());
}

TEST_F(Bench, ProductsAndAttentionAreShares) {
    const json all = rows(model() + " -p 64 -n 2 -r 1 -t 1 --roof-seconds 0.01 --steps");
    ASSERT_EQ(all.size(), 2u);
    for (const json& r : all) {
        double ops = 0, ms = 0, attend_ops = 0, attend_ms = 0;
        for (const json& s : r["steps"]) {
            if (s["kind"] == "product") {
                ops += s["int8_ops"].get<double>();
                ms += s["ms"].get<double>();
            } else if (s["kind"] == "attend") {
                attend_ops += s["bf16_ops"].get<double>();
                attend_ms += s["ms"].get<double>();
            }
        }
        const double products = 100 * ops / ms / 1e6 / r["int8_gop_s_roof"].get<double>();
        EXPECT_NEAR(r["products_percent"].get<double>(), products, products * 1e-6);
        const double bf16 = r["bf16_gflop_s_roof"].get<double>();
        const double attention = 100 * attend_ops / attend_ms / 1e6 / bf16;
        EXPECT_NEAR(r["attention_percent"].get<double>(), attention, attention * 1e-6);
        EXPECT_EQ(r["own_roof_percent"], r["int8_roof_percent"]);
        EXPECT_NEAR(r["model_ops"].get<double>(), ops + attend_ops, ops * 1e-9);
    }
    // Two rows: 64 tokens see 64 x 65 / 2 keys, each 4 x head size x heads x layers operations.
    double attend = 0;
    for (const json& s : all[0]["steps"])
        if (s["kind"] == "attend") attend += s["bf16_ops"].get<double>();
    const ShapeConfig shape = tiny_llama(DType::q4_0);
    EXPECT_EQ(attend, 4.0 * shape.key_length * shape.head_count * shape.block_count * 64 * 65 / 2);

    const json plain = rows(model(tiny_llama(DType::f32)) + quick + "-p 8 -n 0 -ctk f32");
    EXPECT_EQ(plain[0]["own_roof"], "f32");
    EXPECT_TRUE(plain[0]["attention_percent"].is_null());
}

TEST_F(Bench, LoadingBesideOneReadOfTheFile) {
    const json all = rows(model() + quick + "-p 2 -n 0 --load");
    EXPECT_GT(all[0]["load_ms"].get<double>(), 0.0);
    EXPECT_GT(all[0]["file_read_ms"].get<double>(), 0.0);
    const CliRun r = run_ridge("bench " + model() + quick + "-p 2 -n 0 --load");
    EXPECT_THAT(r.out, HasSubstr("weights ready in "));
}

TEST_F(Bench, ForcedSetsAreMeasuredByTheirOwnRoof) {
    if (!cpu().has_avx2_set()) GTEST_SKIP() << "this machine has no AVX2";
    const std::string few = " -p 4 -n 0 -r 1 -t 1 --roof-seconds 0.01 --attempts 1";
    EXPECT_EQ(rows(model() + few + " --kernels avx2")[0]["roof_set"], "avx2");
    EXPECT_EQ(rows(model() + few)[0]["roof_set"], best_roof_kernels().set);
}

TEST_F(Bench, RoofsAreMeasuredBeforeAndAfter) {
    const json all = rows(model() + " -p 32 -n 0 -r 1 -t 1 --roof-seconds 0.01");
    ASSERT_EQ(all.size(), 1u);
    const json& r = all[0];
    for (const char* side : {"roofs_before", "roofs_after"}) {
        EXPECT_GT(r[side]["int8_gop_s"].get<double>(), 0.0);
        EXPECT_GT(r[side]["f32_gflop_s"].get<double>(), 0.0);
    }
    EXPECT_GT(r["roof_percent"].get<double>(), 0.0);
    EXPECT_GT(r["int8_roof_percent"].get<double>(), 0.0);
    EXPECT_GE(r["attempts"], 1);
    EXPECT_LE(r["attempts"], 3);
    EXPECT_EQ(r["noisy"].get<bool>(), r["roof_difference_percent"].get<double>() > 5.0);
    EXPECT_EQ(rows(model() + " -p 2 -n 0 -r 1 --roof-seconds 0.01 --attempts 1")[0]["attempts"], 1);
}

TEST_F(Bench, JsonLines) {
    const CliRun r = run_ridge("bench " + model() + quick + "-p 2 -n 2 -o jsonl");
    EXPECT_EQ(r.code, 0) << r.err;
    std::istringstream lines(r.out);
    std::vector<std::string> names;
    for (std::string line; std::getline(lines, line);) {
        const json j = json::parse(line, nullptr, false);
        ASSERT_TRUE(j.is_object()) << line;
        for (const char* key : contract) EXPECT_TRUE(j.contains(key)) << key;
        names.push_back(j["test"]);
    }
    EXPECT_THAT(names, ElementsAre("pp2", "tg2"));
}

// Splits a line of quoted values; the tiny models' names hold no quotes.
std::vector<std::string> csv_values(const std::string& line) {
    std::vector<std::string> out;
    for (size_t at = 0; at < line.size();) {
        if (line[at] != '"') return {};
        const size_t end = line.find('"', at + 1);
        if (end == std::string::npos) return {};
        out.push_back(line.substr(at + 1, end - at - 1));
        at = end + 2;
    }
    return out;
}

TEST_F(Bench, Csv) {
    const CliRun r = run_ridge("bench " + model() + quick + "-p 2 -n 2 -o csv");
    EXPECT_EQ(r.code, 0) << r.err;
    std::istringstream lines(r.out);
    std::string head, line;
    ASSERT_TRUE(std::getline(lines, head));
    std::vector<std::string> keys(1);
    for (const char c : head) {
        if (c == ',')
            keys.emplace_back();
        else
            keys.back() += c;
    }
    for (const char* key : contract) EXPECT_THAT(keys, testing::Contains(key));
    const auto at = static_cast<size_t>(std::find(keys.begin(), keys.end(), "test") - keys.begin());
    for (const char* test : {"pp2", "tg2"}) {
        ASSERT_TRUE(std::getline(lines, line));
        const auto values = csv_values(line);
        ASSERT_EQ(values.size(), keys.size()) << line;
        EXPECT_EQ(values[at], test);
    }
    EXPECT_FALSE(std::getline(lines, line));
}

TEST_F(Bench, Markdown) {
    const CliRun r = run_ridge("bench " + model() + quick + "-p 2 -n 2 --steps");
    EXPECT_EQ(r.code, 0) << r.err;
    std::istringstream lines(r.out);
    std::vector<std::string> table;
    for (std::string line; std::getline(lines, line) && !line.empty();) table.push_back(line);
    ASSERT_EQ(table.size(), 4u) << r.out;
    const auto bars = [](const std::string& s) { return std::count(s.begin(), s.end(), '|'); };
    for (const std::string& line : table) EXPECT_EQ(bars(line), bars(table[0])) << line;
    EXPECT_THAT(table[0],
                testing::AllOf(HasSubstr("| model "), HasSubstr(" size |"), HasSubstr(" params |"),
                               HasSubstr(" test |"), HasSubstr("t/s |")));
    EXPECT_THAT(table[2], HasSubstr(" pp2 "));
    EXPECT_THAT(table[3], HasSubstr(" tg2 "));
    EXPECT_THAT(r.out, HasSubstr("logits "));
    EXPECT_THAT(r.out, HasSubstr("| ffn_down"));
    EXPECT_THAT(r.out, HasSubstr("barriers"));
    EXPECT_THAT(r.out, HasSubstr("a step ends when its last thread does"));
}

TEST_F(Bench, WrongArgumentsAreOneSentence) {
    const std::string path = model();
    expect_complaint("bench " + dir_.file("missing.gguf"), "there is no file");
    expect_complaint("bench " + path + " " + dir_.file("missing.gguf"), "there is no file");
    expect_complaint("bench " + dir_.write("text.gguf", "not a model at all"), "GGUF");
    expect_complaint("bench", "give a model");
    expect_complaint("bench " + path + " -o xml", "md, csv, json or jsonl");
    expect_complaint("bench " + path + " -o csv --steps", "--steps");
    expect_complaint("bench " + path + " -p 12,x", "-p: 'x'");
    expect_complaint("bench " + path + " -p 12,", "-p: ''");
    expect_complaint("bench " + path + " -n 8-4", "-n: '8-4'");
    expect_complaint("bench " + path + " -n 1-8+0", "-n: '1-8+0'");
    expect_complaint("bench " + path + " -n 1-8*1", "-n: '1-8*1'");
    expect_complaint("bench " + path + " -n 99999999999", "-n: '99999999999'");
    expect_complaint("bench " + path + " -n 1-1000000", "-n: '1-1000000'");
    expect_complaint("bench " + path + " -b 0", "-b: 0");
    expect_complaint("bench " + path + " -p 0 -n 0", "nothing to measure");
    expect_complaint("bench " + path + " -pg 512", "-pg: '512'");
    expect_complaint("bench " + path + " -ctk f16 -ctv f32", "-ctk and -ctv");
    expect_complaint("bench " + path + " -ctk q4_0", "unknown cache type 'q4_0'");
    expect_complaint("bench " + path + " --kernels mmx", "unknown kernel set 'mmx'");
}

TEST_F(Bench, ForcedReferenceKernelsAreNoFailure) {
    const json all = rows(model() + quick + "-p 2 -n 0 --kernels ref");
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0]["kernels"], "ref");
}

}  // namespace
}  // namespace ridge::test
