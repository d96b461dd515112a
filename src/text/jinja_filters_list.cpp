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
    if (const auto size = size_of(value)) return static_cast<int64_t>(*size);
    if (value.get<LoopPtr>() != nullptr) {
        RIDGE_ASSIGN(const Value n, r.attribute(value, "length"));
        return *n.integer();
    }
    return r.error(fmt::format("a value of type {} has no length", type_name(value)));
}

Result<Value> path_of(Renderer& r, const Value& item, const Value& path,
                      const std::optional<Value>& standard) {
    if (path.none()) return item;
    const auto step = [&](const Value& from, const Value& key) -> Result<Value> {
        RIDGE_ASSIGN(Value found, r.subscript(from, key));
        if (found.undefined() && standard && !standard->none()) found = *standard;
        return found;
    };
    const Text* text = path.text();
    if (text == nullptr) return step(item, path);
    const std::string& s = text->bytes();
    Value value = item;
    for (size_t begin = 0; begin <= s.size();) {
        const size_t end = std::min(s.find('.', begin), s.size());
        const std::string part = s.substr(begin, end - begin);
        const bool number = !part.empty() && part.size() < 10 &&
                            part.find_first_not_of("0123456789") == std::string::npos;
        r.budget().spend(1);
        RIDGE_TRY(r.afford());
        RIDGE_ASSIGN(value,
                     step(value, number ? Value{int64_t{std::stol(part)}} : make_text(part)));
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
    RIDGE_ASSIGN(const NextItem next, r.walk(value));
    RIDGE_ASSIGN(const std::optional<Value> item, next(r));
    return item ? *item : make_undefined("the first of nothing");
}

Result<Value> last(Renderer& r, const Value& value, Args& args) {
    RIDGE_TRY(r.bind("last", args, {}).map([](const auto&) {}));
    if (value.list() != nullptr && value.list()->iterator())
        return r.error(
            "a generator has no last element; a filter 'list' behind it makes it a list");
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
            RIDGE_ASSIGN(item, path_of(r, items[i], *bound[1], {}));
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

// Filters whose result is walked once: what they find wrong they say when they are walked.
using Item = Result<std::optional<Value>>;

Result<Value> items(Renderer& r, const Value& value, Args& args) {
    RIDGE_TRY(r.bind("items", args, {}).map([](const auto&) {}));
    return r.iterator(value, [value, at = size_t{0}](Renderer& r_) mutable -> Item {
        if (value.undefined()) return std::optional<Value>();
        if (value.dict() == nullptr)
            return r_.error(fmt::format("'items' takes a dictionary, not a value of type {}",
                                        type_name(value)));
        r_.budget().spend(1);
        const auto& all = value.dict()->items;
        if (at >= all.size()) return std::optional<Value>();
        const auto& [key, item] = all[at++];
        RIDGE_ASSIGN(Value pair, r_.list({key, item}, ListKind::tuple));
        return std::optional(std::move(pair));
    });
}

Result<Value> reverse(Renderer& r, const Value& value, Args& args) {
    RIDGE_TRY(r.bind("reverse", args, {}).map([](const auto&) {}));
    const bool once = value.list() != nullptr && value.list()->iterator();
    RIDGE_ASSIGN(std::vector<Value> items, r.elements(value));
    if (value.text() == nullptr && !once && !value.undefined())
        return r.iterator(value, [items = std::move(items)](Renderer& r_) mutable -> Item {
            r_.budget().spend(1);
            if (items.empty()) return std::optional<Value>();
            Value item = std::move(items.back());
            items.pop_back();
            return std::optional(std::move(item));
        });
    std::reverse(items.begin(), items.end());
    if (value.text() == nullptr) return r.list(std::move(items));
    Text out;
    for (const Value& item : items) out.append(*item.text());
    return make_text(std::move(out));
}

Result<Value> without_case(Renderer& r, Value key) {
    const Text* text = key.text();
    if (text == nullptr) return key;
    r.budget().spend(text->size() / 8);
    RIDGE_TRY(r.afford());
    return make_text(change_case(*text, Case::lower));
}

// Sorts by key, keeping the order of equals. Error: keys that Python does not order.
Status sort_by(Renderer& r, std::vector<std::pair<Value, Value>>& keyed, const Value& reversed) {
    if (!reversed.integer())
        return r.error(
            fmt::format("'reverse' is a boolean, not a value of type {}", type_name(reversed)));
    const bool reverse = truthy(reversed);
    size_t rounds = 1;
    for (size_t n = keyed.size(); n > 1; n /= 2) ++rounds;
    r.budget().spend(keyed.size() * rounds);
    RIDGE_TRY(r.afford());
    bool ordered = true;
    bool unordered = false;
    const auto less = [&](const auto& a, const auto& b) {
        if (!ordered) return false;
        const auto order = compare(a.first, b.first, r.budget());
        if (!order) ordered = false;
        unordered |= order == kUnordered;
        return order && order != kUnordered && (reverse ? *order > 0 : *order < 0);
    };
    std::stable_sort(keyed.begin(), keyed.end(), less);
    RIDGE_TRY(r.afford());
    if (!ordered) return r.error("values of these types have no order");
    if (unordered) return r.error("sorting NaN is not supported");
    return {};
}

Result<std::vector<std::pair<Value, Value>>> keyed_by(Renderer& r, const Value& value,
                                                      const std::optional<Value>& attribute) {
    RIDGE_ASSIGN(const std::vector<Value> items, r.elements(value));
    std::vector<std::pair<Value, Value>> keyed;
    for (const Value& item : items) {
        Value key = item;
        if (attribute && !attribute->none()) {
            RIDGE_ASSIGN(key, path_of(r, item, *attribute, {}));
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

// By one attribute or several ("a,b.c"): jinja2 compares lists of them, whose equal elements need
// no order.
Result<Value> sort(Renderer& r, const Value& value, Args& args) {
    RIDGE_ASSIGN(const Bound bound,
                 r.bind("sort", args, {"reverse", "case_sensitive", "attribute"}));
    const bool case_sensitive = bound[1] && truthy(*bound[1]);
    std::vector<Value> paths;
    if (bound[2] && bound[2]->text() != nullptr) {
        const std::string& s = bound[2]->text()->bytes();
        for (size_t begin = 0; begin <= s.size();) {
            const size_t end = std::min(s.find(',', begin), s.size());
            paths.push_back(make_text(s.substr(begin, end - begin)));
            begin = end + 1;
        }
    } else {
        paths.push_back(bound[2].value_or(Value{None{}}));
    }
    RIDGE_ASSIGN(const std::vector<Value> items, r.elements(value));
    std::vector<std::pair<Value, Value>> keyed;
    for (const Value& item : items) {
        std::vector<Value> keys;
        for (const Value& path : paths) {
            RIDGE_ASSIGN(Value key, path_of(r, item, path, {}));
            if (!case_sensitive) {
                RIDGE_ASSIGN(key, without_case(r, std::move(key)));
            }
            keys.push_back(std::move(key));
        }
        RIDGE_ASSIGN(Value key, r.list(std::move(keys)));
        keyed.emplace_back(std::move(key), item);
    }
    RIDGE_TRY(sort_by(r, keyed, bound[0].value_or(Value{false})));
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
        RIDGE_ASSIGN(Value pair, r.list({key, item}, ListKind::tuple));
        Value by_what = by == "key" ? key : item;
        if (!bound[0] || !truthy(*bound[0])) {
            RIDGE_ASSIGN(by_what, without_case(r, std::move(by_what)));
        }
        keyed.emplace_back(std::move(by_what), std::move(pair));
    }
    RIDGE_TRY(sort_by(r, keyed, bound[2].value_or(Value{false})));
    return values_of(r, keyed);
}

template <bool smallest>
Result<Value> extreme(Renderer& r, const Value& value, Args& args) {
    RIDGE_ASSIGN(const Bound bound, r.bind("min or max", args, {"case_sensitive", "attribute"}));
    RIDGE_ASSIGN(auto keyed, keyed_by(r, value, bound[1]));
    if (keyed.empty()) return make_undefined("the least or greatest of nothing");
    if (!bound[0] || !truthy(*bound[0]))
        for (auto& [key, item] : keyed) {
            RIDGE_ASSIGN(key, without_case(r, std::move(key)));
        }
    RIDGE_TRY(sort_by(r, keyed, Value{!smallest}));
    return keyed[0].second;
}

Result<Value> unique(Renderer& r, const Value& value, Args& args) {
    RIDGE_ASSIGN(const Bound bound, r.bind("unique", args, {"case_sensitive", "attribute"}));
    const bool case_sensitive = bound[0] && truthy(*bound[0]);
    return r.iterator(value,
                      [value, case_sensitive, attribute = bound[1], source = NextItem(),
                       seen = Dict()](Renderer& r_) mutable -> Item {
                          if (!source) {
                              RIDGE_ASSIGN(source, r_.walk(value));
                          }
                          for (;;) {
                              RIDGE_ASSIGN(std::optional<Value> item, source(r_));
                              if (!item) return item;
                              Value key = *item;
                              if (attribute && !attribute->none()) {
                                  RIDGE_ASSIGN(key, path_of(r_, *item, *attribute, {}));
                              }
                              if (const Text* text = key.text();
                                  text != nullptr && !case_sensitive) {
                                  r_.budget().spend(text->size() / 8);
                                  key = make_text(change_case(*text, Case::lower));
                              }
                              RIDGE_TRY(r_.afford());
                              const size_t before = seen.items.size();
                              RIDGE_TRY(r_.put(seen, std::move(key), Value{None{}}));
                              if (seen.items.size() > before) return item;
                          }
                      });
}

Result<Value> sum(Renderer& r, const Value& value, Args& args) {
    RIDGE_ASSIGN(const Bound bound, r.bind("sum", args, {"attribute", "start"}));
    RIDGE_ASSIGN(auto keyed, keyed_by(r, value, bound[0]));
    Value total = bound[1].value_or(Value{int64_t{0}});
    if (total.text() != nullptr) return r.error("'sum' does not add strings");
    RIDGE_TRY(r.afford());
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

// map(attribute=..., default=...) or map('filter', arguments...). jinja2's map and select take
// None, 0 and the like for nothing.
Result<Value> map(Renderer& r, const Value& value, Args& given) {
    return r.iterator(
        value,
        [value, args = std::move(given), bound = std::optional<Bound>(), filter = Filter{},
         source = NextItem()](Renderer& r_) mutable -> Item {
            if (!source) {
                if (!truthy(value)) return std::optional<Value>();
                if (args.positional.empty()) {
                    RIDGE_ASSIGN(bound, r_.bind("map", args, {"attribute", "default"}, 1));
                } else {
                    const std::string name = r_.text(args.positional[0]).bytes();
                    filter = args.positional[0].text() == nullptr ? nullptr : find_filter(name);
                    if (filter == nullptr)
                        return r_.error(
                            fmt::format("the filter '{}' is not supported", name.substr(0, 64)));
                    args.positional.erase(args.positional.begin());
                }
                RIDGE_ASSIGN(source, r_.walk(value));
            }
            RIDGE_ASSIGN(std::optional<Value> item, source(r_));
            if (!item) return item;
            r_.budget().spend(1);
            RIDGE_TRY(r_.afford());
            if (bound) {
                RIDGE_ASSIGN(item, path_of(r_, *item, *(*bound)[0], (*bound)[1]));
            } else {
                Args copy = args;
                RIDGE_ASSIGN(item, r_.apply(filter, *item, copy));
            }
            return item;
        });
}

// select, reject, selectattr and rejectattr.
template <bool keep, bool by_attribute>
Result<Value> choose(Renderer& r, const Value& value, Args& given) {
    return r.iterator(value,
                      [value, args = std::move(given), path = Value{}, test = Test{},
                       source = NextItem()](Renderer& r_) mutable -> Item {
                          if (!source) {
                              if (!truthy(value)) return std::optional<Value>();
                              if (by_attribute) {
                                  if (args.positional.empty())
                                      return r_.error("the name of an attribute is missing here");
                                  path = args.positional[0];
                                  args.positional.erase(args.positional.begin());
                              }
                              if (!args.positional.empty()) {
                                  const std::string name = r_.text(args.positional[0]).bytes();
                                  test = args.positional[0].text() == nullptr ? nullptr
                                                                              : find_test(name);
                                  if (test == nullptr)
                                      return r_.error(fmt::format("the test '{}' is not supported",
                                                                  name.substr(0, 64)));
                                  args.positional.erase(args.positional.begin());
                              }
                              RIDGE_ASSIGN(source, r_.walk(value));
                          }
                          for (;;) {
                              RIDGE_ASSIGN(std::optional<Value> item, source(r_));
                              if (!item) return item;
                              Value tested = *item;
                              if (by_attribute) {
                                  RIDGE_ASSIGN(tested, path_of(r_, *item, path, {}));
                              }
                              r_.budget().spend(1 + args.positional.size());
                              RIDGE_TRY(r_.afford());
                              bool holds = truthy(tested);
                              if (test != nullptr) {
                                  Args copy = args;
                                  RIDGE_ASSIGN(holds, test(r_, tested, copy));
                              }
                              if (holds == keep) return item;
                          }
                      });
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
