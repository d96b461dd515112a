// The host build against the simulated chip, bit for bit; and against the oracle, position by
// position (which the host build is quick enough for).
#include "firmware_fixture.hpp"
#include "host_chip.hpp"
#include "support/oracle.hpp"
#include "support/worst_difference.hpp"
#include "text/tokenizer.hpp"
#include "text/vocab.hpp"

namespace ridge {
namespace {

std::vector<uint32_t> bits_of(const std::vector<float>& logits) {
    std::vector<uint32_t> bits(logits.size());
    std::memcpy(bits.data(), logits.data(), 4 * logits.size());
    return bits;
}

// Prompts of the given lengths, each followed by one decode step, on both.
void expect_same_bits(const test::BoardModel& model, const std::vector<size_t>& lengths) {
    std::vector<test::Sequence> sequences;
    for (size_t i = 0; i < lengths.size(); ++i)
        sequences.push_back(
            test::prefill_of(test::random_prompt(lengths[i], 1000 + i), RUN_PRINT_LOGITS));
    const auto run = test::good_run(test::firmware(), test::flash_with(model.image, sequences));
    ASSERT_EQ(run.logits.size(), lengths.size());
    test::HostChip host(model.image);
    ASSERT_EQ(host.status(), PREFILL_OK);
    for (size_t i = 0; i < lengths.size(); ++i) {
        const auto bits = bits_of(host.prefill(sequences[i].ids));
        ASSERT_EQ(host.status(), PREFILL_OK);
        ASSERT_EQ(run.logits[i], bits) << "prompt " << i << " of " << lengths[i] << " tokens";
        EXPECT_NE(bits, std::vector<uint32_t>(bits.size(), bits[0]));
    }
}

// 200 prompts of 1 to 128 tokens. All lengths once and 32 short ones again on a model of two
// layers, 38 of (a), 2 of (b): what the simulator has to run for them is affordable.
TEST(Host, LogitsAreTheSimulatedChips) {
    if (!test::have_program("riscv64-unknown-elf-g++")) GTEST_SKIP() << "no cross compiler";
    if (test::sanitized) return expect_same_bits(test::small_model(), {1, 9, 33, 128});
    std::vector<size_t> small;
    for (size_t n = 1; n <= 128; ++n) small.push_back(n);
    for (size_t n = 1; n <= 32; ++n) small.push_back(n);
    expect_same_bits(test::small_model(), small);
    std::vector<size_t> stories;
    for (size_t n = 1; n <= 33; ++n) stories.push_back(n);
    for (const size_t n : {63u, 64u, 65u, 97u, 128u}) stories.push_back(n);
    expect_same_bits(test::stories_model(), stories);
    expect_same_bits(test::limit_model(), {5, 33});
    EXPECT_EQ(small.size() + stories.size() + 2, 200u);
}

// Decoding past the ring's end, where the oldest token falls out: the same bits, and the oracle's
// attention over the last 128 positions.
TEST(Host, DecodingWrapsAsTheSimulatedChipDoes) {
    if (!test::have_program("riscv64-unknown-elf-g++")) GTEST_SKIP() << "no cross compiler";
    const test::BoardModel& model = test::small_model();
    test::Sequence s{test::random_prompt(150, 9), 120, 31, RUN_PRINT_LOGITS | RUN_FORCED};
    const auto run = test::good_run(test::firmware(), test::flash_with(model.image, {s}));
    ASSERT_EQ(run.logits.size(), 31u);
    test::HostChip host(model.image);
    auto oracle = test::Oracle::open(model.gguf);
    ASSERT_TRUE(oracle) << oracle.error().message;
    oracle->reset(SOC_KV_SLOTS);
    std::vector<double> want;
    for (size_t i = 0; i < 120; ++i) want = oracle->step(s.ids[i]);
    std::vector<float> got = host.prefill(std::vector<int32_t>(s.ids.begin(), s.ids.begin() + 120));
    for (size_t i = 0; i <= 30; ++i) {
        EXPECT_EQ(run.logits[i], bits_of(got)) << "step " << i;
        const test::WorstDifference worst(got, want);
        EXPECT_LT(worst.value(), 0.02 * worst.largest())
            << "step " << i << ": 12-bit operands, two layers";
        if (i < 30) want = oracle->step(s.ids[120 + i]), got = host.step(s.ids[120 + i]);
    }
}

// Held-out stories as ids, each cut to 128 tokens.
std::vector<std::vector<int32_t>> heldout(const std::string& gguf) {
    std::vector<std::vector<int32_t>> all;
    const auto file = GgufFile::open(gguf);
    const auto vocab = file ? read_vocab(*file) : Result<VocabData>(propagate(file));
    const auto tokenizer = vocab ? Tokenizer::create(*vocab) : Result<Tokenizer>(propagate(vocab));
    if (!tokenizer) {
        ADD_FAILURE() << tokenizer.error().message;
        return all;
    }
    std::istringstream lines(test::read_file(RIDGE_TEST_DATA "/boards/heldout.txt"));
    for (std::string line; std::getline(lines, line);) {
        all.push_back(tokenizer->encode(line, true, false));
        if (all.back().size() > 128) all.back().resize(128);
    }
    return all;
}

// What must-show 7 asks of at least 10,000 positions.
void expect_agreement(const test::Agreement& a, const char* name) {
    EXPECT_GE(a.positions, 10000u) << name;
    EXPECT_GE(a.top1(), 99.0) << name;
    EXPECT_GE(a.top5(), 99.2) << name;
    EXPECT_NEAR(a.chip_nll(), a.oracle_nll(), 0.005) << name;
    std::printf(
        "%s: %llu positions, argmax agrees %.3f %%, NLL %.5f (oracle %.5f), in top 5 %.3f %%\n",
        name, static_cast<unsigned long long>(a.positions), a.top1(), a.chip_nll(), a.oracle_nll(),
        a.top5());
    for (const auto& [key, value] :
         {std::pair{"positions", static_cast<double>(a.positions)}, std::pair{"top1", a.top1()},
          std::pair{"in_top5", a.top5()}, std::pair{"nll_chip", a.chip_nll()},
          std::pair{"nll_oracle", a.oracle_nll()}})
        testing::Test::RecordProperty(key, fmt::format("{:.6f}", value));
}

// Both go through the ids, whatever they would say themselves.
void compare_along(const std::vector<int32_t>& ids, test::Oracle& oracle, test::HostChip& chip,
                   test::Agreement& sum) {
    oracle.reset();
    std::vector<double> want = oracle.step(ids[0]);
    std::vector<float> got = chip.prefill({ids[0]});
    for (size_t i = 1; i < ids.size(); ++i) {
        sum.add(std::span<const double>(want), std::span<const float>(got), ids[i]);
        want = oracle.step(ids[i]);
        got = chip.step(ids[i]);
        ASSERT_EQ(chip.status(), PREFILL_OK);
    }
}

// Half text that the oracle samples from itself at temperature 1, half held-out stories that it
// never saw (another generator's, so less likely to it).
TEST(Host, Stories260KAgreesWithTheOracle) {
    if (test::sanitized) GTEST_SKIP() << "the release build runs this";
    const test::BoardModel& model = test::stories_model();
    auto oracle = test::Oracle::open(model.gguf);
    ASSERT_TRUE(oracle) << oracle.error().message;
    test::HostChip chip(model.image);
    ASSERT_EQ(chip.status(), PREFILL_OK);
    test::Agreement sum;
    test::Draw draw(395);
    for (int text = 0; text < 40; ++text) {
        oracle->reset();
        int32_t id = 1;
        std::vector<double> want = oracle->step(id);
        std::vector<float> got = chip.prefill({id});
        for (int i = 1; i < 128; ++i) {
            id = draw(want);
            sum.add(std::span<const double>(want), std::span<const float>(got), id);
            want = oracle->step(id);
            got = chip.step(id);
            ASSERT_EQ(chip.status(), PREFILL_OK);
        }
    }
    for (const auto& ids : heldout(model.gguf)) {
        if (sum.positions >= 10100) break;
        compare_along(ids, *oracle, chip, sum);
    }
    expect_agreement(sum, "stories260K");
}

// Held-out stories of tiny-395's own generator.
TEST(Host, Tiny395AgreesWithTheOracle) {
    if (test::sanitized) GTEST_SKIP() << "the release build runs this";
    const test::BoardModel& model = test::tiny_model();
    auto oracle = test::Oracle::open(model.gguf);
    ASSERT_TRUE(oracle) << oracle.error().message;
    test::HostChip chip(model.image);
    ASSERT_EQ(chip.status(), PREFILL_OK);
    test::Agreement sum;
    for (const auto& ids : heldout(model.gguf)) {
        compare_along(ids, *oracle, chip, sum);
    }
    expect_agreement(sum, "tiny-395");
}

}  // namespace
}  // namespace ridge
