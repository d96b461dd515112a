// Parser of chat templates: jinja2's grammar without inheritance, includes and extensions other
// than loop controls.
#pragma once

#include "text/jinja_ast.hpp"
#include "text/jinja_lexer.hpp"

namespace ridge::jinja {

class Parser {
  public:
    Parser(std::string_view source, std::vector<Token> tokens)
        : source_(source), tokens_(std::move(tokens)) {}

    Result<Body> parse_body();

  private:
    // Statements (jinja_parse_stmt.cpp).
    Result<Body> statements(std::initializer_list<std::string_view> ends);
    Status statement(Body& out);
    Result<std::unique_ptr<Stmt>> parse_if();
    Result<std::unique_ptr<Stmt>> parse_for();
    Result<std::unique_ptr<Stmt>> parse_set();
    Result<std::unique_ptr<Stmt>> parse_macro();
    Result<std::unique_ptr<Stmt>> parse_call_block();
    Result<std::unique_ptr<Stmt>> parse_filter_block();
    Result<std::unique_ptr<Stmt>> parse_with();
    Status signature(Macro& macro);
    Result<Target> target(bool of_set);
    void declares(std::string_view name);
    void reads(std::string_view name);
    Status begin_body(std::string_view name);
    Result<Body> body_until(std::string_view end);
    Status last_body(Stmt& block, std::string_view end);
    Result<Body> macro_body(Macro& macro, std::string_view end);
    Status end_block(std::string_view name);

    // Expressions (jinja_parse_expr.cpp).
    Result<ExprPtr> tuple(bool conditional);
    Result<ExprPtr> expression(bool conditional = true);
    Result<ExprPtr> parse_or();
    Result<ExprPtr> parse_and();
    Result<ExprPtr> parse_not();
    Result<ExprPtr> parse_compare();
    Result<ExprPtr> parse_sum();
    Result<ExprPtr> parse_concat();
    Result<ExprPtr> parse_product();
    Result<ExprPtr> parse_power();
    Result<ExprPtr> parse_unary(bool with_filter = true);
    Result<ExprPtr> parse_primary();
    Result<ExprPtr> parse_number();
    Result<ExprPtr> parse_parentheses();
    Result<ExprPtr> parse_list();
    Result<ExprPtr> parse_dict();
    Result<ExprPtr> parse_postfix(ExprPtr expr);
    Result<ExprPtr> parse_filter_expr(ExprPtr expr);
    Result<ExprPtr> parse_subscript(ExprPtr expr);
    Result<ExprPtr> parse_call(ExprPtr callee);
    Result<ExprPtr> parse_filters(ExprPtr input, bool first);
    Result<ExprPtr> parse_test(ExprPtr expr);
    Status call_arguments(Expr& call);
    Status deepen(Expr& parent, const Expr& kid);  // the kid's depth counts
    bool tuple_ends() const;

    // Nodes and errors.
    ExprPtr node(ExprKind kind, uint32_t offset);
    Result<ExprPtr> add(ExprPtr parent, ExprPtr kid);  // the kid's depth counts
    Result<ExprPtr> pair(ExprKind kind, uint32_t offset, ExprPtr left, ExprPtr right);
    tl::unexpected<Error> error(uint32_t offset, std::string_view what) const;
    tl::unexpected<Error> error_here(std::string_view what) const {
        return error(current().offset, what);
    }

    // Tokens.
    const Token& current() const { return tokens_[at_]; }
    const Token& next() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
    bool is_op(std::string_view op) const {
        return current().kind == TokenKind::op && current().text == op;
    }
    bool is_name(std::string_view name) const {
        return current().kind == TokenKind::name && current().text == name;
    }
    bool skip_op(std::string_view op);
    bool skip_name(std::string_view name);
    Status expect_op(std::string_view op);
    Result<std::string> expect_name();

    // Counts one more level for as long as it lives.
    class Level {
      public:
        explicit Level(uint32_t& depth) : depth_(depth) { ++depth_; }
        ~Level() { --depth_; }
        Level(const Level&) = delete;
        Level& operator=(const Level&) = delete;

      private:
        uint32_t& depth_;
    };

    std::string_view source_;
    std::vector<Token> tokens_;
    size_t at_ = 0;
    size_t nodes_ = 0;
    uint32_t depth_ = 0;
    uint32_t loops_ = 0;       // loops around the current statement
    uint32_t conditions_ = 0;  // {% if %} around it: unknown filters and tests may be guarded by it
    uint32_t fors_ = 0;        // {% for %} around it, over the bounds of macros too
    bool in_loop_head_ = false;
    // The macros and loop bodies around it. A body gets a special name that it reads; not one that
    // it declares before: that is a variable like others.
    struct OpenMacro {
        Macro* macro = nullptr;
        bool sets_caller = false, sets_varargs = false, sets_kwargs = false;
    };
    struct OpenLoop {
        Stmt* stmt = nullptr;
        bool sets_loop = false;
    };
    std::vector<OpenMacro> macros_;
    std::vector<OpenLoop> open_loops_;
};

}  // namespace ridge::jinja
