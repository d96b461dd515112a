#include "format/convert.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <exception>
#include <filesystem>
#include <new>

#include "base/output_file.hpp"
#include "format/convert_shape.hpp"
#include "format/convert_vocab.hpp"
#include "format/dequantize.hpp"
#include "format/gguf_types.hpp"
#include "format/quantize_fit.hpp"
#include "format/row_meter.hpp"

namespace ridge {

namespace {

using convert::FolderTensor;
using convert::HfFolder;
using convert::ModelShape;
using convert::TensorTarget;

// The row (or element of a vector) of the folder that becomes row r: in heads whose halves rotate
// together, the pairs (j, j + half) become neighbours.
uint64_t source_row(uint64_t r, uint64_t head) {
    if (head == 0) return r;
    const uint64_t i = r % head;
    return r - i + (i % 2) * (head / 2) + i / 2;
}

Status read_row(const FolderTensor& from, uint64_t row, uint64_t k, std::vector<uint8_t>& encoded,
                float* out) {
    const size_t bytes = row_bytes(*from.tensor->type, k);
    encoded.resize(bytes);
    RIDGE_TRY(from.file->read(from.tensor->data + row * bytes, bytes, encoded.data()));
    dequantize(*from.tensor->type, encoded.data(), k, out);
    for (uint64_t i = 0; i < k; ++i)
        if (!std::isfinite(out[i]))
            return fail(ErrorCode::bad_file,
                        fmt::format("'{}' is damaged: row {} of {} has a weight that is not a "
                                    "finite number; get the file again.",
                                    from.file->path(), row, gguf::quoted(from.tensor->name)));
    return {};
}

GgufWriter::RowSource rows_of(FolderTensor from, const TensorTarget& target, DType type,
                              RowMeter& meter) {
    const auto& shape = from.tensor->shape;
    const uint64_t k = shape.back(), head = target.interleave_head;
    const bool vector = shape.size() == 1;
    return [=, add = target.add, &meter](uint64_t first, uint64_t count, uint8_t* to) -> Status {
        std::vector<uint8_t> encoded;
        std::vector<float> row(k), moved(vector && head > 0 ? k : 0);
        const size_t to_bytes = row_bytes(type, k);
        for (uint64_t r = first; r < first + count; ++r, to += to_bytes) {
            RIDGE_TRY(read_row(from, vector ? r : source_row(r, head), k, encoded, row.data()));
            if (vector && head > 0) {
                for (uint64_t i = 0; i < k; ++i) moved[i] = row[source_row(i, head)];
                row.swap(moved);
            }
            if (add != 0.0f)
                for (float& v : row) v += add;
            quantize_fit(type, row.data(), k, nullptr, to);  // the same type comes back exactly
            RIDGE_TRY(meter.add(k));
        }
        return {};
    };
}

struct Plan {
    FolderTensor from;
    TensorTarget target;
};

Result<std::vector<Plan>> plan(const HfFolder& folder, const ModelShape& shape, size_t& left_out) {
    std::vector<Plan> out;
    for (const auto& [name, from] : folder.tensors) {
        const auto target = convert::target_of(name, shape);
        if (!target)
            return fail(ErrorCode::unsupported,
                        fmt::format("'{}' holds {}, which a {} model of ridge does not have.",
                                    from.file->path(), gguf::quoted(name), shape.arch));
        if (target->name.empty()) {
            ++left_out;
            continue;
        }
        const auto& dims = from.tensor->shape;
        if (!from.tensor->type)
            return fail(ErrorCode::unsupported,
                        fmt::format("{} of '{}' is {}; ridge converts F32, F16 and BF16.",
                                    gguf::quoted(name), from.file->path(),
                                    gguf::quoted(from.tensor->type_name)));
        if (dims.empty() || dims.size() > 2 || from.tensor->bytes == 0)
            return fail(ErrorCode::bad_file, fmt::format("{} of '{}' is neither vector nor matrix.",
                                                         gguf::quoted(name), from.file->path()));
        if (target->interleave_head > 0 &&
            (dims[0] % target->interleave_head != 0 || target->interleave_head % 2 != 0))
            return fail(ErrorCode::bad_file,
                        fmt::format("{} of '{}' has {} rows, which is no number of heads of {}.",
                                    gguf::quoted(name), from.file->path(), dims[0],
                                    target->interleave_head));
        out.push_back({from, *target});
    }
    return out;
}

Result<ConvertReport> convert_checked(const std::string& path, const std::string& out,
                                      const ConvertOptions& options) {
    std::optional<DType> wanted;
    if (!options.type.empty()) {
        wanted = gguf::dtype_from_name(options.type);
        if (!wanted || (info(*wanted).block > 1 && *wanted != DType::q8_0))
            return fail(ErrorCode::invalid_argument,
                        fmt::format("{} is no type to convert to; choose F32, F16, BF16 or Q8_0, "
                                    "and quantize further with 'ridge quantize'.",
                                    gguf::quoted(options.type)));
    }
    RIDGE_ASSIGN(const HfFolder folder, HfFolder::open(path));
    RIDGE_TRY(no_input(out, folder.inputs()));
    GgufWriter writer;
    RIDGE_ASSIGN(const ModelShape shape, convert::set_parameters(folder, writer));
    std::filesystem::path named = std::filesystem::path(path).lexically_normal();
    if (!named.has_filename()) named = named.parent_path();
    writer.set("general.name", options.name.empty() ? named.filename().string() : options.name);
    convert::RopeFactors factors;
    RIDGE_TRY(convert::set_rope(folder, shape, writer, factors));

    ConvertReport report;
    RIDGE_ASSIGN(const auto plans, plan(folder, shape, report.left_out));
    const FolderTensor* embedding = nullptr;
    uint64_t weights = 0;
    for (const Plan& p : plans) {
        if (p.target.name == "token_embd.weight") embedding = &p.from;
        weights += p.from.tensor->bytes / info(*p.from.tensor->type).block_bytes;
    }
    if (embedding == nullptr || embedding->tensor->shape[0] > 1u << 24)
        return fail(ErrorCode::bad_file,
                    fmt::format("'{}' has no usable model.embed_tokens.weight.", path));
    const uint64_t vocabulary_size = embedding->tensor->shape[0];
    writer.set(shape.arch + ".vocab_size", static_cast<uint32_t>(vocabulary_size));
    RIDGE_ASSIGN(const auto vocabulary,
                 convert::read_vocabulary(folder, vocabulary_size, options.pre));
    RIDGE_TRY(convert::set_tokenizer(folder, vocabulary, writer));

    RowMeter meter(weights, options.progress);
    std::optional<DType> common;
    for (const Plan& p : plans) {
        const auto& dims = p.from.tensor->shape;
        DType type = wanted.value_or(*p.from.tensor->type);
        if (dims.size() == 1) type = DType::f32;
        if (dims.back() % info(type).block != 0) type = DType::f16;
        if (dims.size() == 2) common = type;
        RIDGE_TRY(writer.add_tensor(p.target.name, type, {dims.rbegin(), dims.rend()},
                                    rows_of(p.from, p.target, type, meter)));
        report.bytes += row_bytes(type, dims.back()) * (dims.size() == 2 ? dims[0] : 1);
    }
    constexpr std::pair<DType, uint32_t> file_types[] = {
        {DType::f32, 0}, {DType::f16, 1}, {DType::bf16, 32}, {DType::q8_0, 7}};
    for (const auto& [type, number] : file_types)
        if (common == type) writer.set("general.file_type", number);
    if (common == DType::q8_0) writer.set("general.quantization_version", uint32_t{2});
    report.architecture = shape.arch;
    report.tokenizer = vocabulary.model == "gpt2" ? "gpt2, " + vocabulary.pre : vocabulary.model;
    report.tensors = plans.size();
    RIDGE_TRY(writer.write(out, options.threads));
    return report;
}

}  // namespace

Result<ConvertReport> convert_folder(const std::string& folder, const std::string& out,
                                     const ConvertOptions& options) {
    try {
        return convert_checked(folder, out, options);
    } catch (const std::bad_alloc&) {
        return fail(ErrorCode::out_of_memory, "There is not enough memory to convert the model.");
    } catch (const std::exception& e) {  // of the JSON library
        return fail(ErrorCode::bad_file,
                    fmt::format("'{}' cannot be converted: {}.", folder, e.what()));
    }
}

}  // namespace ridge
