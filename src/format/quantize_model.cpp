#include "format/quantize_model.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "base/output_file.hpp"
#include "format/dequantize.hpp"
#include "format/gguf_types.hpp"
#include "format/gguf_writer.hpp"
#include "format/imatrix.hpp"
#include "format/quantize_fit.hpp"
#include "format/row_meter.hpp"

namespace ridge {

namespace {

// An opened model with what is to become of it.
struct Job {
    GgufFile file;
    QuantTargetInfo target;
    std::optional<ImportanceMatrix> importance;
    std::vector<PlannedTensor> plan;
    QuantizeReport report;
};

bool is_quantized(DType type) {
    return info(type).block > 1;
}

Result<const float*> importance_of(const Job& job, const TensorInfo& tensor) {
    if (!job.importance) return nullptr;
    const std::vector<float>* values = job.importance->find(tensor.name);
    if (values == nullptr) return nullptr;
    if (values->size() == tensor.dims[0]) return values->data();
    if (tensor.name == "token_embd.weight") return nullptr;  // counted by token, not by column
    return fail(ErrorCode::invalid_argument,
                fmt::format("The importance matrix has {} values for {}, which has {} columns; it "
                            "was made from another model.",
                            values->size(), gguf::quoted(tensor.name), tensor.dims[0]));
}

Result<Job> prepare(const std::string& in, const QuantizeOptions& options) {
    const auto target = find_quant_target(options.target);
    if (!target)
        return fail(ErrorCode::invalid_argument,
                    fmt::format("There is no type {}; choose one of {}.",
                                gguf::quoted(options.target), quant_targets()));
    RIDGE_ASSIGN(auto file, GgufFile::open(in));
    const std::string arch(file.get_string("general.architecture").value_or(""));
    if (file.get_uint(arch + ".expert_count").value_or(0) > 0)
        return fail(
            ErrorCode::unsupported,
            fmt::format("'{}' is a mixture of experts, which ridge does not quantize.", in));
    Job job{std::move(file), *target, std::nullopt, {}, {}};
    if (!options.importance.empty()) {
        RIDGE_ASSIGN(job.importance, ImportanceMatrix::open(options.importance));
    }
    job.plan = plan_quantization(job.file, *target, job.importance.has_value(), options.pure);
    for (const PlannedTensor& t : job.plan) {
        if (is_quantized(t.from->type) && t.type != t.from->type && is_quantized(t.type) &&
            !options.allow_requantize)
            return fail(ErrorCode::unsupported,
                        fmt::format("{} of '{}' is {} already, and quantizing again adds error to "
                                    "error; start from F32, F16 or BF16, or allow it "
                                    "(--allow-requantize).",
                                    gguf::quoted(t.from->name), in, name(t.from->type)));
        RIDGE_ASSIGN(const float* weighted, importance_of(job, *t.from));
        const bool changes = t.type != t.from->type;
        job.report.tensors.push_back({t.from->name, t.from->type, t.type, t.wanted, t.from->dims[0],
                                      changes && is_quantized(t.type) && weighted != nullptr});
        job.report.bytes_in += t.from->bytes;
        job.report.bytes_out += row_bytes(t.type, t.from->dims[0]) * t.from->rows();
        job.report.weights += t.from->elements();
    }
    return job;
}

GgufWriter::RowSource rows_of(const GgufFile& file, const PlannedTensor& t, const float* importance,
                              RowMeter& meter) {
    return [&file, &from = *t.from, type = t.type, importance, &meter](
               uint64_t first, uint64_t count, uint8_t* to) -> Status {
        const uint64_t k = from.dims[0];
        const size_t from_bytes = row_bytes(from.type, k), to_bytes = row_bytes(type, k);
        if (type == from.type) {
            RIDGE_TRY(file.read(from.data + first * from_bytes, count * from_bytes, to));
            return meter.add(count * k);
        }
        std::vector<uint8_t> encoded(from_bytes);
        std::vector<float> row(k);
        for (uint64_t r = first; r < first + count; ++r, to += to_bytes) {
            RIDGE_TRY(file.read(from.data + r * from_bytes, from_bytes, encoded.data()));
            dequantize(from.type, encoded.data(), k, row.data());
            for (const float v : row)
                if (!std::isfinite(v))
                    return fail(ErrorCode::bad_file,
                                fmt::format("'{}' is damaged: row {} of {} has a weight that is "
                                            "not a finite number; get the file again.",
                                            file.path(), r, gguf::quoted(from.name)));
            quantize_fit(type, row.data(), k, importance, to);
            RIDGE_TRY(meter.add(k));
        }
        return {};
    };
}

}  // namespace

Result<QuantizeReport> plan_model(const std::string& in, const QuantizeOptions& options) {
    RIDGE_ASSIGN(Job job, prepare(in, options));
    return std::move(job.report);
}

Result<QuantizeReport> quantize_model(const std::string& in, const std::string& out,
                                      const QuantizeOptions& options) {
    RIDGE_ASSIGN(Job job, prepare(in, options));
    std::vector<std::string> inputs = job.file.paths();
    inputs.push_back(options.importance);
    RIDGE_TRY(no_input(out, inputs));
    GgufWriter writer;
    for (const std::string& key : job.file.keys()) {
        if (key == "general.alignment" || key.starts_with("split.")) continue;
        const auto encoded = job.file.encoded_value(key);
        writer.set_encoded(key, {reinterpret_cast<const char*>(encoded.data()), encoded.size()});
    }
    writer.set("general.file_type", job.target.file_type);
    if (is_quantized(job.target.type)) writer.set("general.quantization_version", uint32_t{2});
    RowMeter meter(job.report.weights, options.progress);
    for (const PlannedTensor& t : job.plan) {
        RIDGE_ASSIGN(const float* importance, importance_of(job, *t.from));
        RIDGE_TRY(writer.add_tensor(t.from->name, t.type,
                                    {t.from->dims.begin(), t.from->dims.begin() + t.from->n_dims},
                                    rows_of(job.file, t, importance, meter)));
    }
    RIDGE_TRY(writer.write(out, options.threads));
    return std::move(job.report);
}

}  // namespace ridge
