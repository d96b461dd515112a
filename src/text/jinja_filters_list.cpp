// Filters of lists and dictionaries.
#include <fmt/format.h>

#include <algorithm>

#include "text/jinja_filters.hpp"
#include "text/unicode.hpp"

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
        return n.integer().value_or(0);
    }
    return r.error(fmt::format("a value of type {} has no length", type_name(value)));
}

Result<Value> path_of(Renderer& r, const Value& item, const Value& path, const Value* standard) {
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
        r.budget().spend_bytes(part.size());
        RIDGE_TRY(r.afford());
        // A part that str.isdigit() holds for is a place, which int() has to read.
        bool digits = !part.empty();
        bool decimals = true;
        int64_t place = 0;
        for (size_t i = 0; digits && i < part.size();) {
            const text::CodePoint c = text::decode_utf8(part, i);
            const int digit = decimal_value(c.value);
            digits = is_digit(c.value);
            decimals &= digit >= 0;
            place = std::min<int64_t>(place * 10 + std::max(digit, 0), INT32_MAX);
            i += c.length;
        }
        if (digits && !decimals) return r.error(fmt::format("'{}' is no integer", part));
        RIDGE_ASSIGN(value, step(value, digits ? Value{place} : make_text(part)));
        begin = end + 1;
    }
    return value;
}

Result<std::vector<std::pair<Value, Value>>> keyed_by(Renderer& r, const Value& value,
                                                      const Value* attribute) {
    RIDGE_ASSIGN(const std::vector<Value> items, r.elements(value));
    const Value path = attribute == nullptr ? Value{None{}} : *attribute;
    std::vector<std::pair<Value, Value>> keyed;
    for (const Value& item : items) {
        RIDGE_ASSIGN(Value key, path_of(r, item, path, {}));
        keyed.emplace_back(std::move(key), item);
    }
    return keyed;
}

namespace {

using Bound = Renderer::Bound;
using Item = Result<std::optional<Value>>;

Result<Value> standard(Renderer& r, const Value& value, Args& args) {
    RIDGE_ASSIGN(const Bound bound, r.bind("default", args, {"default_value", "boolean"}));
    const bool falsy = bound[1] && truthy(*bound[1]);
    if (!value.undefined() && !(falsy && !truthy(value))) return value;
    return bound.value_or(0, make_text(Text()));
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
    const Value path = bound.value_or(1, Value{None{}});
    Text out;
    for (size_t i = 0; i < items.size(); ++i) {
        RIDGE_ASSIGN(const Value item, path_of(r, items[i], path, {}));
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

// Filters whose result is walked once say what they find wrong when they are walked.

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
    if (value.text() == nullptr && !once)
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

Result<Value> sum(Renderer& r, const Value& value, Args& args) {
    RIDGE_ASSIGN(const Bound bound, r.bind("sum", args, {"attribute", "start"}));
    RIDGE_ASSIGN(auto keyed, keyed_by(r, value, bound[0]));
    Value total = bound.value_or(1, Value{int64_t{0}});
    if (total.text() != nullptr) return r.error("'sum' does not add strings");
    RIDGE_TRY(r.afford());
    for (const auto& item : keyed) {
        RIDGE_ASSIGN(total, r.binary(Op::add, total, item.first));
    }
    return total;
}

Result<Value> attr(Renderer& r, const Value& value, Args& args) {
    RIDGE_ASSIGN(const Bound bound, r.bind("attr", args, {"name"}, 1));
    if (bound[0]->text() == nullptr)
        return r.error(
            fmt::format("'attr' takes a string, not a value of type {}", type_name(*bound[0])));
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
    {"first", first},
    {"items", items},
    {"join", join},
    {"last", last},
    {"length", length},
    {"list", list},
    {"map", map},
    {"reject", choose<false, false>},
    {"rejectattr", choose<false, true>},
    {"reverse", reverse},
    {"select", choose<true, false>},
    {"selectattr", choose<true, true>},
    {"sum", sum},
};

}  // namespace

std::span<const NamedFilter> list_filters() {
    return kFilters;
}

Filter find_filter(std::string_view name) {
    for (const auto table : {text_filters(), list_filters(), sort_filters()})
        for (const NamedFilter& entry : table)
            if (entry.name == name) return entry.filter;
    return nullptr;
}

}  // namespace ridge::jinja
