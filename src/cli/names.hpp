// Near misses: what a user probably meant.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace ridge::cli {

// Edits (insert, delete, replace) that turn `a` into `b`.
inline size_t edit_distance(const std::string& a, const std::string& b) {
    std::vector<size_t> row(b.size() + 1);
    for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (size_t i = 1; i <= a.size(); ++i) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.size(); ++j) {
            const size_t above = row[j];
            row[j] =
                std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1] ? 1 : 0)});
            diagonal = above;
        }
    }
    return row[b.size()];
}

// The name nearest to `wanted`, if it is near (a quarter of the letters may differ); else empty.
inline std::string nearest_name(const std::string& wanted, const std::vector<std::string>& names) {
    std::string best;
    size_t least = wanted.size() / 4 + 2;
    for (const std::string& n : names)
        if (const size_t d = edit_distance(wanted, n); d < least) {
            least = d;
            best = n;
        }
    return best;
}

}  // namespace ridge::cli
