// Counts heap allocations of the whole process (operator new and malloc through it).
#pragma once

#include <cstddef>

namespace ridge::test {

// Allocations by operator new since the object was made, on any thread.
class AllocationCount {
  public:
    AllocationCount();
    size_t since() const;

  private:
    size_t start_;
};

}  // namespace ridge::test
