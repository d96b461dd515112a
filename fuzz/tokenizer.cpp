// The merge loops against the definition: a vocabulary and a text are read from the input, encoded
// by a Tokenizer of each family and by trying every pair, again and again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "text/tokenizer.hpp"
#include "text/vocab.hpp"

namespace {

using namespace ridge;
using Parts = std::vector<std::string>;

constexpr size_t longest_text = 700;  // past the length from which another queue is used

struct Rules {
    Parts tokens;  // by id; the first four are a, b, c, d
    std::map<std::pair<std::string, std::string>, uint32_t> ranks;  // of merges; the first counts
    std::map<std::string, float> scores;
};

class Input {
  public:
    Input(const uint8_t* data, size_t size) : data_(data), size_(size) {}
    bool done() const { return size_ == 0; }
    uint8_t next() {
        if (done()) return 0;
        --size_;
        return *data_++;
    }

  private:
    const uint8_t* data_;
    size_t size_;
};

Rules read_rules(Input& in) {
    Rules rules;
    rules.tokens = {"a", "b", "c", "d"};
    for (const std::string& token : rules.tokens) rules.scores[token] = -100.0f;
    const size_t n = in.next() % 32;
    for (uint32_t rank = 0; rank < n; ++rank) {
        const std::string left = rules.tokens[in.next() % rules.tokens.size()];
        const std::string right = rules.tokens[in.next() % rules.tokens.size()];
        const float score = -static_cast<float>(in.next() % 8);  // few, so that many are equal
        if (left.size() + right.size() > 64) continue;
        rules.ranks.emplace(std::make_pair(left, right), rank);
        if (rules.scores.emplace(left + right, score).second) rules.tokens.push_back(left + right);
    }
    return rules;
}

// Merges the leftmost of the best pairs as long as there is one; urgency(left, right) is larger for
// better pairs, and minus infinity for none.
template <typename Urgency>
Parts merge_naively(const std::string& text, Urgency urgency) {
    constexpr double none = -std::numeric_limits<double>::infinity();
    Parts parts;
    for (const char c : text) parts.emplace_back(1, c);
    for (;;) {
        double best = none;
        size_t at = 0;
        for (size_t i = 1; i < parts.size(); ++i) {
            const double u = urgency(parts[i - 1], parts[i]);
            if (u > best) {
                best = u;
                at = i;
            }
        }
        if (best == none) return parts;
        parts[at - 1] += parts[at];
        parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at));
    }
}

Tokenizer make(const Rules& rules, const std::string& model) {
    VocabData vocab;
    vocab.model = model;
    vocab.pre = "gpt-2";
    std::deque<std::string> merges;
    vocab.tokens.assign(rules.tokens.begin(), rules.tokens.end());
    for (const std::string& token : rules.tokens) vocab.scores.push_back(rules.scores.at(token));
    vocab.tokens.emplace_back("<unk>");
    vocab.scores.push_back(0.0f);
    vocab.types.assign(vocab.tokens.size(), TokenType::normal);
    vocab.types.back() = TokenType::unknown;
    vocab.unk = static_cast<int64_t>(rules.tokens.size());
    std::map<uint32_t, std::string> by_rank;
    for (const auto& [pair, rank] : rules.ranks) by_rank[rank] = pair.first + " " + pair.second;
    for (const auto& [rank, merge] : by_rank) vocab.merges.push_back(merges.emplace_back(merge));
    const auto made = Tokenizer::create(vocab);
    if (!made) std::abort();
    return *made;
}

void compare(const Tokenizer& tokenizer, const std::string& text, const Parts& wanted) {
    const std::vector<int32_t> ids = tokenizer.encode(text, false, false);
    if (ids.size() != wanted.size()) std::abort();
    for (size_t i = 0; i < ids.size(); ++i)
        if (tokenizer.raw(ids[i]) != wanted[i]) std::abort();
    if (tokenizer.decode(ids) != text) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    Input in(data, size);
    const Rules rules = read_rules(in);
    std::string text;
    while (!in.done() && text.size() < longest_text)
        text.push_back(static_cast<char>('a' + (in.next() & 3)));

    constexpr double none = -std::numeric_limits<double>::infinity();
    const Parts by_rank =
        merge_naively(text, [&](const std::string& left, const std::string& right) {
            const auto rule = rules.ranks.find({left, right});
            return rule == rules.ranks.end() ? none : -static_cast<double>(rule->second);
        });
    for (const char* model : {"gpt2", "gemma4"}) compare(make(rules, model), text, by_rank);
    const Parts by_score =
        merge_naively(text, [&](const std::string& left, const std::string& right) {
            const auto score = rules.scores.find(left + right);
            return score == rules.scores.end() ? none : static_cast<double>(score->second);
        });
    compare(make(rules, "llama"), text, by_score);
    return 0;
}
