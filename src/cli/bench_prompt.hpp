// What ridge bench feeds a model, and how it names what came out: shared with the tests, which
// compute the same on another path.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace ridge::cli {

inline constexpr uint64_t bench_seed = 0x7269646765;  // "ridge"

// n ids below `vocab`, drawn by splitmix64 from the seed: the same on every machine.
inline std::vector<int32_t> random_prompt(size_t n, uint32_t vocab, uint64_t seed = bench_seed) {
    std::vector<int32_t> ids(n);
    for (int32_t& id : ids) {
        seed += 0x9E3779B97F4A7C15ull;
        uint64_t z = seed;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
        id = static_cast<int32_t>((z ^ (z >> 31)) % vocab);
    }
    return ids;
}

// FNV-1a, 64 bit, of the bytes of the floats (little endian).
inline uint64_t logits_hash(std::span<const float> logits) {
    uint64_t hash = 0xCBF29CE484222325ull;
    const std::string_view bytes(reinterpret_cast<const char*>(logits.data()), logits.size_bytes());
    for (const char c : bytes) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001B3ull;
    return hash;
}

}  // namespace ridge::cli
