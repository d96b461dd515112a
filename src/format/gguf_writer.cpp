#include "format/gguf_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>

#include "base/checked.hpp"
#include "base/output_file.hpp"

namespace ridge {

namespace {

constexpr uint64_t chunk_bytes = 1u << 20;  // of a tensor, produced and written at a time

struct Chunk {
    size_t tensor;
    uint64_t first, count;  // rows
    uint64_t offset;        // in the file
};

uint64_t aligned(uint64_t n) {
    return (n + gguf::default_alignment - 1) / gguf::default_alignment * gguf::default_alignment;
}

}  // namespace

std::string GgufWriter::type_bytes(gguf::ValueType type) {
    std::string out;
    append(out, static_cast<uint32_t>(type));
    return out;
}

std::string GgufWriter::array_bytes(gguf::ValueType element, uint64_t count) {
    std::string out = type_bytes(gguf::ValueType::array) + type_bytes(element);
    append(out, count);
    return out;
}

void GgufWriter::set_encoded(std::string_view key, std::string encoded) {
    for (auto& [name, value] : values_)
        if (name == key) {
            value = std::move(encoded);
            return;
        }
    values_.emplace_back(key, std::move(encoded));
}

void GgufWriter::set(std::string_view key, std::string_view value) {
    std::string encoded = type_bytes(gguf::ValueType::string);
    append(encoded, static_cast<uint64_t>(value.size()));
    set_encoded(key, encoded.append(value));
}

void GgufWriter::set_bools(std::string_view key, std::span<const uint8_t> values) {
    std::string encoded = array_bytes(gguf::ValueType::boolean, values.size());
    for (const uint8_t v : values) encoded += v != 0 ? '\1' : '\0';
    set_encoded(key, std::move(encoded));
}

void GgufWriter::set_strings(std::string_view key, std::span<const std::string> values) {
    std::string encoded = array_bytes(gguf::ValueType::string, values.size());
    for (const std::string& s : values) {
        append(encoded, static_cast<uint64_t>(s.size()));
        encoded += s;
    }
    set_encoded(key, std::move(encoded));
}

Status GgufWriter::add_tensor(std::string_view name, DType type, std::vector<uint64_t> dims,
                              RowSource source) {
    const auto bad = [&](const char* what) {
        return fail(ErrorCode::invalid_argument,
                    fmt::format("Tensor {} {}.", gguf::quoted(name), what));
    };
    if (name.empty() || name.size() > gguf::max_tensor_name_bytes) return bad("has an unfit name");
    if (dims.empty() || dims.size() > 4) return bad("must have 1 to 4 dimensions");
    if (names_.contains(name)) return bad("is added twice");
    if (dims[0] % info(type).block != 0)
        return bad("has rows that its type's block does not divide");
    uint64_t rows = 1;
    uint64_t bytes = 0;
    for (size_t d = 1; d < dims.size(); ++d)
        if (!checked_mul(rows, dims[d], rows)) return bad("is too large");
    if (dims[0] == 0 || rows == 0) return bad("has a dimension of 0");
    if (!checked_mul(row_bytes(type, dims[0]), rows, bytes) || bytes > INT64_MAX)
        return bad("is too large");
    names_.emplace(name);
    tensors_.push_back({std::string(name), type, std::move(dims), rows, bytes, std::move(source)});
    return {};
}

Status GgufWriter::add_tensor(std::string_view name, DType type, std::vector<uint64_t> dims,
                              const void* data) {
    const size_t row = dims.empty() ? 0 : row_bytes(type, dims[0]);
    const auto* bytes = static_cast<const uint8_t*>(data);
    return add_tensor(name, type, std::move(dims),
                      [row, bytes](uint64_t first, uint64_t count, uint8_t* out) -> Status {
                          std::memcpy(out, bytes + first * row, count * row);
                          return {};
                      });
}

std::string GgufWriter::header() const {
    std::string out;
    append(out, gguf::magic);
    append(out, uint32_t{3});
    append(out, static_cast<uint64_t>(tensors_.size()));
    append(out, static_cast<uint64_t>(values_.size()));
    for (const auto& [key, encoded] : values_) {
        append(out, static_cast<uint64_t>(key.size()));
        out.append(key).append(encoded);
    }
    uint64_t offset = 0;
    for (const Tensor& tensor : tensors_) {
        append(out, static_cast<uint64_t>(tensor.name.size()));
        out += tensor.name;
        append(out, static_cast<uint32_t>(tensor.dims.size()));
        for (const uint64_t d : tensor.dims) append(out, d);
        append(out, info(tensor.type).ggml_type);
        append(out, offset);
        offset += aligned(tensor.bytes);
    }
    out.resize(aligned(out.size()));
    return out;
}

Status GgufWriter::write(const std::string& path, unsigned threads) const {
    RIDGE_ASSIGN(OutputFile file, OutputFile::create(path));
    const std::string head = header();
    RIDGE_TRY(file.write_at(head.data(), head.size(), 0));

    std::vector<Chunk> chunks;
    uint64_t offset = head.size(), largest = 0;
    for (size_t t = 0; t < tensors_.size(); ++t) {
        const uint64_t row = tensors_[t].bytes / tensors_[t].rows;
        const uint64_t step = std::max<uint64_t>(1, chunk_bytes / row);
        for (uint64_t first = 0; first < tensors_[t].rows; first += step) {
            const uint64_t count = std::min(step, tensors_[t].rows - first);
            chunks.push_back({t, first, count, offset + first * row});
            largest = std::max(largest, count * row);
        }
        offset += aligned(tensors_[t].bytes);
    }
    RIDGE_TRY(file.resize(offset));  // also zeroes the padding

    std::atomic<size_t> next{0};
    std::mutex lock;
    Status result;
    const auto work = [&](uint8_t* buffer) {
        for (size_t i = next++; i < chunks.size(); i = next++) {
            const Chunk& chunk = chunks[i];
            const Tensor& tensor = tensors_[chunk.tensor];
            Status done = tensor.source(chunk.first, chunk.count, buffer);
            if (done)
                done =
                    file.write_at(buffer, chunk.count * (tensor.bytes / tensor.rows), chunk.offset);
            if (!done) {
                const std::lock_guard guard(lock);
                if (result) result = std::move(done);
                next = chunks.size();
            }
        }
    };
    threads = std::clamp(threads, 1u, 64u);
    const auto buffers = std::make_unique<uint8_t[]>(largest * threads);
    {
        std::vector<std::jthread> helpers;
        for (unsigned i = 1; i < threads; ++i) helpers.emplace_back(work, &buffers[largest * i]);
        work(buffers.get());
    }
    RIDGE_TRY(std::move(result));
    return file.commit();
}

}  // namespace ridge
