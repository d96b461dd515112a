// Two flat hash tables with open addressing: token text -> id, and a pair of ids -> merge.
//
// Vocabularies have up to a few hundred thousand entries and are looked up several times for every
// character of a prompt, so a probe should touch one or two cache lines. Both tables are filled
// once and then only read. The power-of-two size, at most half full, bounds the memory: 16 to 32
// bytes a token, 32 to 64 a merge.
//
// Filling is most of the time that a vocabulary takes to load, and most of it waits for memory: so
// a slot of the first table holds half of the hash, which spares a look at the text of every token
// passed by, and both tables can be told early which slot will be wanted (prefetch).
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

// Up to 7 bytes as a number, without a loop or a call: overlapping loads agree where they meet.
inline uint64_t load_tail(const char* p, size_t n) {
    const auto byte = [p](size_t i) { return uint64_t{static_cast<uint8_t>(p[i])} << (8 * i); };
    if (n >= 4) {
        uint32_t first, last;
        std::memcpy(&first, p, 4);
        std::memcpy(&last, p + n - 4, 4);
        return first | uint64_t{last} << (8 * (n - 4));
    }
    return n == 0 ? 0 : byte(0) | byte(n / 2) | byte(n - 1);
}

inline uint64_t hash_bytes(std::string_view s) {
    uint64_t h = s.size();
    size_t i = 0;
    for (; i + 8 <= s.size(); i += 8) {
        uint64_t word;
        std::memcpy(&word, s.data() + i, 8);
        h = mix(h ^ word) * 0x9E3779B97F4A7C15u;
    }
    return mix(h ^ load_tail(s.data() + i, s.size() - i));
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
    // A string that append(bytes) writes behind those there are.
    template <typename Append>
    void push_back_with(Append append) {
        append(bytes_);
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
    // All strings of the pool but empty ones.
    void build(const StringPool& pool) {
        slots_.assign(table_size(pool.size()), Slot{0, -1});
        constexpr size_t ahead = 16;  // strings hashed before the first of them is put in
        uint64_t hash[ahead] = {};
        for (size_t i = 0; i < pool.size() + ahead; ++i) {
            if (i >= ahead && !pool[i - ahead].empty())
                insert(pool, static_cast<int32_t>(i - ahead), hash[i % ahead]);
            if (i >= pool.size()) continue;
            hash[i % ahead] = hash_bytes(pool[i]);
            prefetch(hash[i % ahead]);
        }
    }

    // -1 when there is none. `hash` is hash_bytes(key).
    int32_t find(const StringPool& pool, std::string_view key, uint64_t hash) const {
        for (size_t at = index(hash); slots_[at].id >= 0; at = index(at + 1))
            if (holds(slots_[at], pool, key, hash)) return slots_[at].id;
        return -1;
    }
    int32_t find(const StringPool& pool, std::string_view key) const {
        return find(pool, key, hash_bytes(key));
    }

    void prefetch(uint64_t hash) const { __builtin_prefetch(&slots_[index(hash)]); }

    size_t memory_bytes() const { return slots_.size() * sizeof(Slot); }

  private:
    struct Slot {
        uint32_t tag;  // upper half of the hash
        int32_t id;    // -1: free
    };

    static uint32_t tag(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }
    size_t index(uint64_t hash) const { return hash & (slots_.size() - 1); }
    static bool holds(const Slot& slot, const StringPool& pool, std::string_view key,
                      uint64_t hash) {
        return slot.tag == tag(hash) && pool[static_cast<size_t>(slot.id)] == key;
    }

    void insert(const StringPool& pool, int32_t id, uint64_t hash) {
        const std::string_view key = pool[static_cast<size_t>(id)];
        size_t at = index(hash);
        for (; slots_[at].id >= 0; at = index(at + 1))
            if (holds(slots_[at], pool, key, hash)) return;
        slots_[at] = {tag(hash), id};
    }

    std::vector<Slot> slots_ = {Slot{0, -1}};
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

    void prefetch(int32_t left, int32_t right) const {
        __builtin_prefetch(&slots_[index(key(left, right))]);
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
    size_t index(uint64_t wanted) const {
        return mix(wanted * 0x9E3779B97F4A7C15u) & (slots_.size() - 1);
    }
    size_t probe(uint64_t wanted) const {
        size_t at = index(wanted);
        while (slots_[at].key != kEmpty && slots_[at].key != wanted) {
            at = (at + 1) & (slots_.size() - 1);
        }
        return at;
    }

    std::vector<Slot> slots_ = {Slot{kEmpty, {0, 0}}};
};

}  // namespace ridge::text
