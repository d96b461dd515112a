// How the configurations of a GrammarMatcher are made: what needs no byte is followed at once, and
// equal stacks and configurations are one.
#include <algorithm>
#include <utility>

#include "sample/grammar_matcher.hpp"

namespace ridge {
namespace {

uint64_t mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * 0x9E3779B97F4A7C15ull;
    return hash ^ hash >> 29;
}

}  // namespace

void GrammarMatcher::begin_tables() {
    items_.clear();
    configs_.assign(1, {});  // kDead
    stacks_.assign(1, {});   // kBottom
    parents_.clear();
    config_index_.clear();
    stack_index_.clear();
    tables_.clear();
    masks_.clear();
    runs_.clear();
    todo_.clear();
    found_.clear();
    seen_.clear();
    fresh_of_.clear();
    fresh_count_ = 0;
    accepting_ = false;
}

void GrammarMatcher::visit(uint32_t state, uint32_t stack) {
    if (!seen_.emplace(uint64_t{state} << 32 | stack, true).second) return;
    todo_.push_back({state, stack});
}

// Follows what needs no byte. A stack that was pushed at this very place is only popped again by a
// rule that matched nothing; calls of such rules step over them at once, so that pop is left out.
void GrammarMatcher::close() {
    while (!todo_.empty()) {
        if (seen_.size() > kMaxItems) {
            overflow_ = true;
            todo_.clear();
            return;
        }
        const Item item = todo_.back();
        todo_.pop_back();
        const Grammar::State& s = grammar_->states()[item.state];
        switch (s.kind) {
            case Grammar::Kind::bytes:
                found_.push_back(item);
                break;
            case Grammar::Kind::split:
                visit(s.a, item.stack);
                visit(s.b, item.stack);
                break;
            case Grammar::Kind::end:
                if (item.stack == kBottom) {
                    accepting_ = true;
                } else if ((item.stack & kFresh) == 0) {
                    const Stack top = stacks_[item.stack];
                    for (uint32_t i = 0; i < top.count; ++i)
                        visit(top.state, parents_[top.begin + i]);
                }
                break;
            case Grammar::Kind::call: {
                const Grammar::Rule& rule = grammar_->rules()[s.a];
                if (rule.nullable) visit(s.b, item.stack);
                // Nothing follows the call: its end is the caller's end, no need to come back.
                if (grammar_->states()[s.b].kind == Grammar::Kind::end) {
                    visit(rule.start, item.stack);
                    break;
                }
                // One stack a call, not a state to return to: two calls may return to one.
                const auto [it, is_new] =
                    fresh_of_.emplace(item.state, static_cast<uint32_t>(fresh_count_));
                if (is_new) {
                    if (fresh_.size() == fresh_count_) fresh_.emplace_back();
                    fresh_[fresh_count_].state = s.b;
                    fresh_[fresh_count_].parents.clear();
                    ++fresh_count_;
                    visit(rule.start, it->second | kFresh);
                }
                fresh_[it->second].parents.push_back(item.stack);
                break;
            }
        }
    }
}

uint32_t GrammarMatcher::intern_stack(uint32_t state, std::vector<uint32_t>& parents) {
    std::sort(parents.begin(), parents.end());
    parents.erase(std::unique(parents.begin(), parents.end()), parents.end());
    uint64_t hash = mix(0, state);
    for (const uint32_t p : parents) hash = mix(hash, p);
    const auto [from, to] = stack_index_.equal_range(hash);
    for (auto it = from; it != to; ++it) {
        const Stack& s = stacks_[it->second];
        if (s.state == state && s.count == parents.size() &&
            std::equal(parents.begin(), parents.end(), parents_.begin() + s.begin))
            return it->second;
    }
    const auto id = static_cast<uint32_t>(stacks_.size());
    stacks_.push_back(
        {state, static_cast<uint32_t>(parents_.size()), static_cast<uint32_t>(parents.size())});
    parents_.insert(parents_.end(), parents.begin(), parents.end());
    stack_index_.emplace(hash, id);
    return id;
}

uint32_t GrammarMatcher::intern_config(bool accepting) {
    // Stacks that began here become permanent ones, those below first. None lies below itself: a
    // rule would have had to call itself without reading a byte.
    std::vector<uint32_t> permanent(fresh_count_, kUnknown), open;
    const auto settled = [&](uint32_t stack) {
        return (stack & kFresh) != 0 ? permanent[stack & ~kFresh] : stack;
    };
    for (uint32_t i = 0; i < fresh_count_; ++i) {
        open.push_back(i);
        while (!open.empty()) {
            const uint32_t top = open.back();
            const size_t waiting = open.size();
            if (permanent[top] == kUnknown)
                for (const uint32_t p : fresh_[top].parents)
                    if (settled(p) == kUnknown) open.push_back(p & ~kFresh);
            if (open.size() > waiting) continue;
            open.pop_back();
            if (permanent[top] != kUnknown) continue;
            for (uint32_t& p : fresh_[top].parents) p = settled(p);
            permanent[top] = intern_stack(fresh_[top].state, fresh_[top].parents);
        }
    }
    for (Item& item : found_) item.stack = settled(item.stack);
    std::sort(found_.begin(), found_.end(), [](const Item& a, const Item& b) {
        return a.state != b.state ? a.state < b.state : a.stack < b.stack;
    });
    found_.erase(std::unique(found_.begin(), found_.end()), found_.end());
    uint32_t id = kDead;
    if (!found_.empty() || accepting) {
        uint64_t hash = mix(1, accepting ? 1 : 0);
        for (const Item& item : found_) hash = mix(hash, uint64_t{item.state} << 32 | item.stack);
        const auto [from, to] = config_index_.equal_range(hash);
        for (auto it = from; it != to && id == kDead; ++it) {
            const Config& c = configs_[it->second];
            if (c.accepting == accepting && c.count == found_.size() &&
                std::equal(found_.begin(), found_.end(), items_.begin() + c.begin))
                id = it->second;
        }
        if (id == kDead) {
            id = static_cast<uint32_t>(configs_.size());
            configs_.push_back({static_cast<uint32_t>(items_.size()),
                                static_cast<uint32_t>(found_.size()), accepting, kUnknown, kUnknown,
                                kUnknown});
            items_.insert(items_.end(), found_.begin(), found_.end());
            config_index_.emplace(hash, id);
        }
    }
    found_.clear();
    seen_.clear();
    fresh_of_.clear();
    fresh_count_ = 0;
    accepting_ = false;
    return id;
}

// A call of the root rule with nothing below it.
uint32_t GrammarMatcher::beginning() {
    const Grammar::Rule& root = grammar_->rules()[grammar_->root()];
    visit(root.start, kBottom);
    accepting_ = root.nullable;
    close();
    return intern_config(accepting_);
}

uint32_t GrammarMatcher::compute(uint32_t config, uint8_t byte) {
    const Config c = configs_[config];
    for (uint32_t i = 0; i < c.count; ++i) {
        const Item item = items_[c.begin + i];
        const Grammar::State& s = grammar_->states()[item.state];
        for (uint32_t k = 0; k < s.b; ++k) {
            const Grammar::ByteRange& r = grammar_->ranges()[s.a + k];
            if (byte >= r.low && byte <= r.high) visit(r.target, item.stack);
        }
    }
    close();
    return intern_config(accepting_);
}

void GrammarMatcher::rebuild() {
    // The stacks that the current configuration holds, from the bottom up: what lies below a stack
    // was made before it and has a smaller number.
    const std::vector<Stack> stacks = std::move(stacks_);
    const std::vector<uint32_t> parents = std::move(parents_);
    const Config config = configs_[current_];
    std::vector<Item> items(items_.begin() + config.begin,
                            items_.begin() + config.begin + config.count);
    std::vector<bool> needed(stacks.size(), false);
    for (const Item& item : items) needed[item.stack] = true;
    for (size_t i = stacks.size(); i-- > 1;)
        if (needed[i])
            for (uint32_t k = 0; k < stacks[i].count; ++k)
                needed[parents[stacks[i].begin + k]] = true;
    begin_tables();
    std::vector<uint32_t> moved(stacks.size(), 0), below;
    for (size_t i = 1; i < stacks.size(); ++i) {
        if (!needed[i]) continue;
        below.clear();
        for (uint32_t k = 0; k < stacks[i].count; ++k)
            below.push_back(moved[parents[stacks[i].begin + k]]);
        moved[i] = intern_stack(stacks[i].state, below);
    }
    for (Item& item : items) item.stack = moved[item.stack];
    start_ = beginning();  // it has a place of its own again, for reset()
    found_ = items;
    current_ = intern_config(config.accepting);
    overflow_ = false;
}

}  // namespace ridge
