// Expressions, in jinja2's order of precedence.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "text/jinja_parser.hpp"

namespace ridge::jinja {

ExprPtr Parser::node(ExprKind kind, uint32_t offset) {
    ++nodes_;
    auto made = std::make_unique<Expr>();
    made->kind = kind;
    made->offset = offset;
    return made;
}

Result<ExprPtr> Parser::add(ExprPtr parent, ExprPtr kid) {
    if (kid != nullptr) parent->depth = std::max(parent->depth, kid->depth + 1);
    if (parent->depth > kMaxTreeDepth)
        return error(parent->offset,
                     fmt::format("this is nested more than {} deep", kMaxTreeDepth));
    if (nodes_ > kMaxNodes) return error(parent->offset, "the template is too large from here on");
    parent->kids.push_back(std::move(kid));
    return parent;
}

Result<ExprPtr> Parser::pair(ExprKind kind, uint32_t offset, ExprPtr left, ExprPtr right) {
    RIDGE_ASSIGN(ExprPtr made, add(node(kind, offset), std::move(left)));
    return add(std::move(made), std::move(right));
}

bool Parser::tuple_ends() const {
    const TokenKind kind = current().kind;
    return kind == TokenKind::variable_end || kind == TokenKind::block_end || is_op(")") ||
           kind == TokenKind::end || (in_loop_head_ && is_name("recursive"));
}

// One expression, or a tuple of several without parentheses.
Result<ExprPtr> Parser::tuple(bool conditional) {
    const uint32_t offset = current().offset;
    std::vector<ExprPtr> items;
    bool comma = false;
    while (!tuple_ends()) {
        RIDGE_ASSIGN(ExprPtr item, expression(conditional));
        items.push_back(std::move(item));
        comma = skip_op(",");
        if (!comma) break;
    }
    if (items.empty()) return error_here("an expression is missing here");
    if (items.size() == 1 && !comma) return std::move(items[0]);
    ExprPtr made = node(ExprKind::list, offset);
    made->flag = true;
    for (ExprPtr& item : items) {
        RIDGE_ASSIGN(made, add(std::move(made), std::move(item)));
    }
    return made;
}

Result<ExprPtr> Parser::expression(bool conditional) {
    const Level level(depth_);
    if (depth_ > kMaxTreeDepth)
        return error_here(fmt::format("this is nested more than {} deep", kMaxTreeDepth));
    if (!conditional) return parse_or();
    RIDGE_ASSIGN(ExprPtr expr, parse_or());
    while (is_name("if")) {
        const uint32_t offset = current().offset;
        ++at_;
        RIDGE_ASSIGN(ExprPtr condition, parse_or());
        ExprPtr otherwise;
        if (skip_name("else")) {
            RIDGE_ASSIGN(otherwise, expression());
        }
        RIDGE_ASSIGN(ExprPtr made,
                     pair(ExprKind::conditional, offset, std::move(expr), std::move(condition)));
        RIDGE_ASSIGN(expr, add(std::move(made), std::move(otherwise)));
    }
    return expr;
}

Result<ExprPtr> Parser::parse_or() {
    RIDGE_ASSIGN(ExprPtr left, parse_and());
    while (is_name("or")) {
        const uint32_t offset = tokens_[at_++].offset;
        RIDGE_ASSIGN(ExprPtr right, parse_and());
        RIDGE_ASSIGN(left, pair(ExprKind::logical_or, offset, std::move(left), std::move(right)));
    }
    return left;
}

Result<ExprPtr> Parser::parse_and() {
    RIDGE_ASSIGN(ExprPtr left, parse_not());
    while (is_name("and")) {
        const uint32_t offset = tokens_[at_++].offset;
        RIDGE_ASSIGN(ExprPtr right, parse_not());
        RIDGE_ASSIGN(left, pair(ExprKind::logical_and, offset, std::move(left), std::move(right)));
    }
    return left;
}

Result<ExprPtr> Parser::parse_not() {
    if (!is_name("not")) return parse_compare();
    const Level level(depth_);
    if (depth_ > kMaxTreeDepth)
        return error_here(fmt::format("this is nested more than {} deep", kMaxTreeDepth));
    const uint32_t offset = tokens_[at_++].offset;
    RIDGE_ASSIGN(ExprPtr operand, parse_not());
    return add(node(ExprKind::invert, offset), std::move(operand));
}

Result<ExprPtr> Parser::parse_compare() {
    constexpr std::pair<std::string_view, Op> operators[] = {
        {"==", Op::equal},      {"!=", Op::not_equal}, {"<", Op::less},
        {"<=", Op::less_equal}, {">", Op::greater},    {">=", Op::greater_equal}};
    const uint32_t offset = current().offset;
    RIDGE_ASSIGN(ExprPtr first, parse_sum());
    ExprPtr made;
    for (;;) {
        std::optional<Op> op;
        for (const auto& [text, value] : operators)
            if (is_op(text)) op = value;
        if (op) {
            ++at_;
        } else if (skip_name("in")) {
            op = Op::in;
        } else if (is_name("not") && next().kind == TokenKind::name && next().text == "in") {
            at_ += 2;
            op = Op::not_in;
        } else {
            break;
        }
        if (made == nullptr) {
            RIDGE_ASSIGN(made, add(node(ExprKind::compare, offset), std::move(first)));
        }
        RIDGE_ASSIGN(ExprPtr right, parse_sum());
        RIDGE_ASSIGN(made, add(std::move(made), std::move(right)));
        made->ops.push_back(*op);
    }
    return made != nullptr ? std::move(made) : std::move(first);
}

Result<ExprPtr> Parser::parse_sum() {
    RIDGE_ASSIGN(ExprPtr left, parse_concat());
    while (is_op("+") || is_op("-")) {
        const Op op = is_op("+") ? Op::add : Op::subtract;
        const uint32_t offset = tokens_[at_++].offset;
        RIDGE_ASSIGN(ExprPtr right, parse_concat());
        RIDGE_ASSIGN(left, pair(ExprKind::binary, offset, std::move(left), std::move(right)));
        left->ops = {op};
    }
    return left;
}

Result<ExprPtr> Parser::parse_concat() {
    RIDGE_ASSIGN(ExprPtr first, parse_product());
    if (!is_op("~")) return first;
    RIDGE_ASSIGN(ExprPtr made, add(node(ExprKind::concat, current().offset), std::move(first)));
    while (skip_op("~")) {
        RIDGE_ASSIGN(ExprPtr right, parse_product());
        RIDGE_ASSIGN(made, add(std::move(made), std::move(right)));
    }
    return made;
}

Result<ExprPtr> Parser::parse_product() {
    constexpr std::pair<std::string_view, Op> operators[] = {
        {"*", Op::multiply}, {"/", Op::divide}, {"//", Op::floor_divide}, {"%", Op::modulo}};
    RIDGE_ASSIGN(ExprPtr left, parse_power());
    for (;;) {
        std::optional<Op> op;
        for (const auto& [text, value] : operators)
            if (is_op(text)) op = value;
        if (!op) return left;
        const uint32_t offset = tokens_[at_++].offset;
        RIDGE_ASSIGN(ExprPtr right, parse_power());
        RIDGE_ASSIGN(left, pair(ExprKind::binary, offset, std::move(left), std::move(right)));
        left->ops = {*op};
    }
}

Result<ExprPtr> Parser::parse_power() {
    RIDGE_ASSIGN(ExprPtr left, parse_unary());
    while (is_op("**")) {
        const uint32_t offset = tokens_[at_++].offset;
        RIDGE_ASSIGN(ExprPtr right, parse_unary());
        RIDGE_ASSIGN(left, pair(ExprKind::binary, offset, std::move(left), std::move(right)));
        left->ops = {Op::power};
    }
    return left;
}

Result<ExprPtr> Parser::parse_unary(bool with_filter) {
    const Level level(depth_);
    if (depth_ > kMaxTreeDepth)
        return error_here(fmt::format("this is nested more than {} deep", kMaxTreeDepth));
    const uint32_t offset = current().offset;
    ExprPtr expr;
    if (is_op("-") || is_op("+")) {
        const ExprKind kind = is_op("-") ? ExprKind::negate : ExprKind::plus;
        ++at_;
        RIDGE_ASSIGN(ExprPtr operand, parse_unary(false));
        RIDGE_ASSIGN(expr, add(node(kind, offset), std::move(operand)));
    } else {
        RIDGE_ASSIGN(expr, parse_primary());
    }
    RIDGE_ASSIGN(expr, parse_postfix(std::move(expr)));
    if (!with_filter) return expr;
    return parse_filter_expr(std::move(expr));
}

Result<ExprPtr> Parser::parse_primary() {
    const Token token = current();
    switch (token.kind) {
        case TokenKind::name: {
            ++at_;
            const std::string_view name = token.text;
            if (name == "true" || name == "True" || name == "false" || name == "False") {
                ExprPtr made = node(ExprKind::constant, token.offset);
                made->value = {name[0] == 't' || name[0] == 'T'};
                return made;
            }
            if (name == "none" || name == "None") {
                ExprPtr made = node(ExprKind::constant, token.offset);
                made->value = {None{}};
                return made;
            }
            reads(name);
            ExprPtr made = node(ExprKind::name, token.offset);
            made->name = name;
            return made;
        }
        case TokenKind::string: {
            std::string text;
            for (; current().kind == TokenKind::string; ++at_) {
                auto part = unescape(current().text);
                if (!part) return error_here(part.error().message);
                text += *part;
            }
            ExprPtr made = node(ExprKind::constant, token.offset);
            made->value = make_text(std::move(text));
            return made;
        }
        case TokenKind::integer:
        case TokenKind::real:
            return parse_number();
        default:
            break;
    }
    if (is_op("(")) return parse_parentheses();
    if (is_op("[")) return parse_list();
    if (is_op("{")) return parse_dict();
    if (token.kind == TokenKind::op)
        return error_here(fmt::format("'{}' cannot begin an expression", token.text));
    return error_here("an expression is missing here");
}

Result<ExprPtr> Parser::parse_number() {
    const Token token = tokens_[at_++];
    std::string digits(token.text);
    std::erase(digits, '_');
    ExprPtr made = node(ExprKind::constant, token.offset);
    if (token.kind == TokenKind::real) {
        double value = 0;
        const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), value);
        if (end.ec != std::errc()) return error(token.offset, "this number is out of range");
        made->value = {value};
        return made;
    }
    int base = 10;
    size_t skip = 0;
    if (digits.size() > 1 && digits[0] == '0') {
        const char kind = static_cast<char>(digits[1] | 0x20);
        base = kind == 'x' ? 16 : kind == 'o' ? 8 : kind == 'b' ? 2 : 10;
        skip = base == 10 ? 0 : 2;
        if (base == 10 && digits.find_first_not_of('0') != std::string::npos)
            return error(token.offset, "a number may not begin with 0");
    }
    int64_t value = 0;
    const char* last = digits.data() + digits.size();
    const auto end = std::from_chars(digits.data() + skip, last, value, base);
    if (end.ec != std::errc() || end.ptr != last)
        return error(token.offset, "this is no number that fits 64 bits");
    made->value = {value};
    return made;
}

Result<ExprPtr> Parser::parse_parentheses() {
    const uint32_t offset = tokens_[at_++].offset;
    ExprPtr made;
    if (is_op(")")) {
        made = node(ExprKind::list, offset);
        made->flag = true;
    } else {
        RIDGE_ASSIGN(made, tuple(true));
    }
    RIDGE_TRY(expect_op(")"));
    return made;
}

Result<ExprPtr> Parser::parse_list() {
    ExprPtr made = node(ExprKind::list, tokens_[at_++].offset);
    while (!is_op("]")) {
        if (!made->kids.empty()) {
            RIDGE_TRY(expect_op(","));
            if (is_op("]")) break;
        }
        RIDGE_ASSIGN(ExprPtr item, expression());
        RIDGE_ASSIGN(made, add(std::move(made), std::move(item)));
    }
    ++at_;
    return made;
}

Result<ExprPtr> Parser::parse_dict() {
    ExprPtr made = node(ExprKind::dict, tokens_[at_++].offset);
    while (!is_op("}")) {
        if (!made->kids.empty()) {
            RIDGE_TRY(expect_op(","));
            if (is_op("}")) break;
        }
        RIDGE_ASSIGN(ExprPtr key, expression());
        RIDGE_TRY(expect_op(":"));
        RIDGE_ASSIGN(ExprPtr value, expression());
        RIDGE_ASSIGN(made, add(std::move(made), std::move(key)));
        RIDGE_ASSIGN(made, add(std::move(made), std::move(value)));
    }
    ++at_;
    return made;
}

}  // namespace ridge::jinja
