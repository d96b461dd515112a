#include "lower/memory_plan.hpp"

#include <algorithm>
#include <numeric>

namespace ridge {

Placement place_buffers(const std::vector<Lifetime>& lifetimes) {
    std::vector<size_t> order(lifetimes.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        return lifetimes[a].bytes != lifetimes[b].bytes ? lifetimes[a].bytes > lifetimes[b].bytes
                                                        : a < b;
    });
    Placement p{std::vector<size_t>(lifetimes.size(), 0), 0};
    std::vector<size_t> placed;
    for (const size_t i : order) {
        const Lifetime& life = lifetimes[i];
        if (life.first > life.last) continue;
        const size_t bytes = (life.bytes + 63) / 64 * 64;
        std::vector<std::pair<size_t, size_t>>
            taken;  // [begin, end) of buffers alive with this one
        for (const size_t j : placed)
            if (lifetimes[j].first <= life.last && life.first <= lifetimes[j].last)
                taken.emplace_back(p.offsets[j],
                                   p.offsets[j] + (lifetimes[j].bytes + 63) / 64 * 64);
        std::sort(taken.begin(), taken.end());
        size_t at = 0;
        for (const auto& [begin, end] : taken) {
            if (at + bytes <= begin) break;
            at = std::max(at, end);
        }
        p.offsets[i] = at;
        p.arena_bytes = std::max(p.arena_bytes, at + bytes);
        placed.push_back(i);
    }
    return p;
}

}  // namespace ridge
