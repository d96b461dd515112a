// Filters of lists and dictionaries.
#include <fmt/format.h>

#include <algorithm>

#include "text/jinja_filters.hpp"

namespace ridge::jinja {

Result<int64_t> length_of(Renderer& r, const Value& value) {
    if (value.undefined()) return 0;
    if (const Text* text = value.text()) {
        r.budget().spend_bytes(text->size());
        return static_cast<int64_t>(count_code_points(text->bytes()));
    }
    if (const List* list = value.list()) return static_cast<int64_t>(list->items.size());
    if (const Dict* dict = value.dict()) return static_cast<int64_t>(dict->items.size());
    return r.error(fmt::format("a value of type {} has no length", type_name(value)));
}

Result<Value> path_of(Renderer& r, const Value& item, const Value& path) {
    if (path.integer()) return r.subscript(item, path);
    const Text* text = path.text();
    if (text == nullptr) return r.error("an attribute is named by a string or an integer");
    const std::string& s = text->bytes();
    Value value = item;
    for (size_t begin = 0; begin <= s.size();) {
        const size_t end = std::min(s.find('.', begin), s.size());
        const std::string part = s.substr(begin, end - begin);
        const bool number = !part.empty() && part.size() < 10 &&
                            part.find_first_not_of("0123456789") == std::string::npos;
        r.budget().spend(1);
        RIDGE_TRY(r.afford());
        RIDGE_ASSIGN(
            value, r.subscript(value, number ? Value{int64_t{std::stol(part)}} : make_text(part)));
        begin = end + 1;
    }
    return value;
}

namespace {

using Bound = Renderer::Bound;

Result<Value> standard(Renderer& r, const Value& value, Args& args) {
    RIDGE_ASSIGN(const Bound bound, r.bind("default", args, {"default_value", "boolean"}));
    const bool falsy = bound[1] && truthy(*bound[1]);
    if (!value.undefined() && !(falsy && !truthy(value))) return value;
    return bound[0].value_or(make_text(Text()));
}

Result<Value> length(Renderer& r, const Value& value, Args& args) {
    RIDGE_TRY(r.bind("length", args, {}).map([](const auto&) {}));
    RIDGE_ASSIGN(const int64_t n, length_of(r, value));
    return Value{n};
}

Result<Value> first(Renderer& r, const Value& value, Args& args) {
    RIDGE_TRY(r.bind("first", args, {}).map([](const auto&) {}));
    RIDGE_ASSIGN(const std::vector<Value> items, r.elements(value));
    return items.empty() ? make_undefined("the first of nothing") : items.front();
}

Result<Value> last(Renderer& r, const Value& value, Args& args) {
    RIDGE_TRY(r.bind("last", args, {}).map([](const auto&) {}));
    RIDGE_ASSIGN(const std::vector<Value> items, r.elements(value));
    return items.empty() ? make_undefined("the last of nothing") : items.back();
}

Result<Value> join(Renderer& r, const Value& value, Args& args) {
    RIDGE_ASSIGN(const Bound bound, r.bind("join", args, {"d", "attribute"}));
    RIDGE_ASSIGN(const std::vector<Value> items, r.elements(value));
    const Text between = bound[0] ? r.text(*bound[0]) : Text();
    Text out;
    for (size_t i = 0; i < items.size(); ++i) {
        Value item = items[i];
        if (bound[1] && !bound[1]->none()) {
            RIDGE_ASSIGN(item, path_of(r, items[i], *bound[1]));
        }
        const Text part = r.text(item);
        r.budget().spend_bytes(part.size() + between.size());
        RIDGE_TRY(r.afford());
        if (i > 0) out.append(between);
        out.append(part);
    }
    return make_text(std::move(out));
}

Result<Value> list(Renderer& r, const Value& value, Args& args) {
    RIDGE_TRY(r.bind("list", args, {}).map([](const auto&) {}));
    RIDGE_ASSIGN(std::vector<Value> items, r.elements(value));
    return r.list(std::move(items));
}

Result<Value> items(Renderer& r, const Value& value, Args& args) {
    if (value.undefined()) return r.list({});
    if (value.dict() == nullptr)
        return r.error(
            fmt::format("'items' takes a dictionary, not a value of type {}", type_name(value)));
    return call_method(r, value, "items", args);
}

Result<Value> reverse(Renderer& r, const Value& value, Args& args) {
    RIDGE_TRY(r.bind("reverse", args, {}).map([](const auto&) {}));
    RIDGE_ASSIGN(std::vector<Value> items, r.elements(value));
    std::reverse(items.begin(), items.end());
    if (value.text() == nullptr) return r.list(std::move(items));
    Text out;
    for (const Value& item : items) out.append(*item.text());
    return make_text(std::move(out));
}

// Sorts by key, keeping the order of equals. Error: keys that Python does not order.
Status sort_by(Renderer& r, std::vector<std::pair<Value, Value>>& keyed, bool reverse,
               bool case_sensitive) {
    if (!case_sensitive)
        for (auto& [key, value] : keyed)
            if (const Text* text = key.text()) {
                r.budget().spend(text->size() / 8);
                RIDGE_TRY(r.afford());
                key = make_text(change_case(*text, Case::lower));
            }
    size_t rounds = 1;
    for (size_t n = keyed.size(); n > 1; n /= 2) ++rounds;
    r.budget().spend(keyed.size() * rounds);
    RIDGE_TRY(r.afford());
    bool ordered = true;
    const auto less = [&](const auto& a, const auto& b) {
        if (!ordered) return false;
        const auto order = compare(a.first, b.first, r.budget());
        if (!order) ordered = false;
        return order && (reverse ? *order > 0 : *order < 0);
    };
    std::stable_sort(keyed.begin(), keyed.end(), less);
    RIDGE_TRY(r.afford());
    if (!ordered) return r.error("values of these types have no order");
    return {};
}

Result<std::vector<std::pair<Value, Value>>> keyed_by(Renderer& r, const Value& value,
                                                      const std::optional<Value>& attribute) {
    RIDGE_ASSIGN(const std::vector<Value> items, r.elements(value));
    std::vector<std::pair<Value, Value>> keyed;
    for (const Value& item : items) {
        Value key = item;
        if (attribute && !attribute->none()) {
            RIDGE_ASSIGN(key, path_of(r, item, *attribute));
        }
        keyed.emplace_back(std::move(key), item);
    }
    return keyed;
}

Result<Value> values_of(Renderer& r, std::vector<std::pair<Value, Value>>& keyed) {
    std::vector<Value> out;
    for (auto& [key, value] : keyed) out.push_back(std::move(value));
    return r.list(std::move(out));
}

Result<Value> sort(Renderer& r, const Value& value, Args& args) {
    RIDGE_ASSIGN(const Bound bound,
                 r.bind("sort", args, {"reverse", "case_sensitive", "attribute"}));
    if (bound[2] && bound[2]->text() != nullptr &&
        bound[2]->text()->bytes().find(',') != std::string::npos)
        return r.error("'sort' by several attributes is not supported");
    RIDGE_ASSIGN(auto keyed, keyed_by(r, value, bound[2]));
    RIDGE_TRY(sort_by(r, keyed, bound[0] && truthy(*bound[0]), bound[1] && truthy(*bound[1])));
    return values_of(r, keyed);
}

Result<Value> dictsort(Renderer& r, const Value& value, Args& args) {
    RIDGE_ASSIGN(const Bound bound, r.bind("dictsort", args, {"case_sensitive", "by", "reverse"}));
    const Dict* dict = value.dict();
    if (dict == nullptr)
        return r.error(
            fmt::format("'dictsort' takes a dictionary, not a value of type {}", type_name(value)));
    const std::string by = bound[1] ? r.text(*bound[1]).bytes() : "key";
    if (by != "key" && by != "value") return r.error("'dictsort' sorts by 'key' or 'value'");
    std::vector<std::pair<Value, Value>> keyed;
    for (const auto& [key, item] : dict->items) {
        RIDGE_ASSIGN(Value pair, r.list({key, item}, true));
        keyed.emplace_back(by == "key" ? key : item, std::move(pair));
    }
    RIDGE_TRY(sort_by(r, keyed, bound[2] && truthy(*bound[2]), bound[0] && truthy(*bound[0])));
    return values_of(r, keyed);
}

template <bool smallest>
Result<Value> extreme(Renderer& r, const Value& value, Args& args) {
    RIDGE_ASSIGN(const Bound bound, r.bind("min or max", args, {"case_sensitive", "attribute"}));
    RIDGE_ASSIGN(auto keyed, keyed_by(r, value, bound[1]));
    if (keyed.empty()) return make_undefined("the least or greatest of nothing");
    RIDGE_TRY(sort_by(r, keyed, !smallest, bound[0] && truthy(*bound[0])));
    return keyed[0].second;
}

Result<Value> unique(Renderer& r, const Value& value, Args& args) {
    RIDGE_ASSIGN(const Bound bound, r.bind("unique", args, {"case_sensitive", "attribute"}));
    RIDGE_ASSIGN(auto keyed, keyed_by(r, value, bound[1]));
    const bool case_sensitive = bound[0] && truthy(*bound[0]);
    Dict seen;
    std::vector<Value> out;
    for (auto& [key, item] : keyed) {
        Value k = key;
        if (const Text* text = key.text(); text != nullptr && !case_sensitive) {
            r.budget().spend(text->size() / 8);
            RIDGE_TRY(r.afford());
            k = make_text(change_case(*text, Case::lower));
        }
        const size_t before = seen.items.size();
        if (!seen.put(std::move(k), Value{None{}}))
            return r.error("'unique' takes values that can be keys");
        if (seen.items.size() > before) out.push_back(item);
    }
    return r.list(std::move(out));
}

Result<Value> sum(Renderer& r, const Value& value, Args& args) {
    RIDGE_ASSIGN(const Bound bound, r.bind("sum", args, {"attribute", "start"}));
    RIDGE_ASSIGN(auto keyed, keyed_by(r, value, bound[0]));
    Value total = bound[1].value_or(Value{int64_t{0}});
    if (total.text() != nullptr) return r.error("'sum' does not add strings");
    for (const auto& item : keyed) {
        RIDGE_ASSIGN(total, r.binary(Op::add, total, item.first));
    }
    return total;
}

Result<Value> attr(Renderer& r, const Value& value, Args& args) {
    RIDGE_ASSIGN(const Bound bound, r.bind("attr", args, {"name"}, 1));
    if (value.dict() != nullptr && !has_method(value, r.text(*bound[0]).bytes()))
        return make_undefined("an attribute of a dictionary");  // its keys are none
    return r.attribute(value, r.text(*bound[0]).bytes());
}

// jinja2's map and select take None and 0 for nothing.
Result<std::vector<Value>> elements_if_any(Renderer& r, const Value& value) {
    if (!truthy(value)) return std::vector<Value>();
    return r.elements(value);
}

// map(attribute=..., default=...) or map('filter', arguments...)
Result<Value> map(Renderer& r, const Value& value, Args& args) {
    RIDGE_ASSIGN(const std::vector<Value> items, elements_if_any(r, value));
    std::vector<Value> out;
    if (args.positional.empty()) {
        RIDGE_ASSIGN(const Bound bound, r.bind("map", args, {"attribute", "default"}, 1));
        for (const Value& item : items) {
            RIDGE_ASSIGN(Value found, path_of(r, item, *bound[0]));
            if (found.undefined() && bound[1] && !bound[1]->none()) found = *bound[1];
            out.push_back(std::move(found));
        }
        return r.list(std::move(out));
    }
    const std::string name = r.text(args.positional[0]).bytes();
    const Filter filter = find_filter(name);
    if (filter == nullptr)
        return r.error(fmt::format("the filter '{}' is not supported", name.substr(0, 64)));
    args.positional.erase(args.positional.begin());
    for (const Value& item : items) {
        Args copy = args;
        RIDGE_ASSIGN(Value made, r.apply(filter, item, copy));
        out.push_back(std::move(made));
    }
    return r.list(std::move(out));
}

// select, reject, selectattr and rejectattr.
template <bool keep, bool by_attribute>
Result<Value> choose(Renderer& r, const Value& value, Args& args) {
    RIDGE_ASSIGN(const std::vector<Value> items, elements_if_any(r, value));
    Value path;
    if (by_attribute) {
        if (args.positional.empty()) return r.error("the name of an attribute is missing here");
        path = args.positional[0];
        args.positional.erase(args.positional.begin());
    }
    Test test = nullptr;
    if (!args.positional.empty()) {
        const std::string name = r.text(args.positional[0]).bytes();
        test = find_test(name);
        if (test == nullptr)
            return r.error(fmt::format("the test '{}' is not supported", name.substr(0, 64)));
        args.positional.erase(args.positional.begin());
    }
    std::vector<Value> out;
    for (const Value& item : items) {
        Value tested = item;
        if (by_attribute) {
            RIDGE_ASSIGN(tested, path_of(r, item, path));
        }
        bool holds = truthy(tested);
        if (test != nullptr) {
            Args copy = args;
            r.budget().spend(1 + copy.positional.size());
            RIDGE_TRY(r.afford());
            RIDGE_ASSIGN(holds, test(r, tested, copy));
        }
        if (holds == keep) out.push_back(item);
    }
    return r.list(std::move(out));
}

constexpr NamedFilter kFilters[] = {
    {"attr", attr},
    {"count", length},
    {"d", standard},
    {"default", standard},
    {"dictsort", dictsort},
    {"first", first},
    {"items", items},
    {"join", join},
    {"last", last},
    {"length", length},
    {"list", list},
    {"map", map},
    {"max", extreme<false>},
    {"min", extreme<true>},
    {"reject", choose<false, false>},
    {"rejectattr", choose<false, true>},
    {"reverse", reverse},
    {"select", choose<true, false>},
    {"selectattr", choose<true, true>},
    {"sort", sort},
    {"sum", sum},
    {"unique", unique},
};

}  // namespace

std::span<const NamedFilter> list_filters() {
    return kFilters;
}

Filter find_filter(std::string_view name) {
    for (const auto table : {text_filters(), list_filters()})
        for (const NamedFilter& entry : table)
            if (entry.name == name) return entry.filter;
    return nullptr;
}

}  // namespace ridge::jinja
