#include "runtime/model.hpp"

#include <algorithm>
#include <functional>
#include <future>
#include <system_error>

#include "base/cpu.hpp"

namespace ridge {
namespace {

Result<Tokenizer> load_tokenizer(const GgufFile& file) {
    RIDGE_ASSIGN(const VocabData vocabulary, read_vocab(file));
    return Tokenizer::create(vocabulary);
}

// Building a vocabulary's tables waits for memory most of the time, packing computes: together they
// take little more than packing alone. Without a thread to be had it is done in get().
std::future<Result<Tokenizer>> begin_tokenizer(const GgufFile& file, bool aside) {
    try {
        if (aside) return std::async(std::launch::async, load_tokenizer, std::cref(file));
    } catch (const std::system_error&) {
    }
    return std::async(std::launch::deferred, load_tokenizer, std::cref(file));
}

}  // namespace

Result<std::unique_ptr<Model>> Model::load(const std::string& path, ModelOptions options) {
    RIDGE_ASSIGN(GgufFile file, GgufFile::open(path));
    std::unique_ptr<Model> m(new Model(std::move(file)));
    RIDGE_ASSIGN(m->program_, build_program(m->file_));
    RIDGE_ASSIGN(m->kernels_, choose_kernels(options.kernels));
    options.chunk = std::clamp<uint32_t>(options.chunk, 1, 8192);
    options.max_logits = std::clamp<uint32_t>(options.max_logits, 1, options.chunk);
    const unsigned threads = options.threads != 0 ? options.threads : physical_cores();
    m->team_ = std::make_unique<ThreadTeam>(std::clamp(threads, 1u, 256u));
    std::future<Result<Tokenizer>> tokenizer;
    if (options.vocabulary) tokenizer = begin_tokenizer(m->file_, m->team_->size() > 1);

    LowerOptions lowering;
    lowering.max_rows = options.chunk;
    lowering.max_logits = options.max_logits;
    lowering.f32_activations = options.f32_activations;
    lowering.kv = options.kv;
    lowering.keep_hidden = options.hidden;
    RIDGE_ASSIGN(m->lowered_, lower(m->program(), m->file_, m->kernels_, lowering));
    RIDGE_ASSIGN(m->weights_, WeightStore::load(m->file_, m->program(), m->lowered_, *m->team_,
                                                options.progress));
    if (options.vocabulary) {
        RIDGE_ASSIGN(Tokenizer ready, tokenizer.get());
        m->tokenizer_ = std::make_unique<Tokenizer>(std::move(ready));
    }
    m->options_ = std::move(options);
    return m;
}

uint64_t Model::bytes_per_token() const {
    uint64_t bytes = 0;
    for (const LoweredStep& s : lowered_.steps) bytes += s.cost.weight_bytes;
    return bytes;
}

}  // namespace ridge
