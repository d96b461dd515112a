#include "sample/grammar.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "sample/gbnf.hpp"
#include "sample/utf8_ranges.hpp"

namespace ridge {

using gbnf::kNone;

// Builds each rule's automaton from its end: every function takes the state that follows and
// returns the one to begin with. Recursion goes as deep as groups are nested, which parse() bounds.
class GrammarCompiler {
  public:
    GrammarCompiler(std::string_view text, gbnf::Tree tree) : text_(text), tree_(std::move(tree)) {}

    Result<std::shared_ptr<const Grammar>> run() {
        RIDGE_TRY(measure());
        RIDGE_TRY(find_finite());
        find_nullable();
        for (uint32_t r = 0; r < tree_.rules.size(); ++r)
            bodies_.push_back({tree_.rules[r].body, r});
        // Repetitions of large parts add rules to the list while it is worked off.
        for (size_t r = 0; r < bodies_.size(); ++r) {
            g_.rules_.resize(std::max(g_.rules_.size(), r + 1));
            owner_ = static_cast<uint32_t>(r);
            const uint32_t end = add({Grammar::Kind::end, 0, 0});
            g_.rules_[r].start = node(bodies_[r].node, end);
            g_.rules_[r].nullable = nullable(bodies_[r].node);
            if (g_.states_.size() > Grammar::kMaxStates) return too_large();
        }
        g_.root_ = tree_.root;
        RIDGE_TRY(check_left_recursion());
        return std::make_shared<const Grammar>(std::move(g_));
    }

  private:
    struct Body {
        uint32_t node;
        uint32_t named;  // the rule of the text that it belongs to
    };

    tl::unexpected<Error> too_large() const {
        return fail(
            ErrorCode::invalid_argument,
            fmt::format("the grammar needs more than {} states; repeat less", Grammar::kMaxStates));
    }

    // States that each node takes (an estimate from above that decides what is copied), children
    // before parents: the parser makes no node before the nodes inside it but sequences and
    // choices, so the order is found by walking.
    Status measure() {
        sizes_.assign(tree_.nodes.size(), 0);
        uint64_t total = 0;
        for (const gbnf::Rule& r : tree_.rules) {
            total += size_of(r.body);
            if (total > Grammar::kMaxStates) return too_large();
        }
        return {};
    }
    uint64_t size_of(uint32_t id) {
        const gbnf::Node& n = tree_.nodes[id];
        uint64_t size = 0;
        switch (n.kind) {
            case gbnf::Kind::text:
                size = n.b;
                break;
            case gbnf::Kind::chars: {
                const bool ascii = tree_.ranges[n.a + n.b - 1].high < 0x80;
                size = ascii ? 1 : uint64_t{8} + n.b;
                break;
            }
            case gbnf::Kind::rule:
                size = 1;
                break;
            case gbnf::Kind::sequence:
            case gbnf::Kind::choice:
                for (uint32_t c = n.child; c != kNone; c = tree_.nodes[c].next)
                    size += size_of(c) + 1;
                break;
            case gbnf::Kind::repeat: {
                const uint64_t inner = size_of(n.child);
                const uint64_t times = n.b == kNone ? uint64_t{n.a} + 1 : n.b;
                size = times * ((copied(inner, times) ? inner : 1) + 1);
                break;
            }
        }
        sizes_[id] = static_cast<uint32_t>(std::min<uint64_t>(size, UINT32_MAX));
        return std::min<uint64_t>(size, UINT32_MAX);
    }
    // Is the repeated part written out each time, or made a rule that is called?
    static bool copied(uint64_t inner, uint64_t times) {
        return times <= 1 || inner <= 2 || inner * times <= 64;
    }

    bool nullable(uint32_t id) const {
        const gbnf::Node& n = tree_.nodes[id];
        switch (n.kind) {
            case gbnf::Kind::text:
                return n.b == 0;
            case gbnf::Kind::chars:
                return false;
            case gbnf::Kind::rule:
                return nullable_[n.a];
            case gbnf::Kind::repeat:
                return n.a == 0 || nullable(n.child);
            case gbnf::Kind::sequence:
                for (uint32_t c = n.child; c != kNone; c = tree_.nodes[c].next)
                    if (!nullable(c)) return false;
                return true;
            case gbnf::Kind::choice:
                break;
        }
        for (uint32_t c = n.child; c != kNone; c = tree_.nodes[c].next)
            if (nullable(c)) return true;
        return false;
    }
    bool finite(uint32_t id) const {
        const gbnf::Node& n = tree_.nodes[id];
        switch (n.kind) {
            case gbnf::Kind::text:
            case gbnf::Kind::chars:
                return true;
            case gbnf::Kind::rule:
                return finite_[n.a];
            case gbnf::Kind::repeat:
                return n.a == 0 || finite(n.child);
            case gbnf::Kind::sequence:
                for (uint32_t c = n.child; c != kNone; c = tree_.nodes[c].next)
                    if (!finite(c)) return false;
                return true;
            case gbnf::Kind::choice:
                break;
        }
        for (uint32_t c = n.child; c != kNone; c = tree_.nodes[c].next)
            if (finite(c)) return true;
        return false;
    }

    // The rules whose property follows from those of others, each looked at again only when a rule
    // that it uses has changed: linear in the size of the grammar but for long chains of uses.
    template <typename Holds>
    void fixed_point(std::vector<bool>& holds, const Holds& test) {
        const size_t n = tree_.rules.size();
        holds.assign(n, false);
        if (users_.empty()) {
            users_.resize(n);
            for (uint32_t r = 0; r < n; ++r) note_uses(tree_.rules[r].body, r);
        }
        std::vector<uint32_t> todo(n);
        std::vector<bool> waiting(n, true);
        for (uint32_t r = 0; r < n; ++r) todo[r] = r;
        while (!todo.empty()) {
            const uint32_t r = todo.back();
            todo.pop_back();
            waiting[r] = false;
            if (holds[r] || !test(tree_.rules[r].body)) continue;
            holds[r] = true;
            for (const uint32_t user : users_[r])
                if (!holds[user] && !waiting[user]) {
                    waiting[user] = true;
                    todo.push_back(user);
                }
        }
    }
    void note_uses(uint32_t id, uint32_t by) {
        const gbnf::Node& n = tree_.nodes[id];
        if (n.kind == gbnf::Kind::rule) users_[n.a].push_back(by);
        for (uint32_t c = n.child; c != kNone; c = tree_.nodes[c].next) note_uses(c, by);
    }
    void find_nullable() {
        fixed_point(nullable_, [this](uint32_t body) { return nullable(body); });
    }
    Status find_finite() {
        fixed_point(finite_, [this](uint32_t body) { return finite(body); });
        for (size_t r = 0; r < finite_.size(); ++r)
            if (!finite_[r])
                return fail(ErrorCode::invalid_argument,
                            gbnf::place(text_, tree_.rules[r].at) +
                                fmt::format("the rule '{}' can never end: each way through it "
                                            "leads back to itself",
                                            tree_.rules[r].name));
        return {};
    }

    uint32_t add(Grammar::State s) {
        if (g_.states_.size() > Grammar::kMaxStates) return 0;  // run() will say so
        g_.states_.push_back(s);
        return static_cast<uint32_t>(g_.states_.size() - 1);
    }
    uint32_t add_bytes(uint8_t low, uint8_t high, uint32_t target) {
        g_.ranges_.push_back({low, high, target});
        return add({Grammar::Kind::bytes, static_cast<uint32_t>(g_.ranges_.size() - 1), 1});
    }

    uint32_t node(uint32_t id, uint32_t next) {
        const gbnf::Node& n = tree_.nodes[id];
        switch (n.kind) {
            case gbnf::Kind::text:
                for (uint32_t i = n.b; i > 0; --i) {
                    const auto byte = static_cast<uint8_t>(tree_.bytes[n.a + i - 1]);
                    next = add_bytes(byte, byte, next);
                }
                return next;
            case gbnf::Kind::chars:
                return chars(n, next);
            case gbnf::Kind::rule:
                return add({Grammar::Kind::call, n.a, next});
            case gbnf::Kind::sequence: {
                std::vector<uint32_t> parts;
                for (uint32_t c = n.child; c != kNone; c = tree_.nodes[c].next) parts.push_back(c);
                for (size_t i = parts.size(); i > 0; --i) next = node(parts[i - 1], next);
                return next;
            }
            case gbnf::Kind::choice: {
                uint32_t start = kNone;
                for (uint32_t c = n.child; c != kNone; c = tree_.nodes[c].next) {
                    const uint32_t one = node(c, next);
                    start = start == kNone ? one : add({Grammar::Kind::split, start, one});
                }
                return start;
            }
            case gbnf::Kind::repeat:
                break;
        }
        return repeat(n, next);
    }

    uint32_t repeat(const gbnf::Node& n, uint32_t next) {
        const uint64_t times = n.b == kNone ? uint64_t{n.a} + 1 : n.b;
        uint32_t rule = kNone;
        if (!copied(sizes_[n.child], times)) {
            rule = static_cast<uint32_t>(bodies_.size());
            bodies_.push_back({n.child, bodies_[owner_].named});
        }
        const auto one = [&](uint32_t after) {
            return rule == kNone ? node(n.child, after) : add({Grammar::Kind::call, rule, after});
        };
        uint32_t at = next;
        if (n.b == kNone) {
            at = add({Grammar::Kind::split, 0, next});
            const uint32_t again = one(at);
            if (at < g_.states_.size()) g_.states_[at].a = again;
        } else {
            for (uint32_t i = n.a; i < n.b && g_.states_.size() <= Grammar::kMaxStates; ++i)
                at = add({Grammar::Kind::split, one(at), next});
        }
        for (uint32_t i = 0; i < n.a && g_.states_.size() <= Grammar::kMaxStates; ++i) at = one(at);
        return at;
    }

    // One state for the first byte; the states of later bytes are shared where they agree.
    uint32_t chars(const gbnf::Node& n, uint32_t next) {
        std::map<std::tuple<uint8_t, uint8_t, uint32_t>, uint32_t> shared;
        std::vector<Grammar::ByteRange> first;
        for (uint32_t i = 0; i < n.b; ++i) {
            const gbnf::CodeRange& r = tree_.ranges[n.a + i];
            for (const Utf8Range& seq : utf8_ranges(r.low, r.high)) {
                uint32_t at = next;
                for (size_t k = seq.length; k > 1; --k) {
                    const auto key = std::tuple(seq.low[k - 1], seq.high[k - 1], at);
                    const auto found = shared.find(key);
                    at = found != shared.end()
                             ? found->second
                             : (shared[key] = add_bytes(seq.low[k - 1], seq.high[k - 1], at));
                }
                first.push_back({seq.low[0], seq.high[0], at});
            }
        }
        const auto begin = static_cast<uint32_t>(g_.ranges_.size());
        g_.ranges_.insert(g_.ranges_.end(), first.begin(), first.end());
        return add({Grammar::Kind::bytes, begin, static_cast<uint32_t>(first.size())});
    }

    // Rules that each rule calls before it reads a byte.
    std::vector<uint32_t> first_calls(uint32_t rule, std::vector<uint32_t>& seen) const {
        std::vector<uint32_t> calls, todo = {g_.rules_[rule].start};
        while (!todo.empty()) {
            const uint32_t s = todo.back();
            todo.pop_back();
            if (seen[s] == rule + 1) continue;
            seen[s] = rule + 1;
            const Grammar::State& state = g_.states_[s];
            if (state.kind == Grammar::Kind::split) {
                todo.push_back(state.a);
                todo.push_back(state.b);
            } else if (state.kind == Grammar::Kind::call) {
                calls.push_back(state.a);
                if (g_.rules_[state.a].nullable) todo.push_back(state.b);
            }
        }
        std::sort(calls.begin(), calls.end());
        calls.erase(std::unique(calls.begin(), calls.end()), calls.end());
        return calls;
    }

    // Callers before the called (Kahn's algorithm); what stays over is left-recursive.
    Status check_left_recursion() {
        const size_t n = g_.rules_.size();
        std::vector<std::vector<uint32_t>> calls(n);
        std::vector<uint32_t> callers(n), seen(g_.states_.size()), ready;
        for (uint32_t r = 0; r < n; ++r) calls[r] = first_calls(r, seen);
        for (const auto& list : calls)
            for (const uint32_t c : list) ++callers[c];
        for (uint32_t r = 0; r < n; ++r)
            if (callers[r] == 0) ready.push_back(r);
        size_t done = 0;
        while (!ready.empty()) {
            const uint32_t r = ready.back();
            ready.pop_back();
            ++done;
            for (const uint32_t c : calls[r])
                if (--callers[c] == 0) ready.push_back(c);
        }
        if (done == n) return {};
        // Of those that stay, one from which calls lead back to it: walk until a rule comes again.
        uint32_t at = 0;
        while (callers[at] == 0) ++at;
        std::vector<uint32_t> caller(n, kNone);
        for (uint32_t r = 0; r < n; ++r)
            if (callers[r] > 0)
                for (const uint32_t c : calls[r]) caller[c] = r;
        std::vector<bool> passed(n, false);
        while (!passed[at]) {
            passed[at] = true;
            at = caller[at];
        }
        const gbnf::Rule& named = tree_.rules[bodies_[at].named];
        return fail(ErrorCode::invalid_argument,
                    gbnf::place(text_, named.at) +
                        fmt::format("the rule '{}' is left-recursive: it leads back to itself "
                                    "without reading anything; put what repeats in ( )* instead",
                                    named.name));
    }

    std::string_view text_;
    gbnf::Tree tree_;
    Grammar g_;
    std::vector<uint32_t> sizes_;  // by node
    std::vector<bool> nullable_, finite_;
    std::vector<std::vector<uint32_t>> users_;
    std::vector<Body> bodies_;  // by rule of the automaton
    uint32_t owner_ = 0;
};

Result<std::shared_ptr<const Grammar>> Grammar::parse(std::string_view text) {
    RIDGE_ASSIGN(gbnf::Tree tree, gbnf::parse(text));
    return GrammarCompiler(text, std::move(tree)).run();
}

}  // namespace ridge
