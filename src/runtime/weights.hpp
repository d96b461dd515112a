// Weight store: packs a file's tensors into the layouts the lowered steps name, and binds them.
#pragma once

#include <functional>
#include <vector>

#include "base/aligned.hpp"
#include "base/status.hpp"
#include "base/thread_team.hpp"
#include "format/gguf.hpp"
#include "lower/lower.hpp"

namespace ridge {

class WeightStore {
  public:
    // Packs every matrix that a product reads (once, however many steps read it) with all threads
    // of the team and fills the pointers of `model`. What is packed is read from the file, tile by
    // tile, and never mapped; a table that no product reads stays in the mapped file. `progress`
    // (may be empty) is called on this thread with a share of 0 to 1. Errors: out_of_memory, io.
    static Result<WeightStore> load(const GgufFile& file, const Program& program,
                                    LoweredModel& model, ThreadTeam& team,
                                    const std::function<void(double)>& progress);

    uint64_t packed_bytes() const { return packed_.size(); }
    uint64_t vector_bytes() const { return vectors_.size() * 4; }
    uint64_t mapped_bytes() const { return mapped_bytes_; }  // table read from the file itself
    uint64_t tensor_bytes() const { return tensor_bytes_; }  // in the file, of what was packed

  private:
    AlignedBuffer packed_;
    std::vector<float> vectors_;
    uint64_t mapped_bytes_ = 0;
    uint64_t tensor_bytes_ = 0;
};

}  // namespace ridge
