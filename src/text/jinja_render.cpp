// Statements.
#include "text/jinja_render.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "text/jinja_lexer.hpp"

namespace ridge::jinja {

Renderer::Renderer(const Tree& tree, uint64_t steps, int64_t now)
    : tree_(tree), budget_{steps}, now_(now) {}

Result<Text> Renderer::run(const std::vector<std::pair<std::string, Value>>& variables) {
    Text out;
    out_ = &out;
    Scope& outermost = push_scope(nullptr);
    for (const auto& [name, value] : variables) outermost.variables.emplace_back(name, value);
    push_scope(&outermost);
    declare(tree_.unset);
    RIDGE_TRY(exec(tree_.body));
    RIDGE_TRY(afford());
    return out;
}

tl::unexpected<Error> Renderer::error(std::string_view what) const {
    return fail(ErrorCode::invalid_argument,
                fmt::format("chat template, {}: {}", position_text(tree_.source, offset_), what));
}

Status Renderer::afford(size_t bytes) {
    if (budget_.left == 0 || bytes / 64 >= budget_.left) {
        budget_.left = 0;
        if (budget_.refused != nullptr) return error(budget_.refused);
        return error("the template does too much work for this conversation and was stopped");
    }
    return {};
}

Result<Value> Renderer::list(std::vector<Value> items, ListKind kind) {
    budget_.spend(items.size());
    auto made = make_list(std::move(items), kind);
    if (!made) return error(fmt::format("lists are nested more than {} deep here", kMaxNesting));
    return std::move(*made);
}

Result<Value> Renderer::dict(Dict dict) {
    budget_.spend(dict.items.size());
    auto made = finish_dict(std::move(dict));
    if (!made)
        return error(fmt::format("dictionaries are nested more than {} deep here", kMaxNesting));
    return std::move(*made);
}

Scope& Renderer::push_scope(Scope* parent) {
    scopes_.push_back(std::make_unique<Scope>());
    scope_ = scopes_.back().get();
    scope_->parent = parent;
    return *scope_;
}

// Back to no scope; the caller sets scope_ to the one before.
void Renderer::pop_scope() {
    if (!scopes_.back()->kept) scopes_.pop_back();
}

// Makes names the current scope's own, without a value.
void Renderer::declare(const std::vector<std::string>& names) {
    for (const std::string& name : names)
        scope_->variables.emplace_back(name, make_undefined("'" + name + "'"));
}

Result<Renderer::Flow> Renderer::exec(const Body& body) {
    if (depth_ >= kMaxRenderDepth)
        return error(fmt::format("calls are nested more than {} deep here", kMaxRenderDepth));
    ++depth_;
    Flow flow = Flow::normal;
    for (const auto& stmt : body) {
        if (!budget_.spend(1)) return afford().map([] { return Flow::normal; });
        auto done = exec(*stmt);
        if (!done) return done;
        flow = *done;
        if (flow != Flow::normal) break;
    }
    --depth_;
    return flow;
}

Result<Renderer::Flow> Renderer::exec(const Stmt& stmt) {
    offset_ = stmt.offset;
    switch (stmt.kind) {
        case StmtKind::text:
            budget_.spend_bytes(stmt.text.size());
            RIDGE_TRY(afford(stmt.text.size()));
            out_->append(stmt.text);
            return Flow::normal;
        case StmtKind::print: {
            RIDGE_ASSIGN(const Value value, eval(*stmt.exprs[0]));
            offset_ = stmt.offset;
            RIDGE_TRY(print(value));
            return Flow::normal;
        }
        case StmtKind::branch:
            return exec_branch(stmt);
        case StmtKind::loop:
            return exec_loop(stmt);
        case StmtKind::assign: {
            RIDGE_ASSIGN(Value value, eval(*stmt.exprs[0]));
            offset_ = stmt.offset;
            RIDGE_TRY(assign(stmt.target, std::move(value)));
            return Flow::normal;
        }
        case StmtKind::assign_block:
        case StmtKind::filter_block:
        case StmtKind::with:
            return exec_scoped(stmt);
        case StmtKind::generation: {
            Args none;
            const Value body = make_macro(*stmt.macro);
            RIDGE_ASSIGN(const Value value, call(body, none));
            RIDGE_TRY(print(value));
            return Flow::normal;
        }
        case StmtKind::macro:
            RIDGE_TRY(exec_macro(stmt));
            return Flow::normal;
        case StmtKind::call_block:
            RIDGE_TRY(exec_call_block(stmt));
            return Flow::normal;
        case StmtKind::break_loop:
            return Flow::leave;
        case StmtKind::continue_loop:
            return Flow::again;
    }
    return Flow::normal;
}

Status Renderer::print(const Value& value) {
    const Text text = to_text(value, budget_);
    budget_.spend_bytes(text.size());
    RIDGE_TRY(afford());
    out_->append(text);
    return {};
}

// What jinja2 joins without turning it into text first.
Status Renderer::print_text(const Value& value, std::string_view what) {
    if (value.text() == nullptr)
        return error(
            fmt::format("{} is to give text, not a value of type {}", what, type_name(value)));
    return print(value);
}

Result<Renderer::Flow> Renderer::exec_branch(const Stmt& stmt) {
    for (size_t i = 0; i < stmt.exprs.size(); ++i) {
        RIDGE_ASSIGN(const Value condition, eval(*stmt.exprs[i]));
        if (truthy(condition)) return exec(stmt.bodies[i]);
    }
    if (stmt.bodies.size() > stmt.exprs.size()) return exec(stmt.bodies.back());
    return Flow::normal;
}

Result<Renderer::Flow> Renderer::exec_loop(const Stmt& stmt) {
    RIDGE_ASSIGN(const Value over, eval(*stmt.exprs[0]));
    offset_ = stmt.offset;
    RIDGE_ASSIGN(const NextItem source, walk(over));
    Scope* const outer = scope_;
    const auto loop = std::make_shared<Loop>();
    loop->depth = 1 + depth_of(over);
    if (loop->depth > kMaxNesting)
        return error(fmt::format("loops over loops are nested more than {} deep", kMaxNesting));
    if (stmt.exprs[1] == nullptr) {
        loop->next = source;
        if (const auto size = size_of(over)) loop->length = *size;
    } else {  // for ... if: the condition sees the item alone, when the item's turn has come
        loop->next = [&stmt, outer, source](Renderer& r) {
            return r.next_kept(stmt, outer, source);
        };
    }
    bool finished = false;  // a turn that neither break nor continue ended
    Flow flow = Flow::normal;
    for (;;) {
        RIDGE_ASSIGN(std::optional<Value> item, loop_next(*loop));
        if (!item) break;
        offset_ = stmt.offset;
        RIDGE_TRY(afford());
        Scope& turn = push_scope(outer);
        RIDGE_TRY(assign(stmt.target, *item));
        if (stmt.has_loop) turn.variables.emplace_back("loop", Value{LoopPtr(loop)});
        declare(stmt.unset[0]);
        RIDGE_ASSIGN(flow, exec(stmt.bodies[0]));
        pop_scope();
        scope_ = outer;
        finished |= flow == Flow::normal;
        if (flow == Flow::leave) break;
    }
    loop->next = nullptr;
    if (finished || stmt.bodies.size() < 2) return Flow::normal;
    push_scope(outer);
    declare(stmt.unset[1]);
    RIDGE_ASSIGN(flow, exec(stmt.bodies[1]));
    pop_scope();
    scope_ = outer;
    return flow;
}

// The next item for which the loop's condition holds.
Result<std::optional<Value>> Renderer::next_kept(const Stmt& stmt, Scope* outer,
                                                 const NextItem& source) {
    Scope* const before = scope_;
    for (;;) {
        RIDGE_ASSIGN(std::optional<Value> item, source(*this));
        if (!item) return item;
        push_scope(outer);
        RIDGE_TRY(assign(stmt.target, *item));
        RIDGE_ASSIGN(const Value condition, eval(*stmt.exprs[1]));
        if (stmt.target.unpack) {  // what jinja2 hands on is a tuple of the names' values
            std::vector<Value> parts;
            for (const std::string& name : stmt.target.names)
                for (const auto& [key, value] : scope_->variables)
                    if (key == name) parts.push_back(value);
            RIDGE_ASSIGN(item, list(std::move(parts), ListKind::tuple));
        }
        pop_scope();
        scope_ = before;
        if (truthy(condition)) return item;
    }
}

Result<Renderer::Flow> Renderer::exec_scoped(const Stmt& stmt) {
    Scope* const outer = scope_;
    Text captured;
    Text* const before = out_;
    Scope& inner = push_scope(outer);
    if (stmt.kind == StmtKind::with) {
        for (const Parameter& p : stmt.macro->parameters) {
            scope_ = outer;  // values do not see each other
            RIDGE_ASSIGN(Value value, eval(*p.standard));
            scope_ = &inner;
            set(p.name, std::move(value));
        }
        scope_ = &inner;
    }
    declare(stmt.unset[0]);
    const bool captures =
        stmt.kind == StmtKind::assign_block || stmt.kind == StmtKind::filter_block;
    if (captures) out_ = &captured;
    RIDGE_ASSIGN(const Flow flow, exec(stmt.bodies[0]));
    out_ = before;
    pop_scope();
    scope_ = outer;
    if (!captures || flow != Flow::normal) return flow;
    Value value = make_text(std::move(captured));
    if (stmt.exprs[0] != nullptr) {
        RIDGE_ASSIGN(value, eval_filter(*stmt.exprs[0], &value));
    }
    offset_ = stmt.offset;
    if (stmt.kind == StmtKind::filter_block)
        RIDGE_TRY(print_text(value, "a filter block"));
    else
        RIDGE_TRY(assign(stmt.target, std::move(value)));
    return Flow::normal;
}

Value Renderer::make_macro(const Macro& macro) {
    for (Scope* s = scope_; s != nullptr && !s->kept; s = s->parent) s->kept = true;
    auto callable = std::make_shared<Callable>();
    callable->name = macro.name;
    callable->macro = &macro;
    callable->scope = scope_;
    return {CallablePtr(std::move(callable))};
}

Status Renderer::exec_macro(const Stmt& stmt) {
    Value value = make_macro(*stmt.macro);
    set(stmt.macro->name, std::move(value));
    return {};
}

Status Renderer::exec_call_block(const Stmt& stmt) {
    const Expr& call_expr = *stmt.exprs[0];
    RIDGE_ASSIGN(const Value callee, eval(*call_expr.kids[0]));
    Args args;
    RIDGE_TRY(eval_args(call_expr, args));
    args.named.emplace_back("caller", make_macro(*stmt.macro));
    offset_ = stmt.offset;
    RIDGE_ASSIGN(const Value value, call(callee, args));
    return print_text(value, "a call block");
}

// Sets a variable of the current scope.
void Renderer::set(std::string_view name, Value value) {
    for (auto& [key, old] : scope_->variables) {
        if (key != name) continue;
        old = std::move(value);
        return;
    }
    scope_->variables.emplace_back(name, std::move(value));
}

Status Renderer::assign(const Target& target, Value value) {
    if (!target.attribute.empty()) {
        const Value* holder = nullptr;
        for (Scope* s = scope_; s != nullptr && holder == nullptr; s = s->parent)
            for (const auto& [key, v] : s->variables)
                if (key == target.names[0]) holder = &v;
        const auto* space = holder == nullptr ? nullptr : holder->get<Namespace*>();
        if (space == nullptr)
            return error(
                fmt::format("'{}' is no namespace, so nothing of it can be set", target.names[0]));
        (*space)->put(target.attribute, std::move(value));
        return {};
    }
    if (!target.unpack) {
        set(target.names[0], std::move(value));
        return {};
    }
    RIDGE_ASSIGN(std::vector<Value> parts, elements(value));
    if (parts.size() != target.names.size())
        return error(fmt::format("{} values are to be unpacked into {} names", parts.size(),
                                 target.names.size()));
    for (size_t i = 0; i < parts.size(); ++i) set(target.names[i], std::move(parts[i]));
    return {};
}

}  // namespace ridge::jinja
