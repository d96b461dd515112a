// Typed reads of GGUF metadata.
#include <fmt/format.h>

#include <cfloat>
#include <cmath>
#include <cstring>

#include "format/gguf_impl.hpp"

namespace ridge {

namespace gguf {

namespace {

template <typename T>
T load(const uint8_t* data) {
    T value;
    __builtin_memcpy(&value, data, sizeof(T));
    return value;
}

bool is_integer(ValueType type) {
    switch (type) {
        case ValueType::u8:
        case ValueType::i8:
        case ValueType::u16:
        case ValueType::i16:
        case ValueType::u32:
        case ValueType::i32:
        case ValueType::u64:
        case ValueType::i64:
            return true;
        default:
            return false;
    }
}

std::string scalar_text(const Value& value) {
    switch (value.type) {
        case ValueType::boolean:
            return *value.data != 0 ? "true" : "false";
        case ValueType::u64:
            return fmt::format("{}", load<uint64_t>(value.data));
        case ValueType::f32:
            return fmt::format("{}", load<float>(value.data));
        case ValueType::f64:
            return fmt::format("{}", load<double>(value.data));
        default:
            return fmt::format("{}", to_int(value).value_or(0));
    }
}

// Bytes of the printable UTF-8 character at the start of `text`; 0 when it is none: a control
// character (also U+0080 to U+009F), or not UTF-8.
size_t printable_length(std::string_view text) {
    const auto at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char lead = at(0);
    if (lead < 0x80) return lead >= 0x20 && lead != 0x7f ? 1 : 0;
    const size_t length = lead >= 0xc2 && lead < 0xe0 ? 2 : (lead & 0xf0) == 0xe0 ? 3 : 4;
    if (lead < 0xc2 || lead > 0xf4 || length > text.size()) return 0;
    for (size_t i = 1; i < length; ++i)
        if ((at(i) & 0xc0) != 0x80) return 0;
    const unsigned char second = at(1);
    const bool control = lead == 0xc2 && second < 0xa0;
    const bool overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
    const bool beyond = (lead == 0xed && second > 0x9f) || (lead == 0xf4 && second > 0x8f);
    return control || overlong || beyond ? 0 : length;
}

// Quoted; always printable UTF-8, whatever the bytes are; shortened to about `limit` bytes.
std::string string_text(std::string_view text, size_t limit) {
    std::string out = "\"";
    size_t i = 0;
    while (i < text.size() && i < limit) {
        const size_t length = printable_length(text.substr(i));
        if (text[i] == '"' || text[i] == '\\')
            (out += '\\') += text[i];
        else if (length > 0)
            out += text.substr(i, length);
        else if (text[i] == '\n')
            out += "\\n";
        else
            out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[i]));
        i += length > 0 ? length : 1;
    }
    out += '"';
    if (i < text.size()) out += fmt::format("... ({} bytes)", text.size());
    return out;
}

}  // namespace

std::optional<int64_t> to_int(const Value& value) {
    switch (value.type) {
        case ValueType::u8:
            return load<uint8_t>(value.data);
        case ValueType::i8:
            return load<int8_t>(value.data);
        case ValueType::u16:
            return load<uint16_t>(value.data);
        case ValueType::i16:
            return load<int16_t>(value.data);
        case ValueType::u32:
            return load<uint32_t>(value.data);
        case ValueType::i32:
            return load<int32_t>(value.data);
        case ValueType::i64:
            return load<int64_t>(value.data);
        case ValueType::u64: {
            const auto number = load<uint64_t>(value.data);
            if (number > INT64_MAX) return std::nullopt;
            return static_cast<int64_t>(number);
        }
        default:
            return std::nullopt;
    }
}

std::optional<uint64_t> to_uint(const Value& value) {
    if (value.type == ValueType::u64) return load<uint64_t>(value.data);
    const auto number = to_int(value);
    if (!number || *number < 0) return std::nullopt;
    return static_cast<uint64_t>(*number);
}

std::optional<double> to_float(const Value& value) {
    if (value.type == ValueType::f32) return load<float>(value.data);
    if (value.type == ValueType::f64) return load<double>(value.data);
    const auto number = to_int(value);
    constexpr int64_t exact = int64_t{1} << 53;
    if (!number || *number < -exact || *number > exact) return std::nullopt;
    return static_cast<double>(*number);
}

Value element(const Value& array, uint64_t i) {
    Value one;
    one.type = array.element;
    one.data = array.data + i * value_bytes(array.element);
    return one;
}

}  // namespace gguf

using gguf::Value;
using gguf::ValueType;

bool GgufFile::has(std::string_view key) const {
    return impl_->value(key) != nullptr;
}

std::optional<uint64_t> GgufFile::get_uint(std::string_view key) const {
    const Value* value = impl_->value(key);
    return value != nullptr ? gguf::to_uint(*value) : std::nullopt;
}

std::optional<int64_t> GgufFile::get_int(std::string_view key) const {
    const Value* value = impl_->value(key);
    return value != nullptr ? gguf::to_int(*value) : std::nullopt;
}

std::optional<double> GgufFile::get_float(std::string_view key) const {
    const Value* value = impl_->value(key);
    return value != nullptr ? gguf::to_float(*value) : std::nullopt;
}

std::optional<bool> GgufFile::get_bool(std::string_view key) const {
    const Value* value = impl_->value(key);
    if (value == nullptr || value->type != ValueType::boolean) return std::nullopt;
    return *value->data != 0;
}

std::optional<std::string_view> GgufFile::get_string(std::string_view key) const {
    const Value* value = impl_->value(key);
    if (value == nullptr || value->type != ValueType::string) return std::nullopt;
    return std::string_view(reinterpret_cast<const char*>(value->data), value->count);
}

std::optional<std::vector<std::string_view>> GgufFile::get_strings(std::string_view key) const {
    const Value* value = impl_->value(key);
    if (value == nullptr || value->type != ValueType::array || value->element != ValueType::string)
        return std::nullopt;
    std::vector<std::string_view> out;
    out.reserve(value->count);
    gguf::for_each_string(*value, value->count, [&](std::string_view s) { out.push_back(s); });
    return out;
}

std::optional<std::vector<float>> GgufFile::get_floats(std::string_view key) const {
    const Value* value = impl_->value(key);
    if (value == nullptr || value->type != ValueType::array || value->element == ValueType::string)
        return std::nullopt;
    std::vector<float> out;
    if (value->element == ValueType::f32) {  // what vocabularies have: as it is
        out.resize(value->count);
        if (!out.empty()) std::memcpy(out.data(), value->data, 4 * out.size());
        return out;
    }
    out.reserve(value->count);
    for (uint64_t i = 0; i < value->count; ++i) {
        const auto number = gguf::to_float(gguf::element(*value, i));
        if (!number || (std::isfinite(*number) && std::fabs(*number) > FLT_MAX))
            return std::nullopt;
        const auto rounded = static_cast<float>(*number);
        if (static_cast<double>(rounded) != *number && !std::isnan(*number)) return std::nullopt;
        out.push_back(rounded);
    }
    if (out.empty() && value->element == ValueType::boolean) return std::nullopt;
    return out;
}

std::optional<std::vector<int64_t>> GgufFile::get_ints(std::string_view key) const {
    const Value* value = impl_->value(key);
    if (value == nullptr || value->type != ValueType::array) return std::nullopt;
    const bool booleans = value->element == ValueType::boolean;
    if (!booleans && !gguf::is_integer(value->element)) return std::nullopt;
    std::vector<int64_t> out;
    out.reserve(value->count);
    if (value->element == ValueType::i32) {  // what vocabularies have
        for (uint64_t i = 0; i < value->count; ++i)
            out.push_back(gguf::load<int32_t>(value->data + 4 * i));
        return out;
    }
    for (uint64_t i = 0; i < value->count; ++i) {
        const Value one = gguf::element(*value, i);
        const auto number = booleans ? std::optional<int64_t>(*one.data) : gguf::to_int(one);
        if (!number) return std::nullopt;
        out.push_back(*number);
    }
    return out;
}

std::span<const uint8_t> GgufFile::encoded_value(std::string_view key) const {
    const Value* value = impl_->value(key);
    if (value == nullptr) return {};
    return {value->encoded, value->encoded_bytes};
}

std::vector<std::string> GgufFile::keys() const {
    std::vector<std::string> out;
    out.reserve(impl_->contents.values.size());
    for (const auto& [key, value] : impl_->contents.values) out.emplace_back(key);
    return out;
}

std::string GgufFile::describe(std::string_view key) const {
    constexpr uint64_t shown_elements = 6;
    const Value* value = impl_->value(key);
    if (value == nullptr) return "(absent)";
    if (value->type == ValueType::string) return gguf::string_text(*get_string(key), 160);
    if (value->type != ValueType::array) return gguf::scalar_text(*value);
    std::string out = "[";
    const auto add = [&](const std::string& text) { (out += out.size() > 1 ? ", " : "") += text; };
    if (value->element == ValueType::string)
        gguf::for_each_string(*value, shown_elements,
                              [&](std::string_view s) { add(gguf::string_text(s, 40)); });
    else
        for (uint64_t i = 0; i < value->count && i < shown_elements; ++i)
            add(gguf::scalar_text(gguf::element(*value, i)));
    if (value->count > shown_elements) out += fmt::format(", ... ({} elements)", value->count);
    return out + "]";
}

}  // namespace ridge
