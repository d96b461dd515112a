// Expressions.
#include <fmt/format.h>

#include <ctime>

#include "text/jinja_render.hpp"

namespace ridge::jinja {

Result<Value> Renderer::eval(const Expr& expr) {
    if (!budget_.spend(1)) {
        RIDGE_TRY(afford());
    }
    if (depth_ >= kMaxRenderDepth)
        return error(fmt::format("calls are nested more than {} deep here", kMaxRenderDepth));
    ++depth_;
    offset_ = expr.offset;
    auto value = eval_node(expr);
    --depth_;
    return value;
}

Result<Value> Renderer::eval_node(const Expr& expr) {
    switch (expr.kind) {
        case ExprKind::constant:
            return expr.value;
        case ExprKind::name:
            return eval_name(expr);
        case ExprKind::list:
            return eval_list(expr);
        case ExprKind::dict:
            return eval_dict(expr);
        case ExprKind::attribute: {
            RIDGE_ASSIGN(const Value object, eval(*expr.kids[0]));
            offset_ = expr.offset;
            return attribute(object, expr.name);
        }
        case ExprKind::subscript: {
            RIDGE_ASSIGN(const Value object, eval(*expr.kids[0]));
            RIDGE_ASSIGN(const Value key, eval(*expr.kids[1]));
            offset_ = expr.offset;
            return subscript(object, key);
        }
        case ExprKind::slice:
            return eval_slice(expr);
        case ExprKind::call:
            return eval_call(expr);
        case ExprKind::filter:
            return eval_filter(expr, nullptr);
        case ExprKind::test:
            return eval_test(expr);
        case ExprKind::negate:
        case ExprKind::plus:
        case ExprKind::invert:
            return eval_unary(expr);
        case ExprKind::binary: {
            RIDGE_ASSIGN(const Value a, eval(*expr.kids[0]));
            RIDGE_ASSIGN(const Value b, eval(*expr.kids[1]));
            offset_ = expr.offset;
            return binary(expr.ops[0], a, b);
        }
        case ExprKind::concat:
            return eval_concat(expr);
        case ExprKind::compare:
            return eval_compare(expr);
        case ExprKind::logical_and:
        case ExprKind::logical_or: {
            RIDGE_ASSIGN(Value left, eval(*expr.kids[0]));
            if (truthy(left) == (expr.kind == ExprKind::logical_or)) return left;
            return eval(*expr.kids[1]);
        }
        case ExprKind::conditional: {
            RIDGE_ASSIGN(const Value condition, eval(*expr.kids[1]));
            if (truthy(condition)) return eval(*expr.kids[0]);
            if (expr.kids[2] != nullptr) return eval(*expr.kids[2]);
            return make_undefined("the value of an 'if' without 'else'");
        }
    }
    return error("this is not supported");
}

Result<Value> Renderer::eval_name(const Expr& expr) {
    for (const Scope* s = scope_; s != nullptr; s = s->parent)
        for (const auto& [name, value] : s->variables)
            if (name == expr.name) return value;
    for (const char* name : {"range", "namespace", "dict", "raise_exception", "strftime_now"}) {
        if (expr.name != name) continue;
        auto callable = std::make_shared<Callable>();
        callable->name = expr.name;
        return Value{CallablePtr(std::move(callable))};
    }
    for (const char* name : {"lipsum", "cycler", "joiner", "self"})
        if (expr.name == name) return error(fmt::format("'{}' is not supported", name));
    return make_undefined("'" + expr.name + "'");
}

Result<Value> Renderer::eval_list(const Expr& expr) {
    std::vector<Value> items;
    items.reserve(expr.kids.size());
    for (const ExprPtr& kid : expr.kids) {
        RIDGE_ASSIGN(Value item, eval(*kid));
        items.push_back(std::move(item));
    }
    offset_ = expr.offset;
    return list(std::move(items), expr.flag ? ListKind::tuple : ListKind::list);
}

Result<Value> Renderer::eval_dict(const Expr& expr) {
    Dict made;
    for (size_t i = 0; i < expr.kids.size(); i += 2) {
        RIDGE_ASSIGN(Value key, eval(*expr.kids[i]));
        RIDGE_ASSIGN(Value value, eval(*expr.kids[i + 1]));
        offset_ = expr.offset;
        RIDGE_TRY(put(made, std::move(key), std::move(value)));
    }
    return dict(std::move(made));
}

Result<Value> Renderer::eval_slice(const Expr& expr) {
    RIDGE_ASSIGN(const Value object, eval(*expr.kids[0]));
    std::optional<int64_t> part[3];
    for (size_t i = 0; i < 3; ++i) {
        if (expr.kids[i + 1] == nullptr) continue;
        RIDGE_ASSIGN(const Value value, eval(*expr.kids[i + 1]));
        if (value.none()) continue;
        part[i] = value.integer();
        if (!part[i]) {
            offset_ = expr.offset;
            return error(fmt::format("a slice is of integers, not of type {}", type_name(value)));
        }
    }
    offset_ = expr.offset;
    if (object.undefined()) return attribute(object, "slice");  // says what is undefined
    const Text* text = object.text();
    const List* list_value = object.list();
    if (text == nullptr && (list_value == nullptr || !list_value->indexed()))
        return error(fmt::format("a value of type {} has no slices", type_name(object)));
    if (text != nullptr) budget_.spend_bytes(text->size());
    const auto size = static_cast<int64_t>(text != nullptr ? count_code_points(text->bytes())
                                                           : list_value->items.size());
    const int64_t step = part[2].value_or(1);
    if (step == 0) return error("the step of a slice cannot be 0");
    const int64_t lowest = step > 0 ? 0 : -1;
    const int64_t highest = step > 0 ? size : size - 1;
    const auto place = [&](std::optional<int64_t> given, int64_t standard) {
        if (!given) return standard;
        const int64_t at = *given < 0 ? std::max<int64_t>(*given, -size - 1) + size : *given;
        return std::min(std::max(at, lowest), highest);
    };
    const int64_t begin = place(part[0], step > 0 ? 0 : size - 1);
    const int64_t end = place(part[1], step > 0 ? size : -1);
    if (text != nullptr && step == 1) {
        if (begin >= end) return make_text(Text());
        const size_t from = byte_offset(text->bytes(), static_cast<size_t>(begin));
        const size_t length = byte_offset(std::string_view(text->bytes()).substr(from),
                                          static_cast<size_t>(end - begin));
        return make_text(text->slice(from, from + length));
    }
    RIDGE_ASSIGN(const std::vector<Value> all, elements(object));
    std::vector<Value> items;
    // Steps beyond the length would overflow where they are added.
    const int64_t stride = std::min(std::max(step, -size - 1), size + 1);
    for (int64_t i = begin; step > 0 ? i < end : i > end; i += stride)
        items.push_back(all[static_cast<size_t>(i)]);
    if (text == nullptr) {
        if (list_value->kind != ListKind::range) return list(std::move(items), list_value->kind);
        // A part of a range is one of its own, by the same arithmetic as in Python.
        const auto [first, last, by] = list_value->range;
        std::array<int64_t, 3> part_of{};
        if (__builtin_mul_overflow(begin, by, &part_of[0]) ||
            __builtin_add_overflow(part_of[0], first, &part_of[0]) ||
            __builtin_mul_overflow(end, by, &part_of[1]) ||
            __builtin_add_overflow(part_of[1], first, &part_of[1]) ||
            __builtin_mul_overflow(step, by, &part_of[2]))
            return error("integers beyond 64 bits are not supported");
        return range(std::move(items), part_of);
    }
    Text joined;
    for (const Value& item : items) joined.append(*item.text());
    return make_text(std::move(joined));
}

Status Renderer::eval_args(const Expr& expr, Args& args) {
    for (size_t i = 1; i < expr.kids.size(); ++i) {
        RIDGE_ASSIGN(Value value, eval(*expr.kids[i]));
        args.positional.push_back(std::move(value));
    }
    for (const auto& [name, kid] : expr.named) {
        RIDGE_ASSIGN(Value value, eval(*kid));
        args.named.emplace_back(name, std::move(value));
    }
    if (expr.star != nullptr) {
        RIDGE_ASSIGN(const Value value, eval(*expr.star));
        RIDGE_ASSIGN(std::vector<Value> items, elements(value));
        for (Value& item : items) args.positional.push_back(std::move(item));
    }
    if (expr.star_star != nullptr) {
        RIDGE_ASSIGN(const Value value, eval(*expr.star_star));
        const Dict* dict_value = value.dict();
        if (dict_value == nullptr)
            return error(
                fmt::format("** takes a dictionary, not a value of type {}", type_name(value)));
        budget_.spend(dict_value->items.size());
        for (const auto& [key, item] : dict_value->items)
            args.named.emplace_back(to_text(key, budget_).bytes(), item);
    }
    return afford();
}

Result<Value> Renderer::eval_call(const Expr& expr) {
    RIDGE_ASSIGN(const Value callee, eval(*expr.kids[0]));
    Args args;
    RIDGE_TRY(eval_args(expr, args));
    offset_ = expr.offset;
    return call(callee, args);
}

// `input` stands for the innermost kid that is missing: the body of a block.
Result<Value> Renderer::eval_filter(const Expr& expr, const Value* input) {
    Value value;
    if (expr.kids[0] == nullptr) {
        value = *input;
    } else if (input != nullptr) {
        RIDGE_ASSIGN(value, eval_filter(*expr.kids[0], input));
    } else {
        RIDGE_ASSIGN(value, eval(*expr.kids[0]));
    }
    if (expr.filter == nullptr) {
        offset_ = expr.offset;
        return error(fmt::format("the filter '{}' is not supported", expr.name));
    }
    Args args;
    RIDGE_TRY(eval_args(expr, args));
    offset_ = expr.offset;
    return expr.filter(*this, value, args);
}

Result<Value> Renderer::eval_test(const Expr& expr) {
    RIDGE_ASSIGN(const Value value, eval(*expr.kids[0]));
    Args args;
    RIDGE_TRY(eval_args(expr, args));
    offset_ = expr.offset;
    if (expr.test == nullptr)
        return error(fmt::format("the test '{}' is not supported", expr.name));
    RIDGE_ASSIGN(const bool holds, expr.test(*this, value, args));
    return Value{holds};
}

Result<Value> Renderer::eval_unary(const Expr& expr) {
    RIDGE_ASSIGN(const Value value, eval(*expr.kids[0]));
    offset_ = expr.offset;
    if (expr.kind == ExprKind::invert) return Value{!truthy(value)};
    if (const auto i = value.integer())
        return expr.kind == ExprKind::plus ? Value{*i}
                                           : binary(Op::subtract, Value{int64_t{0}}, value);
    if (const auto* d = value.get<double>()) return Value{expr.kind == ExprKind::plus ? *d : -*d};
    return error(fmt::format("a value of type {} has no sign", type_name(value)));
}

Result<Value> Renderer::eval_concat(const Expr& expr) {
    Text joined;
    for (const ExprPtr& kid : expr.kids) {
        RIDGE_ASSIGN(const Value value, eval(*kid));
        const Text part = to_text(value, budget_);
        budget_.spend_bytes(part.size() + joined.size() / 8);
        RIDGE_TRY(afford());
        joined.append(part);
    }
    return make_text(std::move(joined));
}

Result<Value> Renderer::eval_compare(const Expr& expr) {
    RIDGE_ASSIGN(Value left, eval(*expr.kids[0]));
    for (size_t i = 0; i < expr.ops.size(); ++i) {
        RIDGE_ASSIGN(Value right, eval(*expr.kids[i + 1]));
        offset_ = expr.offset;
        bool holds = false;
        const Op op = expr.ops[i];
        if (op == Op::equal || op == Op::not_equal) {
            holds = equal(left, right, budget_) == (op == Op::equal);
        } else if (op == Op::in || op == Op::not_in) {
            RIDGE_ASSIGN(const bool there, contains(right, left));
            holds = there == (op == Op::in);
        } else {
            const auto order = compare(left, right, budget_);
            if (!order)
                return error(fmt::format("values of types {} and {} have no order", type_name(left),
                                         type_name(right)));
            holds = *order != kUnordered && (op == Op::less         ? *order < 0
                                             : op == Op::less_equal ? *order <= 0
                                             : op == Op::greater    ? *order > 0
                                                                    : *order >= 0);
        }
        RIDGE_TRY(afford());
        if (!holds) return Value{false};
        left = std::move(right);
    }
    return Value{true};
}

}  // namespace ridge::jinja
