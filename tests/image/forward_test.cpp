// The float forward pass that calibration looks into, against goldens of another implementation
// (models/llama.py), and the recognition of decoders.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "image/forward.hpp"
#include "support/random_model.hpp"
#include "support/temp_dir.hpp"

namespace ridge {
namespace {

Result<image::Decoder> open_decoder(const std::string& path) {
    RIDGE_ASSIGN(const GgufFile file, GgufFile::open(path));
    return image::read_decoder(file);
}

TEST(Forward, AgreesWithTheGoldenIds) {
    const std::string folder = RIDGE_SOURCE_DIR "/models/";
    const auto golden = nlohmann::json::parse(std::ifstream(folder + "tiny-395.golden.json"));
    const auto decoder = open_decoder(folder + "tiny-395-f32.gguf");
    ASSERT_TRUE(decoder) << decoder.error().message;
    auto ids = golden["ids"].get<std::vector<int32_t>>();
    const size_t prompt = ids.size();
    const auto greedy = golden["greedy"].get<std::vector<int32_t>>();
    ids.insert(ids.end(), greedy.begin(), greedy.end());
    std::vector<float> logits;
    image::forward(*decoder, ids, true,
                   [&](image::Tap tap, uint32_t, std::span<const float> rows, uint32_t) {
                       if (tap == image::Tap::logits) logits.assign(rows.begin(), rows.end());
                   });
    ASSERT_EQ(logits.size(), ids.size() * decoder->vocab);
    for (size_t i = 0; i < greedy.size(); ++i) {
        const auto row = logits.begin() + static_cast<ptrdiff_t>((prompt - 1 + i) * decoder->vocab);
        const auto best = std::max_element(row, row + decoder->vocab) - row;
        EXPECT_EQ(best, greedy[i]) << i;
    }
    const auto last = golden["logits_last"].get<std::vector<size_t>>();
    const auto values = golden["logits_last_values"].get<std::vector<float>>();
    for (size_t i = 0; i < last.size(); ++i)
        EXPECT_NEAR(logits[(prompt - 1) * decoder->vocab + last[i]], values[i], 2e-3f);
}

TEST(Decoder, RefusesOtherShapesOfLayer) {
    const test::TempDir dir;
    ShapeConfig c;
    c.architecture = "gemma3";
    const auto decoder = open_decoder(test::write_model(dir, c));
    ASSERT_FALSE(decoder);
    EXPECT_NE(decoder.error().message.find("in layer 0"), std::string::npos)
        << decoder.error().message;
}

TEST(Decoder, ReadsBiases) {
    const test::TempDir dir;
    ShapeConfig c;
    c.attention_bias = true;
    const auto decoder = open_decoder(test::write_model(dir, c));
    ASSERT_TRUE(decoder) << decoder.error().message;
    for (const image::DecoderLayer& l : decoder->layer) {
        EXPECT_EQ(l.q_bias.values.size(), decoder->q_width());
        EXPECT_EQ(l.k_bias.values.size(), decoder->kv_width());
        EXPECT_EQ(l.v_bias.values.size(), decoder->kv_width());
    }
}

}  // namespace
}  // namespace ridge
