// The oracle: a llama decoder in plain double precision, one token at a time, nothing tiled,
// nothing shared with ridge but the reading of the file. It is what the AI Max 395's fixed-point
// firmware is measured against. Formulas: LLaMA (Touvron et al., arXiv 2302.13971), rotary
// embedding (Su et al., arXiv 2104.09864, neighbouring pairs as llama.cpp's `llama` kind has them),
// RMS norm (Zhang and Sennrich, arXiv 1910.07467), grouped queries (Ainslie et al., arXiv
// 2305.13245).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "format/gguf.hpp"

namespace ridge::test {

class Oracle {
  public:
    // A GGUF of architecture llama whose tensors are all F32. Errors: GgufFile::open's;
    // unsupported.
    static Result<Oracle> open(const std::string& path) {
        RIDGE_ASSIGN(const GgufFile file, GgufFile::open(path));
        Oracle o;
        const auto count = [&](const char* key) { return file.get_uint(key).value_or(0); };
        o.layers_ = count("llama.block_count");
        o.dim_ = count("llama.embedding_length");
        o.hidden_ = count("llama.feed_forward_length");
        o.heads_ = count("llama.attention.head_count");
        o.kv_heads_ = file.get_uint("llama.attention.head_count_kv").value_or(o.heads_);
        if (o.layers_ == 0 || o.dim_ == 0 || o.hidden_ == 0 || o.heads_ == 0 || o.kv_heads_ == 0)
            return fail(ErrorCode::unsupported, path + " is no llama model that the oracle knows");
        o.head_dim_ = file.get_uint("llama.attention.key_length").value_or(o.dim_ / o.heads_);
        o.epsilon_ = file.get_float("llama.attention.layer_norm_rms_epsilon").value_or(1e-5);
        o.theta_ = file.get_float("llama.rope.freq_base").value_or(10000.0);
        Reader read{file, {}};
        o.embedding_ = read("token_embd.weight");
        o.final_norm_ = read("output_norm.weight");
        o.head_ = file.find("output.weight") ? read("output.weight") : o.embedding_;
        for (uint64_t l = 0; l < o.layers_; ++l) {
            const std::string b = "blk." + std::to_string(l) + ".";
            const auto bias = [&](const char* name) {
                return file.find(b + name) ? read(b + name) : std::vector<double>();
            };
            o.weights_.push_back({read(b + "attn_norm.weight"), read(b + "attn_q.weight"),
                                  read(b + "attn_k.weight"), read(b + "attn_v.weight"),
                                  bias("attn_q.bias"), bias("attn_k.bias"), bias("attn_v.bias"),
                                  bias("attn_output.bias"), read(b + "attn_output.weight"),
                                  read(b + "ffn_norm.weight"), read(b + "ffn_gate.weight"),
                                  read(b + "ffn_up.weight"), read(b + "ffn_down.weight")});
        }
        if (!read.missing.empty())
            return fail(ErrorCode::unsupported, path + " has no F32 tensor " + read.missing);
        o.keys_.resize(o.layers_);
        o.values_.resize(o.layers_);
        return o;
    }

    // A new sequence begins. `window`: how many of the latest positions attention sees (0: all).
    void reset(size_t window = 0) {
        window_ = window;
        position_ = 0;
        for (uint64_t l = 0; l < layers_; ++l) keys_[l].clear(), values_[l].clear();
    }

    // Called with what each stage gave for the token under way: "embedding", "attention norm", "q",
    // "k", "v" (q and k rotated), "attention", "attention out" (residual), "ffn norm", "hidden",
    // "ffn out" (residual), "final norm", "logits". What it changes is what the next stage sees.
    using Tap = std::function<void(const char* stage, size_t layer, std::span<double>)>;
    Tap tap;
    std::function<void(double)> softmax_sum;  // of each head, before the division

    // Calls `change` with every matrix, row-major, and its rows' length; for measuring roundings.
    void change_matrices(const std::function<void(std::vector<double>&, size_t columns)>& change) {
        change(embedding_, dim_);
        for (Layer& w : weights_) {
            for (std::vector<double>* m : {&w.q, &w.k, &w.v, &w.gate, &w.up}) change(*m, dim_);
            change(w.out, heads_ * head_dim_);
            change(w.down, hidden_);
        }
        change(head_, dim_);
    }

    // The next token of the sequence; its logits, [vocab].
    const std::vector<double>& step(int32_t token) {
        const size_t kv = kv_heads_ * head_dim_;
        std::vector<double> x(&embedding_[static_cast<size_t>(token) * dim_],
                              &embedding_[static_cast<size_t>(token) * dim_] + dim_);
        show("embedding", 0, x);
        for (size_t l = 0; l < layers_; ++l) {
            const Layer& w = weights_[l];
            std::vector<double> n = norm(x, w.attention_norm);
            show("attention norm", l, n);
            std::vector<double> q = product(w.q, n, heads_ * head_dim_, w.q_bias);
            std::vector<double> k = product(w.k, n, kv, w.k_bias);
            std::vector<double> v = product(w.v, n, kv, w.v_bias);
            rotate(q);
            rotate(k);
            show("q", l, q);
            show("k", l, k);
            show("v", l, v);
            keys_[l].insert(keys_[l].end(), k.begin(), k.end());
            values_[l].insert(values_[l].end(), v.begin(), v.end());
            std::vector<double> a = attend(q, keys_[l], values_[l]);
            show("attention", l, a);
            add(x, product(w.out, a, dim_, w.out_bias));
            show("attention out", l, x);
            n = norm(x, w.ffn_norm);
            show("ffn norm", l, n);
            std::vector<double> h = product(w.gate, n, hidden_, {});
            const std::vector<double> up = product(w.up, n, hidden_, {});
            for (size_t i = 0; i < hidden_; ++i) h[i] = h[i] / (1 + std::exp(-h[i])) * up[i];
            show("hidden", l, h);
            add(x, product(w.down, h, dim_, {}));
            show("ffn out", l, x);
        }
        x = norm(x, final_norm_);
        show("final norm", 0, x);
        logits_ = product(head_, x, head_.size() / dim_, {});
        show("logits", 0, logits_);
        ++position_;
        return logits_;
    }

    size_t vocab() const { return head_.size() / dim_; }
    size_t layers() const { return layers_; }

  private:
    struct Layer {
        std::vector<double> attention_norm, q, k, v, q_bias, k_bias, v_bias, out_bias, out,
            ffn_norm, gate, up, down;
    };
    struct Reader {
        const GgufFile& file;
        std::string missing;
        std::vector<double> operator()(const std::string& name) {
            const TensorInfo* const t = file.find(name);
            if (!t || t->type != DType::f32) {
                missing = name;
                return {};
            }
            std::vector<float> f(t->elements());
            std::memcpy(f.data(), t->data, 4 * f.size());
            return {f.begin(), f.end()};
        }
    };

    void show(const char* stage, size_t layer, std::span<double> values) const {
        if (tap) tap(stage, layer, values);
    }
    static void add(std::vector<double>& x, const std::vector<double>& y) {
        for (size_t i = 0; i < x.size(); ++i) x[i] += y[i];
    }
    std::vector<double> norm(const std::vector<double>& x, const std::vector<double>& gain) const {
        double sum = 0;
        for (const double v : x) sum += v * v;
        const double scale = 1 / std::sqrt(sum / static_cast<double>(x.size()) + epsilon_);
        std::vector<double> y(x.size());
        for (size_t i = 0; i < x.size(); ++i) y[i] = x[i] * scale * gain[i];
        return y;
    }
    static double dot(const double* a, const double* b, size_t n) {
        double s[4] = {};  // four sums, so that the processor's adder is not what this waits for
        size_t i = 0;
        for (; i + 4 <= n; i += 4)
            for (size_t j = 0; j < 4; ++j) s[j] += a[i + j] * b[i + j];
        for (; i < n; ++i) s[0] += a[i] * b[i];
        return (s[0] + s[1]) + (s[2] + s[3]);
    }
    // y[r] = W[r] . x + bias[r]
    static std::vector<double> product(const std::vector<double>& w, const std::vector<double>& x,
                                       size_t rows, const std::vector<double>& bias) {
        std::vector<double> y(rows);
        for (size_t r = 0; r < rows; ++r)
            y[r] = dot(&w[r * x.size()], x.data(), x.size()) + (bias.empty() ? 0 : bias[r]);
        return y;
    }
    void rotate(std::vector<double>& x) const {
        for (size_t i = 0; i < x.size(); i += 2) {
            const double exponent =
                static_cast<double>(i % head_dim_) / static_cast<double>(head_dim_);
            const double angle = static_cast<double>(position_) * std::pow(theta_, -exponent);
            const double c = std::cos(angle), s = std::sin(angle), a = x[i], b = x[i + 1];
            x[i] = a * c - b * s;
            x[i + 1] = a * s + b * c;
        }
    }
    std::vector<double> attend(const std::vector<double>& q, const std::vector<double>& keys,
                               const std::vector<double>& values) const {
        const size_t kv = kv_heads_ * head_dim_, end = position_ + 1;
        const size_t begin = window_ && end > window_ ? end - window_ : 0;
        std::vector<double> out(heads_ * head_dim_), p(end - begin);
        for (size_t h = 0; h < heads_; ++h) {
            const size_t at = h / (heads_ / kv_heads_) * head_dim_;
            double largest = -HUGE_VAL, sum = 0;
            for (size_t t = begin; t < end; ++t) {
                p[t - begin] = dot(&q[h * head_dim_], &keys[t * kv + at], head_dim_) /
                               std::sqrt(static_cast<double>(head_dim_));
                largest = std::max(largest, p[t - begin]);
            }
            for (double& v : p) sum += v = std::exp(v - largest);
            if (softmax_sum) softmax_sum(sum);
            for (size_t t = begin; t < end; ++t)
                for (size_t i = 0; i < head_dim_; ++i)
                    out[h * head_dim_ + i] += p[t - begin] / sum * values[t * kv + at + i];
        }
        return out;
    }

    uint64_t layers_ = 0, dim_ = 0, hidden_ = 0, heads_ = 0, kv_heads_ = 0, head_dim_ = 0;
    double epsilon_ = 0, theta_ = 0;
    size_t window_ = 0, position_ = 0;
    std::vector<double> embedding_, final_norm_, head_, logits_;
    std::vector<Layer> weights_;
    std::vector<std::vector<double>> keys_, values_;  // by layer, [positions x kv width]
};

}  // namespace ridge::test
