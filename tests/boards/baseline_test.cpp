// The float baseline on the simulated chip: it computes what the oracle computes, and it is a fair
// one: few cycles a MAC beside the floating-point unit's own.
#include "firmware_fixture.hpp"
#include "support/float_image.hpp"
#include "support/oracle.hpp"
#include "support/worst_difference.hpp"

namespace ridge {
namespace {

std::vector<int32_t> prompt(size_t n) {
    std::vector<int32_t> ids = {1};
    for (uint32_t x = 395; ids.size() < n; x = x * 1664525 + 1013904223)
        ids.push_back(static_cast<int32_t>(3 + (x >> 16) % 509));
    return ids;
}

std::vector<float> logits_of(const std::string& uart) {
    std::istringstream words(uart.substr(uart.find("logits") + 6));
    std::vector<float> values;
    uint32_t bits = 0;
    while (words >> std::hex >> bits) {
        values.emplace_back();
        std::memcpy(&values.back(), &bits, 4);
    }
    return values;
}

TEST(Baseline, TheFloatPortComputesWhatTheOracleDoesAtFewCyclesAMac) {
    if (!test::have_program("riscv64-unknown-elf-g++")) GTEST_SKIP() << "no cross compiler";
    const test::Workspace files;
    const std::string model = files.file("m.gguf"), elf_path = files.file("float.elf");
    const std::string stories = RIDGE_TEST_DATA "/stories260K/";
    ASSERT_TRUE(convert_llama2c(stories + "stories260K.bin", stories + "tok512.bin", model));
    ASSERT_TRUE(test::build_float_port(elf_path));
    const auto elf = rv32::read_elf(elf_path);
    ASSERT_TRUE(elf) << elf.error().message;
    const auto gguf = GgufFile::open(model);
    ASSERT_TRUE(gguf);

    for (const size_t tokens : {32u, 45u}) {  // one chunk; two, the second with a row over
        const std::vector<int32_t> ids = prompt(tokens);
        const auto image = baseline::make_image(*gguf, ids);
        ASSERT_TRUE(image) << image.error().message;
        const auto soc = test::board();
        ASSERT_TRUE(soc->load(*elf));
        ASSERT_TRUE(soc->load_flash(image->data(), image->size()));
        soc->run(rv32::EventQueue::never);
        soc->close();
        ASSERT_EQ(soc->stop, rv32::Stop::exit) << sim::describe_stop(*soc, &*elf);
        EXPECT_EQ(soc->exit_code, 0u);
        EXPECT_EQ(soc->fabric.flights.race_count(), 0u);

        auto oracle = test::Oracle::open(model);
        ASSERT_TRUE(oracle) << oracle.error().message;
        std::vector<double> want;
        for (const int32_t id : ids) want = oracle->step(id);
        const std::vector<float> got = logits_of(soc->uart.text);
        ASSERT_EQ(got.size(), want.size());
        EXPECT_LT(test::WorstDifference(got, want).value(), 2e-4)
            << tokens << " tokens, logits up to 14: float32's own rounding";

        if (tokens != 32) continue;
        // The inner loops of the linear products: 5 layers, 32 rows; the head for one.
        const double macs = 32.0 * 5 * (64 * 64 * 2 + 2 * 32 * 64 + 3 * 64 * 172) + 64 * 512;
        const auto& tile = soc->fabric.stages.all().at(FLOAT_STAGE_TILE);
        EXPECT_LE(static_cast<double>(tile.cycles) / macs, 47 + 5);
        EXPECT_GE(static_cast<double>(tile.cycles) / macs, 47);
    }
}

TEST(Baseline, ModelsItCannotRunAreRefused) {
    const test::Workspace files;
    const std::string model = files.file("m.gguf");
    const std::string stories = RIDGE_TEST_DATA "/stories260K/";
    ASSERT_TRUE(convert_llama2c(stories + "stories260K.bin", stories + "tok512.bin", model));
    const auto gguf = GgufFile::open(model);
    ASSERT_TRUE(gguf);
    EXPECT_FALSE(baseline::make_image(*gguf, {}));
    EXPECT_FALSE(baseline::make_image(*gguf, prompt(65)));
    EXPECT_FALSE(baseline::make_image(*gguf, {1, 512}));
    EXPECT_FALSE(baseline::make_image(*gguf, {-1}));
    EXPECT_TRUE(baseline::make_image(*gguf, prompt(64)));
}

}  // namespace
}  // namespace ridge
