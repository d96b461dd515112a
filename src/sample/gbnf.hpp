// GBNF, llama.cpp's notation for grammars (its grammars/README.md), as a tree.
//
// Read as llama.cpp reads it, with these differences, all towards refusing: a rule may be defined
// once; an empty character class and {m,n} with m above n are errors; tokens by name or id
// (<think>, <[7]>) are not supported. "." and negated classes do not match U+0000.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.hpp"

namespace ridge::gbnf {

inline constexpr uint32_t kNone = UINT32_MAX;
inline constexpr size_t kMaxText = size_t{8} << 20;  // bytes of a grammar
inline constexpr uint32_t kMaxDepth = 200;           // nested groups
inline constexpr uint32_t kMaxStacked = 8;           // repetitions of repetitions, as in a*?+
inline constexpr uint32_t kMaxRepeat = 1000000;  // in {m,n}; the states they take are bounded too

struct CodeRange {
    uint32_t low = 0, high = 0;  // code points, both included
};

enum class Kind : uint8_t {
    text,      // bytes [a, a + b) of Tree::bytes
    chars,     // one code point of ranges [a, a + b)
    rule,      // rule a
    sequence,  // the children, one after the other; none: the empty text
    choice,    // one of the children
    repeat,    // the child, a to b times; b = kNone: without end
};

struct Node {
    Kind kind = Kind::text;
    uint32_t a = 0, b = 0;
    uint32_t child = kNone, next = kNone;  // first child, next sibling
    uint32_t at = 0;                       // where it stands in the text
};

struct Rule {
    std::string name;
    uint32_t body = kNone;
    uint32_t at = 0;  // of the definition, or of the first use where there is none
};

struct Tree {
    std::vector<Node> nodes;
    std::vector<Rule> rules;
    std::vector<CodeRange> ranges;  // of a class: sorted, apart, no surrogates
    std::string bytes;
    uint32_t root = kNone;  // the rule "root"
};

// Errors (invalid_argument), with line and column: whatever is no GBNF, a rule that is used and not
// defined or defined twice, no rule "root", a text or nesting beyond the limits.
Result<Tree> parse(std::string_view text);

// "grammar, line 3, column 7: " for a place in the text; columns count code points.
std::string place(std::string_view text, size_t at);

}  // namespace ridge::gbnf
