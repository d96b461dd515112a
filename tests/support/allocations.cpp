#include "support/allocations.hpp"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace {
std::atomic<size_t> allocations{0}, deletions{0};
std::atomic<size_t> failing{SIZE_MAX};  // the number of the allocation to fail

void* counted(size_t n, size_t alignment) {
    if (allocations.fetch_add(1, std::memory_order_relaxed) == failing.load()) {
        deletions.fetch_add(1, std::memory_order_relaxed);
        throw std::bad_alloc();
    }
    if (n == 0) n = 1;
    void* p = alignment <= alignof(std::max_align_t)
                  ? std::malloc(n)
                  : std::aligned_alloc(alignment, (n + alignment - 1) / alignment * alignment);
    if (p == nullptr) throw std::bad_alloc();
    return p;
}

void deleted(void* p) {
    if (p != nullptr) deletions.fetch_add(1, std::memory_order_relaxed);
    std::free(p);
}
}  // namespace

void* operator new(size_t n) {
    return counted(n, 1);
}
void* operator new[](size_t n) {
    return counted(n, 1);
}
void* operator new(size_t n, std::align_val_t a) {
    return counted(n, static_cast<size_t>(a));
}
void* operator new[](size_t n, std::align_val_t a) {
    return counted(n, static_cast<size_t>(a));
}
// std::stable_sort asks so; a memory checker's own version would not match the deletes below.
void* operator new(size_t n, const std::nothrow_t&) noexcept {
    try {
        return counted(n, 1);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}
void* operator new[](size_t n, const std::nothrow_t& tag) noexcept {
    return operator new(n, tag);
}
void operator delete(void* p) noexcept {
    deleted(p);
}
void operator delete(void* p, const std::nothrow_t&) noexcept {
    deleted(p);
}
void operator delete[](void* p, const std::nothrow_t&) noexcept {
    deleted(p);
}
void operator delete[](void* p) noexcept {
    deleted(p);
}
void operator delete(void* p, size_t) noexcept {
    deleted(p);
}
void operator delete[](void* p, size_t) noexcept {
    deleted(p);
}
void operator delete(void* p, std::align_val_t) noexcept {
    deleted(p);
}
void operator delete[](void* p, std::align_val_t) noexcept {
    deleted(p);
}
void operator delete(void* p, size_t, std::align_val_t) noexcept {
    deleted(p);
}
void operator delete[](void* p, size_t, std::align_val_t) noexcept {
    deleted(p);
}

namespace ridge::test {

AllocationCount::AllocationCount() : start_(allocations.load()) {}
size_t AllocationCount::since() const {
    return allocations.load() - start_;
}

size_t live_allocations() {
    return allocations.load() - deletions.load();
}

FailAllocation::FailAllocation(size_t k) {
    failing = allocations.load() + k;
}
FailAllocation::~FailAllocation() {
    failing = SIZE_MAX;
}
bool FailAllocation::happened() const {
    return allocations.load() > failing.load();
}

}  // namespace ridge::test
