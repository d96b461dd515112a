#include "format/gguf_types.hpp"

#include <fmt/format.h>
#include <strings.h>

namespace ridge::gguf {

std::optional<DType> dtype_from_ggml(uint32_t ggml_type) {
    for (uint8_t t = 0; t < static_cast<uint8_t>(DType::count_); ++t)
        if (dtype_table[t].ggml_type == ggml_type) return static_cast<DType>(t);
    return std::nullopt;
}

std::optional<DType> dtype_from_name(std::string_view name) {
    for (uint8_t t = 0; t < static_cast<uint8_t>(DType::count_); ++t) {
        const std::string_view known = dtype_table[t].name;
        if (known.size() == name.size() && strncasecmp(known.data(), name.data(), name.size()) == 0)
            return static_cast<DType>(t);
    }
    return std::nullopt;
}

const char* ggml_type_name(uint32_t ggml_type) {
    if (const auto t = dtype_from_ggml(ggml_type)) return name(*t);
    switch (ggml_type) {
        case 4:
            return "Q4_2 (removed)";
        case 5:
            return "Q4_3 (removed)";
        case 9:
            return "Q8_1";
        case 15:
            return "Q8_K";
        case 16:
            return "IQ2_XXS";
        case 17:
            return "IQ2_XS";
        case 18:
            return "IQ3_XXS";
        case 19:
            return "IQ1_S";
        case 21:
            return "IQ3_S";
        case 22:
            return "IQ2_S";
        case 24:
            return "I8";
        case 25:
            return "I16";
        case 26:
            return "I32";
        case 27:
            return "I64";
        case 28:
            return "F64";
        case 29:
            return "IQ1_M";
        case 31:
            return "Q4_0_4_4 (removed)";
        case 32:
            return "Q4_0_4_8 (removed)";
        case 33:
            return "Q4_0_8_8 (removed)";
        case 34:
            return "TQ1_0";
        case 35:
            return "TQ2_0";
        case 36:
            return "IQ4_NL_4_4 (removed)";
        case 37:
            return "IQ4_NL_4_8 (removed)";
        case 38:
            return "IQ4_NL_8_8 (removed)";
        case 40:
            return "NVFP4";
        case 41:
            return "Q1_0";
        default:
            return "unknown";
    }
}

std::string supported_types() {
    std::string list;
    for (const DTypeInfo& type : dtype_table) {
        if (!list.empty()) list += ", ";
        list += type.name;
    }
    return list;
}

std::string quoted(std::string_view text) {
    constexpr size_t shown = 64;
    std::string out = "'";
    for (const char c : text.substr(0, shown)) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte >= 0x7f)
            out += fmt::format("\\x{:02x}", byte);
        else
            out += c;
    }
    out += text.size() > shown ? "...'" : "'";
    return out;
}

}  // namespace ridge::gguf
