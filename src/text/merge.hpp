// Merges neighbouring symbols in order of priority: the loop that byte-level BPE and
// SentencePiece's BPE have in common.
//
// Symbols form a doubly linked list in an array. Every pair of neighbours that may merge is queued;
// the best (lowest) priority comes first and, among equals, the leftmost. Taking a pair merges it
// if both symbols are still what they were, and offers the two new pairs of neighbours. There are
// at most n - 1 merges and 3n pairs, so n symbols take O(n log n) time, and no recursion.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "text/merge_queue.hpp"

namespace ridge::text {

struct Symbol {
    uint32_t begin;  // in the text
    uint32_t end;
    uint32_t prev;
    uint32_t next;
    int32_t id;  // of the token it is; -1: none
};

constexpr uint32_t kNoSymbol = std::numeric_limits<uint32_t>::max();

// Links symbols[0..n) in order.
inline void link(std::vector<Symbol>& symbols) {
    const auto n = static_cast<uint32_t>(symbols.size());
    for (uint32_t i = 0; i < n; ++i) {
        symbols[i].prev = i == 0 ? kNoSymbol : i - 1;
        symbols[i].next = i + 1 == n ? kNoSymbol : i + 1;
    }
}

// Merges until no pair is left. lookup(left, right, priority&, id&) says whether two neighbours may
// merge, how urgently, and into which token. Afterwards the list that starts at symbols[0] holds
// the result; symbols that were merged away have begin == end. `queue` is empty before and after.
template <typename Queue, typename Lookup>
void merge_with(Queue& queue, std::vector<Symbol>& symbols, Lookup lookup) {
    const auto offer = [&](uint32_t left, uint32_t right) {
        Pair pair{0, left, symbols[right].end, -1};
        if (lookup(symbols[left], symbols[right], pair.priority, pair.id)) queue.push(pair);
    };
    for (uint32_t i = 1; i < symbols.size(); ++i) offer(i - 1, i);
    Pair pair;
    while (queue.pop(pair)) {
        // A symbol only ever grows to its right or vanishes. So the pair still stands exactly if
        // the left symbol does and the one after it ends where the right one ended.
        Symbol& left = symbols[pair.left];
        if (left.begin == left.end || left.next == kNoSymbol) continue;
        Symbol& right = symbols[left.next];
        if (right.end != pair.end) continue;
        left.end = right.end;
        left.id = pair.id;
        left.next = right.next;
        right.begin = right.end;
        if (left.next != kNoSymbol) symbols[left.next].prev = pair.left;
        if (left.prev != kNoSymbol) offer(left.prev, pair.left);
        if (left.next != kNoSymbol) offer(pair.left, left.next);
    }
}

struct MergeScratch {
    HeapQueue heap;
    RunQueue runs;
};

// From this many symbols on RunQueue is faster than the heap.
constexpr size_t kManySymbols = 512;

template <typename Lookup>
void merge_symbols(MergeScratch& scratch, std::vector<Symbol>& symbols, Lookup lookup) {
    if (symbols.size() < kManySymbols) {
        merge_with(scratch.heap, symbols, lookup);
    } else {
        merge_with(scratch.runs, symbols, lookup);
    }
}

}  // namespace ridge::text
