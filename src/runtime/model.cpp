#include "runtime/model.hpp"

#include <algorithm>
#include <cmath>

#include "base/cpu.hpp"

namespace ridge {

Result<std::unique_ptr<Model>> Model::load(const std::string& path, ModelOptions options) {
    RIDGE_ASSIGN(GgufFile file, GgufFile::open(path));
    std::unique_ptr<Model> m(new Model(std::move(file)));
    RIDGE_ASSIGN(m->program_, build_program(m->file_));
    RIDGE_ASSIGN(m->kernels_, choose_kernels(options.kernels));
    if (options.vocabulary) {
        RIDGE_ASSIGN(const VocabData vocabulary, read_vocab(m->file_));
        RIDGE_ASSIGN(Tokenizer tokenizer, Tokenizer::create(vocabulary));
        m->tokenizer_ = std::make_unique<Tokenizer>(std::move(tokenizer));
    }
    options.chunk = std::clamp<uint32_t>(options.chunk, 1, 8192);
    options.max_logits = std::clamp<uint32_t>(options.max_logits, 1, options.chunk);
    const unsigned threads = options.threads != 0 ? options.threads : physical_cores();
    m->team_ = std::make_unique<ThreadTeam>(std::clamp(threads, 1u, 256u));

    LowerOptions lowering;
    lowering.max_rows = options.chunk;
    lowering.max_logits = options.max_logits;
    lowering.f32_activations = options.f32_activations;
    lowering.kv = options.kv;
    RIDGE_ASSIGN(m->lowered_, lower(m->program(), m->file_, m->kernels_, lowering));
    RIDGE_ASSIGN(m->weights_, WeightStore::load(m->file_, m->program(), m->lowered_, *m->team_,
                                                options.progress));
    m->options_ = std::move(options);
    return m;
}

uint64_t Model::bytes_per_token() const {
    uint64_t bytes = 0;
    for (const LoweredStep& s : lowered_.steps) bytes += s.cost.weight_bytes;
    return bytes;
}

}  // namespace ridge
