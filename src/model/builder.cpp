#include "model/builder.hpp"

#include <cmath>
#include <cstring>
#include <utility>

namespace ridge {

ProgramBuilder::ProgramBuilder(const GgufFile& file, std::string architecture) : file_(file) {
    model_.architecture = std::move(architecture);
}

Result<uint32_t> ProgramBuilder::uint(const std::string& name, uint32_t low, uint32_t high) const {
    const auto value = file_.get_uint(key(name));
    if (!value)
        return fail(ErrorCode::bad_file, file_.path() + ": metadata key '" + key(name) +
                                             "' is missing or not a whole number; the file does "
                                             "not describe a complete model");
    if (*value < low || *value > high)
        return fail(ErrorCode::bad_file, file_.path() + ": '" + key(name) + "' is " +
                                             std::to_string(*value) + ", outside " +
                                             std::to_string(low) + " to " + std::to_string(high));
    return static_cast<uint32_t>(*value);
}

Result<uint32_t> ProgramBuilder::uint_or(const std::string& name, uint32_t fallback, uint32_t low,
                                         uint32_t high) const {
    if (!file_.has(key(name))) return fallback;
    return uint(name, low, high);
}

Result<float> ProgramBuilder::real_or(const std::string& name, float fallback) const {
    if (!file_.has(key(name))) return fallback;
    const auto value = file_.get_float(key(name));
    if (!value || !std::isfinite(*value) || *value <= 0.0 || *value > 1e12)
        return fail(ErrorCode::bad_file,
                    file_.path() + ": '" + key(name) + "' must be a positive finite number");
    return static_cast<float>(*value);
}

Result<float> ProgramBuilder::real_or_zero(const std::string& name, float fallback) const {
    const auto value = file_.get_float(key(name));
    if (value && *value == 0.0) return 0.0f;
    return real_or(name, fallback);
}

std::string ProgramBuilder::text_or(const std::string& name, const char* fallback) const {
    return std::string(file_.get_string(key(name)).value_or(fallback));
}

BufferId ProgramBuilder::buffer(const char* name, uint32_t width) {
    model_.buffers.push_back({name, width});
    return static_cast<BufferId>(model_.buffers.size() - 1);
}

WeightId ProgramBuilder::add_weight(const std::string& name, uint32_t rows, const Weight& weight) {
    const TensorInfo* t = file_.find(name);
    used_.insert(name);
    const uint32_t k = weight.k;
    const bool one_row = weight.kind == WeightKind::vector;
    if (t == nullptr || t->n_dims > 2 || t->dims[0] != k || t->rows() != rows) {
        if (!failed_) {
            failed_ = true;
            const std::string want =
                one_row ? "[" + std::to_string(k) + "]"
                        : "[" + std::to_string(k) + ", " + std::to_string(rows) + "]";
            std::string what = "is missing";
            if (t != nullptr) {
                what = "has shape [" + std::to_string(t->dims[0]);
                for (uint32_t d = 1; d < t->n_dims; ++d) what += ", " + std::to_string(t->dims[d]);
                what += "]";
            }
            error_ = {ErrorCode::bad_file, file_.path() + ": tensor '" + name + "' " + what +
                                               "; the architecture '" + model_.architecture +
                                               "' with this metadata needs " + want};
        }
        return no_id;
    }
    if (one_row && t->type != DType::f32 && !failed_) {
        failed_ = true;
        error_ = {ErrorCode::unsupported, file_.path() + ": tensor '" + name + "' is " +
                                              ridge::name(t->type) +
                                              "; norms and biases must be F32"};
    }
    model_.names.push_back(name);
    model_.weights.push_back(weight);
    model_.weights.back().name = model_.names.back().c_str();
    return static_cast<WeightId>(model_.weights.size() - 1);
}

WeightId ProgramBuilder::matrix(const std::string& name, uint32_t n, uint32_t k,
                                uint32_t rope_head) {
    return add_weight(name, n, {nullptr, WeightKind::matrix, n, k, rope_head});
}
WeightId ProgramBuilder::matrix_part(const std::string& name, uint32_t rows, uint32_t first,
                                     uint32_t n, uint32_t k) {
    return add_weight(name, rows, {nullptr, WeightKind::matrix, n, k, 0, first});
}
WeightId ProgramBuilder::vector(const std::string& name, uint32_t length, uint32_t rope_head) {
    return add_weight(name, 1, {nullptr, WeightKind::vector, 1, length, rope_head});
}
WeightId ProgramBuilder::vector_or_none(const std::string& name, uint32_t length,
                                        uint32_t rope_head) {
    return has_tensor(name) ? vector(name, length, rope_head) : no_id;
}
WeightId ProgramBuilder::embedding(const std::string& name, uint32_t vocab, uint32_t hidden) {
    return add_weight(name, vocab, {nullptr, WeightKind::embedding, vocab, hidden, 0});
}

uint8_t ProgramBuilder::rope_table(const RopeTable& table) {
    model_.rope.push_back(table);
    return static_cast<uint8_t>(model_.rope.size() - 1);
}

const double* ProgramBuilder::keep(std::vector<double> factors) {
    model_.rope_factors.push_back(std::move(factors));
    return model_.rope_factors.back().data();
}

Result<std::vector<double>> ProgramBuilder::positive_values(const std::string& name, uint32_t n) {
    const TensorInfo* t = file_.find(name);
    used_.insert(name);
    const auto bad = [&](const std::string& what) {
        return fail(ErrorCode::bad_file, file_.path() + ": tensor '" + name + "' " + what + "; '" +
                                             model_.architecture + "' needs " + std::to_string(n) +
                                             " positive F32 numbers there");
    };
    if (t == nullptr) return bad("is missing");
    if (t->type != DType::f32) return bad(std::string("is ") + ridge::name(t->type));
    if (t->elements() != n) return bad("has " + std::to_string(t->elements()) + " elements");
    std::vector<double> values(n);
    for (uint32_t i = 0; i < n; ++i) {
        float v = 0.0f;
        std::memcpy(&v, t->data + i * sizeof(float), sizeof(float));
        if (!(v > 0.0f) || !std::isfinite(v)) return bad("holds a number that is not positive");
        values[i] = static_cast<double>(v);
    }
    return values;
}

Step& ProgramBuilder::push(Op op, BufferId in0, BufferId out) {
    model_.steps.push_back({op, layer_, in0, no_id, no_id, out, no_id, no_id, 0.0f, 0, 0, 0.0f});
    return model_.steps.back();
}

namespace {
uint32_t width_of(const ModelProgram& m, BufferId id) {
    return m.buffers[static_cast<size_t>(id)].width;
}
}  // namespace

BufferId ProgramBuilder::embed(WeightId w, float scale, uint32_t hidden) {
    const BufferId out = buffer("x", hidden);
    Step& s = push(Op::embed, no_id, out);
    s.weight = w;
    s.value = scale;
    return out;
}

BufferId ProgramBuilder::norm(BufferId x, WeightId w, float epsilon) {
    const BufferId out = buffer("normed", width_of(model_, x));
    Step& s = push(Op::norm, x, out);
    s.weight = w;
    s.value = epsilon;
    return out;
}

BufferId ProgramBuilder::product(BufferId x, WeightId w, const char* name, WeightId bias) {
    const BufferId out = buffer(name, w == no_id ? 1 : model_.weights[static_cast<size_t>(w)].n);
    Step& s = push(Op::product, x, out);
    s.weight = w;
    s.bias = bias;
    return out;
}

void ProgramBuilder::head_norm(BufferId x, WeightId w, float epsilon) {
    Step& s = push(Op::head_norm, x, x);
    s.weight = w;
    s.value = epsilon;
}

void ProgramBuilder::rope(BufferId x, uint8_t table) {
    push(Op::rope, x, x).table = table;
}

BufferId ProgramBuilder::attention(BufferId q, BufferId k, BufferId v, float scale, uint32_t window,
                                   float softcap) {
    const BufferId out = buffer("attention", width_of(model_, q));
    Step& s = push(Op::attention, q, out);
    s.in1 = k;
    s.in2 = v;
    s.value = scale;
    s.window = window;
    s.softcap = softcap;
    return out;
}

BufferId ProgramBuilder::glu(Op op, BufferId gate, BufferId up) {
    const BufferId out = buffer("gated", width_of(model_, gate));
    push(op, gate, out).in1 = up;
    return out;
}

BufferId ProgramBuilder::add(BufferId x, BufferId y) {
    const BufferId out = buffer("x", width_of(model_, x));
    push(Op::add, x, out).in1 = y;
    return out;
}

void ProgramBuilder::softcap(BufferId x, float cap) {
    push(Op::softcap, x, x).value = cap;
}

void ProgramBuilder::logits(BufferId x) {
    push(Op::logits, x, x);
}

Result<ModelProgram> ProgramBuilder::finish(AttentionShape attention, uint32_t layers,
                                            uint32_t hidden, uint32_t vocab, uint32_t context) {
    if (failed_) return tl::unexpected<Error>(error_);
    // A tensor left over means arithmetic that this program does not do: its text would be wrong.
    for (const TensorInfo& t : file_.tensors())
        if (used_.count(t.name) == 0)
            return fail(ErrorCode::unsupported,
                        file_.path() + ": tensor '" + t.name +
                            "' has no place in the architecture '" + model_.architecture +
                            "' as ridge knows it with " + std::to_string(layers) +
                            " layers; the model would not compute rightly");
    ModelProgram& m = model_;
    m.program = {m.steps.data(),   static_cast<uint32_t>(m.steps.size()),
                 m.buffers.data(), static_cast<uint32_t>(m.buffers.size()),
                 m.weights.data(), static_cast<uint32_t>(m.weights.size()),
                 m.rope.data(),    static_cast<uint32_t>(m.rope.size()),
                 attention,        layers,
                 hidden,           vocab,
                 context};
    return std::move(model_);
}

}  // namespace ridge
