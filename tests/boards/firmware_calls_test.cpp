// The firmware's calls, on the host: what they refuse, what decode continues, what the KV ring
// forgets.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "boards/ai-max-395/firmware/image.h"
#include "boards/ai-max-395/firmware/port_host.h"
#include "boards/ai-max-395/firmware/prefill.h"
#include "format/llama2c.hpp"
#include "image/export.hpp"
#include "support/oracle.hpp"
#include "support/random_model.hpp"
#include "support/temp_dir.hpp"
#include "support/worst_difference.hpp"

namespace ridge {
namespace {

// What ships with the board.
std::string shipped_calibration() {
    return test::read_file(RIDGE_SOURCE_DIR "/boards/ai-max-395/calibration/prompts.txt");
}
// Enough where accuracy is not the question.
constexpr const char* calibration =
    "Once there was a little girl who had a red ball.\nTim and his dog went to the park to play.\n"
    "The sun was hot and the cat was sad.\nWhat is in the box? asked the old man.\n";
constexpr float untouched = -77.25f;

// An image where the flash would be, the library started on it.
class Chip {
  public:
    explicit Chip(const std::string& path, const std::string& prompts = calibration) {
        const auto file = GgufFile::open(path);
        EXPECT_TRUE(file) << file.error().message;
        auto image = image::export_image(*file, prompts);
        EXPECT_TRUE(image) << image.error().message;
        start(image->bytes);
    }
    explicit Chip(const std::vector<uint8_t>& image) { start(image); }
    ~Chip() {
        prefill_cleanup();
        std::free(flash_);
    }
    Chip(const Chip&) = delete;
    Chip& operator=(const Chip&) = delete;

    const std::vector<float>& prefill(std::vector<int32_t> ids) {
        prefill_run(ids.data(), static_cast<int32_t>(ids.size()), logits.data());
        EXPECT_EQ(prefill_status(), PREFILL_OK);
        return logits;
    }
    const std::vector<float>& decode(int32_t id) {
        decode_step(id, logits.data());
        EXPECT_EQ(prefill_status(), PREFILL_OK);
        return logits;
    }
    uint8_t* flash() const { return flash_; }
    const ImageHeader& header() const { return *reinterpret_cast<const ImageHeader*>(flash_); }

    std::vector<float> logits = std::vector<float>(IMAGE_MAX_VOCAB, untouched);

  private:
    void start(const std::vector<uint8_t>& image) {
        const size_t room = (image.size() + 63) / 64 * 64;
        flash_ = static_cast<uint8_t*>(std::aligned_alloc(64, room));
        std::memset(flash_, 0, room);
        std::memcpy(flash_, image.data(), image.size());
        fw::host_set_flash(flash_, image.size());
        prefill_init(flash_, SOC_SRAM_BASE);
        EXPECT_EQ(prefill_status(), PREFILL_OK);
    }
    uint8_t* flash_ = nullptr;
};

std::string stories(const test::TempDir& dir) {
    const std::string path = dir.file("stories.gguf");
    const std::string data = std::string(RIDGE_TEST_DATA) + "/stories260K/";
    EXPECT_TRUE(convert_llama2c(data + "stories260K.bin", data + "tok512.bin", path));
    return path;
}

template <typename T>
int32_t argmax(const std::vector<T>& x) {
    return static_cast<int32_t>(std::max_element(x.begin(), x.end()) - x.begin());
}

TEST(FirmwareCalls, RefusesWrongCallsAndWritesNothing) {
    const test::TempDir dir;
    Chip chip(stories(dir));
    std::vector<int32_t> ids(129, 5);
    float* const out = chip.logits.data();
    const auto refused = [&](int32_t status) {
        EXPECT_EQ(prefill_status(), status);
        for (float x : chip.logits) ASSERT_EQ(x, untouched);
    };
    decode_step(5, out);
    refused(PREFILL_NO_SEQUENCE);
    prefill_run(ids.data(), 0, out);
    refused(PREFILL_BAD_LENGTH);
    prefill_run(ids.data(), -1, out);
    refused(PREFILL_BAD_LENGTH);
    prefill_run(ids.data(), 129, out);
    refused(PREFILL_BAD_LENGTH);
    prefill_run(nullptr, 3, out);
    refused(PREFILL_BAD_POINTER);
    prefill_run(ids.data(), 3, nullptr);
    refused(PREFILL_BAD_POINTER);
    for (int32_t id : {-1, 512, 1 << 30, INT32_MIN}) {
        ids[2] = id;
        prefill_run(ids.data(), 3, out);
        refused(PREFILL_BAD_TOKEN);
    }
    ids[2] = 5;
    prefill_init(chip.flash(), SOC_SRAM_BASE + 16);
    refused(PREFILL_BAD_BASE);
    prefill_run(ids.data(), 3, out);
    refused(PREFILL_NOT_READY);
    prefill_init(chip.flash() + 4, SOC_SRAM_BASE);
    refused(PREFILL_BAD_BASE);
    prefill_init(nullptr, SOC_SRAM_BASE);
    refused(PREFILL_BAD_BASE);
    prefill_init(reinterpret_cast<uint8_t*>(ids.data()), SOC_SRAM_BASE);
    EXPECT_NE(prefill_status(), PREFILL_OK) << "not in flash";
    prefill_init(chip.flash(), SOC_SRAM_BASE);
    EXPECT_EQ(prefill_status(), PREFILL_OK);
    chip.prefill({1, 2, 3});
    std::fill(chip.logits.begin(), chip.logits.end(), untouched);
    decode_step(512, out);
    refused(PREFILL_BAD_TOKEN);
    decode_step(3, nullptr);
    refused(PREFILL_BAD_POINTER);
    decode_step(3, out);
    EXPECT_EQ(prefill_status(), PREFILL_OK) << "a refused call leaves the sequence as it was";
    prefill_cleanup();
    std::fill(chip.logits.begin(), chip.logits.end(), untouched);
    prefill_run(ids.data(), 3, out);
    refused(PREFILL_NOT_READY);
    decode_step(3, out);
    refused(PREFILL_NOT_READY);
}

// A token's logits do not depend on how the tokens before came: in one prefill, in chunks of it, or
// one by one.
TEST(FirmwareCalls, DecodeContinuesPrefillBitForBit) {
    const test::TempDir dir;
    Chip chip(stories(dir));
    std::vector<int32_t> ids(70);
    for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int32_t>((i * 37 + 11) % 512);
    std::vector<std::vector<float>> one_by_one;
    for (size_t i = 0; i < ids.size(); ++i)
        one_by_one.push_back(i == 0 ? chip.prefill({ids[0]}) : chip.decode(ids[i]));
    for (size_t n : {2u, 7u, 8u, 9u, 31u, 32u, 33u, 64u, 65u, 70u}) {
        const std::vector<int32_t> prompt(ids.begin(), ids.begin() + static_cast<int64_t>(n));
        EXPECT_EQ(chip.prefill(prompt), one_by_one[n - 1]) << n;
        if (n < 70) {
            EXPECT_EQ(chip.decode(ids[n]), one_by_one[n]) << n;
        }
    }
}

// llama2.c's published greedy text is what the oracle tells (oracle_test.cpp); the chip tells the
// same as long as its ring holds the whole of it, and beyond that as an oracle that sees 128
// positions.
TEST(FirmwareCalls, TellsTheStoryAndForgetsItsBeginning) {
    const test::TempDir dir;
    const std::string path = stories(dir);
    Chip chip(path, shipped_calibration());
    auto oracle = test::Oracle::open(path);
    ASSERT_TRUE(oracle) << oracle.error().message;
    oracle->reset(SOC_KV_SLOTS);
    int32_t id = 1;
    size_t same = 0;
    test::WorstDifference worst;
    constexpr size_t positions = 300;
    for (size_t i = 0; i < positions; ++i) {
        const std::vector<double>& want = oracle->step(id);
        const std::vector<float>& got = i == 0 ? chip.prefill({id}) : chip.decode(id);
        for (size_t v = 0; v < want.size(); ++v) worst.add(got[v], want[v]);
        same += argmax(got) == argmax(want);
        if (i < SOC_KV_SLOTS) {
            EXPECT_EQ(argmax(got), argmax(want)) << "position " << i;
        }
        id = argmax(want);
    }
    EXPECT_GE(same, positions * 99 / 100);
    EXPECT_LT(worst.value(), 0.25)
        << "logits reach " << *std::max_element(chip.logits.begin(), chip.logits.end());
    // Without the window the oracle says something else: the ring did forget.
    auto whole = test::Oracle::open(path);
    whole->reset();
    oracle->reset(SOC_KV_SLOTS);
    test::WorstDifference difference;
    id = 1;
    for (size_t i = 0; i < 200; ++i) {
        const std::vector<double> a = whole->step(id), b = oracle->step(id);
        for (size_t v = 0; v < a.size(); ++v) difference.add(a[v], b[v]);
        id = argmax(b);
    }
    EXPECT_GT(difference.value(), 1.0);
    EXPECT_TRUE(std::isfinite(difference.value()));
}

TEST(FirmwareCalls, EndsWhereTheRopeTableEnds) {
    const test::TempDir dir;
    ShapeConfig config;
    config.context_length = 160;
    Chip chip(test::write_model(dir, config));
    const uint32_t positions = chip.header().rope_positions;
    chip.prefill(std::vector<int32_t>(128, 7));
    for (uint32_t p = 128; p < positions; ++p) chip.decode(7);
    std::fill(chip.logits.begin(), chip.logits.end(), untouched);
    decode_step(7, chip.logits.data());
    EXPECT_EQ(prefill_status(), PREFILL_TOO_LONG);
    for (float x : chip.logits) ASSERT_EQ(x, untouched);
}

// Shapes beside those of the two models: one KV head, wide heads, odd widths, a ragged hidden
// layer, each against the double-precision oracle.
template <typename T>
double relative_error(const T& want, const std::vector<float>& got) {
    double difference = 0, all = 0;
    for (size_t v = 0; v < want.size(); ++v) {
        difference += std::pow(double{want[v]} - double{got[v]}, 2);
        all += double{want[v]} * double{want[v]};
    }
    return std::sqrt(difference / all);
}

TEST(FirmwareCalls, OtherShapesFollowTheOracle) {
    struct Case {
        const char* what;
        uint32_t dim, heads, kv_heads, head_dim, hidden, layers;
    };
    for (const Case& c :
         {Case{"one KV head", 128, 8, 1, 16, 448, 3}, Case{"head of 64", 128, 2, 1, 64, 96, 2},
          Case{"odd width", 96, 6, 3, 16, 200, 2}, Case{"narrow", 32, 2, 2, 16, 40, 4},
          Case{"heads wider than the residual", 64, 8, 2, 16, 64, 2}}) {
        const test::TempDir dir;
        ShapeConfig config;
        config.embedding_length = c.dim;
        config.head_count = c.heads;
        config.head_count_kv = c.kv_heads;
        config.key_length = c.head_dim;
        config.feed_forward_length = c.hidden;
        config.block_count = c.layers;
        const std::string path = test::write_model(dir, config);
        Chip chip(path);
        auto oracle = test::Oracle::open(path);
        ASSERT_TRUE(oracle) << oracle.error().message;
        oracle->reset(SOC_KV_SLOTS);
        std::vector<int32_t> ids(45);
        for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int32_t>((i * 71 + 3) % 512);
        std::vector<double> want;
        for (int32_t id : ids) want = oracle->step(id);
        const std::vector<float>& got = chip.prefill(ids);
        EXPECT_LT(relative_error(want, got), 0.02) << c.what;  // some hundred roundings of 2^-12
    }
}

// Biases at Q, K and V, pairs (j, j + half), another RoPE base: logits that transformers computed
// in float32 (tests/data/goldens/README.md).
TEST(FirmwareCalls, Qwen2IsWhatTransformersComputes) {
    const test::TempDir dir;
    const ShapeConfig config = test::golden_config("qwen2-gqa");
    Chip chip(test::write_model(dir, config));
    const std::string bytes = test::read_file(RIDGE_TEST_DATA "/goldens/qwen2-gqa.f32");
    ASSERT_EQ(bytes.size(), config.tokens.size() * config.vocab_size * 4);
    ASSERT_GE(config.tokens.size(), 4u);
    std::vector<float> want(config.vocab_size);
    for (size_t i = 0; i < std::min<size_t>(config.tokens.size(), 128); ++i) {
        std::memcpy(want.data(), bytes.data() + i * want.size() * 4, want.size() * 4);
        const auto id = static_cast<int32_t>(config.tokens[i]);
        EXPECT_LT(relative_error(want, i == 0 ? chip.prefill({id}) : chip.decode(id)), 0.02) << i;
    }
    EXPECT_EQ(chip.logits[config.vocab_size], untouched) << "logits beyond the vocabulary";
}

}  // namespace
}  // namespace ridge
