// Finds special tokens in text before it is tokenized.
//
// Where tokens overlap, the longer one wins wherever in the text it stands, and among equally long
// ones the one further left: what searching the whole text for each token, longest first, gives
// (llama.cpp's way), in O(n log n) instead of one pass a token.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "text/token_map.hpp"

namespace ridge::text {

constexpr size_t kMaxSpecialBytes = 1024;  // bounds the time spent at each byte of a text

class SpecialMatcher {
  public:
    struct Match {
        size_t begin;
        size_t end;
        int32_t id;
    };

    // `ids` are tokens of `pool` with 1 to kMaxSpecialBytes bytes. Of equal texts the first counts.
    void build(const StringPool& pool, std::vector<int32_t> ids);

    // Matches by position; they don't overlap. `text` has less than 2^32 bytes.
    std::vector<Match> find(const StringPool& pool, std::string_view text) const;

    size_t memory_bytes() const { return sizeof first_ + 4 * sorted_.capacity(); }

  private:
    // The longest token that `text` begins with.
    struct Found {
        size_t length = 0;
        int32_t id = -1;
    };
    Found longest(const StringPool& pool, std::string_view text) const;

    std::vector<int32_t> sorted_;        // by text
    std::array<uint32_t, 257> first_{};  // sorted_[first_[b], first_[b + 1]) begin with byte b
};

}  // namespace ridge::text
