#include "cli/inspect_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/cpu.hpp"
#include "runtime/core/exec.hpp"
#include "runtime/kv_cache.hpp"
#include "text/tokenizer.hpp"

namespace ridge::cli {
namespace {

// Error: the vocabulary's.
Result<uint64_t> tokenizer_bytes(const GgufFile& file) {
    RIDGE_ASSIGN(const VocabData vocab, read_vocab(file));
    RIDGE_ASSIGN(const Tokenizer tokenizer, Tokenizer::create(vocab));
    return tokenizer.memory_bytes();
}

struct WeightBytes {
    uint64_t packed = 0, tensors = 0, vectors = 0, table = 0;
};

// As WeightStore::load: each matrix once, however many steps read it; vectors as f32.
WeightBytes weight_bytes(const Inspection& in) {
    WeightBytes b;
    const Program& p = in.program.program;
    std::set<WeightId> seen;
    const auto vector = [&](WeightId id) {
        if (id != no_id && seen.insert(id).second) b.vectors += uint64_t{p.weights[id].k} * 4;
    };
    for (const LoweredStep& s : in.lowered.steps) {
        for (uint32_t i = 0; i < s.n_segments; ++i) {
            const Segment& g = s.segment[i];
            vector(g.bias_weight);
            if (!seen.insert(g.weight).second) continue;
            b.packed += uint64_t{segment_pairs(s, i)} * g.pair_bytes;
            const Weight& w = p.weights[g.weight];
            b.tensors += row_bytes(g.type, w.k) * w.n;
        }
        for (const WeightId id : {s.norm_weight, s.post_norm_weight, s.k_norm_weight}) vector(id);
        if (s.kind == StepKind::embed && !s.table_packed)
            b.table += in.file.find(p.weights[s.table_weight].name)->bytes;
    }
    return b;
}

}  // namespace

uint64_t Inspection::total_bytes() const {
    uint64_t sum = 0;
    for (const MemoryItem& m : memory) sum += m.bytes;
    return sum;
}

Result<Inspection> inspect_model(const EngineArgs& args) {
    RIDGE_ASSIGN(const ModelOptions options, model_options(args));
    RIDGE_ASSIGN(const std::string path, find_model(args.model));
    RIDGE_ASSIGN(GgufFile file, GgufFile::open(path));
    Inspection in(std::move(file));
    RIDGE_ASSIGN(in.program, build_program(in.file));
    RIDGE_ASSIGN(in.kernels, choose_kernels(options.kernels));
    const Program& p = in.program.program;
    LowerOptions lowering;
    lowering.max_rows = std::clamp<uint32_t>(options.chunk, 1, 8192);
    lowering.max_logits = std::clamp<uint32_t>(options.max_logits, 1, lowering.max_rows);
    lowering.f32_activations = options.f32_activations;
    lowering.kv = options.kv;
    RIDGE_ASSIGN(in.lowered, lower(p, in.file, in.kernels, lowering));
    const Lowered& lowered = in.lowered.lowered;
    in.kv = options.kv;
    in.f32_activations = options.f32_activations;
    in.threads = options.threads != 0 ? options.threads : physical_cores();
    in.context = args.context != 0 ? args.context : std::min<uint32_t>(p.context, 4096);

    KvOptions kv;
    kv.type = options.kv;
    kv.context = in.context;
    kv.max_rows = lowered.max_rows;
    RIDGE_ASSIGN(const KvCache cache, KvCache::create(lowered, kv));
    RIDGE_ASSIGN(const uint64_t tokenizer, tokenizer_bytes(in.file));
    const WeightBytes weights = weight_bytes(in);
    in.packed_bytes = weights.packed;
    in.packed_tensor_bytes = weights.tensors;
    const AttentionShape& a = p.attention;
    uint64_t rope = 0, tensors = 0;
    for (uint32_t t = 0; t < p.n_rope; ++t) rope += 4ull * p.rope[t].n_rot * in.context;
    for (const TensorInfo& t : in.file.tensors()) tensors += t.bytes;
    in.memory = {
        {"packed_weights", "packed weights", weights.packed},
        {"vectors", "norms and biases", weights.vectors},
        {"mapped_table", "embedding, mapped from the file", weights.table},
        {"mapped_metadata", "file's metadata, mapped", in.file.file_bytes() - tensors},
        {"tokenizer", "tokenizer", tokenizer},
        {"kv_cache", "KV cache", cache.bytes()},
        {"arena", "arena of activations", lowered.memory.arena_bytes},
        {"scratch", fmt::format("scratch of {} threads", in.threads),
         uint64_t{lowered.memory.scratch_bytes} * in.threads},
        {"partials", "partial attention results",
         4ull * partial_rows * a.heads * (cache.spans() + 1) * (kv_padded(a.head_dim) + 2)},
        {"rope", "RoPE tables", rope},
        {"history", "token ids and counters",
         4ull * in.context + uint64_t{lowered.n_steps} * (sizeof(StepCounter) * in.threads + 8)},
    };
    return in;
}

}  // namespace ridge::cli
