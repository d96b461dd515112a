// Grammar: a GBNF text compiled to a push-down automaton over bytes.
//
// Every rule is a small non-deterministic automaton; calling a rule pushes the state to return to.
// Classes of code points become ranges of UTF-8 bytes, so that a token may end inside a code point
// and nothing but well-formed UTF-8 ever matches. Immutable and safe to share between threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace ridge {

class Grammar {
  public:
    // Errors (invalid_argument), with line and column: what gbnf::parse() refuses; left recursion;
    // a rule that has no finite text, so that no answer could end; more than kMaxStates states.
    static Result<std::shared_ptr<const Grammar>> parse(std::string_view gbnf);

    static constexpr size_t kMaxStates = size_t{1} << 20;

    enum class Kind : uint8_t {
        bytes,  // reads a byte of ranges [a, a + b), each with its own target
        call,   // rule a, then state b
        split,  // state a or state b, without reading
        end,    // of the rule
    };
    struct State {
        Kind kind = Kind::end;
        uint32_t a = 0, b = 0;
    };
    struct ByteRange {
        uint8_t low = 0, high = 0;
        uint32_t target = 0;
    };
    struct Rule {
        uint32_t start = 0;
        bool nullable = false;
    };

    const std::vector<State>& states() const { return states_; }
    const std::vector<ByteRange>& ranges() const { return ranges_; }
    const std::vector<Rule>& rules() const { return rules_; }
    uint32_t root() const { return root_; }

  private:
    friend class GrammarCompiler;
    std::vector<State> states_;
    std::vector<ByteRange> ranges_;
    std::vector<Rule> rules_;
    uint32_t root_ = 0;
};

}  // namespace ridge
