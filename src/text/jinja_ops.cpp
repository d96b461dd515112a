// What Python's operators, attributes and subscripts do to values.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "text/jinja_render.hpp"
#include "text/unicode.hpp"

namespace ridge::jinja {

Result<bool> Renderer::contains(const Value& container, const Value& item) {
    if (const Text* text = container.text()) {
        const Text* part = item.text();
        if (part == nullptr)
            return error(fmt::format("only strings are in a string, not a value of type {}",
                                     type_name(item)));
        budget_.spend_bytes(text->size());
        return find(text->bytes(), part->bytes()) != std::string_view::npos;
    }
    if (const Dict* dict_value = container.dict()) {
        RIDGE_TRY(hashable(item));
        return dict_value->find(item) != nullptr;
    }
    if (container.undefined()) return false;
    if (container.get<LoopPtr>() != nullptr)
        return error("looking for something in 'loop' itself is not supported");
    const List* const list = container.list();
    if (list == nullptr)
        return error(fmt::format("a value of type {} contains nothing", type_name(container)));
    // Python looks keys up, also those of a pair, and so needs what can be one.
    if (list->kind == ListKind::keys) RIDGE_TRY(hashable(item));
    if (const List* const pair = item.list(); list->kind == ListKind::items && pair != nullptr &&
                                              pair->kind == ListKind::tuple &&
                                              pair->items.size() == 2)
        RIDGE_TRY(hashable(pair->items[0]));
    RIDGE_ASSIGN(const NextItem next, walk(container));
    for (;;) {
        RIDGE_ASSIGN(const std::optional<Value> element, next(*this));
        if (!element) return false;
        if (equal(*element, item, budget_)) return true;
        RIDGE_TRY(afford());
    }
}

namespace {

// Attributes that Python's values have and no template needs: not undefined, as others are.
Status refuse_attribute(const Renderer& r, const Value& object, std::string_view name) {
    constexpr std::string_view of_numbers[] = {
        "as_integer_ratio", "bit_count", "bit_length", "conjugate", "denominator",
        "from_bytes",       "fromhex",   "hex",        "imag",      "is_integer",
        "numerator",        "real",      "to_bytes"};
    constexpr std::string_view of_ranges[] = {"start", "stop", "step"};
    constexpr std::string_view of_views[] = {"isdisjoint", "mapping"};
    constexpr std::string_view of_iterators[] = {"close", "send", "throw"};
    constexpr std::string_view of_functions[] = {
        "name", "arguments", "caller", "catch_kwargs", "catch_varargs", "explicit_caller"};
    const auto refuses = [&](auto& names) {
        return std::find(std::begin(names), std::end(names), name) != std::end(names);
    };
    const List* list = object.list();
    const bool known = object.number() ? refuses(of_numbers)
                       : object.get<CallablePtr>() != nullptr
                           ? refuses(of_functions) || refuses(of_numbers)
                       : list == nullptr                  ? false
                       : list->kind == ListKind::range    ? refuses(of_ranges)
                       : list->kind == ListKind::iterator ? refuses(of_iterators)
                       : list->kind > ListKind::range     ? refuses(of_views)
                                                          : false;
    if (known)
        return r.error(
            fmt::format("'{}' of a value of type {} is not supported", name, type_name(object)));
    return {};
}

}  // namespace

Result<Value> Renderer::attribute(const Value& object, std::string_view name) {
    if (const auto* undefined = object.get<Undefined>())
        return error(
            fmt::format("{} is undefined", undefined->what == nullptr ? "this" : *undefined->what));
    if (has_method(object, name)) {
        auto callable = std::make_shared<Callable>();
        callable->name = name;
        callable->method = true;
        callable->receiver = object;
        return Value{CallablePtr(std::move(callable))};
    }
    const Value* found = nullptr;
    if (const Dict* dict_value = object.dict()) found = dict_value->find(name);
    if (const auto* space = object.get<Namespace*>()) found = (*space)->find(name);
    if (found != nullptr) return *found;
    if (object.get<LoopPtr>() != nullptr) return loop_attribute(object, name);
    RIDGE_TRY(refuse_attribute(*this, object, name));
    return make_undefined(
        fmt::format("'{}' of a value of type {}", name.substr(0, 64), type_name(object)));
}

Result<Value> Renderer::subscript(const Value& object, const Value& key) {
    if (object.undefined()) return attribute(object, "");
    const Value* found = nullptr;
    if (const Dict* dict_value = object.dict()) {
        found = dict_value->find(key);
    } else if (const auto index = key.integer()) {
        if (const List* list_value = object.list();
            list_value != nullptr && list_value->indexed()) {
            const auto size = static_cast<int64_t>(list_value->items.size());
            const int64_t at = *index < 0 ? *index + size : *index;
            if (at >= 0 && at < size) found = &list_value->items[static_cast<size_t>(at)];
        } else if (const Text* text = object.text()) {
            budget_.spend_bytes(text->size());
            const auto size = static_cast<int64_t>(count_code_points(text->bytes()));
            const int64_t at = *index < 0 ? *index + size : *index;
            if (at >= 0 && at < size) {
                const size_t from = byte_offset(text->bytes(), static_cast<size_t>(at));
                const size_t length = text::decode_utf8(text->bytes(), from).length;
                return make_text(text->slice(from, from + length));
            }
        }
    }
    if (found != nullptr) return *found;
    if (const Text* name = key.text()) return attribute(object, name->bytes());
    return make_undefined(fmt::format("an element of a value of type {}", type_name(object)));
}

namespace {

std::optional<int64_t> integer_result(Op op, int64_t a, int64_t b) {
    int64_t out = 0;
    switch (op) {
        case Op::add:
            if (__builtin_add_overflow(a, b, &out)) return std::nullopt;
            return out;
        case Op::subtract:
            if (__builtin_sub_overflow(a, b, &out)) return std::nullopt;
            return out;
        case Op::multiply:
            if (__builtin_mul_overflow(a, b, &out)) return std::nullopt;
            return out;
        case Op::floor_divide:
            if (a == INT64_MIN && b == -1) return std::nullopt;
            out = a / b;
            return a % b != 0 && (a < 0) != (b < 0) ? out - 1 : out;
        case Op::modulo:
            if (b == -1) return 0;
            out = a % b;
            return out != 0 && (out < 0) != (b < 0) ? out + b : out;
        default: {  // power; b is not negative
            int64_t base = a;
            out = 1;
            for (int64_t n = b; n > 0; n >>= 1) {
                if ((n & 1) != 0 && __builtin_mul_overflow(out, base, &out)) return std::nullopt;
                if (n > 1 && __builtin_mul_overflow(base, base, &base)) return std::nullopt;
            }
            return out;
        }
    }
}

// a / b of integers, rounded once, as in Python: neither need be exact as a double.
double quotient(int64_t a, int64_t b) {
    constexpr int64_t exact = int64_t{1} << 53;
    if (std::max(a, b) <= exact && std::min(a, b) >= -exact)
        return static_cast<double>(a) / static_cast<double>(b);
    const auto magnitude = [](int64_t x) {
        return x < 0 ? 0 - static_cast<uint64_t>(x) : static_cast<uint64_t>(x);
    };
    const uint64_t over = magnitude(a);
    const uint64_t under = magnitude(b);
    if (over == 0) return b < 0 ? -0.0 : 0.0;
    // The dividend with its top bit set: the quotient has 64 bits or more, of which the last one
    // stands for the rest.
    const int shift = 64 + __builtin_clzll(over);
    const unsigned __int128 scaled = static_cast<unsigned __int128>(over) << shift;
    const unsigned __int128 whole = scaled / under | (scaled % under != 0 ? 1 : 0);
    const double value = std::ldexp(static_cast<double>(whole), -shift);
    return (a < 0) != (b < 0) ? -value : value;
}

double real_result(Op op, double a, double b) {
    switch (op) {
        case Op::add:
            return a + b;
        case Op::subtract:
            return a - b;
        case Op::multiply:
            return a * b;
        case Op::divide:
            return a / b;
        case Op::floor_divide:
        case Op::modulo: {  // as CPython's float_divmod
            double rest = std::fmod(a, b);
            double quotient = (a - rest) / b;
            if (rest != 0) {
                if ((b < 0) != (rest < 0)) {
                    rest += b;
                    quotient -= 1;
                }
            } else {
                rest = std::copysign(0.0, b);
            }
            if (op == Op::modulo) return rest;
            if (quotient == 0) return std::copysign(0.0, a / b);
            const double floored = std::floor(quotient);
            return quotient - floored > 0.5 ? floored + 1 : floored;
        }
        default:
            return std::pow(a, b);
    }
}

}  // namespace

Result<Value> Renderer::binary(Op op, const Value& a, const Value& b) {
    for (const Value* value : {&a, &b})
        if (value->undefined()) return attribute(*value, "");  // says what is undefined
    const auto ai = a.integer();
    const auto bi = b.integer();
    const auto an = a.number();
    const auto bn = b.number();
    if (an && bn) {
        const bool divides = op == Op::divide || op == Op::floor_divide || op == Op::modulo;
        if (divides && *bn == 0) return error("this divides by zero");
        if (op == Op::power && *an == 0 && *bn < 0) return error("this divides by zero");
        if (op == Op::power && *an < 0 && *bn != std::floor(*bn))
            return error("powers that are complex numbers are not supported");
        if (ai && bi && op != Op::divide && !(op == Op::power && *bi < 0)) {
            const auto result = integer_result(op, *ai, *bi);
            if (!result) return error("integers beyond 64 bits are not supported");
            return Value{*result};
        }
        if (ai && bi && op == Op::divide) return Value{quotient(*ai, *bi)};
        const double result = real_result(op, *an, *bn);
        if (op == Op::power && std::isinf(result) && std::isfinite(*an) && std::isfinite(*bn))
            return error("this power is out of range");
        return Value{result};
    }
    if (op == Op::add) {
        if (const Text *at = a.text(), *bt = b.text(); at != nullptr && bt != nullptr) {
            budget_.spend_bytes(at->size() + bt->size());
            RIDGE_TRY(afford());
            Text joined = *at;
            joined.append(*bt);
            return make_text(std::move(joined));
        }
        if (const List *al = a.list(), *bl = b.list();
            al != nullptr && bl != nullptr && al->kind == bl->kind && al->kind <= ListKind::tuple) {
            RIDGE_ASSIGN(std::vector<Value> items, elements(a));
            budget_.spend(bl->items.size());
            RIDGE_TRY(afford());
            items.insert(items.end(), bl->items.begin(), bl->items.end());
            return list(std::move(items), al->kind);
        }
    }
    if (op == Op::multiply && (ai || bi)) {
        const Value& repeated = ai ? b : a;
        const auto times = static_cast<uint64_t>(std::max<int64_t>(0, ai ? *ai : *bi));
        const Text* text = repeated.text();
        const List* list_value = repeated.list();
        if (list_value != nullptr && list_value->kind > ListKind::tuple) list_value = nullptr;
        const size_t size = text != nullptr         ? text->size()
                            : list_value != nullptr ? 64 * list_value->items.size()
                                                    : 0;
        if (text != nullptr || list_value != nullptr) {
            uint64_t total = 0;
            if (__builtin_mul_overflow(times, size, &total)) total = UINT64_MAX;
            RIDGE_TRY(afford(total));
            budget_.spend_bytes(total);
            const uint64_t turns = size == 0 ? 0 : times;
            if (text != nullptr) {
                Text out;
                for (uint64_t i = 0; i < turns; ++i) out.append(*text);
                return make_text(std::move(out));
            }
            std::vector<Value> items;
            for (uint64_t i = 0; i < turns; ++i)
                items.insert(items.end(), list_value->items.begin(), list_value->items.end());
            return list(std::move(items), list_value->kind);
        }
    }
    if (op == Op::modulo && a.text() != nullptr) return error("formatting with % is not supported");
    return error(
        fmt::format("types {} and {} do not go together here", type_name(a), type_name(b)));
}

}  // namespace ridge::jinja
