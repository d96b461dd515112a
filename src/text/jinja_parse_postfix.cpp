// What follows a value: attributes, subscripts, calls, filters and tests.
#include <fmt/format.h>

#include <algorithm>

#include "text/jinja_parser.hpp"

namespace ridge::jinja {

Result<ExprPtr> Parser::parse_postfix(ExprPtr expr) {
    for (;;) {
        if (is_op(".") || is_op("[")) {
            RIDGE_ASSIGN(expr, parse_subscript(std::move(expr)));
        } else if (is_op("(")) {
            RIDGE_ASSIGN(expr, parse_call(std::move(expr)));
        } else {
            return expr;
        }
    }
}

Result<ExprPtr> Parser::parse_filter_expr(ExprPtr expr) {
    for (;;) {
        if (is_op("|")) {
            RIDGE_ASSIGN(expr, parse_filters(std::move(expr), false));
        } else if (is_name("is")) {
            RIDGE_ASSIGN(expr, parse_test(std::move(expr)));
        } else if (is_op("(")) {
            RIDGE_ASSIGN(expr, parse_call(std::move(expr)));
        } else {
            return expr;
        }
    }
}

Result<ExprPtr> Parser::parse_subscript(ExprPtr expr) {
    const Token token = tokens_[at_++];
    if (token.text == ".") {
        if (current().kind == TokenKind::integer) {
            RIDGE_ASSIGN(ExprPtr index, parse_number());
            return pair(ExprKind::subscript, token.offset, std::move(expr), std::move(index));
        }
        const uint32_t offset = current().offset;
        RIDGE_ASSIGN(std::string name, expect_name());
        RIDGE_ASSIGN(ExprPtr made, add(node(ExprKind::attribute, offset), std::move(expr)));
        made->name = std::move(name);
        return made;
    }
    ExprPtr parts[3];
    size_t n = 0;
    bool slice = false;
    while (!is_op("]")) {
        if (is_op(",")) return error_here("an index of several values is not supported");
        if (is_op(":")) {
            ++at_;
            slice = true;
            if (++n > 2) return error_here("a slice has at most three parts");
            continue;
        }
        if (parts[n] != nullptr) return error_here("']' is missing here");
        RIDGE_ASSIGN(parts[n], expression());
    }
    ++at_;
    if (!slice) {
        if (parts[0] == nullptr) return error(token.offset, "an empty index is not supported");
        return pair(ExprKind::subscript, token.offset, std::move(expr), std::move(parts[0]));
    }
    RIDGE_ASSIGN(ExprPtr made, add(node(ExprKind::slice, token.offset), std::move(expr)));
    for (ExprPtr& part : parts) {
        RIDGE_ASSIGN(made, add(std::move(made), std::move(part)));
    }
    return made;
}

Status Parser::deepen(Expr& parent, const Expr& kid) {
    parent.depth = std::max(parent.depth, kid.depth + 1);
    if (parent.depth > kMaxTreeDepth)
        return error_here(fmt::format("this is nested more than {} deep", kMaxTreeDepth));
    return {};
}

// The arguments of a call, its opening parenthesis included.
Status Parser::call_arguments(Expr& call) {
    RIDGE_TRY(expect_op("("));
    bool first = true;
    while (!is_op(")")) {
        if (!first) {
            RIDGE_TRY(expect_op(","));
            if (is_op(")")) break;
        }
        first = false;
        // f(*list, **dict): each once and last.
        const bool star = is_op("*");
        if (star || is_op("**")) {
            ++at_;
            RIDGE_ASSIGN(ExprPtr value, expression());
            ExprPtr& slot = star ? call.star : call.star_star;
            if (slot != nullptr) return error_here("only one such argument is supported");
            RIDGE_TRY(deepen(call, *value));
            slot = std::move(value);
            continue;
        }
        if (call.star != nullptr || call.star_star != nullptr)
            return error_here("arguments behind * and ** are not supported");
        std::string name;
        if (current().kind == TokenKind::name && next().kind == TokenKind::op &&
            next().text == "=") {
            name = current().text;
            for (const auto& [there, value] : call.named)
                if (there == name)
                    return error_here(fmt::format("the argument '{}' is given twice", name));
            at_ += 2;
        } else if (!call.named.empty()) {
            return error_here("an argument without a name may not follow one with a name");
        }
        RIDGE_ASSIGN(ExprPtr value, expression());
        RIDGE_TRY(deepen(call, *value));
        if (name.empty())
            call.kids.push_back(std::move(value));
        else
            call.named.emplace_back(std::move(name), std::move(value));
    }
    ++at_;
    return {};
}

Result<ExprPtr> Parser::parse_call(ExprPtr callee) {
    const uint32_t offset = callee->offset;
    RIDGE_ASSIGN(ExprPtr made, add(node(ExprKind::call, offset), std::move(callee)));
    RIDGE_TRY(call_arguments(*made));
    return made;
}

// A chain of filters; with `first`, the first one's "|" is left out (a filter block).
Result<ExprPtr> Parser::parse_filters(ExprPtr input, bool first) {
    for (; first || is_op("|"); first = false) {
        if (!first) ++at_;
        const uint32_t offset = current().offset;
        RIDGE_ASSIGN(std::string name, expect_name());
        ExprPtr made = node(ExprKind::filter, offset);
        made->filter = find_filter(name);
        if (made->filter == nullptr && conditions_ == 0)
            return error(offset, fmt::format("the filter '{}' is not supported", name));
        made->name = std::move(name);
        RIDGE_ASSIGN(made, add(std::move(made), std::move(input)));
        if (is_op("(")) RIDGE_TRY(call_arguments(*made));
        input = std::move(made);
    }
    return input;
}

Result<ExprPtr> Parser::parse_test(ExprPtr expr) {
    ++at_;  // is
    const bool negated = skip_name("not");
    const uint32_t offset = current().offset;
    RIDGE_ASSIGN(std::string name, expect_name());
    ExprPtr made = node(ExprKind::test, offset);
    made->test = find_test(name);
    if (made->test == nullptr && conditions_ == 0)
        return error(offset, fmt::format("the test '{}' is not supported", name));
    made->name = std::move(name);
    RIDGE_ASSIGN(made, add(std::move(made), std::move(expr)));
    if (is_op("(")) {
        RIDGE_TRY(call_arguments(*made));
    } else if (current().kind == TokenKind::name || current().kind == TokenKind::string ||
               current().kind == TokenKind::integer || current().kind == TokenKind::real ||
               is_op("[") || is_op("{")) {
        if (is_name("is")) return error_here("tests cannot be chained with 'is'");
        if (!is_name("else") && !is_name("or") && !is_name("and")) {
            RIDGE_ASSIGN(ExprPtr argument, parse_primary());
            RIDGE_ASSIGN(argument, parse_postfix(std::move(argument)));
            RIDGE_ASSIGN(made, add(std::move(made), std::move(argument)));
        }
    }
    if (!negated) return made;
    return add(node(ExprKind::invert, offset), std::move(made));
}

}  // namespace ridge::jinja
