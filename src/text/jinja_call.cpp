// Calls: macros, global functions, what a loop offers; and how arguments find their parameters.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "text/jinja_render.hpp"

namespace ridge::jinja {

Result<Renderer::Bound> Renderer::bind(std::string_view what, Args& args,
                                       std::initializer_list<std::string_view> names,
                                       size_t required) {
    Bound bound(names.size());
    if (args.positional.size() > names.size())
        return error(fmt::format("'{}' takes {} arguments, not {}", what, names.size(),
                                 args.positional.size()));
    for (size_t i = 0; i < args.positional.size(); ++i) bound.set(i, std::move(args.positional[i]));
    for (auto& [name, value] : args.named) {
        const auto* const found = std::find(names.begin(), names.end(), name);
        if (found == names.end())
            return error(fmt::format("'{}' has no argument '{}'", what, name));
        const auto i = static_cast<size_t>(found - names.begin());
        if (bound[i]) return error(fmt::format("'{}' was given '{}' twice", what, name));
        bound.set(i, std::move(value));
    }
    for (size_t i = 0; i < required; ++i)
        if (!bound[i])
            return error(fmt::format("'{}' needs the argument '{}'", what, *(names.begin() + i)));
    return bound;
}

Result<Value> Renderer::call(const Value& callee, Args& args) {
    const auto* pointer = callee.get<CallablePtr>();
    if (pointer == nullptr) {
        if (callee.undefined()) return attribute(callee, "call");  // says what is undefined
        return error(fmt::format("a value of type {} cannot be called", type_name(callee)));
    }
    const CallablePtr callable = *pointer;  // lives on where the call ends its variable
    if (callable->macro != nullptr) return call_macro(*callable, args);
    if (!callable->method) return call_global(callable->name, args);
    if (callable->receiver.get<LoopPtr>() != nullptr) return call_loop(*callable, args);
    return call_method(*this, callable->receiver, callable->name, args);
}

Result<Value> Renderer::apply(Filter filter, const Value& input, Args& args) {
    if (depth_ >= kMaxRenderDepth)
        return error(fmt::format("filters are nested more than {} deep here", kMaxRenderDepth));
    budget_.spend(1 + args.positional.size());
    RIDGE_TRY(afford());
    ++depth_;
    auto value = filter(*this, input, args);
    --depth_;
    return value;
}

Result<Value> Renderer::call_macro(const Callable& callee, Args& args) {
    const Macro& macro = *callee.macro;
    const uint32_t offset = offset_;
    Scope* const before = scope_;
    Text* const outer = out_;
    Scope& inner = push_scope(callee.scope);
    const size_t n = macro.parameters.size();
    const size_t given = std::min(n, args.positional.size());
    const auto take_named = [&](std::string_view name, Value& out) {
        for (size_t i = 0; i < args.named.size(); ++i) {
            if (args.named[i].first != name) continue;
            out = std::move(args.named[i].second);
            args.named.erase(args.named.begin() + static_cast<std::ptrdiff_t>(i));
            return true;
        }
        return false;
    };
    // All that was given is bound before any default is evaluated: a default may read a later
    // parameter, which is undefined where it was not given.
    std::vector<bool> missing(n, false);
    for (size_t i = 0; i < n; ++i) {
        const Parameter& p = macro.parameters[i];
        Value value = make_undefined(fmt::format("parameter '{}'", p.name));
        if (i < given)
            value = std::move(args.positional[i]);
        else
            missing[i] = !take_named(p.name, value);
        inner.variables.emplace_back(p.name, std::move(value));
    }
    if (macro.takes_caller) {
        Value caller;
        if (!take_named("caller", caller) || caller.none()) caller = make_undefined("'caller'");
        inner.variables.emplace_back("caller", std::move(caller));
    }
    if (macro.takes_varargs) {
        std::vector<Value> rest(args.positional.begin() + static_cast<std::ptrdiff_t>(given),
                                args.positional.end());
        RIDGE_ASSIGN(Value value, list(std::move(rest), ListKind::tuple));
        inner.variables.emplace_back("varargs", std::move(value));
    } else if (args.positional.size() > n) {
        return error(fmt::format("macro '{}' takes {} arguments, not {}", macro.name, n,
                                 args.positional.size()));
    }
    if (macro.takes_kwargs) {
        Dict rest;
        for (auto& [name, value] : args.named) rest.put(make_text(name), std::move(value));
        RIDGE_ASSIGN(Value value, dict(std::move(rest)));
        inner.variables.emplace_back("kwargs", std::move(value));
    } else if (!args.named.empty()) {
        return error(fmt::format("macro '{}' has no argument '{}', or was given it twice",
                                 macro.name, args.named[0].first));
    }
    for (size_t i = 0; i < n; ++i) {
        if (!missing[i] || macro.parameters[i].standard == nullptr) continue;
        RIDGE_ASSIGN(inner.variables[i].second, eval(*macro.parameters[i].standard));
    }
    offset_ = offset;
    declare(macro.unset);
    Text text;
    out_ = &text;
    RIDGE_TRY(exec(macro.body));
    out_ = outer;
    pop_scope();
    scope_ = before;
    offset_ = offset;
    return make_text(std::move(text));
}

namespace {

std::string format_time(const std::string& format, int64_t now) {
    const auto seconds = static_cast<time_t>(now);
    std::tm local{};
    localtime_r(&seconds, &local);
    // A conversion may well give nothing, which strftime does not tell from too little room.
    std::string out(64 + 16 * format.size(), '\0');
    std::string with_fraction;  // %f is Python's own: microseconds, of which there are none
    for (size_t i = 0; i < format.size(); ++i) {
        if (format[i] == '%' && i + 1 < format.size()) {
            ++i;
            with_fraction += format[i] == 'f' ? "000000" : std::string{'%', format[i]};
        } else {
            with_fraction += format[i];
        }
    }
    out.resize(std::strftime(out.data(), out.size(), with_fraction.c_str(), &local));
    return out;
}

}  // namespace

// dict([(key, value), ...])
Status Renderer::put_pairs(const Value& pairs, Dict& out) {
    RIDGE_ASSIGN(const std::vector<Value> items, elements(pairs));
    for (const Value& item : items) {
        RIDGE_ASSIGN(std::vector<Value> pair, elements(item));
        if (pair.size() != 2 || item.undefined())
            return error("a dictionary is made of another one, or of pairs");
        RIDGE_TRY(put(out, std::move(pair[0]), std::move(pair[1])));
    }
    return {};
}

Status Renderer::hashable(const Value& key) const {
    if (is_hashable(key)) return {};
    return error(fmt::format("a value of type {} cannot be a key", type_name(key)));
}

Status Renderer::put(Dict& dict, Value key, Value value) {
    RIDGE_TRY(hashable(key));
    const char* const type = type_name(key);
    if (dict.put(std::move(key), std::move(value))) return {};
    return error(fmt::format("a key of type {} is not supported", type));
}

Result<Value> Renderer::call_global(const std::string& name, Args& args) {
    if (name == "namespace" || name == "dict") {
        if (args.positional.size() > 1)
            return error(fmt::format("'{}' takes one argument without a name", name));
        Dict made;
        if (!args.positional.empty()) {
            const Value& from = args.positional[0];
            if (from.undefined()) return attribute(from, "");  // says what is undefined
            if (from.dict() != nullptr) {
                made = *from.dict();
            } else {
                RIDGE_TRY(put_pairs(from, made));
            }
        }
        for (auto& [key, value] : args.named) made.put(make_text(key), std::move(value));
        if (name == "dict") return dict(std::move(made));
        budget_.spend(made.items.size());
        auto space = std::make_unique<Namespace>();
        for (auto& [key, value] : made.items)
            if (const Text* text = key.text()) space->put(text->bytes(), std::move(value));
        namespaces_.push_back(std::move(space));
        return Value{namespaces_.back().get()};
    }
    if (name == "range") {
        int64_t part[3] = {0, 0, 1};
        const size_t n = args.positional.size();
        if (n < 1 || n > 3 || !args.named.empty()) return error("'range' takes 1 to 3 integers");
        for (size_t i = 0; i < n; ++i) {
            const auto value = args.positional[i].integer();
            if (!value) return error("'range' takes 1 to 3 integers");
            part[n == 1 ? 1 : i] = *value;
        }
        const auto [begin, end, step] = part;
        if (step == 0) return error("the step of 'range' cannot be 0");
        const bool any = step > 0 ? begin < end : begin > end;
        // Unsigned: the difference of two 64-bit numbers fits.
        const uint64_t distance = step > 0
                                      ? static_cast<uint64_t>(end) - static_cast<uint64_t>(begin)
                                      : static_cast<uint64_t>(begin) - static_cast<uint64_t>(end);
        const uint64_t stride =
            step > 0 ? static_cast<uint64_t>(step) : 0 - static_cast<uint64_t>(step);
        const uint64_t count = any ? (distance - 1) / stride + 1 : 0;
        if (count > static_cast<uint64_t>(kMaxRange))
            return error(fmt::format("'range' gives at most {} numbers", kMaxRange));
        std::vector<Value> items;
        items.reserve(count);
        for (uint64_t i = 0; i < count; ++i)
            items.push_back({static_cast<int64_t>(static_cast<uint64_t>(begin) +
                                                  i * static_cast<uint64_t>(step))});
        return range(std::move(items), {begin, end, step});
    }
    if (name == "strftime_now") {
        RIDGE_ASSIGN(Bound bound, bind(name, args, {"format"}, 1));
        const Text* format = bound[0]->text();
        if (format == nullptr || format->size() > 256)
            return error("'strftime_now' takes a format of at most 256 bytes");
        return make_text(format_time(format->bytes(), now_));
    }
    RIDGE_ASSIGN(Bound bound, bind(name, args, {"message"}, 1));  // raise_exception
    return error("the template refuses this conversation: " + text(*bound[0]).bytes());
}

Result<Value> Renderer::range(std::vector<Value> items, const std::array<int64_t, 3>& given) {
    budget_.spend(items.size());
    auto made = std::make_shared<List>();
    made->items = std::move(items);
    made->kind = ListKind::range;
    made->range = given;
    return Value{ListPtr(std::move(made))};
}

Result<Value> Renderer::call_loop(const Callable& callee, Args& args) {
    Loop& loop = **callee.receiver.get<LoopPtr>();
    if (!args.named.empty()) return error(fmt::format("loop.{} takes no names", callee.name));
    if (callee.name == "cycle") {
        if (args.positional.empty()) return error("loop.cycle needs values");
        return args.positional[(loop.index - 1) % args.positional.size()];
    }
    for (const Value& value : args.positional)
        if (depth_of(value) > 0 || value.get<Namespace*>() != nullptr)
            return error("loop.changed with lists or dictionaries is not supported");
    RIDGE_ASSIGN(Value now, list(std::move(args.positional), ListKind::tuple));
    if (loop.changed && equal(*loop.changed, now, budget_)) return Value{false};
    loop.changed = std::move(now);
    return Value{true};
}

}  // namespace ridge::jinja
