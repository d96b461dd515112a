// Importance matrices: for each matrix of a model the mean square of every input column, as
// llama.cpp's llama-imatrix writes them, in its GGUF form (NAME.in_sum2, NAME.counts) or its older
// binary form.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace ridge {

class ImportanceMatrix {
  public:
    // Errors: not_found, io; bad_file (truncated, not finite or negative values, counts that do not
    // divide the sums).
    static Result<ImportanceMatrix> open(const std::string& path);

    // Importance of the columns of a tensor; nullptr when the file has none for it.
    const std::vector<float>* find(std::string_view tensor) const;
    size_t size() const { return entries_.size(); }

  private:
    std::map<std::string, std::vector<float>, std::less<>> entries_;
};

}  // namespace ridge
