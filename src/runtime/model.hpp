// Model and Context: the engine as the rest of ridge uses it.
//
// A Model is a loaded file: program, lowered steps, packed weights, tokenizer. A Context runs it:
// KV cache, arena, sequences. One Context at a time uses a Model's thread team; a Context belongs
// to one caller at a time.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/thread_team.hpp"
#include "format/gguf.hpp"
#include "lower/lower.hpp"
#include "model/builder.hpp"
#include "runtime/kv_cache.hpp"
#include "runtime/rope_tables.hpp"
#include "runtime/weights.hpp"
#include "text/tokenizer.hpp"

namespace ridge {

struct ModelOptions {
    std::string kernels;           // set to force; empty = best for this machine
    bool f32_activations = false;  // oracle mode
    uint32_t threads = 0;          // size of the team; 0 = physical cores in the affinity mask
    uint32_t chunk = 512;          // rows of one pass
    uint32_t max_logits = 64;      // rows of one pass with logits
    KvType kv = KvType::bf16;
    bool vocabulary = true;  // false: load without a tokenizer
    bool hidden = false;     // Context::hidden() can be asked for: embeddings
    std::function<void(double)> progress;
};

class Model {
  public:
    static Result<std::unique_ptr<Model>> load(const std::string& path, ModelOptions options);

    const GgufFile& file() const { return file_; }
    const Program& program() const { return program_.program; }
    const std::string& architecture() const { return program_.architecture; }
    const Lowered& lowered() const { return lowered_.lowered; }
    const WeightStore& weights() const { return weights_; }
    const KernelChoice& kernels() const { return kernels_; }
    const ModelOptions& options() const { return options_; }
    const Tokenizer& tokenizer() const { return *tokenizer_; }
    ThreadTeam& team() { return *team_; }

    // Weight bytes that one decoded token reads.
    uint64_t bytes_per_token() const;

  private:
    explicit Model(GgufFile file) : file_(std::move(file)) {}

    GgufFile file_;
    ModelOptions options_;
    KernelChoice kernels_;
    ModelProgram program_;
    LoweredModel lowered_;
    WeightStore weights_;
    std::unique_ptr<Tokenizer> tokenizer_;
    std::unique_ptr<ThreadTeam> team_;
};

struct ContextOptions {
    uint32_t context = 0;  // positions a sequence may have; 0 = the model's, at most 4096
    uint32_t sequences = 1;
    uint32_t threads_prefill = 0;  // 0 = the team's
    uint32_t threads_decode = 0;
};

// One token of a pass.
struct Row {
    uint32_t sequence;
    int32_t token;
    bool logits;
};

class Context {
  public:
    static Result<std::unique_ptr<Context>> create(Model& model, const ContextOptions& options);

    // One pass over rows; rows of one sequence stand together and take its next positions. At most
    // max_rows rows and max_logits rows with logits. No sequence is changed where it fails. Does
    // not allocate. `stop` (may be empty) is asked after each of the model's steps, on any thread
    // of the team, one at a time: true gives the pass up. Errors: token or sequence out of range,
    // context full, too many rows; cancelled.
    Status pass(std::span<const Row> rows, const std::function<bool()>& stop = {});
    // Logits of the i-th row that asked for them in the last pass: vocabulary floats. May be
    // written to (samplers do), until the next pass.
    std::span<float> logits(uint32_t i);

    // The hidden state behind the final norm, `hidden` floats, of the i-th row of the last pass.
    // The model must have been loaded with ModelOptions::hidden. Errors: it was not; no such row.
    Status hidden(uint32_t i, std::span<float> out);

    // Appends tokens to a sequence in chunks of at most `chunk` (0 = the model's); logits of the
    // last one are then logits(0). `stop` is pass()'s: stopped, the sequence keeps the chunks that
    // were finished.
    Status prefill(uint32_t sequence, std::span<const int32_t> tokens, uint32_t chunk = 0,
                   const std::function<bool()>& stop = {});
    // Makes the sequence hold exactly `tokens`, keeping the longest prefix it already holds (at
    // least one token is computed, for its logits). Returns how many tokens were computed.
    Result<uint32_t> prompt(uint32_t sequence, std::span<const int32_t> tokens,
                            const std::function<bool()>& stop = {});

    uint32_t length(uint32_t sequence) const { return lengths_[sequence]; }
    std::span<const int32_t> tokens(uint32_t sequence) const;
    // Shortens a sequence to at most `length`; returns the new length, 0 where a window's ring has
    // lost what would be needed (the caller prefills again).
    uint32_t trim(uint32_t sequence, uint32_t length);

    // Makes sequence `to` hold the first `length` positions of `from` (a copy; what it held is
    // gone). Returns the length it has: `length` or all there are, 0 where a window's ring has lost
    // what would be needed. Error: no such sequence.
    Result<uint32_t> copy(uint32_t from, uint32_t to, uint32_t length);

    // A sequence's tokens and cache as bytes that load() of a context on the same model, with the
    // same cache type, takes back (state.cpp says how they are laid out). Errors of load: other
    // bytes than save's, another model, longer than this context; the sequence is then unchanged.
    Result<std::vector<uint8_t>> save(uint32_t sequence) const;
    Status load(uint32_t sequence, std::span<const uint8_t> state);

    uint32_t context() const { return cache_.options().context; }
    uint32_t sequences() const { return static_cast<uint32_t>(lengths_.size()); }
    const Model& model() const { return model_; }
    void set_threads(uint32_t prefill, uint32_t decode);
    uint32_t threads_decode() const { return threads_decode_; }
    uint32_t threads_prefill() const { return threads_prefill_; }
    void set_prefetch(size_t bytes) { exec_.prefetch_bytes = bytes; }

    // Time of each lowered step (nanoseconds, added up) while timing is on, and barriers passed.
    void set_timing(bool on);
    std::span<const uint64_t> step_ns() const { return step_ns_; }
    uint64_t barriers() const { return barriers_; }

    uint64_t cache_bytes() const { return cache_.bytes(); }
    uint64_t memory_bytes() const;  // arena, scratch, tables; without cache

    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

  private:
    friend struct ContextPeek;  // tests flip bits in what a context holds
    explicit Context(Model& model) : model_(model) {}
    Status check(std::span<const Row> rows);
    uint32_t threads_for(uint32_t rows) const;

    Model& model_;
    KvCache cache_;
    Exec exec_{};
    AlignedBuffer arena_, scratch_, partials_;
    RopeTables rope_;
    std::vector<StepCounter> counters_;
    std::vector<uint32_t> finished_;
    std::vector<int32_t> batch_tokens_;
    std::vector<uint32_t> run_of_, logit_rows_;
    std::vector<Run> runs_;
    std::vector<Row> rows_;
    std::vector<int32_t> history_;  // [sequence][context]
    std::vector<uint32_t> lengths_;
    std::vector<uint64_t> step_ns_;
    uint32_t pass_barriers_ = 0;
    uint64_t barriers_ = 0;
    uint32_t threads_prefill_ = 1, threads_decode_ = 1;
};

}  // namespace ridge
