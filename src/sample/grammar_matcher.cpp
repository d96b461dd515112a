#include "sample/grammar_matcher.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "text/unicode.hpp"

namespace ridge {

GrammarMatcher::GrammarMatcher(std::shared_ptr<const Grammar> grammar,
                               std::shared_ptr<const TokenTrie> trie)
    : grammar_(std::move(grammar)), trie_(std::move(trie)) {
    path_.resize(trie_->longest() + size_t{1});
    begin_tables();
    current_ = start_ = beginning();
    too_large_ = overflow_;
}

size_t GrammarMatcher::bytes_used() const {
    return items_.size() * sizeof(Item) + configs_.size() * (sizeof(Config) + 48) +
           stacks_.size() * (sizeof(Stack) + 48) + parents_.size() * 4 + tables_.size() * 1024 +
           runs_.size() * sizeof(Run) + masks_.size() * (trie_->size() / 8 + 32);
}

Status GrammarMatcher::overflow() const {
    return fail(ErrorCode::unsupported,
                "the grammar is too ambiguous to be followed here; make its alternatives begin "
                "differently or repeat less");
}

uint32_t GrammarMatcher::step(uint32_t config, uint8_t byte) {
    if (config == kDead) return kDead;
    if (configs_[config].table == kUnknown) {
        configs_[config].table = static_cast<uint32_t>(tables_.size());
        tables_.emplace_back().fill(kUnknown);
    }
    const uint32_t known = tables_[configs_[config].table][byte];
    if (known != kUnknown) return known;
    const uint32_t next = compute(config, byte);
    if (bytes_used() > kMaxBytes) overflow_ = true;
    if (overflow_) return kDead;  // the caller looks; nothing wrong is remembered
    // The bytes around this one that fall into the same ranges lead to the same place.
    const Config& c = configs_[config];
    uint8_t low = 0, high = 255;
    for (uint32_t i = 0; i < c.count; ++i) {
        const Grammar::State& s = grammar_->states()[items_[c.begin + i].state];
        for (uint32_t k = 0; k < s.b; ++k) {
            const Grammar::ByteRange& r = grammar_->ranges()[s.a + k];
            if (byte < r.low) {
                high = std::min(high, static_cast<uint8_t>(r.low - 1));
            } else if (byte > r.high) {
                low = std::max(low, static_cast<uint8_t>(r.high + 1));
            } else {
                low = std::max(low, r.low);
                high = std::min(high, r.high);
            }
        }
    }
    auto& table = tables_[c.table];
    std::fill(table.begin() + low, table.begin() + high + 1, next);
    return next;
}

void GrammarMatcher::reset() {
    current_ = start_;
    closed_ = false;
}

// Do all code points of two to four bytes lead from one configuration to the other?
bool GrammarMatcher::takes_wide(uint32_t config, uint32_t next) {
    std::vector<std::pair<uint32_t, int>> settled;  // after which so many bytes of any kind do
    const auto rest = [&](const auto& self, uint32_t at, int missing, int low, int high) -> bool {
        if (missing == 0) return at == next;
        if (at == kDead) return false;
        const bool any = low == 0x80 && high == 0xBF;
        if (any &&
            std::find(settled.begin(), settled.end(), std::pair(at, missing)) != settled.end())
            return true;
        for (int byte = low; byte <= high; ++byte)
            if (!self(self, step(at, static_cast<uint8_t>(byte)), missing - 1, 0x80, 0xBF))
                return false;
        if (any) settled.emplace_back(at, missing);
        return true;
    };
    for (int byte = 0xC2; byte <= 0xF4; ++byte) {
        const text::LeadByte lead = text::lead_byte(static_cast<uint8_t>(byte));
        if (!rest(rest, step(config, static_cast<uint8_t>(byte)), lead.length - 1, lead.low,
                  lead.high))
            return false;
    }
    return true;
}

const GrammarMatcher::Run& GrammarMatcher::run_of(uint32_t config) {
    if (configs_[config].run == kUnknown) {
        Run run;
        size_t lead = 0;  // votes that the candidate is ahead (Boyer and Moore 1991)
        for (size_t byte = 0; byte < 256; ++byte) {
            const uint32_t next = step(config, static_cast<uint8_t>(byte));
            if (next == kDead) continue;
            if (lead == 0) run.next = next;
            lead = next == run.next ? lead + 1 : lead - 1;
        }
        for (size_t byte = 0; byte < 256 && run.next != kDead; ++byte)
            if (step(config, static_cast<uint8_t>(byte)) == run.next)
                run.bytes[byte / 64] |= uint64_t{1} << (byte % 64);
        run.wide = run.next != kDead && takes_wide(config, run.next);
        configs_[config].run = static_cast<uint32_t>(runs_.size());
        runs_.push_back(run);
    }
    return runs_[configs_[config].run];
}

// Is every text allowed that has these bytes and at most this length?
bool GrammarMatcher::takes_all(uint32_t config, const TokenTrie::Below& below) {
    for (uint32_t i = 0; i < below.height; ++i) {
        const Run& run = run_of(config);
        for (size_t word = 0; word < 2; ++word)
            if ((below.bytes[word] & ~run.bytes[word]) != 0) return false;
        const bool ascii = (below.bytes[2] | below.bytes[3]) == 0;
        if (!ascii && !(below.text && run.wide)) return false;
        if (run.next == config) return true;
        config = run.next;
    }
    return true;
}

bool GrammarMatcher::walk(std::vector<uint64_t>& bits) {
    const auto nodes = trie_->nodes();
    const auto order = trie_->order();
    const auto allow = [&](uint32_t from, uint32_t to) {
        for (uint32_t k = from; k < to; ++k) bits[order[k] / 64] |= uint64_t{1} << (order[k] % 64);
    };
    path_[0] = current_;
    for (size_t i = 0; i < nodes.size();) {
        const TokenTrie::Node& n = nodes[i];
        const uint32_t before = path_[n.depth - 1];
        const uint32_t next = step(before, n.byte);
        if (overflow_) return false;
        if (next == kDead) {
            i = n.end;
            continue;
        }
        if (const TokenTrie::Below* below = trie_->below(i);
            below != nullptr && takes_all(next, *below) && !overflow_) {
            allow(trie_->tokens_begin(i), trie_->tokens_begin(n.end));
            i = n.end;
            continue;
        }
        if (overflow_) return false;
        path_[n.depth] = next;
        allow(trie_->tokens_begin(i), trie_->tokens_end(i));
        ++i;
    }
    return true;
}

Result<std::span<const uint64_t>> GrammarMatcher::mask() {
    if (too_large_) return propagate(overflow());
    if (bytes_used() > kMaxBytes / 2) rebuild();
    if (configs_[current_].mask == kUnknown) {
        size_t bits = trie_->size();
        if (!trie_->ends().empty())
            bits = std::max(bits, static_cast<size_t>(trie_->ends().back()) + 1);
        std::vector<uint64_t> mask((bits + 63) / 64);
        if (!walk(mask)) {
            rebuild();  // with what else was remembered gone it may fit
            std::fill(mask.begin(), mask.end(), 0);
            if (!walk(mask)) {
                rebuild();
                return propagate(overflow());
            }
        }
        if (complete())
            for (const int32_t id : trie_->ends())
                mask[static_cast<size_t>(id) / 64] |= uint64_t{1} << (static_cast<size_t>(id) % 64);
        configs_[current_].mask = static_cast<uint32_t>(masks_.size());
        masks_.push_back(std::move(mask));
    }
    if (closed_) {
        closed_mask_.assign(masks_[configs_[current_].mask].size(), 0);
        return std::span<const uint64_t>(closed_mask_);
    }
    return std::span<const uint64_t>(masks_[configs_[current_].mask]);
}

Status GrammarMatcher::accept_text(std::string_view bytes) {
    if (too_large_) return overflow();
    if (closed_) return fail(ErrorCode::invalid_argument, "the answer has ended already");
    if (bytes_used() > kMaxBytes / 2) rebuild();
    for (int attempt = 0;; ++attempt) {
        uint32_t at = current_;
        for (size_t i = 0; i < bytes.size() && at != kDead && !overflow_; ++i)
            at = step(at, static_cast<uint8_t>(bytes[i]));
        if (overflow_) {
            rebuild();
            if (attempt == 0) continue;
            return overflow();
        }
        if (at == kDead)
            return fail(ErrorCode::invalid_argument, "the grammar does not allow this text here");
        current_ = at;
        return {};
    }
}

Status GrammarMatcher::accept(int32_t id) {
    if (closed_) return fail(ErrorCode::invalid_argument, "the answer has ended already");
    if (trie_->is_end(id)) {
        if (!complete())
            return fail(ErrorCode::invalid_argument,
                        "the answer may not end here: the grammar wants more");
        closed_ = true;
        return {};
    }
    const std::string_view bytes = trie_->bytes(id);
    if (bytes.empty())
        return fail(ErrorCode::invalid_argument,
                    fmt::format("token {} stands for no text and cannot follow a grammar", id));
    return accept_text(bytes);
}

}  // namespace ridge
