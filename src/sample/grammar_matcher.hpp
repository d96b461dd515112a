// Follows a text through a grammar and says which tokens may come next.
//
// What has been read is one configuration: a set of (state, stack), where stacks share their tails
// and equal ones are one, as in generalized LR parsers (Tomita 1985). Stacks that grow at the same
// place by the same rule merge, so ambiguity costs polynomial time, not exponential. Configurations
// and the bytes between them are kept as a lazily built automaton: a byte that was read before
// costs one look-up, and a place that was met before has its mask already.
//
// Never fails open: where memory or ambiguity pass their limits the answer is an error.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.hpp"
#include "sample/grammar.hpp"
#include "sample/token_trie.hpp"

namespace ridge {

class GrammarMatcher {
  public:
    GrammarMatcher(std::shared_ptr<const Grammar> grammar, std::shared_ptr<const TokenTrie> trie);

    // One bit a token, 64 a word: those after which the text can still become one of the
    // grammar's; the tokens that end an answer where it is one already. Valid until the next call.
    // Nothing set: the answer is complete and has no end token, or the vocabulary cannot go on.
    // Errors: a limit was passed.
    Result<std::span<const uint64_t>> mask();

    // Reads a token; an end token closes the answer. Errors: the grammar does not allow it here
    // (nothing changes then), or a limit was passed.
    Status accept(int32_t id);
    // The same for text.
    Status accept_text(std::string_view bytes);

    bool complete() const { return configs_[current_].accepting; }  // may the text end here?
    bool closed() const { return closed_; }                         // has an end token been read?
    void reset();                                                   // back to the beginning

    static constexpr size_t kMaxBytes = size_t{96} << 20;  // of the tables
    static constexpr size_t kMaxItems = 20000;             // of one configuration

  private:
    static constexpr uint32_t kDead = 0, kUnknown = UINT32_MAX, kBottom = 0;
    static constexpr uint32_t kFresh = uint32_t{1} << 31;  // a stack that begins with this byte

    struct Item {
        uint32_t state, stack;
        bool operator==(const Item&) const = default;
    };
    struct Stack {
        uint32_t state = 0;             // to return to
        uint32_t begin = 0, count = 0;  // below it, in parents_
    };
    struct Config {
        uint32_t begin = 0, count = 0;  // in items_
        bool accepting = false;
        uint32_t table = kUnknown;  // of its 256 successors
        uint32_t mask = kUnknown;
        uint32_t run = kUnknown;
    };
    // The bytes that lead from a configuration to the one that most bytes lead to: a letter inside
    // a string leads back to it, or to one that has a letter less to go.
    struct Run {
        std::array<uint64_t, 4> bytes{};
        uint32_t next = kDead;
        bool wide = false;  // does every code point beyond ASCII lead there, too?
    };
    struct Fresh {
        uint32_t state = 0;
        std::vector<uint32_t> parents;
    };

    // The automaton and the tokens (grammar_matcher.cpp).
    uint32_t step(uint32_t config, uint8_t byte);
    bool walk(std::vector<uint64_t>& bits);
    const Run& run_of(uint32_t config);
    bool takes_wide(uint32_t config, uint32_t next);
    bool takes_all(uint32_t config, const TokenTrie::Below& below);
    size_t bytes_used() const;
    Status overflow() const;

    // Configurations (grammar_configs.cpp).
    uint32_t beginning();
    uint32_t compute(uint32_t config, uint8_t byte);
    void visit(uint32_t state, uint32_t stack);
    void close();
    uint32_t intern_config(bool accepting);
    uint32_t intern_stack(uint32_t state, std::vector<uint32_t>& parents);
    void begin_tables();
    void rebuild();  // keeps what the current configuration needs

    std::shared_ptr<const Grammar> grammar_;
    std::shared_ptr<const TokenTrie> trie_;
    std::vector<Item> items_;
    std::vector<Config> configs_;
    std::vector<Stack> stacks_;
    std::vector<uint32_t> parents_;
    std::unordered_multimap<uint64_t, uint32_t> config_index_, stack_index_;
    std::vector<std::array<uint32_t, 256>> tables_;
    std::vector<std::vector<uint64_t>> masks_;
    std::vector<Run> runs_;
    uint32_t current_ = 0, start_ = 0;
    bool closed_ = false, overflow_ = false;
    bool too_large_ = false;  // the beginning itself passes a limit: nothing can be followed

    // Scratch of compute().
    std::vector<Item> todo_, found_;
    std::vector<Fresh> fresh_;
    size_t fresh_count_ = 0;
    std::unordered_map<uint64_t, bool> seen_;
    std::unordered_map<uint32_t, uint32_t> fresh_of_;
    bool accepting_ = false;
    std::vector<uint32_t> path_;  // of walk()
    std::vector<uint64_t> closed_mask_;
};

}  // namespace ridge
