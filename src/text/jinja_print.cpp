// How Python prints values: str() and repr().
#include <fmt/format.h>

#include "text/jinja_value.hpp"
#include "text/unicode.hpp"

namespace ridge::jinja {
namespace {

// str.isprintable of one code point: all but the categories C and Z, and the space.
bool printable(uint32_t c) {
    if (c < 0x7F) return c >= 0x20;
    const text::Category category = text::category(c);
    return category != text::Category::other && category != text::Category::separator;
}

void write_quoted(const Text& text, Text& out) {
    const std::string& s = text.bytes();
    const bool double_quotes =
        s.find('\'') != std::string::npos && s.find('"') == std::string::npos;
    const char quote = double_quotes ? '"' : '\'';
    out.append(std::string_view(&quote, 1), false);
    size_t plain = 0;  // what begins here is copied as it is
    for (size_t i = 0; i < s.size();) {
        const text::CodePoint c = text::decode_utf8(s, i);
        std::string escaped;
        if (c.value == static_cast<uint32_t>(quote) || c.value == '\\')
            escaped = {'\\', static_cast<char>(c.value)};
        else if (c.value == '\n')
            escaped = "\\n";
        else if (c.value == '\r')
            escaped = "\\r";
        else if (c.value == '\t')
            escaped = "\\t";
        else if (!printable(c.value))
            escaped = c.value < 0x100     ? fmt::format("\\x{:02x}", c.value)
                      : c.value < 0x10000 ? fmt::format("\\u{:04x}", c.value)
                                          : fmt::format("\\U{:08x}", c.value);
        if (!escaped.empty()) {
            out.append(text, plain, i);
            out.append(escaped, text.has_user());
            plain = i + c.length;
        }
        i += c.length;
    }
    out.append(text, plain, s.size());
    out.append(std::string_view(&quote, 1), false);
}

}  // namespace

void write_repr(const Value& value, Text& out, Budget& budget) {
    if (!budget.spend(1)) return;
    if (const Text* text = value.text()) {
        budget.spend_bytes(text->size());
        write_quoted(*text, out);
    } else if (const List* list = value.list()) {
        constexpr std::string_view open[] = {
            "[", "(", "range(", "dict_keys([", "dict_values([", "dict_items([", ""};
        constexpr std::string_view close[] = {"]", ")", ")", "])", "])", "])", ""};
        const auto kind = static_cast<size_t>(list->kind);
        if (list->iterator())
            return budget.refuse(
                "printing a generator is not supported; a filter "
                "'list' behind it makes it a list");
        out.append(open[kind], false);
        if (list->kind == ListKind::range) {
            const auto [begin, end, step] = list->range;
            out.append(fmt::format("{}, {}", begin, end), false);
            if (step != 1) out.append(fmt::format(", {}", step), false);
            out.append(")", false);
            return;
        }
        for (size_t i = 0; i < list->items.size(); ++i) {
            if (i > 0) out.append(", ", false);
            write_repr(list->items[i], out, budget);
        }
        if (list->kind == ListKind::tuple && list->items.size() == 1) out.append(",", false);
        out.append(close[kind], false);
    } else if (const Dict* dict = value.dict()) {
        out.append("{", false);
        for (size_t i = 0; i < dict->items.size(); ++i) {
            if (i > 0) out.append(", ", false);
            write_repr(dict->items[i].first, out, budget);
            out.append(": ", false);
            write_repr(dict->items[i].second, out, budget);
        }
        out.append("}", false);
    } else if (value.undefined()) {
        out.append("Undefined", false);
    } else if (value.none()) {
        out.append("None", false);
    } else if (const auto* b = value.get<bool>()) {
        out.append(*b ? "True" : "False", false);
    } else if (const auto* i = value.get<int64_t>()) {
        out.append(std::to_string(*i), false);
    } else if (const auto* d = value.get<double>()) {
        out.append(repr_of_double(*d), false);
    } else {
        budget.refuse("printing a function, a namespace or a loop is not supported");
    }
}

Text to_text(const Value& value, Budget& budget) {
    if (const Text* text = value.text()) return *text;
    Text out;
    if (!value.undefined()) write_repr(value, out, budget);
    return out;
}

}  // namespace ridge::jinja
