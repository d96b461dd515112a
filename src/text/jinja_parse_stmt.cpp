// Statements: what stands between {% and %}.
#include <fmt/format.h>

#include <algorithm>

#include "text/jinja_parser.hpp"
#include "text/unicode.hpp"

namespace ridge::jinja {
namespace {

std::unique_ptr<Stmt> make(StmtKind kind, uint32_t offset) {
    auto made = std::make_unique<Stmt>();
    made->kind = kind;
    made->offset = offset;
    return made;
}

}  // namespace

tl::unexpected<Error> Parser::error(uint32_t offset, std::string_view what) const {
    return fail(ErrorCode::unsupported,
                fmt::format("chat template, {}: {}", position_text(source_, offset), what));
}

bool Parser::skip_op(std::string_view op) {
    const bool there = is_op(op);
    at_ += there ? 1 : 0;
    return there;
}

bool Parser::skip_name(std::string_view name) {
    const bool there = is_name(name);
    at_ += there ? 1 : 0;
    return there;
}

Status Parser::expect_op(std::string_view op) {
    if (!skip_op(op)) return error_here(fmt::format("'{}' is missing here", op));
    return {};
}

Result<std::string> Parser::expect_name() {
    if (current().kind != TokenKind::name) return error_here("a name is missing here");
    return std::string(tokens_[at_++].text);
}

Status Parser::end_block(std::string_view name) {
    if (current().kind != TokenKind::block_end)
        return error_here(fmt::format("{} should end with %}} here", name));
    ++at_;
    return {};
}

// The end of a tag that a body follows: jinja2 takes a colon before it, as Python has one.
Status Parser::begin_body(std::string_view name) {
    skip_op(":");
    return end_block(name);
}

Result<Body> Parser::parse_body() {
    RIDGE_ASSIGN(Body body, statements({}));
    if (current().kind != TokenKind::end)
        return error(next().offset, fmt::format("'{}' has no beginning", next().text));
    return body;
}

// Statements up to {% END of one of `ends`, whose name is then the current token; or up to the end
// of the template.
Result<Body> Parser::statements(std::initializer_list<std::string_view> ends) {
    const Level level(depth_);
    if (depth_ > kMaxTreeDepth)
        return error_here(fmt::format("this is nested more than {} deep", kMaxTreeDepth));
    Body body;
    for (;;) {
        const Token& token = current();
        if (++nodes_ > kMaxNodes) return error_here("the template is too large from here on");
        if (token.kind == TokenKind::end) {
            if (ends.size() > 0)
                return error_here(fmt::format("the template ends where {{% {} %}} is missing",
                                              *(ends.end() - 1)));
            return body;
        }
        if (token.kind == TokenKind::text) {
            auto text = make(StmtKind::text, token.offset);
            text->text = Text(std::string(token.text), false);
            body.push_back(std::move(text));
            ++at_;
        } else if (token.kind == TokenKind::variable_begin) {
            ++at_;
            auto print = make(StmtKind::print, current().offset);
            RIDGE_ASSIGN(print->exprs.emplace_back(), tuple(true));
            if (current().kind != TokenKind::variable_end)
                return error_here("'}}' is missing here");
            ++at_;
            body.push_back(std::move(print));
        } else {
            if (next().kind != TokenKind::name)
                return error(next().offset, "the name of a tag is missing here");
            if (std::find(ends.begin(), ends.end(), next().text) != ends.end()) {
                ++at_;
                return body;
            }
            if (next().text.starts_with("end") || next().text == "else" || next().text == "elif") {
                if (ends.size() == 0) return body;
                return error(next().offset, fmt::format("'{}' stands where '{}' is missing",
                                                        next().text, *(ends.end() - 1)));
            }
            ++at_;
            RIDGE_TRY(statement(body));
        }
    }
}

// Statements up to {% END %}, that tag included.
Result<Body> Parser::body_until(std::string_view end) {
    RIDGE_ASSIGN(Body body, statements({end}));
    ++at_;
    RIDGE_TRY(end_block(end));
    return body;
}

// From the tag that ended the body before, which is {% else %} or {% END %}, to the block's end.
Status Parser::last_body(Stmt& block, std::string_view end) {
    if (!skip_name("else")) {
        ++at_;
        return end_block(end);
    }
    RIDGE_TRY(begin_body("else"));
    RIDGE_ASSIGN(block.bodies.emplace_back(), body_until(end));
    return {};
}

Status Parser::statement(Body& out) {
    const std::string_view name = current().text;
    const uint32_t offset = current().offset;
    Result<std::unique_ptr<Stmt>> made = nullptr;
    if (name == "if") {
        made = parse_if();
    } else if (name == "for") {
        made = parse_for();
    } else if (name == "set") {
        made = parse_set();
    } else if (name == "macro") {
        made = parse_macro();
    } else if (name == "call") {
        made = parse_call_block();
    } else if (name == "filter") {
        made = parse_filter_block();
    } else if (name == "with") {
        made = parse_with();
    } else if (name == "generation") {  // transformers marks the assistant's tokens with it
        ++at_;
        RIDGE_TRY(begin_body(name));
        auto block = make(StmtKind::generation, offset);
        block->macro = std::make_unique<Macro>();
        block->macro->name = name;
        RIDGE_ASSIGN(block->macro->body, macro_body(*block->macro, "endgeneration"));
        made = std::move(block);
    } else if (name == "break" || name == "continue") {
        if (loops_ == 0) return error_here(fmt::format("'{}' stands outside of a loop", name));
        ++at_;
        RIDGE_TRY(end_block(name));
        made = make(name == "break" ? StmtKind::break_loop : StmtKind::continue_loop, offset);
    } else {
        return error_here(fmt::format("the tag '{}' is not supported", name));
    }
    if (!made) return propagate(made);
    out.push_back(std::move(*made));
    return {};
}

Result<std::unique_ptr<Stmt>> Parser::parse_if() {
    auto made = make(StmtKind::branch, current().offset);
    ++at_;
    const Level condition_level(conditions_);
    for (;;) {
        RIDGE_ASSIGN(made->exprs.emplace_back(), tuple(false));
        RIDGE_TRY(begin_body("if"));
        RIDGE_ASSIGN(made->bodies.emplace_back(), statements({"elif", "else", "endif"}));
        if (!skip_name("elif")) break;
    }
    RIDGE_TRY(last_body(*made, "endif"));
    return made;
}

void Parser::declares(std::string_view name) {
    for (OpenMacro& open : macros_) {
        open.sets_caller |= name == "caller";
        open.sets_varargs |= name == "varargs";
        open.sets_kwargs |= name == "kwargs";
    }
    for (OpenLoop& open : open_loops_) open.sets_loop |= name == "loop";
}

void Parser::reads(std::string_view name) {
    for (OpenMacro& open : macros_) {
        Macro& macro = *open.macro;
        macro.takes_caller |= name == "caller" && !open.sets_caller;
        macro.takes_varargs |= name == "varargs" && !open.sets_varargs;
        macro.takes_kwargs |= name == "kwargs" && !open.sets_kwargs;
    }
    for (OpenLoop& open : open_loops_) open.stmt->has_loop |= name == "loop" && !open.sets_loop;
}

// A name, names in parentheses or without, or namespace.name.
Result<Target> Parser::target(bool of_set) {
    Target made;
    const uint32_t offset = current().offset;
    if (of_set && next().kind == TokenKind::op && next().text == ".") {
        RIDGE_ASSIGN(std::string name, expect_name());
        made.names.push_back(std::move(name));
        ++at_;
        RIDGE_ASSIGN(made.attribute, expect_name());
        return made;
    }
    const bool parentheses = skip_op("(");
    for (;;) {
        if (is_op("(")) return error_here("names in parentheses of their own are not supported");
        RIDGE_ASSIGN(std::string name, expect_name());
        constexpr std::string_view reserved[] = {"true", "false", "none", "True", "False", "None"};
        if (std::find(std::begin(reserved), std::end(reserved), name) != std::end(reserved))
            return error(offset, fmt::format("'{}' cannot be assigned to", name));
        if (name == "loop" && (!of_set || fors_ > 0))
            return error(offset, "'loop' cannot be assigned to in a loop");
        declares(name);
        made.names.push_back(std::move(name));
        if (!skip_op(",")) break;
        made.unpack = true;
        if (is_name("in") || is_op(")") || is_op("=")) break;
    }
    if (parentheses) RIDGE_TRY(expect_op(")"));
    return made;
}

Result<std::unique_ptr<Stmt>> Parser::parse_for() {
    auto made = make(StmtKind::loop, current().offset);
    ++at_;
    ++fors_;
    RIDGE_ASSIGN(made->target, target(false));
    if (!skip_name("in")) return error_here("'in' is missing here");
    in_loop_head_ = true;
    RIDGE_ASSIGN(made->exprs.emplace_back(), tuple(false));
    in_loop_head_ = false;
    made->exprs.emplace_back();
    if (skip_name("if")) {
        RIDGE_ASSIGN(made->exprs.back(), expression());
    }
    if (is_name("recursive")) return error_here("recursive loops are not supported");
    RIDGE_TRY(begin_body("for"));
    ++loops_;
    open_loops_.push_back({made.get(), false});
    RIDGE_ASSIGN(made->bodies.emplace_back(), statements({"else", "endfor"}));
    open_loops_.pop_back();
    --loops_;
    RIDGE_TRY(last_body(*made, "endfor"));
    --fors_;
    return made;
}

Result<std::unique_ptr<Stmt>> Parser::parse_set() {
    auto made = make(StmtKind::assign, current().offset);
    ++at_;
    RIDGE_ASSIGN(made->target, target(true));
    if (skip_op("=")) {
        RIDGE_ASSIGN(made->exprs.emplace_back(), tuple(true));
        RIDGE_TRY(end_block("set"));
        return made;
    }
    made->kind = StmtKind::assign_block;
    made->exprs.emplace_back();
    if (is_op("|")) {
        RIDGE_ASSIGN(made->exprs.back(), parse_filters(nullptr, false));
    }
    RIDGE_TRY(begin_body("set"));
    RIDGE_ASSIGN(made->bodies.emplace_back(), body_until("endset"));
    return made;
}

// (a, b=1, ...)
Status Parser::signature(Macro& macro) {
    RIDGE_TRY(expect_op("("));
    while (!is_op(")")) {
        if (!macro.parameters.empty()) {
            RIDGE_TRY(expect_op(","));
            if (is_op(")")) break;
        }
        Parameter parameter;
        RIDGE_ASSIGN(parameter.name, expect_name());
        for (const Parameter& other : macro.parameters)
            if (other.name == parameter.name)
                return error_here(fmt::format("the parameter '{}' is there twice", parameter.name));
        declares(parameter.name);
        if (skip_op("=")) {
            RIDGE_ASSIGN(parameter.standard, expression());
        } else if (!macro.parameters.empty() && macro.parameters.back().standard != nullptr) {
            return error_here("a parameter without a default may not follow one with a default");
        }
        macro.parameters.push_back(std::move(parameter));
    }
    ++at_;
    return {};
}

Result<Body> Parser::macro_body(Macro& macro, std::string_view end) {
    OpenMacro open{&macro, false, false, false};
    for (const Parameter& p : macro.parameters) {
        open.sets_varargs |= p.name == "varargs";
        open.sets_kwargs |= p.name == "kwargs";
        if (p.name == "caller") return error_here("a parameter named 'caller' is not supported");
    }
    macros_.push_back(open);
    const uint32_t loops = std::exchange(loops_, 0);
    RIDGE_ASSIGN(Body body, body_until(end));
    macros_.pop_back();
    loops_ = loops;
    return body;
}

Result<std::unique_ptr<Stmt>> Parser::parse_macro() {
    auto made = make(StmtKind::macro, current().offset);
    ++at_;
    made->macro = std::make_unique<Macro>();
    RIDGE_ASSIGN(made->macro->name, expect_name());
    RIDGE_TRY(signature(*made->macro));
    RIDGE_TRY(begin_body("macro"));
    RIDGE_ASSIGN(made->macro->body, macro_body(*made->macro, "endmacro"));
    return made;
}

Result<std::unique_ptr<Stmt>> Parser::parse_call_block() {
    auto made = make(StmtKind::call_block, current().offset);
    ++at_;
    made->macro = std::make_unique<Macro>();
    made->macro->name = "caller";
    if (is_op("(")) RIDGE_TRY(signature(*made->macro));
    const uint32_t offset = current().offset;
    RIDGE_ASSIGN(ExprPtr call, expression());
    if (call->kind != ExprKind::call) return error(offset, "a call is missing here");
    made->exprs.push_back(std::move(call));
    RIDGE_TRY(begin_body("call"));
    RIDGE_ASSIGN(made->macro->body, macro_body(*made->macro, "endcall"));
    return made;
}

Result<std::unique_ptr<Stmt>> Parser::parse_filter_block() {
    auto made = make(StmtKind::filter_block, current().offset);
    ++at_;
    RIDGE_ASSIGN(made->exprs.emplace_back(), parse_filters(nullptr, true));
    RIDGE_TRY(begin_body("filter"));
    RIDGE_ASSIGN(made->bodies.emplace_back(), body_until("endfilter"));
    return made;
}

Result<std::unique_ptr<Stmt>> Parser::parse_with() {
    auto made = make(StmtKind::with, current().offset);
    ++at_;
    made->macro = std::make_unique<Macro>();  // its parameters are the names
    // The names are declared before any of the values is read.
    int open = 0;
    for (size_t i = at_;
         tokens_[i].kind != TokenKind::block_end && tokens_[i].kind != TokenKind::end; ++i) {
        const std::string_view text = tokens_[i].text;
        if (tokens_[i].kind == TokenKind::op)
            open += text == "(" || text == "[" || text == "{"   ? 1
                    : text == ")" || text == "]" || text == "}" ? -1
                                                                : 0;
        if (open == 0 && tokens_[i].kind == TokenKind::name && tokens_[i + 1].text == "=")
            declares(text);
    }
    while (current().kind != TokenKind::block_end) {
        if (!made->macro->parameters.empty()) RIDGE_TRY(expect_op(","));
        Parameter parameter;
        RIDGE_ASSIGN(parameter.name, expect_name());
        RIDGE_TRY(expect_op("="));
        RIDGE_ASSIGN(parameter.standard, expression());
        made->macro->parameters.push_back(std::move(parameter));
    }
    RIDGE_TRY(end_block("with"));
    RIDGE_ASSIGN(made->bodies.emplace_back(), body_until("endwith"));
    return made;
}

Result<std::shared_ptr<const Tree>> parse_template(std::string_view source) {
    if (source.size() > kMaxSourceBytes)
        return fail(ErrorCode::unsupported,
                    fmt::format("chat template, line 1, column 1: it has {} bytes, more than {}",
                                source.size(), kMaxSourceBytes));
    if (text::replace_ill_formed(source))
        return fail(ErrorCode::unsupported,
                    "chat template, line 1, column 1: it is not UTF-8; convert it");
    auto tree = std::make_shared<Tree>();
    tree->source = normalize_newlines(source);
    RIDGE_ASSIGN(std::vector<Token> tokens, tokenize_template(tree->source));
    RIDGE_ASSIGN(tree->body, Parser(tree->source, std::move(tokens)).parse_body());
    find_unset_names(*tree);
    return tree;
}

}  // namespace ridge::jinja
