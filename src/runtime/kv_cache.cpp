#include "runtime/kv_cache.hpp"

#include <algorithm>
#include <cstring>

namespace ridge {

Result<KvCache> KvCache::create(const Lowered& model, const KvOptions& options) {
    KvCache c;
    c.options_ = options;
    c.spans_ = (options.context + kv_span - 1) / kv_span;
    const uint32_t pages = c.spans_ * options.sequences;
    std::vector<size_t> offsets;
    size_t bytes = 0;
    for (uint32_t i = 0; i < model.n_steps; ++i) {
        const LoweredStep& s = model.steps[i];
        if (s.kind != StepKind::attend) continue;
        c.page_bytes_ = (kv_page_bytes(options.type, s.head_dim) + 63) / 64 * 64;
        // Window and pass may begin and end inside a span: two more spans than they fill.
        const uint32_t ring = (s.window + options.max_rows) / kv_span + 2;
        const bool windowed = s.window != 0 && ring < c.spans_;
        c.layers_.push_back({nullptr, windowed ? ring : 0});
        c.kv_heads_.push_back(s.kv_heads);
        offsets.push_back(bytes);
        bytes += (windowed ? ring * options.sequences : pages) * c.page_bytes_ * s.kv_heads;
        if (windowed) {
            const uint32_t positions = ring * kv_span;
            c.shortest_ring_ =
                c.shortest_ring_ == 0 ? positions : std::min(c.shortest_ring_, positions);
            c.longest_window_ = std::max(c.longest_window_, s.window);
        }
    }
    RIDGE_ASSIGN(c.memory_, AlignedBuffer::allocate(bytes, true));
    for (size_t i = 0; i < offsets.size(); ++i) c.layers_[i].base = c.memory_.data() + offsets[i];
    c.tables_.assign(static_cast<size_t>(c.spans_) * options.sequences, 0);
    c.used_.assign(options.sequences, 0);
    c.reach_.assign(options.sequences, 0);
    for (uint32_t p = pages; p-- > 0;) c.free_.push_back(p);
    return c;
}

Status KvCache::grow(uint32_t sequence, uint32_t length, uint32_t rows) {
    if (rows > options_.context || length > options_.context - rows)
        return fail(ErrorCode::invalid_argument,
                    "the context of " + std::to_string(options_.context) +
                        " tokens is full: " + std::to_string(length) + " are in use and " +
                        std::to_string(rows) + " more were asked for; start with a larger context");
    reach_[sequence] = std::max(reach_[sequence], length + rows);
    const uint32_t need = (length + rows + kv_span - 1) / kv_span;
    for (uint32_t& used = used_[sequence]; used < need; ++used) {
        tables_[sequence * spans_ + used] = free_.back();
        free_.pop_back();
    }
    return {};
}

// The positions that a sequence cut back to `want` would have: want, or 0 where a ring has lost the
// window before it.
uint32_t KvCache::kept(uint32_t sequence, uint32_t length, uint32_t want) const {
    want = std::min(want, length);
    // The ring holds positions from reach - shortest_ring (rounded up to a span border) on.
    if (shortest_ring_ != 0 && want < length) {
        const uint32_t reach = std::max(length, reach_[sequence]);
        const uint32_t end = (reach + kv_span - 1) / kv_span * kv_span;
        const uint32_t oldest = end > shortest_ring_ ? end - shortest_ring_ : 0;
        const uint32_t needed = want > longest_window_ ? want - longest_window_ : 0;
        if (needed < oldest) want = 0;
    }
    return want;
}

uint32_t KvCache::trim(uint32_t sequence, uint32_t length, uint32_t want) {
    want = kept(sequence, length, want);
    if (want == 0) reach_[sequence] = 0;
    const uint32_t keep = (want + kv_span - 1) / kv_span;
    for (uint32_t& used = used_[sequence]; used > keep;)
        free_.push_back(tables_[sequence * spans_ + --used]);
    return want;
}

std::vector<std::span<uint8_t>> KvCache::pieces(uint32_t sequence, uint32_t pages) const {
    std::vector<std::span<uint8_t>> all;
    for (size_t i = 0; i < layers_.size(); ++i) {
        const CacheLayer& layer = layers_[i];
        const size_t page = page_bytes_ * kv_heads_[i];
        if (layer.ring_spans != 0) {
            const size_t ring = page * layer.ring_spans;
            all.push_back({layer.base + sequence * ring, ring});
            continue;
        }
        for (uint32_t p = 0; p < pages; ++p)
            all.push_back({layer.base + tables_[sequence * spans_ + p] * page, page});
    }
    return all;
}

size_t KvCache::page_piece_bytes() const {
    size_t bytes = 0;
    for (size_t i = 0; i < layers_.size(); ++i)
        if (layers_[i].ring_spans == 0) bytes += page_bytes_ * kv_heads_[i];
    return bytes;
}

uint32_t KvCache::copy(uint32_t from, uint32_t to, uint32_t length, uint32_t want) {
    want = kept(from, length, want);
    if (want == 0 || !grow(to, 0, want)) return 0;
    reach_[to] = reach_[from];
    const auto source = pieces(from, used_[to]);
    const auto target = pieces(to, used_[to]);
    for (size_t i = 0; i < source.size(); ++i)
        std::memcpy(target[i].data(), source[i].data(), source[i].size());
    return want;
}

}  // namespace ridge
