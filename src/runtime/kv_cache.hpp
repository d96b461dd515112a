// KV cache: pages of one span for every layer without a window, rings for layers with one.
//
// Pages are handed to sequences as they grow and come back when a sequence is trimmed. A ring holds
// the window and the rows of one pass; a sequence can be trimmed back only as far as its rings
// still hold the window before the new end.
#pragma once

#include <span>
#include <vector>

#include "base/aligned.hpp"
#include "base/status.hpp"
#include "runtime/core/exec.hpp"

namespace ridge {

struct KvOptions {
    KvType type = KvType::bf16;
    uint32_t context = 4096;  // positions a sequence may have
    uint32_t sequences = 1;
    uint32_t max_rows = 512;  // rows of one sequence in one pass
};

class KvCache {
  public:
    // Errors: out_of_memory, naming the bytes asked for.
    static Result<KvCache> create(const Lowered& model, const KvOptions& options);

    Cache view() const { return {options_.type, page_bytes_, layers_.data()}; }
    const uint32_t* pages(uint32_t sequence) const { return &tables_[sequence * spans_]; }

    // Makes room for positions [length, length + rows). Error: the context is full.
    Status grow(uint32_t sequence, uint32_t length, uint32_t rows);
    // Longest length <= `want` that the sequence, `length` long now, can go back to: `want` itself,
    // or 0 where a ring has lost the window before it. Frees pages behind it.
    uint32_t trim(uint32_t sequence, uint32_t length, uint32_t want);

    // Sequence `to`, which must be empty, becomes a copy of the first `want` of `length` positions
    // of `from`; returns the length it has, as trim() would.
    uint32_t copy(uint32_t from, uint32_t to, uint32_t length, uint32_t want);

    // What a sequence of `pages` pages holds, as pieces of memory in a fixed order: layer by layer,
    // its pages in order or its whole ring. Pages must be the sequence's (grow() them first).
    std::vector<std::span<uint8_t>> pieces(uint32_t sequence, uint32_t pages) const;
    size_t page_piece_bytes() const;  // of one page in all layers that have pages
    uint32_t used_pages(uint32_t sequence) const { return used_[sequence]; }
    uint32_t reach(uint32_t sequence) const { return reach_[sequence]; }
    void set_reach(uint32_t sequence, uint32_t reach) { reach_[sequence] = reach; }

    uint64_t bytes() const { return memory_.size(); }
    const KvOptions& options() const { return options_; }
    uint32_t spans() const { return spans_; }

  private:
    uint32_t kept(uint32_t sequence, uint32_t length, uint32_t want) const;

    KvOptions options_;
    size_t page_bytes_ = 0;
    std::vector<uint32_t> kv_heads_;  // of each layer
    uint32_t spans_ = 0;              // pages of a full sequence
    uint32_t shortest_ring_ = 0;      // positions; 0 = no ring
    uint32_t longest_window_ = 0;
    AlignedBuffer memory_;
    std::vector<CacheLayer> layers_;
    std::vector<uint32_t> tables_;  // [sequence][span]
    std::vector<uint32_t> used_;    // pages of each sequence
    // End of the last position written since the sequence was empty: beyond its length where it was
    // trimmed or a pass was given up. Rings have lost what that overwrote.
    std::vector<uint32_t> reach_;
    std::vector<uint32_t> free_;
};

}  // namespace ridge
