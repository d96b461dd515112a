#include "image/calibrate.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <thread>

namespace ridge::image {
namespace {

constexpr size_t longest = 128;  // the longest prompt the board takes
constexpr size_t shortest = 16;
constexpr size_t most_work = 25'000'000'000;  // multiplications: some seconds of one core

// Tokens of each prompt that count.
size_t tokens_each(const Decoder& d, size_t prompts) {
    const size_t weights =
        size_t{d.layers} * d.hidden * (2 * d.q_width() + 2 * d.kv_width() + 3 * d.ffn) +
        size_t{d.vocab} * d.hidden;
    return std::clamp(most_work / (weights * std::max<size_t>(prompts, 1)), shortest, longest);
}

Ranges empty_ranges(const Decoder& d) {
    Ranges r;
    for (auto& s : r.stage) s.assign(d.layers, 0.0f);
    r.q.assign(d.layers, std::vector<float>(d.heads, 0.0f));
    r.k.assign(d.layers, std::vector<float>(d.kv_heads, 0.0f));
    r.v = r.k;
    return r;
}

float largest(std::span<const float> values) {
    float most = 0;
    for (const float v : values) most = std::max(most, std::fabs(v));
    return most;
}

void look(Ranges& r, uint32_t head_dim, Tap tap, uint32_t layer, std::span<const float> rows) {
    float& stage = r.stage[static_cast<size_t>(tap)][layer];
    stage = std::max(stage, largest(rows));
    auto* const by_head = tap == Tap::q   ? &r.q
                          : tap == Tap::k ? &r.k
                          : tap == Tap::v ? &r.v
                                          : nullptr;
    if (!by_head) return;
    auto& heads = (*by_head)[layer];
    for (size_t at = 0; at < rows.size(); at += head_dim) {
        float& most = heads[at / head_dim % heads.size()];
        most = std::max(most, largest(rows.subspan(at, head_dim)));
    }
}

void merge(std::vector<float>& into, const std::vector<float>& from) {
    for (size_t i = 0; i < into.size(); ++i) into[i] = std::max(into[i], from[i]);
}

void merge(Ranges& into, const Ranges& from) {
    for (size_t t = 0; t < tap_count; ++t) merge(into.stage[t], from.stage[t]);
    for (size_t l = 0; l < into.q.size(); ++l) {
        merge(into.q[l], from.q[l]);
        merge(into.k[l], from.k[l]);
        merge(into.v[l], from.v[l]);
    }
}

std::vector<std::vector<int32_t>> prompts_of(const Tokenizer& tokenizer, std::string_view text) {
    std::vector<std::vector<int32_t>> prompts;
    while (!text.empty()) {
        const size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
        if (line.empty() || line.front() == '#') continue;
        auto ids = tokenizer.encode(line, true, false);
        if (!ids.empty()) prompts.push_back(std::move(ids));
    }
    return prompts;
}

}  // namespace

Result<Ranges> calibrate(const Decoder& d, const Tokenizer& tokenizer, std::string_view text) {
    auto prompts = prompts_of(tokenizer, text);
    const size_t each = tokens_each(d, prompts.size());
    for (auto& ids : prompts)
        if (ids.size() > each) ids.resize(each);
    if (prompts.empty())
        return fail(ErrorCode::invalid_argument,
                    "the calibration text holds no prompt; give one a line, as many as you have");
    Ranges all = empty_ranges(d);
    all.prompts = static_cast<uint32_t>(prompts.size());
    std::atomic<size_t> next{0};
    std::atomic<bool> outside{false};
    std::mutex lock;
    const auto work = [&] {
        Ranges mine = empty_ranges(d);
        for (size_t i = next++; i < prompts.size(); i = next++) {
            for (const int32_t id : prompts[i])
                if (id < 0 || static_cast<uint32_t>(id) >= d.vocab) outside = true;
            if (outside) return;
            forward(d, prompts[i], true,
                    [&](Tap tap, uint32_t layer, std::span<const float> rows, uint32_t) {
                        look(mine, d.head_dim, tap, layer, rows);
                    });
        }
        const std::lock_guard guard(lock);
        merge(all, mine);
    };
    {
        const unsigned threads = std::clamp(std::thread::hardware_concurrency(), 1u, 16u);
        std::vector<std::jthread> helpers;
        for (unsigned i = 1; i < threads; ++i) helpers.emplace_back(work);
        work();
    }
    if (outside)
        return fail(ErrorCode::bad_file,
                    "the tokenizer gives ids that the embedding has no row for; the file's "
                    "vocabulary and tensors do not belong together");
    for (const auto& p : prompts) all.tokens += p.size();
    return all;
}

}  // namespace ridge::image
