// Two priority queues of pairs for merge.hpp. Both give the same order: lower priority first, then
// further left.
//
// HeapQueue is a binary heap. On long texts its depth costs: half of each pop misses the caches.
// RunQueue uses that pairs of one priority are mostly pushed from left to right: it keeps such a
// run as a list, a heap only of the priorities in use, and a heap of pairs for the few that come
// out of order. On a run of one letter, where few priorities occur, a push or pop is constant time;
// at worst it is a heap again.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <vector>

namespace ridge::text {

struct Pair {
    uint32_t priority;  // lower merges first
    uint32_t left;      // index of the left symbol
    uint32_t end;       // where the right symbol ended when the pair was offered
    int32_t id;         // the token the pair becomes
};

class HeapQueue {
  public:
    void push(const Pair& pair) {
        heap_.push_back(pair);
        std::push_heap(heap_.begin(), heap_.end(), later);
    }
    bool pop(Pair& pair) {
        if (heap_.empty()) return false;
        std::pop_heap(heap_.begin(), heap_.end(), later);
        pair = heap_.back();
        heap_.pop_back();
        return true;
    }
    const Pair* top() const { return heap_.empty() ? nullptr : heap_.data(); }

    static bool later(const Pair& a, const Pair& b) {
        return a.priority != b.priority ? a.priority > b.priority : a.left > b.left;
    }

  private:
    std::vector<Pair> heap_;
};

class RunQueue {
  public:
    void push(const Pair& pair) {
        Run& run = runs_[index_of(pair.priority)];
        if (run.head != kNone && pair.left < nodes_[run.tail].pair.left) {
            strays_.push(pair);
            return;
        }
        const auto node = static_cast<uint32_t>(nodes_.size());
        nodes_.push_back({pair, kNone});
        if (run.head == kNone) {
            run.head = node;
            active_.push_back({pair.priority, static_cast<uint32_t>(&run - runs_.data())});
            std::push_heap(active_.begin(), active_.end(), lower_first);
        } else {
            nodes_[run.tail].next = node;
        }
        run.tail = node;
    }

    bool pop(Pair& pair) {
        if (active_.empty()) {
            if (strays_.pop(pair)) return true;
            clear();
            return false;
        }
        Run& run = runs_[active_.front().run];
        const Node& first = nodes_[run.head];
        const Pair* stray = strays_.top();
        if (stray != nullptr && HeapQueue::later(first.pair, *stray)) return strays_.pop(pair);
        pair = first.pair;
        run.head = first.next;
        if (run.head == kNone) {
            std::pop_heap(active_.begin(), active_.end(), lower_first);
            active_.pop_back();
        }
        return true;
    }

  private:
    static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
    struct Node {
        Pair pair;
        uint32_t next;
    };
    struct Run {
        uint32_t head = kNone;  // kNone: empty, and not in active_
        uint32_t tail = kNone;
    };
    struct Active {
        uint32_t priority;
        uint32_t run;
    };
    static bool lower_first(const Active& a, const Active& b) { return a.priority > b.priority; }

    size_t index_of(uint32_t priority) {
        if (!runs_.empty() && priority == last_priority_) return last_index_;
        const auto [entry, is_new] = index_.try_emplace(priority, runs_.size());
        if (is_new) runs_.emplace_back();
        last_priority_ = priority;
        last_index_ = entry->second;
        return last_index_;
    }

    void clear() {
        nodes_.clear();
        runs_.clear();
        index_.clear();
    }

    std::vector<Node> nodes_;
    std::vector<Run> runs_;
    std::unordered_map<uint32_t, size_t> index_;  // priority -> run
    std::vector<Active> active_;                  // heap of the runs that hold pairs
    HeapQueue strays_;
    uint32_t last_priority_ = 0;
    size_t last_index_ = 0;
};

}  // namespace ridge::text
