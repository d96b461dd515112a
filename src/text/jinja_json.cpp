#include "text/jinja_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "text/unicode.hpp"

namespace ridge::jinja {
namespace {

constexpr std::string_view kRoles[] = {"system",  "developer",   "user",     "assistant",
                                       "tool",    "function",    "ipython",  "model",
                                       "context", "environment", "documents"};

std::string well_formed(const std::string& s) {
    auto fixed = text::replace_ill_formed(s);
    return fixed ? std::move(*fixed) : s;
}

Result<Value> convert(const nlohmann::ordered_json& json, bool user, uint32_t depth) {
    if (depth > kMaxNesting)
        return fail(ErrorCode::invalid_argument,
                    fmt::format("the messages or tools are nested more than {} deep; make them "
                                "flatter",
                                kMaxNesting));
    using Type = nlohmann::ordered_json::value_t;
    switch (json.type()) {
        case Type::boolean:
            return Value{json.get<bool>()};
        case Type::number_unsigned:
            if (json.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX))
                return fail(ErrorCode::invalid_argument,
                            fmt::format("the number {} in messages or tools does not fit 64 bits",
                                        json.get<uint64_t>()));
            return Value{static_cast<int64_t>(json.get<uint64_t>())};
        case Type::number_integer:
            return Value{json.get<int64_t>()};
        case Type::number_float:
            return Value{json.get<double>()};
        case Type::string:
            return make_text(well_formed(json.get_ref<const std::string&>()), user);
        case Type::array: {
            std::vector<Value> items;
            items.reserve(json.size());
            for (const auto& item : json) {
                RIDGE_ASSIGN(Value value, convert(item, user, depth + 1));
                items.push_back(std::move(value));
            }
            auto list = make_list(std::move(items));
            if (list) return std::move(*list);
            break;
        }
        case Type::object: {
            Dict dict;
            for (const auto& [key, item] : json.items()) {
                RIDGE_ASSIGN(Value value, convert(item, user, depth + 1));
                dict.put(make_text(well_formed(key), user), std::move(value));
            }
            auto made = finish_dict(std::move(dict));
            if (made) return std::move(*made);
            break;
        }
        default:
            return Value{None{}};
    }
    return fail(ErrorCode::invalid_argument, "the messages or tools are nested too deeply");
}

class Writer {
  public:
    Writer(const JsonStyle& style, Budget& budget) : style_(style), budget_(budget) {}

    Status write(const Value& value, size_t level) {
        budget_.spend(1);
        if (const Text* text = value.text()) {
            write_string(*text);
        } else if (value.none()) {
            out.append("null", false);
        } else if (const auto* b = value.get<bool>()) {
            out.append(*b ? "true" : "false", false);
        } else if (const auto* i = value.get<int64_t>()) {
            out.append(std::to_string(*i), false);
        } else if (const auto* d = value.get<double>()) {
            out.append(std::isnan(*d)   ? "NaN"
                       : std::isinf(*d) ? (*d < 0 ? "-Infinity" : "Infinity")
                                        : repr_of_double(*d),
                       false);
        } else if (const List* list = value.list();
                   list != nullptr && list->kind <= ListKind::tuple) {
            return write_list(*list, level);
        } else if (const Dict* dict = value.dict()) {
            return write_dict(*dict, level);
        } else {
            return fail(
                ErrorCode::invalid_argument,
                fmt::format("a value of type {} cannot be written as JSON", type_name(value)));
        }
        return {};
    }

    Text out;

  private:
    void separate(size_t level, bool first) {
        if (!first) out.append(style_.item_separator, false);
        line(level);
    }
    void line(size_t level) {
        if (!style_.indent) return;
        out.append("\n", false);
        for (size_t i = 0; i < level; ++i) out.append(*style_.indent, false);
        budget_.spend(level);
    }
    Status write_list(const List& list, size_t level) {
        out.append("[", false);
        for (size_t i = 0; i < list.items.size(); ++i) {
            separate(level + 1, i == 0);
            RIDGE_TRY(write(list.items[i], level + 1));
            if (budget_.left == 0) return {};
        }
        if (!list.items.empty()) line(level);
        out.append("]", false);
        return {};
    }
    Status write_dict(const Dict& dict, size_t level) {
        std::vector<const std::pair<Value, Value>*> items;
        for (const auto& item : dict.items) items.push_back(&item);
        if (style_.sort_keys) {
            for (const auto* item : items)
                if (item->first.text() == nullptr)
                    return fail(ErrorCode::unsupported,
                                "sorted keys that are no strings are not supported");
            std::stable_sort(items.begin(), items.end(), [](const auto* a, const auto* b) {
                return a->first.text()->bytes() < b->first.text()->bytes();
            });
        }
        out.append("{", false);
        for (size_t i = 0; i < items.size(); ++i) {
            separate(level + 1, i == 0);
            if (const Text* key = items[i]->first.text()) {
                write_string(*key);
            } else {  // json.dumps turns numbers, booleans and None into strings
                out.append("\"", false);
                RIDGE_TRY(write(items[i]->first, level + 1));
                out.append("\"", false);
            }
            out.append(style_.key_separator, false);
            RIDGE_TRY(write(items[i]->second, level + 1));
            if (budget_.left == 0) return {};
        }
        if (!items.empty()) line(level);
        out.append("}", false);
        return {};
    }
    std::string escape(uint32_t c) const {
        switch (c) {
            case '"':
                return "\\\"";
            case '\\':
                return "\\\\";
            case '\n':
                return "\\n";
            case '\r':
                return "\\r";
            case '\t':
                return "\\t";
            case '\f':
                return "\\f";
            case '\b':
                return "\\b";
            default:
                break;
        }
        if (c < 0x20) return fmt::format("\\u{:04x}", c);
        if (!style_.ascii || c < 0x7F) return {};
        if (c < 0x10000) return fmt::format("\\u{:04x}", c);
        const uint32_t rest = c - 0x10000;
        return fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (rest >> 10), 0xDC00 + (rest & 0x3FF));
    }
    void write_string(const Text& text) {
        const std::string& s = text.bytes();
        budget_.spend_bytes(s.size());
        out.append("\"", false);
        size_t plain = 0;
        for (size_t i = 0; i < s.size();) {
            const text::CodePoint c = text::decode_utf8(s, i);
            if (const std::string escaped = escape(c.value); !escaped.empty()) {
                out.append(text, plain, i);
                out.append(escaped, text.has_user());
                plain = i + c.length;
            }
            i += c.length;
        }
        out.append(text, plain, s.size());
        out.append("\"", false);
    }

    const JsonStyle& style_;
    Budget& budget_;
};

}  // namespace

Result<Value> from_json(const nlohmann::ordered_json& json, bool user) {
    return convert(json, user, 0);
}

Result<Value> messages_from_json(const nlohmann::ordered_json& messages) {
    if (!messages.is_array())
        return fail(ErrorCode::invalid_argument,
                    "messages are to be a list of objects with role and content");
    std::vector<Value> items;
    for (const auto& message : messages) {
        if (!message.is_object())
            return fail(ErrorCode::invalid_argument,
                        fmt::format("message {} is no object with role and content", items.size()));
        Dict dict;
        for (const auto& [key, item] : message.items()) {
            const bool known = key == "role" && item.is_string() &&
                               std::find(std::begin(kRoles), std::end(kRoles),
                                         item.get_ref<const std::string&>()) != std::end(kRoles);
            RIDGE_ASSIGN(Value value, convert(item, !known, 2));
            dict.put(make_text(well_formed(key), true), std::move(value));
        }
        auto made = finish_dict(std::move(dict));
        if (!made) return fail(ErrorCode::invalid_argument, "the messages are nested too deeply");
        items.push_back(std::move(*made));
    }
    auto list = make_list(std::move(items));
    if (!list) return fail(ErrorCode::invalid_argument, "the messages are nested too deeply");
    return std::move(*list);
}

Result<Text> to_json(const Value& value, const JsonStyle& style, Budget& budget) {
    Writer writer(style, budget);
    RIDGE_TRY(writer.write(value, 0));
    return std::move(writer.out);
}

}  // namespace ridge::jinja
