#include "sample/token_trie.hpp"

#include <algorithm>
#include <utility>

#include "text/unicode.hpp"

namespace ridge {

std::shared_ptr<const TokenTrie> TokenTrie::of(const Tokenizer& tokenizer) {
    auto trie = std::make_shared<TokenTrie>();
    std::vector<std::string_view> tokens(static_cast<size_t>(tokenizer.size()));
    for (int32_t id = 0; id < tokenizer.size(); ++id) {
        if (tokenizer.is_end(id))
            trie->ends_.push_back(id);
        else if (!tokenizer.is_control(id))
            tokens[static_cast<size_t>(id)] = tokenizer.bytes(id);
    }
    trie->build(tokens);
    return trie;
}

std::shared_ptr<const TokenTrie> TokenTrie::of(std::span<const std::string_view> tokens) {
    auto trie = std::make_shared<TokenTrie>();
    trie->build(tokens);
    return trie;
}

std::string_view TokenTrie::bytes(int32_t id) const {
    if (id < 0 || static_cast<size_t>(id) >= size_) return {};
    const auto i = static_cast<size_t>(id);
    return {text_.data() + begin_[i], begin_[i + 1] - begin_[i]};
}

bool TokenTrie::is_end(int32_t id) const {
    return std::binary_search(ends_.begin(), ends_.end(), id);
}

void TokenTrie::build(std::span<const std::string_view> tokens) {
    size_ = tokens.size();
    for (size_t i = 0; i < size_; ++i) {
        begin_.push_back(static_cast<uint32_t>(text_.size()));
        text_.insert(text_.end(), tokens[i].begin(), tokens[i].end());
        if (!tokens[i].empty()) order_.push_back(static_cast<uint32_t>(i));
        longest_ = std::max(longest_, static_cast<uint32_t>(tokens[i].size()));
    }
    begin_.push_back(static_cast<uint32_t>(text_.size()));
    std::sort(order_.begin(), order_.end(), [&](uint32_t a, uint32_t b) {
        const int order = tokens[a].compare(tokens[b]);
        return order != 0 ? order < 0 : a < b;
    });
    std::vector<uint32_t> open;  // nodes on the way to the last token
    std::string_view last;
    for (uint32_t i = 0; i < order_.size(); ++i) {
        const std::string_view token = tokens[order_[i]];
        if (i > 0 && token == last) continue;  // one more for the same node
        size_t same = 0;
        while (same < last.size() && same < token.size() && last[same] == token[same]) ++same;
        while (open.size() > same) {
            nodes_[open.back()].end = static_cast<uint32_t>(nodes_.size());
            open.pop_back();
        }
        for (size_t k = same; k < token.size(); ++k) {
            open.push_back(static_cast<uint32_t>(nodes_.size()));
            // Nodes on the way have no tokens: theirs begin and end where the next one's begin.
            nodes_.push_back({static_cast<uint32_t>(k + 1), 0, i, static_cast<uint8_t>(token[k])});
        }
        last = token;
    }
    for (const uint32_t node : open) nodes_[node].end = static_cast<uint32_t>(nodes_.size());
    nodes_.push_back({0, 0, static_cast<uint32_t>(order_.size()), 0});
    describe_subtrees();
}

void TokenTrie::describe_subtrees() {
    constexpr uint32_t large = 32;  // nodes
    below_of_.assign(nodes_.size(), 0);
    below_.emplace_back();
    // Where each node stands in UTF-8: bytes that are missing and bounds of the next one.
    struct Place {
        uint8_t missing = 0, low = 0x80, high = 0xBF;
        bool broken = false;
    };
    std::vector<Place> path(longest_ + 1), place(nodes_.size());
    for (size_t i = 0; i + 1 < nodes_.size(); ++i) {
        const Node& n = nodes_[i];
        Place at = path[n.depth - 1];
        if (at.missing > 0) {
            at.broken = at.broken || n.byte < at.low || n.byte > at.high;
            at = {static_cast<uint8_t>(at.missing - 1), 0x80, 0xBF, at.broken};
        } else {
            const text::LeadByte lead = text::lead_byte(n.byte);
            at.broken = at.broken || lead.length == 0;
            if (lead.length > 0)
                at = {static_cast<uint8_t>(lead.length - 1), lead.low, lead.high, at.broken};
        }
        path[n.depth] = place[i] = at;
    }
    // From the back, so that what lies below a node was met before it: collected by depth until the
    // node above takes it.
    std::vector<Below> collected(longest_ + 2);
    std::vector<bool> broken(longest_ + 2, false);  // is something below no UTF-8?
    for (size_t i = nodes_.size() - 1; i-- > 0;) {
        const Node& n = nodes_[i];
        const Below own = std::exchange(collected[n.depth + 1], {});
        if (n.end - i >= large) {
            below_of_[i] = static_cast<uint32_t>(below_.size());
            below_.push_back(own);
            below_.back().text = place[i].missing == 0 && !place[i].broken && !broken[n.depth + 1];
        }
        Below& above = collected[n.depth];
        for (size_t k = 0; k < 4; ++k) above.bytes[k] |= own.bytes[k];
        above.bytes[n.byte / 64] |= uint64_t{1} << (n.byte % 64);
        above.height = std::max(above.height, own.height + 1);
        broken[n.depth] = broken[n.depth] || broken[n.depth + 1] || place[i].broken;
        broken[n.depth + 1] = false;
    }
}

}  // namespace ridge
