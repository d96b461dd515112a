#include "image/assemble.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "image/export.hpp"
#include "image/rows.hpp"

namespace ridge::image {
namespace {

using std::numbers::ln2;
using std::numbers::log2e;

// Room above what calibration saw, for text that it did not see.
constexpr double cache_margin = 1.1;  // K and V saturate beyond it
constexpr double integer_margin = 4;  // int32 fixed points
constexpr int32_t most_frac = 24;

std::vector<double> as_doubles(const Matrix& m) {
    return {m.values.begin(), m.values.end()};
}

// Rows (or, for a bias, values) of heads from the order (j, j + half) into pairs (2j, 2j + 1).
Matrix in_pairs(const Matrix& m, uint32_t head_dim) {
    if (m.empty()) return m;
    const bool vector = m.n == 1;
    const uint32_t rows = vector ? m.k : m.n, half = head_dim / 2;
    const size_t length = vector ? 1 : m.k;
    Matrix out = m;
    for (uint32_t r = 0; r < rows; ++r) {
        const uint32_t j = r % head_dim;
        const size_t source = r - j + (j % 2 == 0 ? j / 2 : half + j / 2);
        std::copy_n(&m.values[source * length], length, &out.values[r * length]);
    }
    return out;
}

class Assembler {
  public:
    Assembler(const Decoder& d, const Ranges& ranges, const ImageHeader& header, bool q12_4)
        : d_(d), ranges_(ranges), h_(header), bytes_(header.image_bytes), q12_4_(q12_4) {}

    Result<std::vector<uint8_t>> run() {
        residual();
        step(IMAGE_EMBED, 0);
        for (uint32_t l = 0; l < d_.layers; ++l) layer(l);
        head();
        rope();
        if (!problem_.empty()) return fail(ErrorCode::unsupported, problem_);
        if (steps_ != h_.steps || units_ != h_.units || weights_ != h_.weights_bytes)
            return fail(
                ErrorCode::internal,
                fmt::format("the image was planned with {} steps, {} units, {} bytes of "
                            "weights and came out with {}, {}, {}",
                            h_.steps, h_.units, h_.weights_bytes, steps_, units_, weights_));
        put(0, &h_, sizeof h_);
        seal_image(bytes_);
        return std::move(bytes_);
    }

  private:
    void put(size_t at, const void* data, size_t bytes) { std::memcpy(&bytes_[at], data, bytes); }
    ImageStep& step(ImageStepKind kind, uint32_t layer, uint32_t rows = 0, uint32_t depth = 0) {
        if (steps_ > 0) put_step();
        step_ = {};
        step_.kind = static_cast<uint16_t>(kind);
        step_.layer = static_cast<uint16_t>(layer);
        step_.rows = static_cast<uint16_t>(rows);
        step_.depth = static_cast<uint16_t>(depth);
        step_.first_unit = units_;
        ++steps_;
        return step_;
    }
    void put_step() {
        step_.units = units_ - step_.first_unit;
        put(h_.steps_offset + (steps_ - 1) * sizeof step_, &step_, sizeof step_);
    }

    // The next unit, in order of reading.
    void unit(const std::vector<int16_t>& values) {
        const ImageUnit u{h_.weights_offset + weights_, static_cast<uint32_t>(2 * values.size())};
        put(h_.units_offset + units_ * sizeof u, &u, sizeof u);
        put(u.offset, values.data(), u.bytes);
        weights_ += u.bytes;
        ++units_;
    }
    // Rows in units of as many as go into a slot.
    void row_units(const std::vector<int16_t>& values, uint32_t depth) {
        const size_t each = size_t{image_unit_rows(depth)} * depth;
        for (size_t at = 0; at < values.size(); at += each) {
            const auto first = values.begin() + static_cast<ptrdiff_t>(at);
            const auto count = static_cast<ptrdiff_t>(std::min(each, values.size() - at));
            unit({first, first + count});
        }
    }
    void constants(const std::vector<int32_t>& values, uint32_t block) {
        put(h_.constants_offset + constants_, values.data(), 4 * values.size());
        constants_ += block;
    }

    void residual() {
        double largest = 0;
        for (const float v : d_.embedding.values)
            largest = std::max(largest, std::fabs(static_cast<double>(v)));
        largest *= d_.embedding_scale;
        h_.embedding_frac = frac_for(largest, 32767, most_frac);
        for (uint32_t l = 0; l < d_.layers; ++l)
            largest = std::max(largest, static_cast<double>(ranges_.at(Tap::residual, l)));
        h_.residual_frac = frac_for(largest, 2147483647.0 / integer_margin, most_frac);
        h_.embedding_frac = std::min(h_.embedding_frac, h_.residual_frac);
        const double epsilon = std::ldexp(d_.final_epsilon, 2 * h_.residual_frac);
        const double value[] = {epsilon};
        const Scaled s = scale_together(value);
        h_.eps_mant = s.mantissa[0];
        h_.eps_exp = s.exponent;
        if (h_.residual_frac - h_.embedding_frac > 30 || h_.residual_frac < 0)
            problem_ = fmt::format("the residual reaches {}, beyond what the board's integers hold",
                                   largest);
        for (uint32_t t = 0; t < d_.vocab; ++t)
            for (uint32_t i = 0; i < d_.hidden; ++i) {
                const auto v = static_cast<int16_t>(
                    to_fixed(static_cast<double>(d_.embedding.row(t)[i]) * d_.embedding_scale,
                             h_.embedding_frac));
                put(h_.embedding_offset + 2 * (size_t{t} * h_.dim + i), &v, 2);
            }
    }

    void check_frac(int32_t frac, const char* what, uint32_t l) {
        if (frac < 0 && problem_.empty())
            problem_ =
                fmt::format("{} of layer {} are larger than the board's integers hold", what, l);
    }

    // `largest`: of the normalised rows, in calibration.
    void prepare(uint32_t layer, const Matrix& gain, float largest, std::vector<int32_t>& block) {
        const Scaled s = scale_together(as_doubles(gain));
        ImageStep& to = step(IMAGE_PREPARE, layer);
        to.exponent[0] = s.exponent;
        const double steps[] = {largest > 0 ? largest_weight / static_cast<double>(largest) : 1.0};
        const Scaled fixed = scale_together(steps);
        to.static_mant = fixed.mantissa[0];
        to.static_exp = fixed.exponent;
        append(block, s.mantissa);
    }
    static void append(std::vector<int32_t>& to, const std::vector<int32_t>& from) {
        to.insert(to.end(), from.begin(), from.end());
    }

    // The bias of each row in units of unit[row] * 2^-frac; zeros where there is none.
    static void append_bias(std::vector<int32_t>& to, const Matrix& bias,
                            const std::vector<double>& unit, int frac) {
        for (size_t i = 0; i < unit.size(); ++i)
            to.push_back(bias.empty() ? 0 : to_fixed(bias.values[i] / unit[i], frac));
    }
    QuantizedRows quantize(const Matrix& m) const {
        return q12_4_ ? quantize_with(m, 1.0 / 16) : quantize_rows(m);
    }
    // Scale of each row of K or V in the cache: its head's range / 2047.
    std::vector<double> cache_units(std::vector<float> range) const {
        if (q12_4_) range.assign(range.size(), *std::max_element(range.begin(), range.end()));
        std::vector<double> units;
        for (const float r : range)
            units.insert(units.end(), d_.head_dim,
                         (r > 0 ? r : 1.0) * cache_margin / largest_weight);
        return units;
    }

    void layer(uint32_t l) {
        const DecoderLayer& w = d_.layer[l];
        std::vector<int32_t> a, b;
        prepare(l, w.attention_norm, ranges_.at(Tap::attention_in, l), a);
        const std::vector<double> k_unit = cache_units(ranges_.k[l]);
        const std::vector<double> v_unit = cache_units(ranges_.v[l]);
        const int32_t q_frac = qkv(l, k_unit, v_unit, a);
        attend(l, k_unit, q_frac, a);
        constants(a, h_.constants_a);
        out(l, v_unit, b);
        prepare(l, w.ffn_norm, ranges_.at(Tap::ffn_in, l), b);
        ffn(l, b);
        constants(b, h_.constants_b);
    }

    int32_t qkv(uint32_t l, const std::vector<double>& k_unit, const std::vector<double>& v_unit,
                std::vector<int32_t>& block) {
        const DecoderLayer& w = d_.layer[l];
        const QuantizedRows k = quantize(in_pairs(w.k, d_.head_dim));
        const QuantizedRows v = quantize(w.v);
        const QuantizedRows q = quantize(in_pairs(w.q, d_.head_dim));
        std::vector<double> scale = k.scale;
        for (size_t i = 0; i < scale.size(); ++i) scale[i] /= k_unit[i];
        const Scaled sk = scale_together(scale);
        scale = v.scale;
        for (size_t i = 0; i < scale.size(); ++i) scale[i] /= v_unit[i];
        const Scaled sv = scale_together(scale);
        const Scaled sq = scale_together(q.scale);
        ImageStep& s = step(IMAGE_QKV, l, q.n + 2 * k.n, d_.hidden);
        s.exponent[0] = sk.exponent;
        s.exponent[1] = sv.exponent;
        s.exponent[2] = sq.exponent;
        s.frac = frac_for(ranges_.at(Tap::q, l), 32767, most_frac);
        check_frac(s.frac, "queries", l);
        std::vector<int16_t> kv = k.values;
        kv.insert(kv.end(), v.values.begin(), v.values.end());
        row_units(kv, d_.hidden);
        row_units(q.values, d_.hidden);
        append(block, sk.mantissa);
        append(block, sv.mantissa);
        append(block, sq.mantissa);
        append_bias(block, in_pairs(w.k_bias, d_.head_dim), k_unit, IMAGE_KV_FRAC);
        append_bias(block, w.v_bias, v_unit, IMAGE_KV_FRAC);
        append_bias(block, in_pairs(w.q_bias, d_.head_dim), std::vector<double>(q.n, 1.0), s.frac);
        return s.frac;
    }

    void attend(uint32_t l, const std::vector<double>& k_unit, int32_t q_frac,
                std::vector<int32_t>& block) {
        std::vector<double> c;
        c.reserve(d_.kv_heads);
        for (uint32_t h = 0; h < d_.kv_heads; ++h)
            c.push_back(std::ldexp(
                k_unit[size_t{h} * d_.head_dim] * log2e * d_.attention_scale / largest_weight,
                -q_frac));
        const Scaled s = scale_together(c);
        step(IMAGE_ATTEND, l).exponent[0] = s.exponent;  // score_shift 0 for every KV head
        append(block, s.mantissa);
    }

    void out(uint32_t l, const std::vector<double>& v_unit, std::vector<int32_t>& block) {
        std::vector<double> factor;
        factor.reserve(d_.q_width());
        const uint32_t group = d_.heads / d_.kv_heads;
        for (uint32_t c = 0; c < d_.q_width(); ++c)
            factor.push_back(v_unit[size_t{c / d_.head_dim / group} * d_.head_dim]);
        // Literal Q12.4 has one unit of V a layer, so that it stays out of the rounding.
        QuantizedRows q =
            q12_4_ ? quantize(d_.layer[l].output) : quantize_rows(d_.layer[l].output, factor);
        if (q12_4_)
            for (double& s : q.scale) s *= v_unit[0];
        const Scaled s = scale_together(q.scale);
        step(IMAGE_OUT, l, q.n, q.k).exponent[0] = s.exponent;
        row_units(q.values, q.k);
        append(block, s.mantissa);
    }

    void ffn(uint32_t l, std::vector<int32_t>& block) {
        const DecoderLayer& w = d_.layer[l];
        QuantizedRows gate = quantize(w.gate), up = quantize(w.up);
        const QuantizedRows down = quantize(w.down);
        for (double& s : gate.scale) s *= log2e;
        for (double& s : up.scale) s *= ln2;
        const Scaled sg = scale_together(gate.scale), su = scale_together(up.scale);
        const Scaled sd = scale_together(down.scale);
        ImageStep& s = step(IMAGE_FFN, l, h_.hidden, d_.hidden);
        s.exponent[0] = sg.exponent;
        s.exponent[1] = su.exponent;
        s.exponent[2] = sd.exponent;
        const double largest =
            std::max<double>(ranges_.at(Tap::up, l) * ln2, ranges_.at(Tap::hidden, l));
        s.frac = frac_for(largest, 2147483647.0 / integer_margin, most_frac);
        check_frac(s.frac, "the FFN's hidden values", l);

        // Row (of gate, up) or column (of down) c of the padded hidden layer.
        const auto copy_rows = [&](const QuantizedRows& m, uint32_t first, uint32_t width,
                                   std::vector<int16_t>& to) {
            for (uint32_t c = first; c < first + width; ++c)
                for (uint32_t i = 0; i < m.k; ++i)
                    to.push_back(c < m.n ? m.values[size_t{c} * m.k + i] : int16_t{0});
        };
        const uint32_t tiles = (h_.hidden + IMAGE_HIDDEN_TILE - 1) / IMAGE_HIDDEN_TILE;
        const auto first_of = [](uint32_t t) { return t * IMAGE_HIDDEN_TILE; };
        const auto width_of = [&](uint32_t t) {
            return std::min(IMAGE_HIDDEN_TILE, h_.hidden - first_of(t));
        };
        const auto down_unit = [&](uint32_t t) {
            std::vector<int16_t> values;
            for (uint32_t r = 0; r < down.n; ++r)
                for (uint32_t c = first_of(t); c < first_of(t) + width_of(t); ++c)
                    values.push_back(c < down.k ? down.values[size_t{r} * down.k + c] : int16_t{0});
            unit(values);
        };
        for (uint32_t t = 0; t < tiles; ++t) {
            std::vector<int16_t> values;
            copy_rows(gate, first_of(t), width_of(t), values);
            if (image_tile_units(d_.hidden) == 2) {
                unit(values);
                values.clear();
            }
            copy_rows(up, first_of(t), width_of(t), values);
            unit(values);
            if (t > 0) down_unit(t - 1);
            for (const Scaled* m : {&sg, &su})
                for (uint32_t c = first_of(t); c < first_of(t) + width_of(t); ++c)
                    block.push_back(c < d_.ffn ? m->mantissa[c] : 0);
        }
        down_unit(tiles - 1);
        append(block, sd.mantissa);
    }

    void head() {
        std::vector<int32_t> a;
        prepare(d_.layers, d_.final_norm, ranges_.at(Tap::final_in, 0), a);
        constants(a, h_.constants_a);
        const QuantizedRows q = quantize(d_.head_matrix());
        const Scaled m = scale_together(q.scale);
        ImageStep& s = step(IMAGE_HEAD, d_.layers, h_.vocab, d_.hidden);
        s.exponent[0] = m.exponent;
        s.frac = frac_for(ranges_.at(Tap::logits, 0), 2147483647.0 / integer_margin, most_frac);
        std::vector<int16_t> values = q.values;
        values.resize(size_t{h_.vocab} * d_.hidden);
        row_units(values, d_.hidden);
        put_step();
        constants(m.mantissa, h_.head_b);
    }

    // Angles in long double: 64 bits of mantissa leave 2^-50 at position 4096.
    void rope() {
        const uint32_t half = d_.head_dim / 2;
        constexpr long double turn = 2 * std::numbers::pi_v<long double>;
        for (size_t j = 0; j < std::min<size_t>(half, std::size(h_.rope_phase)); ++j)
            h_.rope_phase[j] = static_cast<uint32_t>(
                static_cast<uint64_t>(std::llround(std::ldexp(d_.rope_frequency[j] / turn, 32))));
        size_t at = h_.rope_offset;
        for (uint32_t p = 0; p < h_.rope_positions; ++p)
            for (uint32_t j = 0; j < half; ++j) {
                const long double angle = d_.rope_frequency[j] * p;
                const int16_t pair[] = {
                    static_cast<int16_t>(std::lround(std::cos(angle) * (1 << IMAGE_ROPE_FRAC))),
                    static_cast<int16_t>(std::lround(std::sin(angle) * (1 << IMAGE_ROPE_FRAC)))};
                put(at, pair, sizeof pair);
                at += sizeof pair;
            }
    }

    const Decoder& d_;
    const Ranges& ranges_;
    ImageHeader h_;
    std::vector<uint8_t> bytes_;
    ImageStep step_{};
    uint32_t steps_ = 0, units_ = 0, weights_ = 0, constants_ = 0;
    bool q12_4_;
    std::string problem_;
};

}  // namespace

Result<std::vector<uint8_t>> assemble(const Decoder& d, const Ranges& ranges, ImageHeader header,
                                      bool q12_4) {
    return Assembler(d, ranges, header, q12_4).run();
}

}  // namespace ridge::image
