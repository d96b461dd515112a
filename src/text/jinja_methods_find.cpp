// Methods of strings that look for a part.
#include <fmt/format.h>

#include <algorithm>

#include "text/jinja_methods.hpp"

namespace ridge::jinja {
namespace {

using std::string_view;

// The part of `text` that optional second and third arguments choose, as byte offsets; nullopt
// where it begins behind its end, so that not even an empty string is in it.
Result<std::optional<Span>> window(Renderer& r, string_view what, const Text& text,
                                   const Renderer::Bound& bound) {
    std::optional<int64_t> part[2];
    for (size_t i = 0; i < 2; ++i) {
        if (!bound[i + 1] || bound[i + 1]->none()) continue;
        part[i] = bound[i + 1]->integer();
        if (!part[i])
            return r.error(fmt::format("'{}' takes integers as its bounds, not a value of type {}",
                                       what, type_name(*bound[i + 1])));
    }
    if (!part[0] && !part[1]) return std::optional(Span{0, text.size()});
    r.budget().spend_bytes(text.size());
    const auto size = static_cast<int64_t>(count_code_points(text.bytes()));
    const auto place = [&](int64_t at) { return at < 0 ? std::max<int64_t>(0, at + size) : at; };
    const int64_t begin = place(part[0].value_or(0));
    const int64_t end = std::min(size, place(part[1].value_or(size)));
    if (begin > end) return std::optional<Span>();
    return std::optional(Span{byte_offset(text.bytes(), static_cast<size_t>(begin)),
                              byte_offset(text.bytes(), static_cast<size_t>(end))});
}

// startswith and endswith: a string or a tuple of strings.
Result<Value> begins_or_ends(Renderer& r, const Text& text, const std::string& name, Args& args) {
    RIDGE_TRY(no_names(r, name, args));
    RIDGE_ASSIGN(const Renderer::Bound bound, r.bind(name, args, {"affix", "start", "end"}, 1));
    std::vector<Value> affixes = {*bound[0]};
    if (const List* list = bound[0]->list(); list != nullptr && list->kind == ListKind::tuple)
        affixes = list->items;
    RIDGE_ASSIGN(const std::optional<Span> part_of, window(r, name, text, bound));
    const string_view s =
        part_of ? string_view(text.bytes()).substr(part_of->begin, part_of->end - part_of->begin)
                : string_view();
    for (const Value& affix : affixes) {
        RIDGE_ASSIGN(const Text* part, need_text(r, name, affix));
        r.budget().spend_bytes(part->size());
        if (!part_of) continue;
        if (name == "startswith" ? s.starts_with(part->bytes()) : s.ends_with(part->bytes()))
            return Value{true};
    }
    return Value{false};
}

Result<Value> find_in(Renderer& r, const Text& text, const std::string& name, Args& args) {
    RIDGE_TRY(no_names(r, name, args));
    RIDGE_ASSIGN(const Renderer::Bound bound, r.bind(name, args, {"sub", "start", "end"}, 1));
    RIDGE_ASSIGN(const Text* part, need_text(r, name, *bound[0]));
    RIDGE_ASSIGN(const std::optional<Span> part_of, window(r, name, text, bound));
    const Span span = part_of.value_or(Span{0, 0});
    const string_view s = string_view(text.bytes()).substr(0, span.end);
    if (name == "count") {
        if (!part_of) return Value{int64_t{0}};
        if (part->empty())
            return Value{static_cast<int64_t>(count_code_points(s.substr(span.begin))) + 1};
        int64_t n = 0;
        for (size_t at = find(s, part->bytes(), span.begin); at != string_view::npos;
             at = find(s, part->bytes(), at + part->size()))
            ++n;
        return Value{n};
    }
    const bool last = name[0] == 'r';
    if (last) RIDGE_TRY(afford_naive(r, text.size(), part->size()));
    size_t at = last ? s.rfind(part->bytes()) : find(s, part->bytes(), span.begin);
    if (!part_of || (at != string_view::npos && at < span.begin)) at = string_view::npos;
    if (at != string_view::npos)
        return Value{static_cast<int64_t>(count_code_points(s.substr(0, at)))};
    if (name == "find" || name == "rfind") return Value{int64_t{-1}};
    return r.error(fmt::format("'{}' finds nothing", name));
}

Result<Value> affix(Renderer& r, const Text& text, const std::string& name, Args& args) {
    RIDGE_TRY(no_names(r, name, args));
    RIDGE_ASSIGN(const Renderer::Bound bound, r.bind(name, args, {"affix"}, 1));
    RIDGE_ASSIGN(const Text* part, need_text(r, name, *bound[0]));
    const string_view s = text.bytes();
    const size_t n = part->size();
    if (name == "removeprefix")
        return make_text(s.starts_with(part->bytes()) ? text.slice(n, s.size()) : text);
    return make_text(s.ends_with(part->bytes()) ? text.slice(0, s.size() - n) : text);
}

}  // namespace

Result<Value> call_search(Renderer& r, const Text& text, const std::string& name, Args& args) {
    if (name == "startswith" || name == "endswith") return begins_or_ends(r, text, name, args);
    if (name.starts_with("remove")) return affix(r, text, name, args);
    return find_in(r, text, name, args);
}

}  // namespace ridge::jinja
