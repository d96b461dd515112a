// An image read back is the model within half a step everywhere; equal inputs give equal bytes.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "format/llama2c.hpp"
#include "image/calibrate.hpp"
#include "image/export.hpp"
#include "image_reader.hpp"
#include "support/random_model.hpp"
#include "support/temp_dir.hpp"

namespace ridge {
namespace {

using test::ReadMatrix;

const std::string prompts = "The cat sat on the mat and looked at the moon.\nWhy is it so?\n";

struct Exported {
    image::Decoder decoder;
    image::Ranges ranges;
    image::Image image;
};

Exported export_file(const std::string& path) {
    Exported e;
    const auto file = GgufFile::open(path);
    EXPECT_TRUE(file) << file.error().message;
    auto decoder = image::read_decoder(*file);
    EXPECT_TRUE(decoder) << decoder.error().message;
    e.decoder = std::move(*decoder);
    const auto tokenizer = Tokenizer::create(*read_vocab(*file));
    e.ranges = *image::calibrate(e.decoder, *tokenizer, prompts);
    auto image = image::export_image(*file, prompts);
    EXPECT_TRUE(image) << image.error().message;
    if (image) e.image = std::move(*image);
    return e;
}

// Row r of heads in the order of the image (pairs side by side), from the order (j, j + half).
uint32_t in_pairs(uint32_t r, uint32_t head_dim) {
    const uint32_t j = r % head_dim;
    return r - j + (j % 2 == 0 ? j / 2 : head_dim / 2 + j / 2);
}

// Rows `row(r)` of `wanted`, columns times `factor(c)`, against what was read; `slack` for M's own
// rounding.
template <typename Row, typename Factor>
void expect_matrix(const ReadMatrix& read, const image::Matrix& wanted, Row row, Factor factor,
                   const char* what) {
    ASSERT_EQ(read.m.n, wanted.n) << what;
    ASSERT_GE(read.m.k, wanted.k) << what;
    size_t wrong = 0, zero = 0;
    double largest = 0;
    for (uint32_t r = 0; r < wanted.n; ++r)
        for (uint32_t c = 0; c < read.m.k; ++c) {
            const size_t i = size_t{r} * read.m.k + c;
            const double want = c < wanted.k ? wanted.row(row(r))[c] * factor(r, c) : 0.0;
            largest = std::max(largest, std::fabs(want));
            const double error = std::fabs(read.m.values[i] - want);
            wrong += !(error <= read.half_step[i] * (1 + 1e-4) + 1e-6 * std::fabs(want));
            zero += read.m.values[i] == 0.0f;
        }
    EXPECT_EQ(wrong, 0u) << what;
    EXPECT_LT(zero, read.m.values.size() / 4) << what;
    EXPECT_GT(largest, 0) << what;
    for (const double half : read.half_step) EXPECT_LT(half, largest / 1000) << what;
}

void expect_vector(const std::vector<double>& read, const image::Matrix& wanted) {
    ASSERT_EQ(read.size(), wanted.values.size());
    for (size_t i = 0; i < read.size(); ++i)
        EXPECT_NEAR(read[i], wanted.values[i], 1e-6 * std::fabs(wanted.values[i]) + 1e-8);
}

void expect_round_trip(const std::string& path) {
    const Exported e = export_file(path);
    ASSERT_FALSE(e.image.bytes.empty());
    const test::ImageReader read(e.image.bytes);
    const image::Decoder& d = e.decoder;
    const auto same = [](uint32_t r) { return r; };
    const auto one = [](uint32_t, uint32_t) { return 1.0; };
    expect_matrix(read.embedding, d.embedding, same, one, "embedding");
    expect_matrix(read.head, d.head_matrix(), same, one, "head");
    expect_vector(read.final_gain, d.final_norm);
    const uint32_t hd = d.head_dim, group = d.heads / d.kv_heads;
    for (uint32_t l = 0; l < d.layers; ++l) {
        const auto& r = read.layer[l];
        const image::DecoderLayer& w = d.layer[l];
        // Units of the cache, by their definition from calibration's largest values.
        std::vector<double> k_unit, v_unit;
        for (uint32_t h = 0; h < d.kv_heads; ++h) {
            k_unit.push_back(1.1 * e.ranges.k[l][h] / 2047);
            v_unit.push_back(1.1 * e.ranges.v[l][h] / 2047);
            // CM: a score's worth in base 2 is that of the unit of K
            EXPECT_NEAR(r.score[h],
                        k_unit[h] * std::numbers::log2e / std::sqrt(static_cast<double>(hd)),
                        1e-6 * r.score[h]);
        }
        const auto pairs = [&](uint32_t row) { return in_pairs(row, hd); };
        expect_matrix(
            r.k, w.k, pairs, [&](uint32_t row, uint32_t) { return 1 / k_unit[row / hd]; }, "K");
        expect_matrix(
            r.v, w.v, same, [&](uint32_t row, uint32_t) { return 1 / v_unit[row / hd]; }, "V");
        expect_matrix(r.q, w.q, pairs, one, "Q");
        expect_matrix(
            r.output, w.output, same, [&](uint32_t, uint32_t c) { return v_unit[c / hd / group]; },
            "output");
        const auto cut = [&](const ReadMatrix& m) {  // without the padding of the hidden layer
            ReadMatrix out = m;
            out.m.n = d.ffn;
            out.m.values.resize(size_t{d.ffn} * d.hidden);
            out.half_step.resize(out.m.values.size());
            return out;
        };
        expect_matrix(cut(r.gate), w.gate, same, one, "gate");
        expect_matrix(cut(r.up), w.up, same, one, "up");
        expect_matrix(r.down, w.down, same, one, "down");
        expect_vector(r.attention_gain, w.attention_norm);
        expect_vector(r.ffn_gain, w.ffn_norm);
        for (uint32_t i = 0; i < d.q_width(); ++i) {
            const double b = w.q_bias.empty() ? 0 : w.q_bias.values[in_pairs(i, hd)];
            EXPECT_NEAR(r.q_bias[i], b, 1e-3);
        }
        for (uint32_t i = 0; i < d.kv_width(); ++i) {
            const double bk = w.k_bias.empty() ? 0 : w.k_bias.values[in_pairs(i, hd)];
            const double bv = w.v_bias.empty() ? 0 : w.v_bias.values[i];
            EXPECT_NEAR(r.k_bias[i] * k_unit[i / hd], bk, k_unit[i / hd] / 16);
            EXPECT_NEAR(r.v_bias[i] * v_unit[i / hd], bv, v_unit[i / hd] / 16);
        }
    }
}

std::string stories(const test::TempDir& dir) {
    const std::string folder = RIDGE_TEST_DATA "/stories260K/", path = dir.file("stories.gguf");
    const auto done = convert_llama2c(folder + "stories260K.bin", folder + "tok512.bin", path);
    EXPECT_TRUE(done) << done.error().message;
    return path;
}

TEST(Export, TinyReadsBackWithinHalfAStep) {
    expect_round_trip(RIDGE_SOURCE_DIR "/models/tiny-395-f32.gguf");
}

TEST(Export, Stories260KReadsBackWithinHalfAStep) {
    const test::TempDir dir;
    expect_round_trip(stories(dir));
}

ShapeConfig near_the_limit(const std::string& architecture) {
    ShapeConfig c;
    c.name = "limit-" + architecture;
    c.architecture = architecture;
    c.block_count = 3;
    c.embedding_length = 128;
    c.feed_forward_length = 448;
    c.head_count = 8;
    c.head_count_kv = 1;
    c.key_length = 16;
    c.tied = false;
    return c;
}

TEST(Export, TheWidestShapeReadsBackWithinHalfAStep) {
    const test::TempDir dir;
    expect_round_trip(test::write_model(dir, near_the_limit("llama")));
}

TEST(Export, BiasesAndHeadsInHalvesReadBackWithinHalfAStep) {
    const test::TempDir dir;
    expect_round_trip(test::write_model(dir, near_the_limit("qwen2")));
}

TEST(Export, MatricesThatShareATensorReadBackWithinHalfAStep) {
    const test::TempDir dir;
    expect_round_trip(test::write_model(dir, near_the_limit("phi3")));
}

TEST(Export, BiasesBehindWoAreRefused) {
    const test::TempDir dir;
    ShapeConfig c = near_the_limit("llama");
    c.attention_bias = true;
    const auto file = GgufFile::open(test::write_model(dir, c));
    ASSERT_TRUE(file) << file.error().message;
    const auto image = image::export_image(*file, prompts);
    ASSERT_FALSE(image);
    EXPECT_NE(image.error().message.find("biases at the attention's output"), std::string::npos)
        << image.error().message;
}

TEST(Export, EqualInputsGiveEqualBytes) {
    const auto file = GgufFile::open(RIDGE_SOURCE_DIR "/models/tiny-395-f32.gguf");
    ASSERT_TRUE(file);
    const auto a = image::export_image(*file, prompts), b = image::export_image(*file, prompts);
    ASSERT_TRUE(a && b);
    EXPECT_TRUE(a->bytes == b->bytes);
    const auto other = image::export_image(*file, "Something else entirely.\n");
    ASSERT_TRUE(other);
    EXPECT_FALSE(a->bytes == other->bytes);
}

TEST(Export, RotationsAreTheNearestIntegers) {
    const Exported e = export_file(RIDGE_SOURCE_DIR "/models/tiny-395-f32.gguf");
    const test::ImageReader read(e.image.bytes);
    ASSERT_GE(read.h.rope_positions, 512u);
    const uint32_t half = read.h.head_dim / 2;
    for (uint32_t j = 0; j < half; ++j)  // turns a position
        EXPECT_NEAR(read.h.rope_phase[j] / 4294967296.0,
                    std::pow(10000.0, -2.0 * j / read.h.head_dim) / (2 * std::numbers::pi), 2e-10);
    for (uint32_t p = 0; p < read.h.rope_positions; ++p)
        for (uint32_t j = 0; j < half; ++j) {
            int16_t pair[2];
            std::memcpy(pair, &e.image.bytes[read.h.rope_offset + 4 * (p * half + j)], 4);
            const double angle = p * std::pow(10000.0, -2.0 * j / read.h.head_dim);
            EXPECT_LE(std::fabs(pair[0] - std::cos(angle) * 16384), 0.5 + 1e-6) << p << " " << j;
            EXPECT_LE(std::fabs(pair[1] - std::sin(angle) * 16384), 0.5 + 1e-6) << p << " " << j;
        }
}

// The report's weights: every integer is round(16 w), and a matrix has one scale.
TEST(Export, LiteralSixteenthsHaveOneScaleAMatrix) {
    const auto file = GgufFile::open(RIDGE_SOURCE_DIR "/models/tiny-395-f32.gguf");
    ASSERT_TRUE(file);
    const auto image = image::export_image(*file, prompts, true);
    const auto decoder = image::read_decoder(*file);
    ASSERT_TRUE(image && decoder);
    const test::ImageReader read(image->bytes);
    for (uint32_t l = 0; l < decoder->layers; ++l) {
        const ReadMatrix& gate = read.layer[l].gate;
        for (size_t i = 0; i < decoder->layer[l].gate.values.size(); ++i) {
            ASSERT_NEAR(gate.half_step[i], 1.0 / 32, 1e-6);
            ASSERT_NEAR(gate.m.values[i], std::round(decoder->layer[l].gate.values[i] * 16) / 16,
                        1e-5);
        }
        for (const ReadMatrix* m : {&read.layer[l].k, &read.layer[l].v, &read.layer[l].output})
            for (const double half : m->half_step)
                ASSERT_NEAR(half, m->half_step[0], 1e-6 * m->half_step[0]);
    }
}

TEST(Export, NormsHaveTheScaleOfCalibration) {
    const Exported e = export_file(RIDGE_SOURCE_DIR "/models/tiny-395-f32.gguf");
    const test::ImageReader read(e.image.bytes);
    for (uint32_t i = 0; i < read.h.steps; ++i) {
        const ImageStep s = read.step(i);
        if (s.kind != IMAGE_PREPARE) continue;
        const bool last = s.layer == read.h.layers, ffn = read.step(i + 1).kind == IMAGE_FFN;
        const float largest = e.ranges.at(last  ? image::Tap::final_in
                                          : ffn ? image::Tap::ffn_in
                                                : image::Tap::attention_in,
                                          last ? 0 : s.layer);
        EXPECT_NEAR(std::ldexp(s.static_mant, -s.static_exp) * largest, 2047, 0.01) << i;
    }
}

TEST(Export, ChecksumsAreThoseOfTheFormat) {
    const Exported e = export_file(RIDGE_SOURCE_DIR "/models/tiny-395-f32.gguf");
    const test::ImageReader read(e.image.bytes);
    EXPECT_EQ(read.h.image_bytes, e.image.bytes.size());
    std::vector<uint32_t> words(e.image.bytes.size() / 4);
    std::memcpy(words.data(), e.image.bytes.data(), 4 * words.size());
    uint32_t sum = 0, sums = 0;
    for (size_t i = 0; i < words.size(); ++i) {
        if (i == 4 || i == 5) continue;
        sum += words[i];
        sums += sum;
    }
    EXPECT_EQ(words[4], sum);
    EXPECT_EQ(words[5], sums);
}

TEST(Export, CalibrationTextWithoutPromptsIsRefused) {
    const auto file = GgufFile::open(RIDGE_SOURCE_DIR "/models/tiny-395-f32.gguf");
    ASSERT_TRUE(file);
    for (const char* text : {"", "\n\n", "# only a remark\n"}) {
        const auto image = image::export_image(*file, text);
        ASSERT_FALSE(image) << text;
        EXPECT_NE(image.error().message.find("no prompt"), std::string::npos);
    }
}

}  // namespace
}  // namespace ridge
