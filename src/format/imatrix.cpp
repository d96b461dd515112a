#include "format/imatrix.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "base/cursor.hpp"
#include "base/mapped_file.hpp"
#include "format/gguf.hpp"
#include "format/gguf_types.hpp"

namespace ridge {

namespace {

using Entries = std::map<std::string, std::vector<float>, std::less<>>;
constexpr std::string_view sums_suffix = ".in_sum2", counts_suffix = ".counts";
constexpr uint32_t max_name_bytes = 1024;

tl::unexpected<Error> bad(const std::string& path, const std::string& what) {
    return fail(
        ErrorCode::bad_file,
        fmt::format("'{}' is not a usable importance matrix: {}; make it again.", path, what));
}

Status check(const std::string& path, std::string_view name, const std::vector<float>& values) {
    for (const float v : values)
        if (!(v >= 0.0f) || std::isinf(v))
            return bad(path,
                       fmt::format("{} has a value that is not a square", gguf::quoted(name)));
    return {};
}

std::vector<float> floats(const TensorInfo& tensor) {
    std::vector<float> out(tensor.elements());
    std::memcpy(out.data(), tensor.data, out.size() * sizeof(float));
    return out;
}

// Sums over all tokens divided by how many there were; the last dimensions are experts, each with a
// count of its own, and those that saw nothing count evenly.
Status read_gguf(const std::string& path, Entries& out) {
    RIDGE_ASSIGN(const auto file, GgufFile::open(path));
    for (const TensorInfo& tensor : file.tensors()) {
        if (!tensor.name.ends_with(sums_suffix)) continue;
        const std::string name = tensor.name.substr(0, tensor.name.size() - sums_suffix.size());
        const TensorInfo* counted = file.find(name + std::string(counts_suffix));
        if (counted == nullptr) return bad(path, gguf::quoted(name) + " has sums but no counts");
        if (tensor.type != DType::f32 || counted->type != DType::f32)
            return bad(path, gguf::quoted(name) + " is not of type F32");
        std::vector<float> values = floats(tensor);
        const std::vector<float> counts = floats(*counted);
        if (values.size() % counts.size() != 0)
            return bad(path, fmt::format("{} has {} sums and {} counts", gguf::quoted(name),
                                         values.size(), counts.size()));
        const size_t columns = values.size() / counts.size();
        for (size_t i = 0; i < values.size(); ++i) {
            const float count = std::nearbyint(counts[i / columns]);
            values[i] = count > 0.0f ? values[i] / count : 1.0f;
        }
        RIDGE_TRY(check(path, name, values));
        out.emplace(name, std::move(values));
    }
    if (out.empty()) return bad(path, "it has no tensor named *.in_sum2");
    return {};
}

// i32 entries; each: i32 length, name, i32 calls, i32 values, f32 values (the mean times calls).
Status read_binary(const std::string& path, const MappedFile& file, Entries& out) {
    Cursor cursor(file.data(), file.size());
    const auto truncated = [&] {
        return bad(path, fmt::format("it ends in the middle of an entry (near byte {} of {})",
                                     cursor.offset(), file.size()));
    };
    int32_t count = 0;
    if (!cursor.read(count) || count < 1 ||
        static_cast<uint64_t>(count) > cursor.remaining() / (3 * 4 + 1 + 4))
        return bad(path, "it is neither GGUF nor llama.cpp's older binary form");
    for (int32_t i = 0; i < count; ++i) {
        int32_t length = 0, calls = 0, n = 0;
        const uint8_t *name = nullptr, *data = nullptr;
        if (!cursor.read(length)) return truncated();
        if (length < 1 || static_cast<uint32_t>(length) > max_name_bytes)
            return bad(path, fmt::format("a name of {} bytes", length));
        if (!cursor.take(static_cast<uint64_t>(length), name) || !cursor.read(calls) ||
            !cursor.read(n))
            return truncated();
        if (n < 1 || !cursor.take(static_cast<uint64_t>(n) * sizeof(float), data))
            return truncated();
        std::vector<float> values(static_cast<size_t>(n));
        std::memcpy(values.data(), data, values.size() * sizeof(float));
        for (float& v : values)
            if (calls > 0) v /= static_cast<float>(calls);
        const std::string key(reinterpret_cast<const char*>(name), static_cast<size_t>(length));
        RIDGE_TRY(check(path, key, values));
        if (!out.emplace(key, std::move(values)).second)
            return bad(path, gguf::quoted(key) + " occurs twice");
    }
    return {};
}

}  // namespace

Result<ImportanceMatrix> ImportanceMatrix::open(const std::string& path) {
    ImportanceMatrix out;
    RIDGE_ASSIGN(const auto file, MappedFile::open(path));
    uint32_t magic = 0;
    if (file.size() >= sizeof magic) std::memcpy(&magic, file.data(), sizeof magic);
    if (magic == gguf::magic)
        RIDGE_TRY(read_gguf(path, out.entries_));
    else
        RIDGE_TRY(read_binary(path, file, out.entries_));
    return out;
}

const std::vector<float>* ImportanceMatrix::find(std::string_view tensor) const {
    const auto it = entries_.find(tensor);
    return it == entries_.end() ? nullptr : &it->second;
}

}  // namespace ridge
