#include "text/special.hpp"

#include <algorithm>
#include <cstddef>

#include "text/merge_queue.hpp"

namespace ridge::text {
namespace {

std::string_view text_of(const StringPool& pool, int32_t id) {
    return pool[static_cast<size_t>(id)];
}

uint8_t byte_at(std::string_view s, size_t i) {
    return static_cast<uint8_t>(s[i]);
}

}  // namespace

void SpecialMatcher::build(const StringPool& pool, std::vector<int32_t> ids) {
    sorted_ = std::move(ids);
    std::sort(sorted_.begin(), sorted_.end(), [&](int32_t a, int32_t b) {
        const int order = text_of(pool, a).compare(text_of(pool, b));
        return order != 0 ? order < 0 : a < b;
    });
    const auto same = [&](int32_t a, int32_t b) { return text_of(pool, a) == text_of(pool, b); };
    sorted_.erase(std::unique(sorted_.begin(), sorted_.end(), same), sorted_.end());
    sorted_.shrink_to_fit();
    first_.fill(0);
    for (const int32_t id : sorted_) ++first_[byte_at(text_of(pool, id), 0) + 1u];
    for (size_t b = 1; b < first_.size(); ++b) first_[b] += first_[b - 1];
}

SpecialMatcher::Found SpecialMatcher::longest(const StringPool& pool, std::string_view text) const {
    Found found;
    if (text.empty()) return found;
    // sorted_[low, high) begin with text[0, depth).
    size_t low = first_[byte_at(text, 0)];
    size_t high = first_[byte_at(text, 0) + 1u];
    for (size_t depth = 1; low < high; ++depth) {
        if (text_of(pool, sorted_[low]).size() == depth) {
            found = {depth, sorted_[low]};
            ++low;
        }
        if (depth == text.size()) break;
        const uint8_t wanted = byte_at(text, depth);
        if (low == high) break;
        if (byte_at(text_of(pool, sorted_[low]), depth) == wanted &&
            byte_at(text_of(pool, sorted_[high - 1]), depth) == wanted) {
            continue;  // as in a run of one letter: all of them go on so
        }
        const auto begin = sorted_.begin();
        const auto from = begin + static_cast<std::ptrdiff_t>(low);
        const auto to = begin + static_cast<std::ptrdiff_t>(high);
        const auto lower = std::lower_bound(from, to, wanted, [&](int32_t id, uint8_t b) {
            return byte_at(text_of(pool, id), depth) < b;
        });
        const auto upper = std::upper_bound(lower, to, wanted, [&](uint8_t b, int32_t id) {
            return b < byte_at(text_of(pool, id), depth);
        });
        low = static_cast<size_t>(lower - begin);
        high = static_cast<size_t>(upper - begin);
    }
    return found;
}

std::vector<SpecialMatcher::Match> SpecialMatcher::find(const StringPool& pool,
                                                        std::string_view text) const {
    std::vector<Match> matches;
    if (sorted_.empty()) return matches;

    // Longer first, then further left.
    const auto candidate = [](const Found& found, uint32_t begin) {
        const auto length = static_cast<uint32_t>(found.length);
        return Pair{static_cast<uint32_t>(kMaxSpecialBytes) - length, begin, begin + length,
                    found.id};
    };
    RunQueue queue;
    for (uint32_t i = 0; i < text.size(); ++i) {
        const Found found = longest(pool, text.substr(i));
        if (found.id >= 0) queue.push(candidate(found, i));
    }

    // Bytes of tokens taken so far. A candidate that runs into one tries again with the space that
    // is left before it.
    std::vector<bool> taken;
    for (Pair best{}; queue.pop(best);) {
        if (taken.empty()) taken.resize(text.size());
        uint32_t end = best.left;
        while (end < best.end && !taken[end]) ++end;
        if (end == best.end) {
            matches.push_back({best.left, best.end, best.id});
            for (uint32_t i = best.left; i < end; ++i) taken[i] = true;
            continue;
        }
        const Found shorter = longest(pool, text.substr(best.left, end - best.left));
        if (shorter.id >= 0) queue.push(candidate(shorter, best.left));
    }
    std::sort(matches.begin(), matches.end(),
              [](const Match& a, const Match& b) { return a.begin < b.begin; });
    return matches;
}

}  // namespace ridge::text
