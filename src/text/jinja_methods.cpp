// Methods of strings, lists and dictionaries, as Python has them.
#include <fmt/format.h>

#include <algorithm>

#include "text/jinja_filters.hpp"
#include "text/jinja_methods.hpp"
#include "text/unicode.hpp"

namespace ridge::jinja {
namespace {

using std::string_view;

bool is_one_of(string_view name, std::initializer_list<string_view> list) {
    return std::find(list.begin(), list.end(), name) != list.end();
}

Result<Value> strip(Renderer& r, const Text& text, const std::string& name, Args& args) {
    RIDGE_TRY(no_names(r, name, args));
    RIDGE_ASSIGN(const Renderer::Bound bound, r.bind(name, args, {"chars"}));
    const bool left = name != "rstrip";
    const bool right = name != "lstrip";
    Span span{};
    if (bound[0] && !bound[0]->none()) {
        RIDGE_ASSIGN(const Text* chars, need_text(r, name, *bound[0]));
        r.budget().spend(1 + text.size() * chars->size() / 64);
        span = stripped(text.bytes(), chars->bytes(), left, right);
    } else {
        span = stripped(text.bytes(), left, right);
    }
    return make_text(text.slice(span.begin, span.end));
}

// Pieces between white space, of which runs count as one; after `most` cuts (< 0: all) the rest.
std::vector<Value> split_space(const Text& text, int64_t most, bool from_right) {
    const string_view s = text.bytes();
    std::vector<Span> words;
    bool inside = false;
    for (size_t i = 0; i < s.size();) {
        const text::CodePoint c = text::decode_utf8(s, i);
        const bool space = is_python_space(c.value);
        if (!space && !inside) words.push_back({i, i});
        inside = !space;
        i += c.length;
        if (inside) words.back().end = i;
    }
    const size_t n = words.size();
    const size_t cuts = most < 0 ? n : std::min(n, static_cast<size_t>(most));
    std::vector<Value> out;
    if (from_right) {
        if (cuts < n) out.push_back(make_text(text.slice(0, words[n - cuts - 1].end)));
        for (size_t i = n - cuts; i < n; ++i)
            out.push_back(make_text(text.slice(words[i].begin, words[i].end)));
    } else {
        for (size_t i = 0; i < cuts; ++i)
            out.push_back(make_text(text.slice(words[i].begin, words[i].end)));
        if (cuts < n) out.push_back(make_text(text.slice(words[cuts].begin, s.size())));
    }
    return out;
}

Result<Value> split(Renderer& r, const Text& text, const std::string& name, Args& args) {
    RIDGE_ASSIGN(const Renderer::Bound bound, r.bind(name, args, {"sep", "maxsplit"}));
    const bool from_right = name == "rsplit";
    int64_t most = -1;
    if (bound[1]) {
        const auto given = bound[1]->integer();
        if (!given) return r.error(fmt::format("'{}' takes an integer as maxsplit", name));
        most = *given;
    }
    if (!bound[0] || bound[0]->none()) {
        r.budget().spend(text.size() / 8);
        RIDGE_TRY(r.afford());
        return r.list(split_space(text, most, from_right));
    }
    RIDGE_ASSIGN(const Text* separator, need_text(r, name, *bound[0]));
    if (separator->empty()) return r.error(fmt::format("'{}' needs a separator", name));
    if (from_right) RIDGE_TRY(afford_naive(r, text.size(), separator->size()));
    const string_view s = text.bytes();
    std::vector<Value> out;
    size_t begin = 0;
    size_t end = s.size();
    for (; most != 0; --most) {
        r.budget().spend(1);
        if (from_right) {
            const size_t at = end < separator->size()
                                  ? string_view::npos
                                  : s.rfind(separator->bytes(), end - separator->size());
            if (at == string_view::npos) break;
            out.push_back(make_text(text.slice(at + separator->size(), end)));
            end = at;
        } else {
            const size_t at = find(s, separator->bytes(), begin);
            if (at == string_view::npos) break;
            out.push_back(make_text(text.slice(begin, at)));
            begin = at + separator->size();
        }
        RIDGE_TRY(r.afford());
    }
    out.push_back(make_text(text.slice(begin, end)));
    if (from_right) std::reverse(out.begin(), out.end());
    return r.list(std::move(out));
}

// Line ends that str.splitlines() knows.
Result<Value> split_lines(Renderer& r, const Text& text, Args& args) {
    RIDGE_ASSIGN(const Renderer::Bound bound, r.bind("splitlines", args, {"keepends"}));
    const Value keepends = bound.value_or(0, Value{false});
    const auto number = keepends.integer();
    if (!number)
        return r.error(fmt::format("'splitlines' takes a boolean, not a value of type {}",
                                   type_name(keepends)));
    if (*number != static_cast<int>(*number))
        return r.error("'splitlines' takes no number of more than 32 bits");  // nor does Python
    const bool keep = *number != 0;
    const string_view s = text.bytes();
    std::vector<Value> out;
    size_t begin = 0;
    for (size_t i = 0; i < s.size();) {
        const text::CodePoint c = text::decode_utf8(s, i);
        const bool end = (c.value >= 0x0A && c.value <= 0x0D) ||
                         (c.value >= 0x1C && c.value <= 0x1E) || c.value == 0x85 ||
                         c.value == 0x2028 || c.value == 0x2029;
        size_t next = i + c.length;
        if (end) {
            if (c.value == '\r' && next < s.size() && s[next] == '\n') ++next;
            out.push_back(make_text(text.slice(begin, keep ? next : i)));
            begin = next;
        }
        i = next;
    }
    if (begin < s.size()) out.push_back(make_text(text.slice(begin, s.size())));
    return r.list(std::move(out));
}

Result<Value> partition(Renderer& r, const Text& text, const std::string& name, Args& args) {
    RIDGE_TRY(no_names(r, name, args));
    RIDGE_ASSIGN(const Renderer::Bound bound, r.bind(name, args, {"sep"}, 1));
    RIDGE_ASSIGN(const Text* separator, need_text(r, name, *bound[0]));
    if (separator->empty()) return r.error(fmt::format("'{}' needs a separator", name));
    const bool last = name == "rpartition";
    if (last) RIDGE_TRY(afford_naive(r, text.size(), separator->size()));
    const string_view s = text.bytes();
    const size_t at = last ? s.rfind(separator->bytes()) : find(s, separator->bytes());
    if (at == string_view::npos) {
        const Value empty = make_text(Text());
        const Value all = make_text(text);
        return r.list(
            last ? std::vector<Value>{empty, empty, all} : std::vector<Value>{all, empty, empty},
            ListKind::tuple);
    }
    const size_t end = at + separator->size();
    return r.list({make_text(text.slice(0, at)), make_text(text.slice(at, end)),
                   make_text(text.slice(end, text.size()))},
                  ListKind::tuple);
}

// {} and {0} and {name}, without conversions.
Result<Value> format(Renderer& r, const Text& text, Args& args) {
    const string_view s = text.bytes();
    Text out;
    size_t automatic = 0;
    bool numbered = false;
    for (size_t i = 0; i < s.size();) {
        const size_t brace = s.find_first_of("{}", i);
        out.append(text, i, std::min(brace, s.size()));
        if (brace == string_view::npos) break;
        if (brace + 1 < s.size() && s[brace + 1] == s[brace]) {
            out.append(text, brace, brace + 1);
            i = brace + 2;
            continue;
        }
        const size_t end = s[brace] == '{' ? s.find('}', brace) : string_view::npos;
        if (end == string_view::npos) return r.error("the braces of 'format' do not match");
        const string_view field = s.substr(brace + 1, end - brace - 1);
        const Value* value = nullptr;
        if (field.find_first_of("!:.[{") != string_view::npos)
            return r.error("'format' with conversions is not supported");
        if (field.empty() || field.find_first_not_of("0123456789") == string_view::npos) {
            numbered |= !field.empty();
            if (numbered && (field.empty() || automatic > 0))
                return r.error("'format' numbers all of its fields or none");
            const size_t at = field.empty()      ? automatic++
                              : field.size() > 4 ? args.positional.size()
                                                 : std::stoul(std::string(field));
            if (at < args.positional.size()) value = &args.positional[at];
        }
        for (const auto& [key, named] : args.named)
            if (key == field) value = &named;
        if (value == nullptr)
            return r.error(fmt::format("'format' has no value for {{{}}}", field));
        const Text part = r.text(*value);
        r.budget().spend_bytes(part.size());
        RIDGE_TRY(r.afford());
        out.append(part);
        i = end + 1;
    }
    return make_text(std::move(out));
}

// str.isalpha and its like hold for a string that is not empty, all of whose characters are so.
Result<Value> all_are(const Text& text, const std::string& name) {
    const string_view s = text.bytes();
    for (size_t i = 0; i < s.size();) {
        const text::CodePoint c = text::decode_utf8(s, i);
        const bool letter = text::category(c.value) == text::Category::letter;
        const bool holds = name == "isalpha"     ? letter
                           : name == "isalnum"   ? letter || is_numeric(c.value)
                           : name == "isspace"   ? is_python_space(c.value)
                           : name == "isascii"   ? c.value < 0x80
                           : name == "isdecimal" ? decimal_value(c.value) >= 0
                           : name == "isdigit"   ? is_digit(c.value)
                                                 : is_numeric(c.value);
        if (!holds) return Value{false};
        i += c.length;
    }
    return Value{!s.empty() || name == "isascii"};
}

}  // namespace

Status no_names(Renderer& r, string_view what, const Args& args) {
    if (args.named.empty()) return {};
    return r.error(fmt::format("'{}' has no argument '{}'", what, args.named[0].first));
}

Result<const Text*> need_text(Renderer& r, string_view what, const Value& value) {
    if (value.text() == nullptr)
        return r.error(
            fmt::format("'{}' takes a string, not a value of type {}", what, type_name(value)));
    return value.text();
}

Status afford_naive(Renderer& r, size_t text, size_t part) {
    uint64_t work = 0;
    if (__builtin_mul_overflow(uint64_t{text}, uint64_t{part}, &work)) work = UINT64_MAX;
    r.budget().spend(work / 64);
    return r.afford();
}

Result<Text> replace_text(Renderer& r, const Text& text, const Text& from, const Text& to,
                          int64_t most) {
    const string_view s = text.bytes();
    Text out;
    size_t begin = 0;
    for (; most != 0; --most) {
        size_t at = string_view::npos;
        size_t end = 0;
        if (from.empty()) {  // between all code points
            at = begin == 0 && out.empty() ? 0
                 : begin < s.size()        ? begin + text::decode_utf8(s, begin).length
                                           : string_view::npos;
            end = at;
        } else {
            at = find(s, from.bytes(), begin);
            end = at + from.size();
        }
        if (at == string_view::npos) break;
        r.budget().spend_bytes(to.size() + (at - begin));
        RIDGE_TRY(r.afford());
        out.append(text, begin, at);
        out.append(to);
        begin = end;
        if (from.empty() && to.empty()) break;
    }
    out.append(text, begin, s.size());
    return out;
}

namespace {

Result<Value> replace(Renderer& r, const Text& text, Args& args) {
    RIDGE_TRY(no_names(r, "replace", args));
    RIDGE_ASSIGN(const Renderer::Bound bound, r.bind("replace", args, {"old", "new", "count"}, 2));
    RIDGE_ASSIGN(const Text* from, need_text(r, "replace", *bound[0]));
    RIDGE_ASSIGN(const Text* to, need_text(r, "replace", *bound[1]));
    int64_t most = -1;
    if (bound[2]) {
        const auto given = bound[2]->integer();
        if (!given) return r.error("'replace' takes an integer as count");
        most = *given;
    }
    RIDGE_ASSIGN(Text out, replace_text(r, text, *from, *to, most));
    return make_text(std::move(out));
}

Result<Value> call_text(Renderer& r, const Text& text, const std::string& name, Args& args) {
    r.budget().spend_bytes(text.size());
    if (is_one_of(name, {"strip", "lstrip", "rstrip"})) return strip(r, text, name, args);
    if (is_one_of(name, {"split", "rsplit"})) return split(r, text, name, args);
    if (name == "splitlines") return split_lines(r, text, args);
    if (is_one_of(name, {"partition", "rpartition"})) return partition(r, text, name, args);
    if (is_one_of(name, {"startswith", "endswith", "find", "rfind", "index", "rindex", "count",
                         "removeprefix", "removesuffix"}))
        return call_search(r, text, name, args);
    if (name == "replace") return replace(r, text, args);
    if (name == "format") return format(r, text, args);
    if (name == "join") {
        RIDGE_TRY(no_names(r, name, args));
        RIDGE_ASSIGN(const Renderer::Bound bound, r.bind(name, args, {"iterable"}, 1));
        RIDGE_ASSIGN(const std::vector<Value> items, r.elements(*bound[0]));
        Text out;
        for (size_t i = 0; i < items.size(); ++i) {
            RIDGE_ASSIGN(const Text* part, need_text(r, name, items[i]));
            r.budget().spend_bytes(part->size() + text.size());
            RIDGE_TRY(r.afford());
            if (i > 0) out.append(text);
            out.append(*part);
        }
        return make_text(std::move(out));
    }
    const bool tests = is_one_of(
        name, {"isalpha", "isalnum", "isdigit", "isnumeric", "isdecimal", "isspace", "isascii"});
    if (!tests && !is_one_of(name, {"lower", "upper", "capitalize", "title", "islower", "isupper"}))
        return r.error(fmt::format("the string method '{}' is not supported", name));
    RIDGE_TRY(r.bind(name, args, {}).map([](const auto&) {}));
    if (name == "lower") return make_text(change_case(text, Case::lower));
    if (name == "upper") return make_text(change_case(text, Case::upper));
    if (name == "capitalize") return make_text(change_case(text, Case::capitalize));
    if (name == "title") return make_text(change_case(text, Case::title));
    if (name == "islower") return Value{is_lower(text.bytes())};
    if (name == "isupper") return Value{is_upper(text.bytes())};
    return all_are(text, name);
}

}  // namespace

bool has_method(const Value& object, string_view name) {
    if (object.text() != nullptr)
        return is_one_of(name,
                         {"capitalize",   "casefold",     "center",    "count",     "encode",
                          "endswith",     "expandtabs",   "find",      "format",    "format_map",
                          "index",        "isalnum",      "isalpha",   "isascii",   "isdecimal",
                          "isdigit",      "isidentifier", "islower",   "isnumeric", "isprintable",
                          "isspace",      "istitle",      "isupper",   "join",      "ljust",
                          "lower",        "lstrip",       "maketrans", "partition", "removeprefix",
                          "removesuffix", "replace",      "rfind",     "rindex",    "rjust",
                          "rpartition",   "rsplit",       "rstrip",    "split",     "splitlines",
                          "startswith",   "strip",        "swapcase",  "title",     "translate",
                          "upper",        "zfill"});
    if (object.dict() != nullptr)
        return is_one_of(name, {"clear", "copy", "fromkeys", "get", "items", "keys", "pop",
                                "popitem", "setdefault", "update", "values"});
    if (const List* list = object.list()) {
        if (list->kind > ListKind::range) return false;
        if (list->kind != ListKind::list) return is_one_of(name, {"count", "index"});
        return is_one_of(name, {"append", "clear", "copy", "count", "extend", "index", "insert",
                                "pop", "remove", "reverse", "sort"});
    }
    return false;
}

Result<Value> call_method(Renderer& r, const Value& object, const std::string& name, Args& args) {
    RIDGE_TRY(r.afford());
    if (const Text* text = object.text()) return call_text(r, *text, name, args);
    if (const Dict* dict = object.dict()) return call_dict(r, *dict, name, args);
    if (const List* list = object.list()) return call_list(r, *list, name, args);
    return r.error(fmt::format("a value of type {} has no methods", type_name(object)));
}

}  // namespace ridge::jinja
