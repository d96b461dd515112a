// Progress of work done row by row on several threads, and the wish to stop it. Internal.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>

#include "base/status.hpp"

namespace ridge {

class RowMeter {
  public:
    // `progress` gets the share that is done, never twice at once; false from it stops.
    RowMeter(uint64_t total, const std::function<bool(double)>& progress)
        : total_(total), progress_(progress) {}
    Status add(uint64_t weights) {
        const uint64_t done = done_ += weights;
        if (!progress_) return {};
        if (const std::unique_lock lock(mutex_, std::try_to_lock); lock.owns_lock())
            if (!progress_(static_cast<double>(done) / static_cast<double>(total_))) stop_ = true;
        if (stop_) return fail(ErrorCode::cancelled, "Stopped; nothing was written.");
        return {};
    }

  private:
    const uint64_t total_;
    const std::function<bool(double)>& progress_;
    std::atomic<uint64_t> done_{0};
    std::atomic<bool> stop_{false};
    std::mutex mutex_;
};

}  // namespace ridge
