#include "format/safetensors.hpp"

#include <fmt/format.h>

#include <cstring>
#include <exception>
#include <new>
#include <nlohmann/json.hpp>
#include <set>

#include "base/checked.hpp"
#include "format/gguf_types.hpp"

namespace ridge {

namespace {

using nlohmann::json;

struct Entry {
    std::string name, dtype;
    std::vector<uint64_t> shape, offsets;
    bool has_shape = false;
};

// Bits of one element; 0 for types that the format does not have.
unsigned bits_of(std::string_view dtype) {
    struct Known {
        std::string_view name;
        unsigned bits;
    };
    constexpr Known known[] = {{"F64", 64}, {"I64", 64},    {"U64", 64},    {"F32", 32},
                               {"I32", 32}, {"U32", 32},    {"F16", 16},    {"BF16", 16},
                               {"I16", 16}, {"U16", 16},    {"I8", 8},      {"U8", 8},
                               {"BOOL", 8}, {"F8_E4M3", 8}, {"F8_E5M2", 8}, {"F8_E8M0", 8},
                               {"F4", 4},   {"F6_E2M3", 6}, {"F6_E3M2", 6}};
    for (const Known& k : known)
        if (k.name == dtype) return k.bits;
    return 0;
}

std::optional<DType> dtype_of(std::string_view name) {
    if (name == "F32") return DType::f32;
    if (name == "F16") return DType::f16;
    if (name == "BF16") return DType::bf16;
    return std::nullopt;
}

// Takes the header's events: {"name": {"dtype": s, "shape": [n], "data_offsets": [n, n]}} and
// {"__metadata__": {s: s}}. Stops at whatever is not of that form.
class HeaderReader : public nlohmann::json_sax<json> {
  public:
    std::vector<Entry> entries;
    std::string wrong;  // what stopped it

    bool start_object(size_t) override {
        if (depth_ >= 2 || in_array_) return stop("an object inside an entry");
        ++depth_;
        return true;
    }
    bool end_object() override {
        --depth_;
        if (depth_ == 1 && !metadata_) return finish();
        return true;
    }
    bool key(std::string& text) override {
        key_ = text;
        if (depth_ != 1) return true;
        metadata_ = text == "__metadata__";
        if (!names_.insert(text).second) return stop("the entry " + gguf::quoted(text) + " twice");
        if (!metadata_) {
            entries.emplace_back();
            entries.back().name = text;
        }
        return true;
    }
    bool string(std::string& text) override {
        if (depth_ != 2 || in_array_) return stop("text where an entry should be");
        if (!metadata_ && key_ == "dtype") entries.back().dtype = text;
        return true;
    }
    bool start_array(size_t) override {
        if (depth_ != 2 || metadata_ || in_array_ || (key_ != "shape" && key_ != "data_offsets"))
            return stop("a list where none should be");
        in_array_ = true;
        if (key_ == "shape") entries.back().has_shape = true;
        return true;
    }
    bool end_array() override {
        in_array_ = false;
        return true;
    }
    bool number_unsigned(uint64_t value) override {
        if (!in_array_) return stop("a number where none should be");
        std::vector<uint64_t>& list =
            key_ == "shape" ? entries.back().shape : entries.back().offsets;
        if (list.size() >= max_safetensors_dims) return stop("a list of too many numbers");
        list.push_back(value);
        return true;
    }
    bool number_integer(int64_t) override { return stop("a negative number"); }
    bool number_float(double, const std::string&) override { return stop("a fraction"); }
    bool null() override { return stop("a null"); }
    bool boolean(bool) override { return stop("a truth value"); }
    bool binary(binary_t&) override { return stop("binary data"); }
    bool parse_error(size_t position, const std::string&,
                     const nlohmann::detail::exception&) override {
        return stop(fmt::format("no JSON at byte {} of it", position));
    }

  private:
    bool stop(std::string what) {
        wrong = std::move(what);
        return false;
    }
    bool finish() {
        const Entry& e = entries.back();
        if (e.dtype.empty() || !e.has_shape || e.offsets.size() != 2)
            return stop("an incomplete entry " + gguf::quoted(e.name));
        return true;
    }

    int depth_ = 0;
    bool in_array_ = false, metadata_ = false;
    std::string key_;
    std::set<std::string> names_;
};

}  // namespace

Result<SafetensorsFile> SafetensorsFile::open_checked(const std::string& path) {
    RIDGE_ASSIGN(auto mapped, MappedFile::open(path));
    SafetensorsFile out(std::move(mapped));
    const MappedFile& file = out.file_;
    const auto bad = [&](const std::string& what) {
        return fail(
            ErrorCode::bad_file,
            fmt::format("'{}' is no usable safetensors file: {}; get it again.", path, what));
    };
    uint64_t length = 0;
    if (file.size() < sizeof length) return bad("it is shorter than its first field");
    std::memcpy(&length, file.data(), sizeof length);
    if (length > file.size() - sizeof length)
        return bad(
            fmt::format("a header of {} bytes does not fit in its {} bytes", length, file.size()));
    if (length > max_safetensors_header)
        return fail(ErrorCode::unsupported,
                    fmt::format("'{}' has a header of {} bytes; ridge reads at most {}.", path,
                                length, max_safetensors_header));
    const char* header = reinterpret_cast<const char*>(file.data()) + sizeof length;
    HeaderReader reader;
    if (length == 0 || header[0] != '{') return bad("its header is no JSON object");
    if (!json::sax_parse(header, header + length, &reader))
        return bad("its header has " + reader.wrong);

    const uint64_t start = sizeof length + length, room = file.size() - start;
    for (Entry& e : reader.entries) {
        const unsigned bits = bits_of(e.dtype);
        if (bits == 0)
            return bad(gguf::quoted(e.name) + " is of the unknown type " + gguf::quoted(e.dtype));
        uint64_t elements = 1, total = 0;
        for (const uint64_t d : e.shape)
            if (!checked_mul(elements, d, elements))
                return bad(gguf::quoted(e.name) + " has too many elements");
        if (!checked_mul(elements, uint64_t{bits}, total) || total % 8 != 0)
            return bad(gguf::quoted(e.name) + " has too many elements");
        const uint64_t from = e.offsets[0], to = e.offsets[1];
        if (from > to || to > room)
            return bad(fmt::format("{} lies at {} to {} of {} bytes of data", gguf::quoted(e.name),
                                   from, to, room));
        if (to - from != total / 8)
            return bad(fmt::format("{} has {} bytes where its shape needs {}", gguf::quoted(e.name),
                                   to - from, total / 8));
        out.tensors_.push_back({std::move(e.name), e.dtype, dtype_of(e.dtype), std::move(e.shape),
                                file.data() + start + from, to - from});
    }
    return out;
}

Result<SafetensorsFile> SafetensorsFile::open(const std::string& path) {
    try {
        return open_checked(path);
    } catch (const std::bad_alloc&) {
        return fail(ErrorCode::out_of_memory,
                    "There is not enough memory to read a model's tables.");
    } catch (const std::exception& e) {  // of the JSON library
        return fail(ErrorCode::bad_file,
                    fmt::format("'{}' is no usable safetensors file: {}.", path, e.what()));
    }
}

}  // namespace ridge
