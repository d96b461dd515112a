// ProgramBuilder: the vocabulary in which an architecture file writes its program.
#pragma once

#include <deque>
#include <set>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "format/gguf.hpp"
#include "program/program.hpp"

namespace ridge {

// Owns what a Program points to. Movable, not copyable.
struct ModelProgram {
    std::string architecture;
    std::deque<std::string> names;
    std::vector<Step> steps;
    std::vector<Buffer> buffers;
    std::vector<Weight> weights;
    std::vector<RopeTable> rope;
    Program program{};

    ModelProgram() = default;
    ModelProgram(ModelProgram&&) noexcept = default;
    ModelProgram& operator=(ModelProgram&&) noexcept = default;
    ~ModelProgram() = default;
};

class ProgramBuilder {
  public:
    ProgramBuilder(const GgufFile& file, std::string architecture);

    // Hyper-parameters: <architecture>.<key>. Errors name the key.
    Result<uint32_t> uint(const std::string& key, uint32_t low, uint32_t high) const;
    Result<uint32_t> uint_or(const std::string& key, uint32_t fallback, uint32_t low,
                             uint32_t high) const;
    Result<float> real_or(const std::string& key, float fallback) const;
    bool has_tensor(const std::string& name) const { return file_.find(name) != nullptr; }

    BufferId buffer(const char* name, uint32_t width);
    // Tensors of the file; the first missing or misshapen one is reported by finish().
    WeightId matrix(const std::string& name, uint32_t n, uint32_t k, uint32_t rope_head = 0);
    WeightId vector(const std::string& name, uint32_t length, uint32_t rope_head = 0);
    WeightId vector_or_none(const std::string& name, uint32_t length, uint32_t rope_head = 0);
    WeightId embedding(const std::string& name, uint32_t vocab, uint32_t hidden);
    uint8_t rope_table(uint32_t n_rot, double base, double frequency_scale);

    void layer(int index) { layer_ = static_cast<int16_t>(index); }
    BufferId embed(WeightId w, float scale, uint32_t hidden);
    BufferId norm(BufferId x, WeightId w, float epsilon);
    BufferId product(BufferId x, WeightId w, const char* name, WeightId bias = no_id);
    void head_norm(BufferId x, WeightId w, float epsilon);
    void rope(BufferId x, uint8_t table);
    BufferId attention(BufferId q, BufferId k, BufferId v, float scale, uint32_t window);
    BufferId glu(Op op, BufferId gate, BufferId up);
    BufferId add(BufferId x, BufferId y);
    void softcap(BufferId x, float cap);
    void logits(BufferId x);

    Result<ModelProgram> finish(AttentionShape attention, uint32_t layers, uint32_t hidden,
                                uint32_t vocab, uint32_t context);

  private:
    std::string key(const std::string& name) const { return model_.architecture + "." + name; }
    WeightId add_weight(const std::string& name, WeightKind kind, uint32_t n, uint32_t k,
                        uint32_t rope_head);
    Step& push(Op op, BufferId in0, BufferId out);

    const GgufFile& file_;
    std::set<std::string> used_;  // tensors some step reads
    ModelProgram model_;
    Error error_;
    bool failed_ = false;
    int16_t layer_ = -1;
};

// The program of the file's architecture. Errors: unsupported architecture (named, with the list
// of those supported), missing or misshapen tensors, hyper-parameters out of range.
Result<ModelProgram> build_program(const GgufFile& file);

// Architectures build_program knows, comma separated.
std::string supported_architectures();

}  // namespace ridge
