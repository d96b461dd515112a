// Architectures: one builder a file, and the hyper-parameters they share.
#pragma once

#include "model/builder.hpp"

namespace ridge {

struct Dimensions {
    uint32_t layers, hidden, ffn, heads, kv_heads, head_dim, vocab, context;
    float epsilon;
    uint32_t q_width() const { return heads * head_dim; }
    uint32_t kv_width() const { return kv_heads * head_dim; }
};

// <arch>.block_count, embedding_length, ... with the checks every decoder needs.
Result<Dimensions> read_dimensions(const GgufFile& file, const ProgramBuilder& b);

// The table of <arch>.rope.*: plain, linearly scaled or YaRN, with the file's own factors
// (rope_freqs: Llama 3.1 and later) or LongRoPE's two sets. Errors: other scaling, named;
// a file that rotates another number of a head's elements than `n_rot`.
Result<uint8_t> read_rope_table(ProgramBuilder& b, const Dimensions& d, uint32_t n_rot, float base);

// Parts that decoders share; `p` is the layer's prefix, "blk.N.".
//
// q, k, v = W norm(x), from tensors of their own. `biases`: taken where the file has them (else a
// tensor of one is left over, and refused). `rope_head`: Weight::rope_head of q and k.
struct Projections {
    BufferId q, k, v;
};
Projections project(ProgramBuilder& b, const Dimensions& d, const std::string& p, BufferId x,
                    bool biases, uint32_t rope_head = 0);
// x + down(silu(gate h) * up h), h = norm(x): the FFN of llama, qwen2 and qwen3.
BufferId silu_ffn(ProgramBuilder& b, const Dimensions& d, const std::string& p, BufferId x);
// x + norm(down(gelu(gate h) * up h)), h = norm(x): Gemma's.
BufferId gelu_ffn(ProgramBuilder& b, const Dimensions& d, const std::string& p, BufferId x);
// Last norm and logits, by output.weight or the embedding, soft-capped unless `softcap` is 0.
Result<ModelProgram> finish(ProgramBuilder& b, const Dimensions& d, WeightId embedding, BufferId x,
                            float softcap = 0.0f);

Result<ModelProgram> build_llama(const GgufFile& file);
Result<ModelProgram> build_qwen2(const GgufFile& file);
Result<ModelProgram> build_qwen3(const GgufFile& file);
Result<ModelProgram> build_phi3(const GgufFile& file);
Result<ModelProgram> build_gemma2(const GgufFile& file);
Result<ModelProgram> build_gemma3(const GgufFile& file);

}  // namespace ridge
