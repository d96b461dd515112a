// ProgramBuilder: the vocabulary in which an architecture file writes its program.
#pragma once

#include <list>
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
    std::list<std::string> names;  // of lists, whose moves do not allocate: they must not throw
    std::vector<Step> steps;
    std::vector<Buffer> buffers;
    std::vector<Weight> weights;
    std::vector<RopeTable> rope;
    std::list<std::vector<double>> rope_factors;  // what tables point to
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
    // As real_or, but 0 is allowed: caps and factors that are not used.
    Result<float> real_or_zero(const std::string& key, float fallback = 0.0f) const;
    const GgufFile& file() const { return file_; }
    // A string, or the fallback where the key is missing or none.
    std::string text_or(const std::string& name, const char* fallback) const;
    bool has_tensor(const std::string& name) const { return file_.find(name) != nullptr; }

    BufferId buffer(const char* name, uint32_t width);
    // Tensors of the file; the first missing or misshapen one is reported by finish().
    WeightId matrix(const std::string& name, uint32_t n, uint32_t k, uint32_t rope_head = 0);
    // Rows first .. first + n - 1 of a matrix of `rows` rows: several projections in one tensor.
    WeightId matrix_part(const std::string& name, uint32_t rows, uint32_t first, uint32_t n,
                         uint32_t k);
    WeightId vector(const std::string& name, uint32_t length, uint32_t rope_head = 0);
    WeightId vector_or_none(const std::string& name, uint32_t length, uint32_t rope_head = 0);
    WeightId embedding(const std::string& name, uint32_t vocab, uint32_t hidden);
    uint8_t rope_table(const RopeTable& table);
    // A copy of `factors` that lives as long as the program.
    const double* keep(std::vector<double> factors);
    // The n positive numbers of an F32 tensor that the file must have.
    Result<std::vector<double>> positive_values(const std::string& name, uint32_t n);

    void layer(int index) { layer_ = static_cast<int16_t>(index); }
    BufferId embed(WeightId w, float scale, uint32_t hidden);
    BufferId norm(BufferId x, WeightId w, float epsilon);
    BufferId product(BufferId x, WeightId w, const char* name, WeightId bias = no_id);
    void head_norm(BufferId x, WeightId w, float epsilon);
    void rope(BufferId x, uint8_t table);
    BufferId attention(BufferId q, BufferId k, BufferId v, float scale, uint32_t window,
                       float softcap = 0.0f);
    BufferId glu(Op op, BufferId gate, BufferId up);
    BufferId add(BufferId x, BufferId y);
    void softcap(BufferId x, float cap);
    void logits(BufferId x);

    Result<ModelProgram> finish(AttentionShape attention, uint32_t layers, uint32_t hidden,
                                uint32_t vocab, uint32_t context);

  private:
    std::string key(const std::string& name) const { return model_.architecture + "." + name; }
    WeightId add_weight(const std::string& name, uint32_t rows, const Weight& weight);
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
