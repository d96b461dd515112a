#include "text/jinja_text.hpp"

#include <string.h>

#include <algorithm>

#include "text/unicode.hpp"

namespace ridge::jinja {

Text::Text(std::string bytes, bool user) : bytes_(std::move(bytes)) {
    if (!bytes_.empty()) runs_.push_back({bytes_.size(), user});
}

void Text::append(std::string_view bytes, bool user) {
    if (bytes.empty()) return;
    bytes_ += bytes;
    if (!runs_.empty() && runs_.back().user == user) {
        runs_.back().end = bytes_.size();
    } else {
        runs_.push_back({bytes_.size(), user});
    }
}

void Text::append(const Text& other, size_t begin, size_t end) {
    const auto past = [](const Run& run, size_t at) { return run.end <= at; };
    auto run = std::lower_bound(other.runs_.begin(), other.runs_.end(), begin, past);
    const std::string_view from = other.bytes_;
    while (begin < end) {
        const size_t to = std::min(end, run->end);
        append(from.substr(begin, to - begin), run->user);
        begin = to;
        ++run;
    }
}

Text Text::slice(size_t begin, size_t end) const {
    Text out;
    out.append(*this, begin, end);
    return out;
}

bool Text::has_user() const {
    return std::any_of(runs_.begin(), runs_.end(), [](const Run& run) { return run.user; });
}

size_t count_code_points(std::string_view s) {
    size_t n = 0;
    for (const char c : s) n += (static_cast<uint8_t>(c) & 0xC0) != 0x80 ? 1 : 0;
    return n;
}

size_t byte_offset(std::string_view s, size_t n) {
    for (size_t i = 0; i < s.size(); ++i) {
        if ((static_cast<uint8_t>(s[i]) & 0xC0) == 0x80) continue;
        if (n == 0) return i;
        --n;
    }
    return s.size();
}

bool is_python_space(uint32_t code_point) {
    return text::is_white_space(code_point) || (code_point >= 0x1C && code_point <= 0x1F);
}

namespace {

template <typename Strip>
Span strip_where(std::string_view s, bool left, bool right, Strip strip) {
    Span span{0, s.size()};
    while (left && span.begin < span.end) {
        const text::CodePoint c = text::decode_utf8(s, span.begin);
        if (!strip(s.substr(span.begin, c.length), c.value)) break;
        span.begin += c.length;
    }
    while (right && span.end > span.begin) {
        size_t at = span.end - 1;
        while (at > span.begin && (static_cast<uint8_t>(s[at]) & 0xC0) == 0x80) --at;
        if (!strip(s.substr(at, span.end - at), text::decode_utf8(s, at).value)) break;
        span.end = at;
    }
    return span;
}

}  // namespace

Span stripped(std::string_view s, bool left, bool right) {
    return strip_where(s, left, right,
                       [](std::string_view, uint32_t value) { return is_python_space(value); });
}

Span stripped(std::string_view s, std::string_view set, bool left, bool right) {
    return strip_where(s, left, right, [&](std::string_view c, uint32_t) {
        return set.find(c) != std::string_view::npos;
    });
}

size_t find(std::string_view s, std::string_view what, size_t from) {
    if (from > s.size()) return std::string_view::npos;
    if (what.empty()) return from;
    const void* found = memmem(s.data() + from, s.size() - from, what.data(), what.size());
    if (found == nullptr) return std::string_view::npos;
    return static_cast<size_t>(static_cast<const char*>(found) - s.data());
}

}  // namespace ridge::jinja
