// Counts heap allocations of the whole process (operator new), and makes one of them fail.
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

// Allocations by operator new that are not deleted yet.
size_t live_allocations();

// While it lives, the k-th allocation by operator new from its making on (0: the next one), on any
// thread, throws std::bad_alloc; the others work. One at a time.
class FailAllocation {
  public:
    explicit FailAllocation(size_t k);
    FailAllocation(const FailAllocation&) = delete;
    FailAllocation& operator=(const FailAllocation&) = delete;
    ~FailAllocation();
    bool happened() const;
};

}  // namespace ridge::test
