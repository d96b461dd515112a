#include "image/forward.hpp"

#include <algorithm>
#include <cmath>

namespace ridge::image {
namespace {

using Rows = std::vector<float>;  // [position][width]

// Positions are multiplied side by side, so that the compiler's vectors hold positions.
constexpr size_t lanes = 16;

Rows product(const Matrix& w, const Matrix& bias, const Rows& in) {
    const size_t n = in.size() / w.k;
    Rows out(n * w.n), columns(lanes * w.k);
    for (size_t first = 0; first < n; first += lanes) {
        const size_t count = std::min(lanes, n - first);
        std::fill(columns.begin(), columns.end(), 0.0f);
        for (size_t t = 0; t < count; ++t)
            for (uint32_t i = 0; i < w.k; ++i) columns[i * lanes + t] = in[(first + t) * w.k + i];
        for (uint32_t r = 0; r < w.n; ++r) {
            float sum[lanes] = {};
            const float* const row = w.row(r);
            for (uint32_t i = 0; i < w.k; ++i)
                for (size_t t = 0; t < lanes; ++t) sum[t] += row[i] * columns[i * lanes + t];
            const float b = bias.empty() ? 0.0f : bias.values[r];
            for (size_t t = 0; t < count; ++t) out[(first + t) * w.n + r] = sum[t] + b;
        }
    }
    return out;
}

Rows norm(const Matrix& gain, float epsilon, const Rows& in) {
    Rows out(in.size());
    for (size_t at = 0; at < in.size(); at += gain.k) {
        double squares = 0;
        for (uint32_t i = 0; i < gain.k; ++i)
            squares += static_cast<double>(in[at + i]) * in[at + i];
        const auto scale = static_cast<float>(1.0 / std::sqrt(squares / gain.k + epsilon));
        for (uint32_t i = 0; i < gain.k; ++i) out[at + i] = in[at + i] * scale * gain.values[i];
    }
    return out;
}

void rotate(const Decoder& d, Rows& x, uint32_t width) {
    const uint32_t half = d.head_dim / 2;
    for (size_t at = 0; at < x.size(); at += d.head_dim) {
        const auto position = static_cast<double>(at / width);
        for (uint32_t j = 0; j < half; ++j) {
            const double angle = position * static_cast<double>(d.rope_frequency[j]);
            const auto c = static_cast<float>(std::cos(angle));
            const auto s = static_cast<float>(std::sin(angle));
            const float a = x[at + j], b = x[at + half + j];
            x[at + j] = a * c - b * s;
            x[at + half + j] = a * s + b * c;
        }
    }
}

Rows attention(const Decoder& d, const Rows& q, const Rows& k, const Rows& v) {
    const size_t n = q.size() / d.q_width();
    const uint32_t group = d.heads / d.kv_heads, hd = d.head_dim;
    Rows out(q.size()), score(n);
    for (size_t t = 0; t < n; ++t)
        for (uint32_t h = 0; h < d.heads; ++h) {
            const float* const qh = &q[t * d.q_width() + h * hd];
            const size_t kv = static_cast<size_t>(h / group) * hd;
            float most = -INFINITY;
            for (size_t s = 0; s <= t; ++s) {
                float dot = 0;
                for (uint32_t i = 0; i < hd; ++i) dot += qh[i] * k[s * d.kv_width() + kv + i];
                score[s] = dot * d.attention_scale;
                most = std::max(most, score[s]);
            }
            double sum = 0;
            for (size_t s = 0; s <= t; ++s) sum += score[s] = std::exp(score[s] - most);
            float* const to = &out[t * d.q_width() + h * hd];
            for (size_t s = 0; s <= t; ++s) {
                const auto weight = static_cast<float>(score[s] / sum);
                for (uint32_t i = 0; i < hd; ++i) to[i] += weight * v[s * d.kv_width() + kv + i];
            }
        }
    return out;
}

void add(Rows& x, const Rows& y) {
    for (size_t i = 0; i < x.size(); ++i) x[i] += y[i];
}

}  // namespace

void forward(const Decoder& d, std::span<const int32_t> ids, bool with_logits, const TapFn& tap) {
    Rows x(ids.size() * d.hidden);
    for (size_t t = 0; t < ids.size(); ++t)
        for (uint32_t i = 0; i < d.hidden; ++i)
            x[t * d.hidden + i] =
                d.embedding.row(static_cast<uint32_t>(ids[t]))[i] * d.embedding_scale;
    const Matrix none;
    tap(Tap::residual, 0, x, d.hidden);
    for (uint32_t l = 0; l < d.layers; ++l) {
        const DecoderLayer& w = d.layer[l];
        const Rows h = norm(w.attention_norm, w.attention_epsilon, x);
        tap(Tap::attention_in, l, h, d.hidden);
        Rows q = product(w.q, w.q_bias, h);
        Rows k = product(w.k, w.k_bias, h);
        const Rows v = product(w.v, w.v_bias, h);
        rotate(d, q, d.q_width());
        rotate(d, k, d.kv_width());
        tap(Tap::q, l, q, d.q_width());
        tap(Tap::k, l, k, d.kv_width());
        tap(Tap::v, l, v, d.kv_width());
        const Rows a = attention(d, q, k, v);
        tap(Tap::attention_out, l, a, d.q_width());
        const Rows o = product(w.output, w.output_bias, a);
        tap(Tap::output, l, o, d.hidden);
        add(x, o);
        tap(Tap::residual, l, x, d.hidden);
        const Rows f = norm(w.ffn_norm, w.ffn_epsilon, x);
        tap(Tap::ffn_in, l, f, d.hidden);
        Rows gate = product(w.gate, none, f);
        const Rows up = product(w.up, none, f);
        tap(Tap::gate, l, gate, d.ffn);
        tap(Tap::up, l, up, d.ffn);
        for (size_t i = 0; i < gate.size(); ++i)
            gate[i] = gate[i] / (1.0f + std::exp(-gate[i])) * up[i];
        tap(Tap::hidden, l, gate, d.ffn);
        const Rows down = product(w.down, none, gate);
        tap(Tap::down, l, down, d.hidden);
        add(x, down);
        tap(Tap::residual, l, x, d.hidden);
    }
    const Rows h = norm(d.final_norm, d.final_epsilon, x);
    tap(Tap::final_in, 0, h, d.hidden);
    if (with_logits) tap(Tap::logits, 0, product(d.head_matrix(), none, h), d.vocab);
}

}  // namespace ridge::image
