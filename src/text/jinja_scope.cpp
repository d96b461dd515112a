// Which names a scope owns from its beginning (jinja2's idtracking.py decides the same).
#include <string_view>
#include <unordered_set>

#include "text/jinja_ast.hpp"

namespace ridge::jinja {
namespace {

class ScopeNames {
  public:
    explicit ScopeNames(const ScopeNames* parent) : parent_(parent) {}

    std::vector<std::string> unset;

    void add(std::string_view name) { seen_.insert(name); }
    // `maybe`: in a branch that may be left out.
    void store(const std::string& name, bool maybe) {
        if (!seen_.insert(name).second || maybe) return;
        for (const ScopeNames* s = parent_; s != nullptr; s = s->parent_)
            if (s->seen_.contains(name)) return;
        unset.push_back(name);
    }
    void load(const std::string& name) {
        for (const ScopeNames* s = this; s != nullptr; s = s->parent_)
            if (s->seen_.contains(name)) return;
        seen_.insert(name);
    }
    void load(const Expr* expr) {
        if (expr == nullptr) return;
        if (expr->kind == ExprKind::name) load(expr->name);
        for (const ExprPtr& kid : expr->kids) load(kid.get());
        for (const auto& [name, kid] : expr->named) load(kid.get());
        load(expr->star.get());
        load(expr->star_star.get());
    }
    void store(const Target& target, bool maybe) {
        for (const std::string& name : target.names) {
            if (target.attribute.empty())
                store(name, maybe);
            else
                load(name);
        }
    }

    // Statements of this very scope; those of inner scopes follow once all of it is known.
    void walk(const Body& body, bool maybe) {
        for (const auto& stmt : body) {
            switch (stmt->kind) {
                case StmtKind::branch:
                    for (size_t i = 0; i < stmt->bodies.size(); ++i) {
                        if (i < stmt->exprs.size()) load(stmt->exprs[i].get());
                        walk(stmt->bodies[i], true);
                    }
                    break;
                case StmtKind::loop:
                    load(stmt->exprs[0].get());
                    break;
                case StmtKind::assign:
                    load(stmt->exprs[0].get());
                    store(stmt->target, maybe);
                    break;
                case StmtKind::assign_block:  // the filter is the inner scope's
                    store(stmt->target, maybe);
                    break;
                case StmtKind::macro:
                    store(stmt->macro->name, maybe);
                    break;
                case StmtKind::with:
                    for (const Parameter& p : stmt->macro->parameters) load(p.standard.get());
                    break;
                default:
                    for (const ExprPtr& expr : stmt->exprs) load(expr.get());
            }
        }
    }

  private:
    const ScopeNames* parent_;
    std::unordered_set<std::string_view> seen_;
};

void inner_scopes(const Body& body, const ScopeNames& scope);

void enter(ScopeNames& scope, const Body& body, std::vector<std::string>& unset) {
    scope.walk(body, false);
    unset = std::move(scope.unset);
    inner_scopes(body, scope);
}

void enter_macro(Macro& macro, const ScopeNames& outer) {
    ScopeNames scope(&outer);
    for (const Parameter& p : macro.parameters) scope.add(p.name);
    if (macro.takes_caller) scope.add("caller");
    if (macro.takes_varargs) scope.add("varargs");
    if (macro.takes_kwargs) scope.add("kwargs");
    for (const Parameter& p : macro.parameters) scope.load(p.standard.get());
    enter(scope, macro.body, macro.unset);
}

void inner_scopes(const Body& body, const ScopeNames& scope) {
    for (const auto& stmt : body) {
        switch (stmt->kind) {
            case StmtKind::branch:
                for (const Body& branch : stmt->bodies) inner_scopes(branch, scope);
                break;
            case StmtKind::macro:
            case StmtKind::call_block:
            case StmtKind::generation:
                enter_macro(*stmt->macro, scope);
                break;
            case StmtKind::loop:
            case StmtKind::assign_block:
            case StmtKind::filter_block:
            case StmtKind::with:
                stmt->unset.resize(stmt->bodies.size());
                for (size_t i = 0; i < stmt->bodies.size(); ++i) {
                    ScopeNames inner(&scope);
                    if (stmt->kind == StmtKind::with)
                        for (const Parameter& p : stmt->macro->parameters) inner.add(p.name);
                    if (stmt->kind == StmtKind::loop && i == 0) {
                        if (stmt->has_loop) inner.add("loop");
                        for (const std::string& name : stmt->target.names) inner.add(name);
                    }
                    enter(inner, stmt->bodies[i], stmt->unset[i]);
                }
                break;
            default:
                break;
        }
    }
}

}  // namespace

void find_unset_names(Tree& tree) {
    ScopeNames scope(nullptr);
    enter(scope, tree.body, tree.unset);
}

}  // namespace ridge::jinja
