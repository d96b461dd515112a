// Filters that order values: sort, dictsort, min and max; and unique.
#include <fmt/format.h>

#include <algorithm>

#include "text/jinja_filters.hpp"

namespace ridge::jinja {
namespace {

using Bound = Renderer::Bound;
using Item = Result<std::optional<Value>>;

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

Result<Value> values_of(Renderer& r, std::vector<std::pair<Value, Value>>& keyed) {
    std::vector<Value> out;
    out.reserve(keyed.size());
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
        paths.push_back(bound.value_or(2, Value{None{}}));
    }
    RIDGE_ASSIGN(const std::vector<Value> items, r.elements(value));
    std::vector<std::pair<Value, Value>> keyed;
    for (const Value& item : items) {
        std::vector<Value> keys;
        keys.reserve(paths.size());
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
    RIDGE_TRY(sort_by(r, keyed, bound.value_or(0, Value{false})));
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
    RIDGE_TRY(sort_by(r, keyed, bound.value_or(2, Value{false})));
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
                      [value, case_sensitive, path = bound.value_or(1, Value{None{}}),
                       source = NextItem(), seen = Dict()](Renderer& r_) mutable -> Item {
                          if (!source) {
                              RIDGE_ASSIGN(source, r_.walk(value));
                          }
                          for (;;) {
                              RIDGE_ASSIGN(std::optional<Value> item, source(r_));
                              if (!item) return item;
                              RIDGE_ASSIGN(Value key, path_of(r_, *item, path, {}));
                              if (!case_sensitive) {
                                  RIDGE_ASSIGN(key, without_case(r_, std::move(key)));
                              }
                              RIDGE_TRY(r_.afford());
                              const size_t before = seen.items.size();
                              RIDGE_TRY(r_.put(seen, std::move(key), Value{None{}}));
                              if (seen.items.size() > before) return item;
                          }
                      });
}

constexpr NamedFilter kFilters[] = {
    {"dictsort", dictsort}, {"max", extreme<false>}, {"min", extreme<true>},
    {"sort", sort},         {"unique", unique},
};

}  // namespace

std::span<const NamedFilter> sort_filters() {
    return kFilters;
}

}  // namespace ridge::jinja
