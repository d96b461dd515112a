// Checkpoint: seven int32 (dim, hidden, layers, heads, kv heads, vocabulary, positions; a negative
// vocabulary means that the classifier is a matrix of its own), then f32 arrays, each over all
// layers: embedding, attention norms, wq, wk, wv, wo, ffn norms, w1 (gate), w2 (down), w3 (up),
// final norm, two tables of RoPE (ignored), and the classifier if it is not the embedding.
// Tokenizer: int32 longest token, then for each token f32 score, int32 length, bytes. Spaces are
// plain; the control tokens 1 and 2 have line feeds around them.
#include "format/llama2c.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/checked.hpp"
#include "base/cursor.hpp"
#include "base/mapped_file.hpp"
#include "base/output_file.hpp"
#include "format/gguf_writer.hpp"

namespace ridge {

namespace {

constexpr int32_t newer_magic = 0x616b3432;  // "ak42"
constexpr int32_t max_dimension = 1 << 20;

struct Header {
    int32_t dim, hidden, layers, heads, kv_heads, vocab, positions;
};

struct Checkpoint {
    uint64_t dim, hidden, layers, heads, kv_heads, vocab, positions;
    bool tied;
    uint64_t head_dim() const { return dim / heads; }
    uint64_t kv_dim() const { return kv_heads * head_dim(); }
};

tl::unexpected<Error> bad(const MappedFile& file, const std::string& what) {
    return fail(ErrorCode::bad_file, fmt::format("'{}' is no llama2.c {}; check that the two files "
                                                 "are the right way round.",
                                                 file.path(), what));
}

Result<Checkpoint> read_header(const MappedFile& file, Cursor& cursor) {
    Header h{};
    if (!cursor.read(h)) return bad(file, "checkpoint (shorter than its header)");
    if (h.dim == newer_magic)
        return fail(
            ErrorCode::unsupported,
            fmt::format("'{}' is a newer llama2.c export; only the first, headerless format "
                        "(export version 0) is supported.",
                        file.path()));
    Checkpoint c{};
    c.tied = h.vocab > 0;
    const int32_t vocab = h.vocab == INT32_MIN ? 0 : h.vocab < 0 ? -h.vocab : h.vocab;
    for (const int32_t n : {h.dim, h.hidden, h.layers, h.heads, h.kv_heads, vocab, h.positions})
        if (n < 1 || n > max_dimension) return bad(file, "checkpoint (a size is out of range)");
    if (h.dim % h.heads != 0 || h.heads % h.kv_heads != 0 || h.dim / h.heads % 2 != 0)
        return bad(file, "checkpoint (its heads do not divide its width)");
    c.dim = static_cast<uint64_t>(h.dim);
    c.hidden = static_cast<uint64_t>(h.hidden);
    c.layers = static_cast<uint64_t>(h.layers);
    c.heads = static_cast<uint64_t>(h.heads);
    c.kv_heads = static_cast<uint64_t>(h.kv_heads);
    c.vocab = static_cast<uint64_t>(vocab);
    c.positions = static_cast<uint64_t>(h.positions);
    return c;
}

// Takes `count` f32 values, or fails.
Result<const uint8_t*> take_floats(const MappedFile& file, Cursor& cursor, uint64_t count) {
    uint64_t bytes = 0;
    const uint8_t* data = nullptr;
    if (!checked_mul(count, sizeof(float), bytes) || !cursor.take(bytes, data))
        return bad(file, "checkpoint (its size does not fit its header)");
    return data;
}

Status add_weights(const MappedFile& file, Cursor& cursor, const Checkpoint& c, GgufWriter& out) {
    struct Array {
        const char* name;
        uint64_t columns, rows;  // one row: a vector
    };
    const Array per_layer[] = {
        {"attn_norm", c.dim, 1},       {"attn_q", c.dim, c.dim},      {"attn_k", c.dim, c.kv_dim()},
        {"attn_v", c.dim, c.kv_dim()}, {"attn_output", c.dim, c.dim}, {"ffn_norm", c.dim, 1},
        {"ffn_gate", c.dim, c.hidden}, {"ffn_down", c.hidden, c.dim}, {"ffn_up", c.dim, c.hidden}};
    RIDGE_ASSIGN(const uint8_t* embedding, take_floats(file, cursor, c.vocab * c.dim));
    RIDGE_TRY(out.add_tensor("token_embd.weight", DType::f32, {c.dim, c.vocab}, embedding));
    for (const Array& array : per_layer) {
        // at most 2^60 values
        const uint64_t values = array.columns * array.rows;
        RIDGE_ASSIGN(const uint8_t* data, take_floats(file, cursor, c.layers * values));
        for (uint64_t layer = 0; layer < c.layers; ++layer) {
            std::vector<uint64_t> dims = {array.columns};
            if (array.rows > 1) dims.push_back(array.rows);
            RIDGE_TRY(out.add_tensor(fmt::format("blk.{}.{}.weight", layer, array.name), DType::f32,
                                     std::move(dims), data + layer * values * sizeof(float)));
        }
    }
    RIDGE_ASSIGN(const uint8_t* norm, take_floats(file, cursor, c.dim));
    RIDGE_TRY(out.add_tensor("output_norm.weight", DType::f32, {c.dim}, norm));
    RIDGE_TRY(take_floats(file, cursor, c.positions * c.head_dim()));
    if (!c.tied) {
        RIDGE_ASSIGN(const uint8_t* classifier, take_floats(file, cursor, c.vocab * c.dim));
        RIDGE_TRY(out.add_tensor("output.weight", DType::f32, {c.dim, c.vocab}, classifier));
    }
    if (cursor.remaining() != 0) return bad(file, "checkpoint (its size does not fit its header)");
    return {};
}

bool is_byte_token(const std::string& text) {
    return text.size() == 6 && text.starts_with("<0x") && text.back() == '>';
}

Status add_vocabulary(const MappedFile& file, uint64_t count, GgufWriter& out) {
    enum : int32_t { normal = 1, unknown = 2, control = 3, byte = 6 };
    Cursor cursor(file.data(), file.size());
    int32_t longest = 0;
    if (!cursor.read(longest)) return bad(file, "tokenizer (shorter than its header)");
    std::vector<std::string> tokens;
    std::vector<float> scores;
    std::vector<int32_t> types;
    for (uint64_t id = 0; id < count; ++id) {
        float score = 0;
        int32_t length = 0;
        const uint8_t* bytes = nullptr;
        if (!cursor.read(score) || !cursor.read(length) || length < 1 ||
            !cursor.take(static_cast<uint64_t>(length), bytes))
            return bad(file,
                       fmt::format("tokenizer of {} tokens (token {} does not fit)", count, id));
        std::string text(reinterpret_cast<const char*>(bytes), static_cast<size_t>(length));
        int32_t type = normal;
        if (id == 0) {
            type = unknown;
            text = "<unk>";
        } else if (id < 3) {
            type = control;
            text = id == 1 ? "<s>" : "</s>";
        } else if (is_byte_token(text)) {
            type = byte;
        } else {
            std::string escaped;  // SentencePiece writes a space as U+2581
            for (const char ch : text) ch == ' ' ? escaped += "\xe2\x96\x81" : escaped += ch;
            text = std::move(escaped);
        }
        tokens.push_back(std::move(text));
        scores.push_back(score);
        types.push_back(type);
    }
    if (cursor.remaining() != 0) return bad(file, fmt::format("tokenizer of {} tokens", count));
    out.set("tokenizer.ggml.model", "llama");
    out.set("tokenizer.ggml.pre", "default");
    out.set_strings("tokenizer.ggml.tokens", tokens);
    out.set_array("tokenizer.ggml.scores", scores);
    out.set_array("tokenizer.ggml.token_type", types);
    out.set("tokenizer.ggml.bos_token_id", uint32_t{1});
    out.set("tokenizer.ggml.eos_token_id", uint32_t{2});
    out.set("tokenizer.ggml.unknown_token_id", uint32_t{0});
    out.set("tokenizer.ggml.add_bos_token", true);
    out.set("tokenizer.ggml.add_eos_token", false);
    out.set("tokenizer.ggml.add_space_prefix", true);
    return {};
}

}  // namespace

Status convert_llama2c(const std::string& checkpoint, const std::string& tokenizer,
                       const std::string& out) {
    RIDGE_ASSIGN(const auto weights, MappedFile::open(checkpoint));
    RIDGE_ASSIGN(const auto vocabulary, MappedFile::open(tokenizer));
    RIDGE_TRY(no_input(out, {checkpoint, tokenizer}));
    Cursor cursor(weights.data(), weights.size());
    RIDGE_ASSIGN(const Checkpoint c, read_header(weights, cursor));

    GgufWriter writer;
    std::string stem = checkpoint.substr(checkpoint.find_last_of('/') + 1);
    stem.resize(std::min(stem.size(), stem.find_last_of('.')));
    writer.set("general.architecture", "llama");
    writer.set("general.name", stem);
    writer.set("general.file_type", uint32_t{0});
    const auto set = [&](const char* key, uint64_t value) {
        writer.set(std::string("llama.") + key, static_cast<uint32_t>(value));
    };
    set("vocab_size", c.vocab);
    set("context_length", c.positions);
    set("block_count", c.layers);
    set("embedding_length", c.dim);
    set("feed_forward_length", c.hidden);
    set("attention.head_count", c.heads);
    set("attention.head_count_kv", c.kv_heads);
    set("attention.key_length", c.head_dim());
    set("attention.value_length", c.head_dim());
    set("rope.dimension_count", c.head_dim());
    writer.set("llama.attention.layer_norm_rms_epsilon", 1e-5f);
    writer.set("llama.rope.freq_base", 10000.0f);
    RIDGE_TRY(add_vocabulary(vocabulary, c.vocab, writer));
    RIDGE_TRY(add_weights(weights, cursor, c, writer));
    return writer.write(out);
}

}  // namespace ridge
