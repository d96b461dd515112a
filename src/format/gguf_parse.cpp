#include "format/gguf_parse.hpp"

#include <fmt/format.h>

#include <bit>
#include <set>

#include "base/checked.hpp"
#include "base/cursor.hpp"

namespace ridge::gguf {

namespace {

// Smallest encodings, to bound counts by what remains: key length + 1 + type + 1 byte of value;
// name length + 1 + dimension count + one dimension + type + offset.
constexpr uint64_t min_value_bytes = 8 + 1 + 4 + 1;
constexpr uint64_t min_tensor_bytes = 8 + 1 + 4 + 8 + 4 + 8;

bool is_printable_ascii(std::string_view text) {
    for (const char c : text)
        if (c < 0x20 || c > 0x7e) return false;
    return true;
}

class Parser {
  public:
    explicit Parser(const MappedFile& file) : file_(file), cursor_(file.data(), file.size()) {}

    Result<Contents> run() {
        RIDGE_TRY(header());
        std::set<std::string_view> seen;  // no hash that names could be made to collide in
        for (uint64_t i = 0; i < n_values_; ++i) {
            std::string_view key;
            RIDGE_TRY(name(key, max_key_bytes, "metadata key"));
            Value value;
            value.encoded = cursor_.position();
            RIDGE_TRY(read_value(key, value));
            value.encoded_bytes = static_cast<uint64_t>(cursor_.position() - value.encoded);
            if (!seen.insert(key).second)
                return bad(fmt::format("metadata key {} occurs twice", quoted(key)));
            out_.values.emplace_back(key, value);
        }
        RIDGE_TRY(find_alignment());
        seen.clear();
        std::vector<uint64_t> offsets;
        for (uint64_t i = 0; i < n_tensors_; ++i) {
            std::string_view tensor_name;
            RIDGE_TRY(name(tensor_name, max_tensor_name_bytes, "tensor name"));
            if (!seen.insert(tensor_name).second)
                return bad(fmt::format("tensor {} occurs twice", quoted(tensor_name)));
            TensorInfo tensor;
            tensor.name = tensor_name;
            uint64_t offset = 0;
            RIDGE_TRY(read_tensor(tensor, offset));
            out_.tensors.push_back(std::move(tensor));
            offsets.push_back(offset);
        }
        RIDGE_TRY(place(offsets));
        return std::move(out_);
    }

  private:
    tl::unexpected<Error> bad(const std::string& what) const {
        return fail(ErrorCode::bad_file,
                    fmt::format("'{}' is damaged: {} (near byte {} of {}); get the file again.",
                                file_.path(), what, cursor_.offset(), file_.size()));
    }
    tl::unexpected<Error> truncated(const std::string& what) const {
        return fail(ErrorCode::bad_file,
                    fmt::format("'{}' is truncated: {} does not fit in its {} bytes; get the file "
                                "again.",
                                file_.path(), what, file_.size()));
    }
    tl::unexpected<Error> unsupported(const std::string& what) const {
        return fail(ErrorCode::unsupported, fmt::format("'{}': {}.", file_.path(), what));
    }

    Status header() {
        uint32_t found = 0;
        if (!cursor_.read(found) || found != magic)
            return fail(ErrorCode::bad_file,
                        fmt::format("'{}' is not a GGUF file: it does not start with \"GGUF\".",
                                    file_.path()));
        if (!cursor_.read(out_.version)) return truncated("the header");
        if (out_.version > 0xffff && (out_.version & 0xffff) == 0)
            return unsupported("big-endian GGUF is not supported, only little-endian");
        if (out_.version != 2 && out_.version != 3)
            return unsupported(fmt::format(
                "GGUF version {} is not supported, only versions 2 and 3", out_.version));
        if (!cursor_.read(n_tensors_) || !cursor_.read(n_values_)) return truncated("the header");
        if (n_values_ > cursor_.remaining() / min_value_bytes)
            return truncated(fmt::format("a table of {} metadata values", n_values_));
        if (n_tensors_ > cursor_.remaining() / min_tensor_bytes)
            return truncated(fmt::format("a table of {} tensors", n_tensors_));
        if (n_values_ > max_keys || n_tensors_ > max_tensors)
            return unsupported(fmt::format(
                "{} metadata values and {} tensors are more than ridge reads ({} and {})",
                n_values_, n_tensors_, max_keys, max_tensors));
        return {};
    }

    Status name(std::string_view& out, uint64_t limit, const char* kind) {
        uint64_t length = 0;
        if (!cursor_.read(length)) return truncated(fmt::format("a {}", kind));
        if (length == 0) return bad(fmt::format("an empty {}", kind));
        if (length > limit)
            return bad(fmt::format("a {} of {} bytes, more than {}", kind, length, limit));
        const uint8_t* bytes = nullptr;
        if (!cursor_.take(length, bytes)) return truncated(fmt::format("a {}", kind));
        out = std::string_view(reinterpret_cast<const char*>(bytes), length);
        if (!is_printable_ascii(out))
            return bad(fmt::format("{} {} is not printable ASCII", kind, quoted(out)));
        return {};
    }

    Status read_type(std::string_view key, ValueType& out) {
        uint32_t number = 0;
        if (!cursor_.read(number)) return truncated("metadata " + quoted(key));
        if (number >= static_cast<uint32_t>(ValueType::count_))
            return bad(fmt::format("metadata {} has the unknown type {}", quoted(key), number));
        out = static_cast<ValueType>(number);
        return {};
    }

    Status read_value(std::string_view key, Value& out) {
        RIDGE_TRY(read_type(key, out.type));
        if (out.type == ValueType::string) {
            if (!cursor_.read(out.count) || !cursor_.take(out.count, out.data))
                return truncated("metadata " + quoted(key));
            return {};
        }
        if (out.type != ValueType::array) {
            if (!cursor_.take(value_bytes(out.type), out.data))
                return truncated("metadata " + quoted(key));
            return out.type == ValueType::boolean ? check_booleans(key, out.data, 1) : Status{};
        }
        RIDGE_TRY(read_type(key, out.element));
        if (out.element == ValueType::array)
            return bad(fmt::format("metadata {} is an array of arrays", quoted(key)));
        if (!cursor_.read(out.count)) return truncated("metadata " + quoted(key));
        const bool strings = out.element == ValueType::string;
        const uint64_t smallest = strings ? 8 : value_bytes(out.element);
        if (out.count > cursor_.remaining() / smallest)
            return truncated(fmt::format("metadata {} with {} elements", quoted(key), out.count));
        if (!strings) {
            if (!cursor_.take(out.count * smallest, out.data))
                return truncated("metadata " + quoted(key));
            return out.element == ValueType::boolean ? check_booleans(key, out.data, out.count)
                                                     : Status{};
        }
        out.data = cursor_.position();
        for (uint64_t i = 0; i < out.count; ++i) {
            uint64_t length = 0;
            if (!cursor_.read(length) || !cursor_.skip(length))
                return truncated(fmt::format("string {} of metadata {}", i, quoted(key)));
        }
        return {};
    }

    Status check_booleans(std::string_view key, const uint8_t* data, uint64_t count) const {
        for (uint64_t i = 0; i < count; ++i)
            if (data[i] > 1)
                return bad(fmt::format("metadata {} has the truth value {}", quoted(key), data[i]));
        return {};
    }

    Status find_alignment() {
        for (const auto& [key, value] : out_.values) {
            if (key != "general.alignment") continue;
            const auto alignment = to_uint(value);
            if (!alignment || !std::has_single_bit(*alignment) || *alignment < min_alignment ||
                *alignment > max_alignment)
                return bad(fmt::format("general.alignment is not a power of two from {} to {}",
                                       min_alignment, max_alignment));
            alignment_ = *alignment;
        }
        return {};
    }

    Status read_tensor(TensorInfo& tensor, uint64_t& offset) {
        const auto label = [&] { return "tensor " + quoted(tensor.name); };
        if (!cursor_.read(tensor.n_dims)) return truncated("the entry of " + label());
        if (tensor.n_dims < 1 || tensor.n_dims > 4)
            return bad(fmt::format("{} has {} dimensions, not 1 to 4", label(), tensor.n_dims));
        uint64_t elements = 1;
        for (uint32_t d = 0; d < tensor.n_dims; ++d) {
            if (!cursor_.read(tensor.dims[d])) return truncated("the entry of " + label());
            if (tensor.dims[d] == 0) return bad(fmt::format("dimension {} of {} is 0", d, label()));
            if (!checked_mul(elements, tensor.dims[d], elements) || elements > INT64_MAX)
                return bad(label() + " has more than 2^63 weights");
        }
        uint32_t number = 0;
        if (!cursor_.read(number) || !cursor_.read(offset))
            return truncated("the entry of " + label());
        const auto type = dtype_from_ggml(number);
        if (!type)
            return unsupported(
                fmt::format("{} has the type {} (number {}), which is not supported; "
                            "supported are {}",
                            label(), ggml_type_name(number), number, supported_types()));
        tensor.type = *type;
        const DTypeInfo& format = info(*type);
        if (tensor.dims[0] % format.block != 0)
            return bad(fmt::format("{} has rows of {} weights, not a multiple of {}'s block of {}",
                                   label(), tensor.dims[0], format.name, format.block));
        if (!checked_mul(elements / format.block, format.block_bytes, tensor.bytes))
            return bad(label() + " is larger than 2^64 bytes");
        if (offset % alignment_ != 0)
            return bad(fmt::format("the offset {} of {} is not a multiple of the alignment {}",
                                   offset, label(), alignment_));
        return {};
    }

    // Turns offsets within the data section into pointers.
    Status place(const std::vector<uint64_t>& offsets) {
        uint64_t section = 0;
        if (!checked_align(cursor_.offset(), alignment_, section)) return bad("no data section");
        for (size_t i = 0; i < offsets.size(); ++i) {
            TensorInfo& tensor = out_.tensors[i];
            uint64_t start = 0, end = 0;
            if (!checked_add(section, offsets[i], start) ||
                !checked_add(start, tensor.bytes, end) || end > file_.size())
                return truncated(fmt::format("tensor {} ({} bytes at {} of the data section)",
                                             quoted(tensor.name), tensor.bytes, offsets[i]));
            tensor.data = file_.data() + start;
        }
        return {};
    }

    const MappedFile& file_;
    Cursor cursor_;
    Contents out_;
    uint64_t n_values_ = 0;
    uint64_t n_tensors_ = 0;
    uint64_t alignment_ = default_alignment;
};

}  // namespace

Result<Contents> parse(const MappedFile& file) {
    return Parser(file).run();
}

}  // namespace ridge::gguf
