// The tree of a chat template. Its depth is bounded by the parser, so that walking it is safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja_value.hpp"

namespace ridge::jinja {

struct Args;
class Renderer;
using Filter = Result<Value> (*)(Renderer&, const Value&, Args&);
using Test = Result<bool> (*)(Renderer&, const Value&, Args&);

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

enum class ExprKind : uint8_t {
    constant,   // value
    name,       // name
    list,       // kids; `flag`: a tuple
    dict,       // kids: key, value, key, value ...
    attribute,  // kids[0].name
    subscript,  // kids[0][kids[1]]
    slice,      // kids[0][kids[1]:kids[2]:kids[3]], null where left out
    call,       // kids[0](kids[1...], named)
    filter,     // kids[0] | name(kids[1...], named); kids[0] null: a filter block's body
    test,       // kids[0] is name(kids[1...])
    negate,
    plus,
    invert,   // not
    binary,   // kids[0] op kids[1]: + - * / // % **
    concat,   // kids joined by ~
    compare,  // kids[0] ops[0] kids[1] ops[1] kids[2] ...
    logical_and,
    logical_or,
    conditional,  // kids[0] if kids[1] else kids[2] (null: left out)
};

enum class Op : uint8_t {
    add,
    subtract,
    multiply,
    divide,
    floor_divide,
    modulo,
    power,
    equal,
    not_equal,
    less,
    less_equal,
    greater,
    greater_equal,
    in,
    not_in,
};

struct Expr {
    ExprKind kind = ExprKind::constant;
    bool flag = false;
    uint32_t offset = 0;  // in the source
    uint32_t depth = 1;
    std::string name;
    Value value;
    std::vector<ExprPtr> kids;
    std::vector<Op> ops;
    std::vector<std::pair<std::string, ExprPtr>> named;
    ExprPtr star, star_star;  // arguments *list and **dict
    Filter filter = nullptr;  // null: unknown, refused where it is reached
    Test test = nullptr;
};

struct Stmt;
using Body = std::vector<std::unique_ptr<Stmt>>;

// What is assigned to: one name, an attribute of a namespace, or a list of names.
struct Target {
    std::vector<std::string> names;
    std::string attribute;  // names[0].attribute
    bool unpack = false;
};

struct Parameter {
    std::string name;
    ExprPtr standard;  // null: none
};

struct Macro {
    std::string name;
    std::vector<Parameter> parameters;
    Body body;
    std::vector<std::string> unset;  // see find_unset_names
    bool takes_caller = false, takes_varargs = false, takes_kwargs = false;
};

enum class StmtKind : uint8_t {
    text,
    print,         // exprs[0]
    branch,        // if: exprs[i] guards bodies[i]; one more body: else
    loop,          // for target in exprs[0] if exprs[1]; bodies[0], else bodies[1]
    assign,        // set target = exprs[0]
    assign_block,  // set target ... endset, through the filter exprs[0] where there is one
    macro,
    call_block,    // exprs[0] called with `macro` as caller
    filter_block,  // exprs[0]: a filter without input
    with,          // parameters, bodies[0]
    generation,    // `macro`, called at once
    break_loop,
    continue_loop,
};

struct Stmt {
    StmtKind kind = StmtKind::text;
    uint32_t offset = 0;
    bool has_loop = false;  // for: the body reads `loop`
    Text text;
    std::vector<ExprPtr> exprs;
    std::vector<Body> bodies;
    Target target;
    std::unique_ptr<Macro> macro;
    std::vector<std::vector<std::string>> unset;  // of each body, see find_unset_names
};

struct Tree {
    std::string source;  // line ends normalized
    Body body;
    std::vector<std::string> unset;
};

constexpr uint32_t kMaxTreeDepth = 100;  // of expressions and of statements
constexpr size_t kMaxSourceBytes = 1 << 20;
constexpr size_t kMaxNodes = 200000;

// Errors: unsupported, with line and column.
Result<std::shared_ptr<const Tree>> parse_template(std::string_view source);

// Names that a scope assigns to before it reads them. jinja2 decides while compiling where a name
// lives: such a one is the scope's own from its beginning, so what an inner scope or a macro reads
// before the assignment is undefined, whatever variable has that name outside. Only where no scope
// around has the name; a scope's variables are those around it otherwise.
void find_unset_names(Tree& tree);

// By name; null where there is none.
Filter find_filter(std::string_view name);
Test find_test(std::string_view name);

}  // namespace ridge::jinja
