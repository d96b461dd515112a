// Two flat hash tables with open addressing: token text -> id, and a pair of ids -> merge.
//
// Vocabularies have up to a few hundred thousand entries and are looked up several times for every
// character of a prompt, so a probe should touch one or two cache lines. Both tables are filled
// once and then only read. The power-of-two size, at most half full, bounds the memory: 8 to 16
// bytes a token, 32 to 64 a merge.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace ridge::text {

inline uint64_t mix(uint64_t x) {
    x ^= x >> 32;
    x *= 0xD6E8FEB86659FD93u;
    x ^= x >> 32;
    return x;
}

inline uint64_t hash_bytes(std::string_view s) {
    uint64_t h = s.size();
    size_t i = 0;
    for (; i + 8 <= s.size(); i += 8) {
        uint64_t word;
        std::memcpy(&word, s.data() + i, 8);
        h = mix(h ^ word) * 0x9E3779B97F4A7C15u;
    }
    uint64_t word = 0;
    if (i < s.size()) std::memcpy(&word, s.data() + i, s.size() - i);
    return mix(h ^ word);
}

inline size_t table_size(size_t entries) {
    return std::bit_ceil(2 * entries + (entries == 0));
}

// The strings of a vocabulary, one after the other, by id; 4 GiB together at most.
class StringPool {
  public:
    void reserve(size_t count, size_t bytes) {
        ends_.reserve(count);
        bytes_.reserve(bytes);
    }
    void push_back(std::string_view s) {
        bytes_.insert(bytes_.end(), s.begin(), s.end());
        ends_.push_back(static_cast<uint32_t>(bytes_.size()));
    }
    size_t size() const { return ends_.size(); }
    size_t memory_bytes() const { return bytes_.capacity() + 4 * ends_.capacity(); }
    std::string_view operator[](size_t i) const {
        const size_t begin = i == 0 ? 0 : ends_[i - 1];
        return {bytes_.data() + begin, ends_[i] - begin};
    }

  private:
    std::vector<char> bytes_;
    std::vector<uint32_t> ends_;
};

// Text -> id, for strings that live in a StringPool. The first of two equal strings wins.
class TokenMap {
  public:
    void reset(size_t entries) { slots_.assign(table_size(entries), -1); }

    void insert(const StringPool& pool, int32_t id) {
        const std::string_view key = pool[static_cast<size_t>(id)];
        size_t at = hash_bytes(key) & (slots_.size() - 1);
        while (slots_[at] >= 0) {
            if (pool[static_cast<size_t>(slots_[at])] == key) return;
            at = (at + 1) & (slots_.size() - 1);
        }
        slots_[at] = id;
    }

    // -1 when there is none.
    int32_t find(const StringPool& pool, std::string_view key) const {
        size_t at = hash_bytes(key) & (slots_.size() - 1);
        while (slots_[at] >= 0) {
            if (pool[static_cast<size_t>(slots_[at])] == key) return slots_[at];
            at = (at + 1) & (slots_.size() - 1);
        }
        return -1;
    }

    size_t memory_bytes() const { return slots_.size() * sizeof(int32_t); }

  private:
    std::vector<int32_t> slots_ = {-1};
};

struct Merge {
    uint32_t rank;
    int32_t id;  // of the token that the pair becomes
};

// (left id, right id) -> merge. The first of two equal pairs wins.
class MergeMap {
  public:
    void reset(size_t entries) { slots_.assign(table_size(entries), Slot{kEmpty, {0, 0}}); }

    void insert(int32_t left, int32_t right, Merge merge) {
        Slot& slot = slots_[probe(key(left, right))];
        if (slot.key == kEmpty) slot = {key(left, right), merge};
    }

    const Merge* find(int32_t left, int32_t right) const {
        const Slot& slot = slots_[probe(key(left, right))];
        return slot.key == kEmpty ? nullptr : &slot.merge;
    }

    size_t memory_bytes() const { return slots_.size() * sizeof(Slot); }

  private:
    struct Slot {
        uint64_t key;
        Merge merge;
    };
    static constexpr uint64_t kEmpty = ~uint64_t{0};  // ids are not negative

    static uint64_t key(int32_t left, int32_t right) {
        return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
    }
    size_t probe(uint64_t wanted) const {
        size_t at = mix(wanted * 0x9E3779B97F4A7C15u) & (slots_.size() - 1);
        while (slots_[at].key != kEmpty && slots_[at].key != wanted) {
            at = (at + 1) & (slots_.size() - 1);
        }
        return at;
    }

    std::vector<Slot> slots_ = {Slot{kEmpty, {0, 0}}};
};

}  // namespace ridge::text
