// Reads an image back into floats by the words of boards/ai-max-395/firmware/image.h; shares no
// code with the exporter.
#pragma once

#include <cmath>
#include <cstring>
#include <numbers>
#include <vector>

#include "boards/ai-max-395/firmware/image.h"
#include "image/decoder.hpp"

namespace ridge::test {

// A matrix of the image: values, and for each element half of what one integer step is worth.
struct ReadMatrix {
    image::Matrix m;
    std::vector<double> half_step;
};

struct ReadLayer {
    ReadMatrix q, k, v, output, gate, up, down;
    std::vector<double> attention_gain, ffn_gain, q_bias, k_bias, v_bias;
    std::vector<double> k_unit, score;  // per KV head: sk from CM needs the other; see read()
};

class ImageReader {
  public:
    explicit ImageReader(const std::vector<uint8_t>& bytes) : bytes_(bytes) {
        std::memcpy(&h, bytes.data(), sizeof h);
        constants_ = h.constants_offset;
        // K and V units are not in the image: an image holds them inside M and CM. So K and V are
        // read in cache units, scores' CM gives K's unit, and V's unit stays in Wo's columns.
        for (uint32_t i = 0; i < h.steps; ++i) read_step(i);
    }

    ImageHeader h{};
    std::vector<ReadLayer> layer;
    ReadMatrix embedding, head;
    std::vector<double> final_gain;

    ImageStep step(uint32_t i) const {
        ImageStep s;
        std::memcpy(&s, &bytes_[h.steps_offset + i * sizeof s], sizeof s);
        return s;
    }

  private:
    std::vector<double> constants(uint32_t count, int exponent) {
        std::vector<double> values;
        for (uint32_t i = 0; i < count; ++i) {
            int32_t v = 0;
            std::memcpy(&v, &bytes_[at_ + 4 * i], 4);
            values.push_back(std::ldexp(v, -exponent));
        }
        at_ += 4 * count;
        return values;
    }
    std::vector<int16_t> weights(uint32_t first, uint32_t units) const {
        std::vector<int16_t> values;
        for (uint32_t i = first; i < first + units; ++i) {
            ImageUnit u;
            std::memcpy(&u, &bytes_[h.units_offset + i * sizeof u], sizeof u);
            const size_t old = values.size();
            values.resize(old + u.bytes / 2);
            std::memcpy(&values[old], &bytes_[u.offset], u.bytes);
        }
        return values;
    }
    // Rows first .. first + n of int16[][k] with a unit each.
    static ReadMatrix matrix(const std::vector<int16_t>& values, uint32_t first, uint32_t n,
                             uint32_t k, const std::vector<double>& unit) {
        ReadMatrix out{{n, k, {}}, {}};
        for (uint32_t r = 0; r < n; ++r)
            for (uint32_t c = 0; c < k; ++c) {
                out.m.values.push_back(
                    static_cast<float>(values[size_t{first + r} * k + c] * unit[r]));
                out.half_step.push_back(unit[r] / 2);
            }
        return out;
    }

    void read_step(uint32_t index) {
        const ImageStep s = step(index);
        const uint32_t q = h.heads * h.head_dim, kv = h.kv_heads * h.head_dim;
        ReadLayer* const l = s.layer < layer.size() ? &layer[s.layer] : nullptr;
        switch (s.kind) {
            case IMAGE_EMBED: {
                layer.resize(h.layers);
                std::vector<int16_t> values(size_t{h.vocab} * h.dim);
                std::memcpy(values.data(), &bytes_[h.embedding_offset], values.size() * 2);
                embedding = matrix(values, 0, h.vocab_used, h.dim,
                                   std::vector<double>(h.vocab, std::ldexp(1, -h.embedding_frac)));
                break;
            }
            case IMAGE_PREPARE: {
                const bool ffn = step(index + 1).kind == IMAGE_FFN;
                if (!ffn) at_ = constants_;
                auto& gain = s.layer == h.layers ? final_gain
                             : ffn               ? l->ffn_gain
                                                 : l->attention_gain;
                gain = constants(h.dim, s.exponent[0]);
                break;
            }
            case IMAGE_QKV: {
                const auto values = weights(s.first_unit, s.units);
                l->k = matrix(values, 0, kv, h.dim, constants(kv, s.exponent[0]));
                l->v = matrix(values, kv, kv, h.dim, constants(kv, s.exponent[1]));
                l->q = matrix(values, 2 * kv, q, h.dim, constants(q, s.exponent[2]));
                l->k_bias = constants(kv, IMAGE_KV_FRAC);
                l->v_bias = constants(kv, IMAGE_KV_FRAC);
                l->q_bias = constants(q, s.frac);
                break;
            }
            case IMAGE_ATTEND:
                l->score = constants(h.kv_heads, s.exponent[0]);
                for (double& c : l->score) c *= 2047 * std::ldexp(1, step(index - 1).frac);
                constants_ += h.constants_a;
                at_ = constants_;
                break;
            case IMAGE_OUT:
                l->output = matrix(weights(s.first_unit, s.units), 0, h.dim, q,
                                   constants(h.dim, s.exponent[0]));
                break;
            case IMAGE_FFN:
                read_ffn(s, *l);
                constants_ += h.constants_b;
                break;
            default:
                at_ = constants_ + h.constants_a;
                head = matrix(weights(s.first_unit, s.units), 0, h.vocab_used, h.dim,
                              constants(h.vocab, s.exponent[0]));
        }
    }

    void read_ffn(const ImageStep& s, ReadLayer& l) {
        const uint32_t tiles = (h.hidden + 31) / 32;
        const bool two = 4 * 32 * h.dim > 8192;
        std::vector<double> gate_unit, up_unit;
        for (uint32_t t = 0; t < tiles; ++t) {
            const uint32_t w = std::min(32u, h.hidden - 32 * t);
            for (const double m : constants(w, s.exponent[0]))
                gate_unit.push_back(m / std::numbers::log2e);
            for (const double m : constants(w, s.exponent[1]))
                up_unit.push_back(m / std::numbers::ln2);
        }
        const std::vector<double> down_unit = constants(h.dim, s.exponent[2]);
        std::vector<int16_t> gate, up, down(size_t{h.dim} * h.hidden);
        uint32_t unit = s.first_unit;
        const auto take_down = [&](uint32_t t) {
            const uint32_t w = std::min(32u, h.hidden - 32 * t);
            const auto values = weights(unit++, 1);
            for (uint32_t r = 0; r < h.dim; ++r)
                for (uint32_t c = 0; c < w; ++c)
                    down[size_t{r} * h.hidden + 32 * t + c] = values[size_t{r} * w + c];
        };
        for (uint32_t t = 0; t < tiles; ++t) {
            auto values = weights(unit, two ? 2 : 1);
            unit += two ? 2 : 1;
            const auto half = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
            gate.insert(gate.end(), values.begin(), half);
            up.insert(up.end(), half, values.end());
            if (t > 0) take_down(t - 1);
        }
        take_down(tiles - 1);
        l.gate = matrix(gate, 0, h.hidden, h.dim, gate_unit);
        l.up = matrix(up, 0, h.hidden, h.dim, up_unit);
        l.down = matrix(down, 0, h.dim, h.hidden, down_unit);
    }

    const std::vector<uint8_t>& bytes_;
    size_t constants_ = 0, at_ = 0;
};

}  // namespace ridge::test
