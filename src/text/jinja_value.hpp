// Values of a chat template: Python's, as far as templates use them.
//
// Lists and dictionaries cannot change once made (transformers renders in jinja2's immutable
// sandbox), so they hold no cycles; their nesting is bounded where they are made, and with it the
// recursion of everything that walks them. Only namespaces change: the renderer owns those, and
// values refer to them.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "base/status.hpp"
#include "text/jinja_text.hpp"

namespace ridge::jinja {

constexpr uint32_t kMaxNesting = 100;  // lists in lists in dictionaries ...

struct Undefined {
    std::shared_ptr<const std::string> what;  // for the error text; may be null
};
struct None {};
struct List;
struct Dict;
struct Namespace;
struct Callable;
struct Loop;
using TextPtr = std::shared_ptr<const Text>;
using ListPtr = std::shared_ptr<const List>;
using DictPtr = std::shared_ptr<const Dict>;
using CallablePtr = std::shared_ptr<const Callable>;
using LoopPtr = std::shared_ptr<Loop>;

struct Value {
    std::variant<Undefined, None, bool, int64_t, double, TextPtr, ListPtr, DictPtr, Namespace*,
                 CallablePtr, LoopPtr>
        v;

    template <typename T>
    const T* get() const {
        return std::get_if<T>(&v);
    }
    const Text* text() const {
        const auto* p = get<TextPtr>();
        return p == nullptr ? nullptr : p->get();
    }
    const List* list() const {
        const auto* p = get<ListPtr>();
        return p == nullptr ? nullptr : p->get();
    }
    const Dict* dict() const {
        const auto* p = get<DictPtr>();
        return p == nullptr ? nullptr : p->get();
    }
    bool undefined() const { return get<Undefined>() != nullptr; }
    bool none() const { return get<None>() != nullptr; }
    // The value of an integer or a boolean.
    std::optional<int64_t> integer() const;
    // The value of any number; integers beyond 2^53 are rounded.
    std::optional<double> number() const;
};

class Renderer;

// Gives the next element; nothing at the end.
using NextItem = std::function<Result<std::optional<Value>>(Renderer&)>;

// Python's sequences, what dict.keys(), values() and items() give, and what can be walked once only
// (what jinja2's map, select, unique, ... give: nothing is computed before it is asked for).
enum class ListKind : uint8_t { list, tuple, range, keys, values, items, iterator };

struct List {
    std::vector<Value> items;
    ListKind kind = ListKind::list;
    uint32_t depth = 1;
    std::array<int64_t, 3> range = {};  // ranges: what range() was given
    NextItem next;                      // iterators: instead of items

    bool indexed() const { return kind <= ListKind::range; }
    bool iterator() const { return kind == ListKind::iterator; }
};

struct Dict {
    std::vector<std::pair<Value, Value>> items;  // in the order they were put in
    uint32_t depth = 1;
    const Value* find(std::string_view key) const;
    const Value* find(const Value& key) const;  // null as well where a key cannot be of its type
    // Puts in, or replaces. False where a value of the key's type cannot be a key.
    bool put(Value key, Value value);

  private:
    std::unordered_map<std::string, size_t> index_;
};

struct Namespace {
    std::vector<std::pair<std::string, Value>> items;
    const Value* find(std::string_view name) const;
    void put(std::string_view name, Value value);
};

struct Macro;
struct Scope;

// Something that can be called: a method bound to its receiver, a global function or a macro.
struct Callable {
    std::string name;
    Value receiver;                // methods
    const Macro* macro = nullptr;  // macros, with the scope that they were defined in
    Scope* scope = nullptr;
    bool method = false;
};

// What `loop` is in a loop's body.
struct Loop {
    NextItem next;  // empty once the loop is left
    size_t index = 0;
    uint32_t depth = 1;
    Value before, current;
    std::optional<size_t> length;
    std::optional<Value> changed;  // what loop.changed() was last called with
    // Elements that were taken in advance, to know which one is the last or how many there are.
    std::vector<Value> ahead;
    size_t ahead_used = 0;
    bool busy = false;  // next is at work
};

inline Value make_text(Text text) {
    return {std::make_shared<const Text>(std::move(text))};
}
inline Value make_text(std::string bytes, bool user = false) {
    return make_text(Text(std::move(bytes), user));
}
inline Value make_undefined(std::string what) {
    return {Undefined{std::make_shared<const std::string>(std::move(what))}};
}

// Work that a rendering may still do. What walks values spends for each byte and element; once it
// is spent the renderer stops at the next node.
struct Budget {
    uint64_t left = 0;
    const char* refused = nullptr;  // why it was spent all at once
    // For what finds something it cannot do where it cannot fail.
    void refuse(const char* why) {
        left = 0;
        refused = why;
    }
    bool spend(uint64_t n) {
        left = n > left ? 0 : left - n;
        return left > 0;
    }
    void spend_bytes(size_t n) { spend(1 + n / 64); }
};

// Nesting of a value: 0 for what holds no others.
uint32_t depth_of(const Value& value);
// A list or tuple; nullopt: nested too deeply.
std::optional<Value> make_list(std::vector<Value> items, ListKind kind = ListKind::list);
std::optional<Value> finish_dict(Dict dict);

const char* type_name(const Value& value);  // as Python names it: "str"
bool truthy(const Value& value);
bool equal(const Value& a, const Value& b, Budget& budget);
// Whether Python takes it as a key, even where ridge does not.
bool is_hashable(const Value& value);
// -1, 0, 1; kUnordered for NaN; nullopt where Python does not order the two.
constexpr int kUnordered = 2;
std::optional<int> compare(const Value& a, const Value& b, Budget& budget);

// str(value), as {{ value }} prints it; and repr(value).
Text to_text(const Value& value, Budget& budget);
void write_repr(const Value& value, Text& out, Budget& budget);
std::string repr_of_double(double value);

}  // namespace ridge::jinja
