#include "model/architectures.hpp"

#include "format/gguf_types.hpp"

namespace ridge {
namespace {

struct Entry {
    const char* name;
    Result<ModelProgram> (*build)(const GgufFile&);
};

constexpr Entry entries[] = {{"llama", build_llama},   {"qwen2", build_qwen2},
                             {"qwen3", build_qwen3},   {"phi3", build_phi3},
                             {"gemma2", build_gemma2}, {"gemma3", build_gemma3}};

}  // namespace

Result<Dimensions> read_dimensions(const GgufFile& file, const ProgramBuilder& b) {
    Dimensions d{};
    RIDGE_ASSIGN(d.layers, b.uint("block_count", 1, 512));
    RIDGE_ASSIGN(d.hidden, b.uint("embedding_length", 1, 1u << 17));
    RIDGE_ASSIGN(d.ffn, b.uint("feed_forward_length", 1, 1u << 20));
    RIDGE_ASSIGN(d.heads, b.uint("attention.head_count", 1, 1024));
    RIDGE_ASSIGN(d.kv_heads, b.uint_or("attention.head_count_kv", d.heads, 1, 1024));
    RIDGE_ASSIGN(d.head_dim, b.uint_or("attention.key_length", d.hidden / d.heads, 2, 1024));
    RIDGE_ASSIGN(const uint32_t v_dim, b.uint_or("attention.value_length", d.head_dim, 1, 1024));
    RIDGE_ASSIGN(d.context, b.uint_or("context_length", 2048, 1, 1u << 24));
    RIDGE_ASSIGN(d.epsilon, b.real_or("attention.layer_norm_rms_epsilon", 1e-5f));
    const TensorInfo* embedding = file.find("token_embd.weight");
    if (embedding == nullptr)
        return fail(ErrorCode::bad_file, file.path() +
                                             ": tensor 'token_embd.weight' is missing; "
                                             "the file is not a complete model");
    if (embedding->rows() < 2 || embedding->rows() > (1u << 24))
        return fail(ErrorCode::bad_file, file.path() + ": a vocabulary of " +
                                             std::to_string(embedding->rows()) +
                                             " tokens is outside 2 to 16777216");
    d.vocab = static_cast<uint32_t>(embedding->rows());
    if (d.heads % d.kv_heads != 0)
        return fail(ErrorCode::bad_file, file.path() + ": " + std::to_string(d.heads) +
                                             " attention heads are not a multiple of " +
                                             std::to_string(d.kv_heads) + " KV heads");
    if (v_dim != d.head_dim || d.head_dim % 2 != 0)
        return fail(ErrorCode::unsupported,
                    file.path() + ": head sizes " + std::to_string(d.head_dim) + " (key) and " +
                        std::to_string(v_dim) + " (value) must be equal and even");
    return d;
}

std::string supported_architectures() {
    std::string list;
    for (const Entry& e : entries) list += list.empty() ? e.name : std::string(", ") + e.name;
    return list;
}

Result<ModelProgram> build_program(const GgufFile& file) {
    const auto architecture = file.get_string("general.architecture");
    if (!architecture)
        return fail(ErrorCode::bad_file, file.path() +
                                             ": metadata key 'general.architecture' is "
                                             "missing; the file does not hold a model");
    const std::string named = "architecture " + gguf::quoted(*architecture);
    if (file.get_uint(std::string(*architecture) + ".expert_count").value_or(0) > 0)
        return fail(ErrorCode::unsupported,
                    file.path() + ": " + named +
                        " with a mixture of experts is not supported; supported are the dense "
                        "models of " +
                        supported_architectures());
    for (const Entry& e : entries)
        if (*architecture == e.name) return e.build(file);
    return fail(ErrorCode::unsupported, file.path() + ": " + named +
                                            " is not supported; supported are " +
                                            supported_architectures());
}

}  // namespace ridge
