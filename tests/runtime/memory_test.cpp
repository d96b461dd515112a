// Memory of the whole program: what is resident while it runs is at most what `ridge inspect` lists
// and 16 MB more; the most there ever was, loading included, at most 1.15 times that.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "support/cli.hpp"
#include "support/models.hpp"
#include "support/random_model.hpp"
#include "support/sanitized.hpp"

namespace ridge {
namespace {

constexpr uint64_t slack = 16u << 20;

// Bytes of a field of /proc/PID/status.
uint64_t status_bytes(int pid, const std::string& field) {
    std::ifstream in("/proc/" + std::to_string(pid) + "/status");
    std::string line;
    while (std::getline(in, line))
        if (line.starts_with(field + ":")) return std::stoull(line.substr(field.size() + 1)) * 1024;
    return 0;
}

void check(const std::string& model, const std::vector<std::string>& options) {
    if (test::sanitized) GTEST_SKIP() << "sanitizers keep memory of their own";
    std::vector<std::string> inspect = {"inspect", model, "--json"};
    inspect.insert(inspect.end(), options.begin(), options.end());
    const test::CliRun listed = test::run_cli(RIDGE_CLI, inspect);
    ASSERT_EQ(listed.code, 0) << listed.err;
    const auto json = nlohmann::json::parse(listed.out, nullptr, false);
    ASSERT_TRUE(json.is_object()) << listed.out;
    const auto memory = json.at("memory");
    const auto total = memory.at("total").get<uint64_t>();
    uint64_t sum = 0;
    for (const auto& [name, bytes] : memory.items())
        if (name != "total") sum += bytes.get<uint64_t>();
    EXPECT_EQ(sum, total);
    EXPECT_GE(total, json.at("tensors").at("bytes").get<uint64_t>());

    std::vector<std::string> run = {"run", model, "-p", "Hello", "-n", "30", "--ignore-eos"};
    run.insert(run.end(), options.begin(), options.end());
    uint64_t resident = 0;
    test::CliOptions o;
    o.timeout_s = 300;
    o.on_output = [&](const std::string&, int pid) {
        if (resident == 0) resident = status_bytes(pid, "VmRSS");
    };
    const test::CliRun r = test::run_cli(RIDGE_CLI, run, o);
    ASSERT_EQ(r.code, 0) << r.err;
    ASSERT_GT(resident, 0u);
    std::printf("listed %.1f MB, resident %.1f MB, peak %.1f MB\n",
                static_cast<double>(total) / 1e6, static_cast<double>(resident) / 1e6,
                static_cast<double>(r.peak_bytes) / 1e6);
    EXPECT_LE(resident, total + slack) << memory.dump();
    EXPECT_LE(static_cast<double>(r.peak_bytes), 1.15 * static_cast<double>(total + slack))
        << memory.dump();
    // The weights are there: what is measured is the program that ran.
    EXPECT_GE(resident, memory.at("packed_weights").get<uint64_t>());
}

class Memory : public testing::TestWithParam<DType> {};

TEST_P(Memory, ResidentAndPeakOfAMidSizedModel) {
    const test::TempDir dir;
    ShapeConfig s;
    s.name = name(GetParam());
    s.vocab_size = 8192;
    s.block_count = GetParam() == DType::q8_0 ? 4 : 7;
    s.context_length = 512;
    s.embedding_length = 1024;
    s.feed_forward_length = 2816;
    s.head_count = 16;
    s.head_count_kv = 4;
    s.key_length = 64;
    s.type = GetParam();
    s.tied = GetParam() != DType::q4_0;  // with an embedding that stays in the file, too
    check(test::write_model(dir, s), {"-c", "512", "-t", "2"});
}

INSTANTIATE_TEST_SUITE_P(Types, Memory, testing::Values(DType::q4_0, DType::q8_0, DType::q4_k),
                         [](const auto& p) { return std::string(name(p.param)); });

TEST(MemoryOfRealModels, SmolLM2) {
    const auto model = test::cached_model(test::smollm2);
    if (!model) GTEST_SKIP() << test::smollm2 << " is not in the model folder";
    check(*model, {"-c", "512", "-t", "2"});
}

TEST(MemoryOfRealModels, Gemma3) {
    const auto model = test::cached_model(test::gemma3);
    if (!model) GTEST_SKIP() << test::gemma3 << " is not in the model folder";
    check(*model, {"-c", "1024", "-t", "2"});
}

}  // namespace
}  // namespace ridge
