#include "format/gguf.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <new>

#include "format/gguf_impl.hpp"

namespace ridge {

namespace {

// "dir/name-00001-of-00003.gguf" taken apart; prefix is empty when the name is not of that form.
struct SplitName {
    std::string prefix;
    uint64_t number = 0;
    uint64_t count = 0;
};

SplitName split_name(const std::string& path) {
    constexpr std::string_view form = "-00000-of-00000.gguf";
    SplitName out;
    if (path.size() <= form.size()) return out;
    const std::string_view tail = std::string_view(path).substr(path.size() - form.size());
    for (size_t i = 0; i < form.size(); ++i)
        if (form[i] == '0' ? tail[i] < '0' || tail[i] > '9' : tail[i] != form[i]) return out;
    std::from_chars(tail.data() + 1, tail.data() + 6, out.number);
    std::from_chars(tail.data() + 10, tail.data() + 15, out.count);
    out.prefix = path.substr(0, path.size() - form.size());
    return out;
}

std::optional<uint64_t> find_uint(const gguf::Contents& contents, std::string_view key) {
    for (const auto& [name, value] : contents.values)
        if (name == key) return gguf::to_uint(value);
    return std::nullopt;
}

}  // namespace

GgufFile::GgufFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
GgufFile::GgufFile(GgufFile&&) noexcept = default;
GgufFile& GgufFile::operator=(GgufFile&&) noexcept = default;
GgufFile::~GgufFile() = default;

Result<GgufFile> GgufFile::open(const std::string& path) {
    try {
        return open_parts(path);
    } catch (const std::bad_alloc&) {
        return fail(ErrorCode::out_of_memory,
                    "There is not enough memory to read a model's tables.");
    }
}

Result<GgufFile> GgufFile::open_parts(const std::string& path) {
    auto impl = std::make_unique<Impl>();
    RIDGE_ASSIGN(auto first, MappedFile::open(path));
    RIDGE_ASSIGN(auto contents, gguf::parse(first));
    impl->parts.push_back(std::move(first));

    const uint64_t count = find_uint(contents, "split.count").value_or(1);
    if (count > 1) {
        const uint64_t number = find_uint(contents, "split.no").value_or(0);
        const SplitName name = split_name(path);
        if (number != 0)
            return fail(ErrorCode::invalid_argument,
                        fmt::format("'{}' is part {} of a model in {} parts; open its first part.",
                                    path, number + 1, count));
        if (name.prefix.empty() || name.number != 1 || name.count != count)
            return fail(ErrorCode::bad_file,
                        fmt::format("'{}' says it is the first of {} parts, but it is not named "
                                    "NAME-00001-of-{:05}.gguf; rename its parts.",
                                    path, count, count));
        if (count > gguf::max_parts)
            return fail(ErrorCode::unsupported,
                        fmt::format("'{}' has {} parts; ridge reads at most {}.", path, count,
                                    gguf::max_parts));
        for (uint64_t i = 1; i < count; ++i) {
            const std::string next =
                fmt::format("{}-{:05}-of-{:05}.gguf", name.prefix, i + 1, count);
            RIDGE_ASSIGN(auto file, MappedFile::open(next));
            RIDGE_ASSIGN(auto more, gguf::parse(file));
            if (find_uint(more, "split.no") != i || find_uint(more, "split.count") != count)
                return fail(ErrorCode::bad_file,
                            fmt::format("'{}' does not say that it is part {} of {} (split.no, "
                                        "split.count).",
                                        next, i + 1, count));
            std::move(more.tensors.begin(), more.tensors.end(),
                      std::back_inserter(contents.tensors));
            impl->parts.push_back(std::move(file));
        }
        const auto total = find_uint(contents, "split.tensors.count");
        if (total && *total != contents.tensors.size())
            return fail(ErrorCode::bad_file,
                        fmt::format("The parts of '{}' hold {} tensors, but split.tensors.count "
                                    "says {}.",
                                    path, contents.tensors.size(), *total));
    }

    impl->contents = std::move(contents);
    for (size_t i = 0; i < impl->contents.values.size(); ++i)
        impl->value_index.emplace(impl->contents.values[i].first, i);
    for (size_t i = 0; i < impl->contents.tensors.size(); ++i)
        if (!impl->tensor_index.emplace(impl->contents.tensors[i].name, i).second)
            return fail(ErrorCode::bad_file,
                        fmt::format("Tensor {} occurs in two parts of '{}'.",
                                    gguf::quoted(impl->contents.tensors[i].name), path));
    return GgufFile(std::move(impl));
}

std::span<const TensorInfo> GgufFile::tensors() const {
    return impl_->contents.tensors;
}

const TensorInfo* GgufFile::find(std::string_view name) const {
    const auto it = impl_->tensor_index.find(name);
    return it == impl_->tensor_index.end() ? nullptr : &impl_->contents.tensors[it->second];
}

uint32_t GgufFile::version() const {
    return impl_->contents.version;
}

uint64_t GgufFile::file_bytes() const {
    uint64_t bytes = 0;
    for (const MappedFile& part : impl_->parts) bytes += part.size();
    return bytes;
}

const std::string& GgufFile::path() const {
    return impl_->parts.front().path();
}

std::vector<std::string> GgufFile::paths() const {
    std::vector<std::string> out;
    for (const MappedFile& part : impl_->parts) out.push_back(part.path());
    return out;
}

Status GgufFile::read(const uint8_t* data, uint64_t bytes, uint8_t* to) const {
    for (const MappedFile& part : impl_->parts)
        if (part.contains(data)) return part.read(data, bytes, to);
    return impl_->parts.front().read(data, bytes, to);  // says that it is not there
}

}  // namespace ridge
