#include "text/merge.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <random>

namespace ridge::text {
namespace {

struct Rule {
    uint32_t priority;
    int32_t id;
};

// A rule for some pairs of ids; few priorities, so that ties and pairs out of order are common.
class Rules {
  public:
    Rules(std::mt19937& random, int32_t letters, int32_t ids, uint32_t priorities) : ids_(ids) {
        table_.resize(static_cast<size_t>(ids * ids));
        for (auto& rule : table_) {
            if (random() % 3 != 0) continue;
            const auto merged = static_cast<uint32_t>(ids - letters);
            rule = Rule{static_cast<uint32_t>(random() % priorities),
                        letters + static_cast<int32_t>(random() % merged)};
        }
    }
    std::optional<Rule> find(int32_t left, int32_t right) const {
        return table_[static_cast<size_t>(left * ids_ + right)];
    }

  private:
    int32_t ids_;
    std::vector<std::optional<Rule>> table_;
};

struct Piece {
    int32_t id;
    uint32_t length;
    bool operator==(const Piece&) const = default;
};

// By the definition: as long as there is one, merge the leftmost of the best pairs.
std::vector<Piece> merge_naively(std::vector<Piece> pieces, const Rules& rules) {
    for (;;) {
        std::optional<Rule> best;
        size_t at = 0;
        for (size_t i = 1; i < pieces.size(); ++i) {
            const auto rule = rules.find(pieces[i - 1].id, pieces[i].id);
            if (rule && (!best || rule->priority < best->priority)) {
                best = rule;
                at = i;
            }
        }
        if (!best) return pieces;
        pieces[at - 1] = {best->id, pieces[at - 1].length + pieces[at].length};
        pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(at));
    }
}

template <typename Queue>
std::vector<Piece> merge_by(Queue& queue, const std::vector<Piece>& pieces, const Rules& rules) {
    std::vector<Symbol> symbols;
    uint32_t at = 0;
    for (const Piece& piece : pieces) {
        symbols.push_back({at, at + piece.length, 0, 0, piece.id});
        at += piece.length;
    }
    link(symbols);
    merge_with(queue, symbols,
               [&](const Symbol& left, const Symbol& right, uint32_t& priority, int32_t& id) {
                   const auto rule = rules.find(left.id, right.id);
                   if (!rule) return false;
                   priority = rule->priority;
                   id = rule->id;
                   return true;
               });
    std::vector<Piece> result;
    for (uint32_t i = 0; i != kNoSymbol; i = symbols[i].next) {
        result.push_back({symbols[i].id, symbols[i].end - symbols[i].begin});
    }
    return result;
}

TEST(Merge, BothQueuesDoWhatTheDefinitionSays) {
    std::mt19937 random(11);
    HeapQueue heap;
    RunQueue runs;
    for (int round = 0; round < 600; ++round) {
        const uint32_t priorities = round % 3 == 0 ? 2 : round % 3 == 1 ? 9 : 100'000;
        const Rules rules(random, 3, 3 + 1 + static_cast<int32_t>(random() % 12), priorities);
        std::vector<Piece> pieces;
        const size_t n = round % 60 == 0 ? 1500 : 1 + random() % 40;
        const unsigned letters = round % 4 == 0 ? 1 : 3;
        for (size_t i = 0; i < n; ++i) {
            pieces.push_back({static_cast<int32_t>(random() % letters),
                              1 + static_cast<uint32_t>(random() % 3)});
        }
        const auto wanted = merge_naively(pieces, rules);
        ASSERT_EQ(merge_by(heap, pieces, rules), wanted) << round;
        ASSERT_EQ(merge_by(runs, pieces, rules), wanted) << round;
    }
}

TEST(Merge, RunQueueKeepsOrderWhenPairsComeOutOfOrder) {
    std::mt19937 random(12);
    for (int round = 0; round < 200; ++round) {
        HeapQueue heap;
        RunQueue runs;
        uint32_t serial = 0;
        for (int step = 0; step < 400; ++step) {
            if (random() % 3 != 0) {
                // `left` is distinct: the order among equals is not defined.
                const Pair pair{static_cast<uint32_t>(random() % 5),
                                static_cast<uint32_t>(random() % 1000) * 1000 + serial++, 0, 7};
                heap.push(pair);
                runs.push(pair);
                continue;
            }
            Pair a{};
            Pair b{};
            const bool any = heap.pop(a);
            ASSERT_EQ(runs.pop(b), any);
            ASSERT_EQ(a.priority, b.priority);
            ASSERT_EQ(a.left, b.left);
        }
        Pair a{};
        Pair b{};
        while (heap.pop(a)) {
            ASSERT_TRUE(runs.pop(b));
            ASSERT_EQ(a.left, b.left);
        }
        ASSERT_FALSE(runs.pop(b));
    }
}

}  // namespace
}  // namespace ridge::text
