// Renders a parsed chat template: a tree walk with counted steps and bounded depth.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja_ast.hpp"
#include "text/jinja_value.hpp"

namespace ridge::jinja {

// Nodes visited, elements walked and 64-byte pieces of text handled: bounds time and memory.
constexpr uint64_t kDefaultSteps = 1'000'000;
constexpr uint32_t kMaxRenderDepth = 250;  // of nested evaluation, calls of macros included
constexpr int64_t kMaxRange = 100000;      // jinja2's sandbox has the same

struct Args {
    std::vector<Value> positional;
    std::vector<std::pair<std::string, Value>> named;
};

// Variables of a loop's turn, a macro's call, a block. Names are views into the tree or the input.
struct Scope {
    Scope* parent = nullptr;
    std::vector<std::pair<std::string_view, Value>> variables;
    bool kept = false;  // a macro refers to it
};

class Renderer {
  public:
    // `now`: seconds since 1970, for strftime_now.
    Renderer(const Tree& tree, uint64_t steps, int64_t now);
    Renderer(const Renderer&) = delete;
    Renderer& operator=(const Renderer&) = delete;

    // Once. Errors: invalid_argument, with line and column.
    Result<Text> run(const std::vector<std::pair<std::string, Value>>& variables);

    // For filters, tests and methods. Errors carry the place of the node at work.
    tl::unexpected<Error> error(std::string_view what) const;
    Budget& budget() { return budget_; }
    // An error once the budget is spent, or where it does not cover `bytes` more.
    Status afford(size_t bytes = 0);
    Result<Value> list(std::vector<Value> items, ListKind kind = ListKind::list);
    Result<Value> range(std::vector<Value> items, const std::array<int64_t, 3>& given);
    // A value that can be walked once; `source`: what it walks.
    Result<Value> iterator(const Value& source, NextItem next);
    Result<Value> dict(Dict dict);
    // Error: a value that cannot be a key, in Python or (put) here.
    Status hashable(const Value& key) const;
    Status put(Dict& dict, Value key, Value value);
    // What iterating gives: elements, code points or keys. Error: not iterable.
    Result<std::vector<Value>> elements(const Value& value);
    // The same one by one, which iterators are walked by. Error: not iterable.
    Result<NextItem> walk(const Value& value);
    Text text(const Value& value) { return to_text(value, budget_); }
    Result<Value> attribute(const Value& object, std::string_view name);
    Result<Value> subscript(const Value& object, const Value& key);
    Result<bool> contains(const Value& container, const Value& item);
    Result<Value> call(const Value& callee, Args& args);
    Result<Value> binary(Op op, const Value& a, const Value& b);
    // A filter that a filter was given by name.
    Result<Value> apply(Filter filter, const Value& input, Args& args);

    // Arguments in the order of their parameters; null where one was not given.
    class Bound {
      public:
        explicit Bound(size_t parameters) : values_(parameters) {}
        Value* operator[](size_t i) {
            std::optional<Value>& value = values_[i];
            return value ? &*value : nullptr;
        }
        const Value* operator[](size_t i) const {
            const std::optional<Value>& value = values_[i];
            return value ? &*value : nullptr;
        }
        Value value_or(size_t i, Value otherwise) const {
            return values_[i].value_or(std::move(otherwise));
        }
        void set(size_t i, Value value) { values_[i] = std::move(value); }

      private:
        std::vector<std::optional<Value>> values_;
    };
    Result<Bound> bind(std::string_view what, Args& args,
                       std::initializer_list<std::string_view> names, size_t required = 0);

  private:
    enum class Flow { normal, leave, again };

    // Statements (jinja_render.cpp).
    Result<Flow> exec(const Body& body);
    Result<Flow> exec(const Stmt& stmt);
    Result<Flow> exec_branch(const Stmt& stmt);
    Result<Flow> exec_loop(const Stmt& stmt);
    Result<Flow> exec_scoped(const Stmt& stmt);  // with, block, set block, filter block
    Result<std::optional<Value>> next_kept(const Stmt& stmt, Scope* outer, const NextItem& source);
    Status exec_macro(const Stmt& stmt);
    Status exec_call_block(const Stmt& stmt);
    Status assign(const Target& target, Value value);
    Status print(const Value& value);
    Status print_text(const Value& value, std::string_view what);
    void set(std::string_view name, Value value);
    void declare(const std::vector<std::string>& names);
    Value make_macro(const Macro& macro);
    Scope& push_scope(Scope* parent);
    void pop_scope();

    // Expressions (jinja_expr.cpp).
    Result<Value> eval(const Expr& expr);
    Result<Value> eval_node(const Expr& expr);
    Result<Value> eval_name(const Expr& expr);
    Result<Value> eval_list(const Expr& expr);
    Result<Value> eval_dict(const Expr& expr);
    Result<Value> eval_slice(const Expr& expr);
    Result<Value> eval_call(const Expr& expr);
    Result<Value> eval_filter(const Expr& expr, const Value* input);
    Result<Value> eval_test(const Expr& expr);
    Result<Value> eval_unary(const Expr& expr);
    Result<Value> eval_concat(const Expr& expr);
    Result<Value> eval_compare(const Expr& expr);
    Status eval_args(const Expr& expr, Args& args);
    Result<Value> call_macro(const Callable& callee, Args& args);
    Result<Value> call_global(const std::string& name, Args& args);
    Status put_pairs(const Value& pairs, Dict& out);
    Result<Value> call_loop(const Callable& callee, Args& args);
    // Loops (jinja_loop.cpp).
    Result<std::optional<Value>> loop_pull(Loop& loop);  // from its source
    Result<std::optional<Value>> loop_next(Loop& loop);  // begins the next turn
    Result<std::optional<Value>> loop_peek(Loop& loop);  // what the next turn will have
    Result<size_t> loop_length(Loop& loop);
    Result<Value> loop_attribute(const Value& object, std::string_view name);

    const Tree& tree_;
    Budget budget_;
    int64_t now_;
    uint32_t offset_ = 0;  // of the node at work
    uint32_t depth_ = 0;
    Text* out_ = nullptr;
    Scope* scope_ = nullptr;
    std::vector<std::unique_ptr<Namespace>> namespaces_;
    std::vector<std::unique_ptr<Scope>> scopes_;
};

// len() where it is known without walking: of all but iterators.
std::optional<size_t> size_of(const Value& value);

Result<Value> call_dict(Renderer& r, const Dict& dict, const std::string& name, Args& args);
Result<Value> call_list(Renderer& r, const List& list, const std::string& name, Args& args);

// Methods of strings, lists and dictionaries (jinja_methods.cpp, jinja_methods_list.cpp).
// has_method also knows those of Python that ridge lacks or that change their receiver: call_method
// then says so.
bool has_method(const Value& object, std::string_view name);
Result<Value> call_method(Renderer& r, const Value& object, const std::string& name, Args& args);

}  // namespace ridge::jinja
