// Tests: what stands behind "is".
#include <fmt/format.h>

#include <algorithm>

#include "text/jinja_filters.hpp"

namespace ridge::jinja {
namespace {

using Bound = Renderer::Bound;

Result<Value> one_argument(Renderer& r, std::string_view what, Args& args) {
    RIDGE_ASSIGN(Bound bound, r.bind(what, args, {"other"}, 1));
    return std::move(*bound[0]);
}

// Tests that look at the value alone.
template <bool (*holds)(const Value&)>
Result<bool> plain(Renderer& r, const Value& value, Args& args) {
    RIDGE_TRY(r.bind("this test", args, {}).map([](const auto&) {}));
    return holds(value);
}

bool defined(const Value& v) {
    return !v.undefined();
}
bool undefined(const Value& v) {
    return v.undefined();
}
bool none(const Value& v) {
    return v.none();
}
bool boolean(const Value& v) {
    return v.get<bool>() != nullptr;
}
bool is_true(const Value& v) {
    return boolean(v) && truthy(v);
}
bool is_false(const Value& v) {
    return boolean(v) && !truthy(v);
}
bool integer(const Value& v) {
    return v.get<int64_t>() != nullptr;
}
bool real(const Value& v) {
    return v.get<double>() != nullptr;
}
bool number(const Value& v) {
    return v.number().has_value();
}
bool string(const Value& v) {
    return v.text() != nullptr;
}
bool mapping(const Value& v) {
    return v.dict() != nullptr;
}
// An undefined value counts as an empty sequence, as in jinja2.
bool sequence(const Value& v) {
    return v.undefined() || v.text() != nullptr || v.dict() != nullptr ||
           (v.list() != nullptr && v.list()->indexed());
}
// Those whose class has __call__; calling an undefined value or a plain loop fails nonetheless.
bool callable(const Value& v) {
    return v.get<CallablePtr>() != nullptr || v.undefined() || v.get<LoopPtr>() != nullptr;
}
bool escaped(const Value&) {
    return false;
}

template <bool upper>
Result<bool> cased(Renderer& r, const Value& value, Args& args) {
    RIDGE_TRY(r.bind("this test", args, {}).map([](const auto&) {}));
    const Text text = r.text(value);
    r.budget().spend(text.size() / 8);
    return upper ? is_upper(text.bytes()) : is_lower(text.bytes());
}

template <bool negated>
Result<bool> same(Renderer& r, const Value& value, Args& args) {
    RIDGE_ASSIGN(const Value other, one_argument(r, "eq", args));
    return equal(value, other, r.budget()) != negated;
}

// `sign` and `also`: the results of a comparison for which the test holds.
template <int sign, int also>
Result<bool> ordered(Renderer& r, const Value& value, Args& args) {
    RIDGE_ASSIGN(const Value other, one_argument(r, "this test", args));
    const auto order = compare(value, other, r.budget());
    if (!order)
        return r.error(fmt::format("values of types {} and {} have no order", type_name(value),
                                   type_name(other)));
    return *order != kUnordered && (*order == sign || *order == also);
}

Result<bool> in(Renderer& r, const Value& value, Args& args) {
    RIDGE_ASSIGN(const Value other, one_argument(r, "in", args));
    return r.contains(other, value);
}

Result<bool> same_as(Renderer& r, const Value& value, Args& args) {
    RIDGE_ASSIGN(const Value other, one_argument(r, "sameas", args));
    if (value.v.index() != other.v.index()) return false;
    if (const auto* text = value.get<TextPtr>()) return *text == *other.get<TextPtr>();
    if (const auto* list = value.get<ListPtr>()) return *list == *other.get<ListPtr>();
    if (const auto* dict = value.get<DictPtr>()) return *dict == *other.get<DictPtr>();
    return equal(value, other, r.budget());
}

template <int rest>
Result<bool> parity(Renderer& r, const Value& value, Args& args) {
    RIDGE_TRY(r.bind("this test", args, {}).map([](const auto&) {}));
    if (value.text() != nullptr) return r.error("a string is neither odd nor even");
    RIDGE_ASSIGN(const Value left, r.binary(Op::modulo, value, Value{int64_t{2}}));
    return left.number() == double{rest};
}

Result<bool> divisible(Renderer& r, const Value& value, Args& args) {
    RIDGE_ASSIGN(const Value by, one_argument(r, "divisibleby", args));
    RIDGE_ASSIGN(const Value rest, r.binary(Op::modulo, value, by));
    return rest.number() == 0.0;
}

Result<bool> iterable(Renderer& r, const Value& value, Args& args) {
    RIDGE_TRY(r.bind("iterable", args, {}).map([](const auto&) {}));
    return sequence(value) || value.list() != nullptr || value.get<LoopPtr>() != nullptr;
}

// Whether jinja2 has a filter or test of that name: a template asks before it uses one. Those that
// ridge lacks are not denied, but refused.
template <typename Find>
Result<bool> exists(Renderer& r, const Value& value, Args& args, Find find) {
    RIDGE_TRY(r.bind("this test", args, {}).map([](const auto&) {}));
    if (!is_hashable(value))
        return r.error(fmt::format("a value of type {} is no name", type_name(value)));
    if (value.text() == nullptr) return false;
    constexpr std::string_view lacking[] = {
        "batch",    "center",    "e",      "escape",    "filesizeformat", "forceescape",
        "format",   "groupby",   "pprint", "random",    "slice",          "striptags",
        "truncate", "urlencode", "urlize", "wordcount", "wordwrap",       "xmlattr"};
    const std::string& name = value.text()->bytes();
    if (find(name) != nullptr) return true;
    if (std::is_same_v<decltype(find(name)), Filter> &&
        std::find(std::begin(lacking), std::end(lacking), name) != std::end(lacking))
        return r.error(fmt::format("the filter '{}' is not supported", name));
    return false;
}
Result<bool> is_filter(Renderer& r, const Value& value, Args& args) {
    return exists(r, value, args, [](const std::string& name) { return find_filter(name); });
}
Result<bool> is_test(Renderer& r, const Value& value, Args& args) {
    return exists(r, value, args, [](const std::string& name) { return find_test(name); });
}

constexpr NamedTest kTests[] = {
    {"boolean", plain<boolean>},
    {"callable", plain<callable>},
    {"defined", plain<defined>},
    {"divisibleby", divisible},
    {"eq", same<false>},
    {"equalto", same<false>},
    {"escaped", plain<escaped>},
    {"even", parity<0>},
    {"false", plain<is_false>},
    {"filter", is_filter},
    {"float", plain<real>},
    {"ge", ordered<1, 0>},
    {"greaterthan", ordered<1, 1>},
    {"gt", ordered<1, 1>},
    {"in", in},
    {"integer", plain<integer>},
    {"iterable", iterable},
    {"le", ordered<-1, 0>},
    {"lessthan", ordered<-1, -1>},
    {"lower", cased<false>},
    {"lt", ordered<-1, -1>},
    {"mapping", plain<mapping>},
    {"ne", same<true>},
    {"none", plain<none>},
    {"number", plain<number>},
    {"odd", parity<1>},
    {"sameas", same_as},
    {"sequence", plain<sequence>},
    {"string", plain<string>},
    {"test", is_test},
    {"true", plain<is_true>},
    {"undefined", plain<undefined>},
    {"upper", cased<true>},
};

// Names that stand for operators: selectattr('x', '==', 1).
constexpr NamedTest kOperators[] = {
    {"==", same<false>},    {"!=", same<true>},   {"<", ordered<-1, -1>},
    {"<=", ordered<-1, 0>}, {">", ordered<1, 1>}, {">=", ordered<1, 0>},
};

}  // namespace

std::span<const NamedTest> all_tests() {
    return kTests;
}

Test find_test(std::string_view name) {
    for (const NamedTest& entry : kTests)
        if (entry.name == name) return entry.test;
    for (const NamedTest& entry : kOperators)
        if (entry.name == name) return entry.test;
    return nullptr;
}

}  // namespace ridge::jinja
