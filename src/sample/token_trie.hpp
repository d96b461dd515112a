// The bytes of a vocabulary's tokens as a trie, laid out in the order in which a walk meets it: a
// token mask is one pass over it that shares the work of common beginnings and skips what is ruled
// out.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "text/tokenizer.hpp"

namespace ridge {

class TokenTrie {
  public:
    struct Node {
        uint32_t depth = 0;   // number of bytes up to here, at least 1
        uint32_t end = 0;     // index behind the last node below this one
        uint32_t tokens = 0;  // those that end here: order()[tokens] up to the next node's
        uint8_t byte = 0;
    };

    // Of all tokens that stand for text; control tokens and those that end an answer are left out,
    // and listed in ends().
    static std::shared_ptr<const TokenTrie> of(const Tokenizer& tokenizer);
    // The i-th token has these bytes; empty ones are left out.
    static std::shared_ptr<const TokenTrie> of(std::span<const std::string_view> tokens);

    // In preorder; one more at the end that closes the last.
    std::span<const Node> nodes() const { return {nodes_.data(), nodes_.size() - 1}; }
    std::span<const uint32_t> order() const { return order_; }
    // Where node i's tokens begin and end in order().
    uint32_t tokens_begin(size_t i) const { return nodes_[i].tokens; }
    uint32_t tokens_end(size_t i) const { return nodes_[i + 1].tokens; }
    uint32_t longest() const { return longest_; }  // bytes of the longest token
    size_t size() const { return size_; }          // of the vocabulary
    std::string_view bytes(int32_t id) const;      // empty: no token of text
    std::span<const int32_t> ends() const { return ends_; }
    bool is_end(int32_t id) const;

    // What lies below a node, for large subtrees alone: the bytes that occur, as 256 bits, how many
    // follow one another at most, and whether a code point ends at the node and all below is
    // well-formed UTF-8 or the beginning of it. Null for small ones.
    struct Below {
        std::array<uint64_t, 4> bytes{};
        uint32_t height = 0;
        bool text = false;
    };
    const Below* below(size_t i) const {
        return below_of_[i] == 0 ? nullptr : &below_[below_of_[i]];
    }

  private:
    void build(std::span<const std::string_view> tokens);
    void describe_subtrees();

    std::vector<Node> nodes_;
    std::vector<uint32_t> order_;
    std::vector<char> text_;
    std::vector<uint32_t> begin_;  // of each token's bytes; one more at the end
    std::vector<int32_t> ends_;    // sorted
    std::vector<uint32_t> below_of_;
    std::vector<Below> below_;
    uint32_t longest_ = 0;
    size_t size_ = 0;
};

}  // namespace ridge
