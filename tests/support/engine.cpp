#include "support/engine.hpp"

#include <algorithm>
#include <cstring>

#include "sample/sampler.hpp"

namespace ridge::test {

ShapeConfig tiny_llama(DType type) {
    ShapeConfig s;
    s.name = std::string("llama-") + name(type);
    s.vocab_size = 300;
    s.block_count = 2;
    s.context_length = 1024;
    s.embedding_length = 256;
    s.feed_forward_length = 512;
    s.head_count = 6;
    s.head_count_kv = 2;
    s.key_length = 32;
    s.type = type;
    // Rows of 192 and 256: attn_output has 192, which blocks of 256 do not divide.
    return s;
}

ShapeConfig tiny_gemma(DType type) {
    ShapeConfig s = tiny_llama(type);
    s.name = std::string("gemma3-") + name(type);
    s.architecture = "gemma3";
    s.block_count = 3;
    s.head_count = 4;
    s.head_count_kv = 1;
    s.key_length = 64;
    s.sliding_window = 260;
    s.sliding_window_pattern = 3;
    s.rope_freq_base = 1e6f;
    return s;
}

std::vector<int32_t> random_tokens(size_t n, uint32_t vocab, uint64_t seed) {
    std::vector<int32_t> out(n);
    for (int32_t& t : out) {
        seed = seed * 6364136223846793005ull + 1442695040888963407ull;
        t = static_cast<int32_t>((seed >> 33) % vocab);
    }
    return out;
}

std::unique_ptr<Model> load(const std::string& path, const ModelOptions& options) {
    auto m = Model::load(path, options);
    EXPECT_TRUE(m.has_value()) << m.error().message;
    return m ? std::move(*m) : nullptr;
}

std::unique_ptr<Context> context(Model& model, uint32_t length, uint32_t sequences) {
    ContextOptions o;
    o.context = length;
    o.sequences = sequences;
    auto c = Context::create(model, o);
    EXPECT_TRUE(c.has_value()) << c.error().message;
    return c ? std::move(*c) : nullptr;
}

std::vector<float> all_logits(Context& c, std::span<const int32_t> tokens, uint32_t chunk,
                              uint32_t sequence) {
    std::vector<float> out;
    std::vector<Row> rows;
    for (size_t i = 0; i < tokens.size(); i += chunk) {
        rows.clear();
        for (size_t j = i; j < std::min(i + chunk, tokens.size()); ++j)
            rows.push_back({sequence, tokens[j], true});
        const Status s = c.pass(rows);
        EXPECT_TRUE(s.has_value()) << s.error().message;
        if (!s) return out;
        for (uint32_t r = 0; r < rows.size(); ++r) {
            const auto l = c.logits(r);
            out.insert(out.end(), l.begin(), l.end());
        }
    }
    return out;
}

std::vector<int32_t> greedy(Context& c, size_t n, uint32_t sequence) {
    std::vector<int32_t> ids;
    while (ids.size() < n) {
        ids.push_back(Sampler::greedy(c.logits(0)));
        const Row row{sequence, ids.back(), true};
        const Status s = c.pass({&row, 1});
        EXPECT_TRUE(s.has_value()) << s.error().message;
        if (!s) break;
    }
    return ids;
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

}  // namespace ridge::test
